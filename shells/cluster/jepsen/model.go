// The model of a key: SET, GET, DEL and INCR on a register, with operations whose outcome is not known. And that of a
// pair of keys in one slot, which transactions alone change and read: both always have the same value.

package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/anishathalye/porcupine"
)

const (
	get = iota
	set
	del
	incr
	// MULTI, INCR of both keys of a pair, EXEC.
	incrBoth
	// MULTI, GET of both, EXEC.
	getBoth
	// WATCH and GET of one, then MULTI, SET of both to one more, EXEC.
	swapBoth
)

// input is what a client asks of a key.
type input struct {
	kind  int
	key   string
	value int
	// The command has more bytes than a node sends to the one that leads.
	isLong bool
}

// absent is what a key has that is not there. Values are positive.
const absent = -1

// torn is an answer that no state explains: the keys of a pair differ.
const torn = -2

// output is what a client was answered.
type output struct {
	isUnknown bool
	// Of GET and INCR; of DEL 1 if the key was there.
	value int
}

func stepOf(state int, in input, out output) (bool, int) {
	switch in.kind {
	case set:
		return true, in.value
	case del:
		was := 0
		if state != absent {
			was = 1
		}
		return out.isUnknown || out.value == was, absent
	case incr, incrBoth:
		next := max(state, 0) + 1
		return out.isUnknown || out.value == next, next
	case swapBoth:
		// The value is what was read before; without an answer the keys may have changed meanwhile.
		if state == in.value {
			return true, max(state, 0) + 1
		}
		return out.isUnknown, state
	default:
		return out.isUnknown || out.value == state, state
	}
}

// partition returns a function that divides a history by the keys of its operations.
func partition(keyOf func(any) string) func([]porcupine.Operation) [][]porcupine.Operation {
	return func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, operation := range history {
			key := keyOf(operation.Input)
			byKey[key] = append(byKey[key], operation)
		}
		return slices.Collect(maps.Values(byKey))
	}
}

var register = porcupine.Model{
	Partition: partition(func(in any) string { return in.(input).key }),
	Init:      func() any { return absent },
	Step: func(state, in, out any) (bool, any) {
		isRight, next := stepOf(state.(int), in.(input), out.(output))
		return isRight, next
	},
	DescribeOperation: func(in, out any) string {
		asked, answered := in.(input), out.(output)
		name := [...]string{"GET", "SET", "DEL", "INCR", "INCR both", "GET both", "swap both"}[asked.kind]
		said := strconv.Itoa(answered.value)
		if answered.isUnknown {
			said = "unknown"
		}
		return fmt.Sprintf("%s %s %d -> %s", name, asked.key, asked.value, said)
	},
}
