// Members of sets: SADD, SREM, SISMEMBER, SMEMBERS and SCARD on a key that has few members, and their model.

package main

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"
)

// How many members a set can have. The model's state is a set of them.
const mostMembers = 4

type memberKind int

const (
	sadd memberKind = iota
	srem
	sismember
	smembers
	scard
)

// memberInput is what a client asks of a set.
type memberInput struct {
	kind memberKind
	key  string
	// The members that the command names, as bits.
	members uint8
	// The command has more bytes than a node sends to the one that leads.
	isLong bool
}

// memberOutput is what a client was answered.
type memberOutput struct {
	isUnknown bool
	// Of SADD, SREM and SCARD a number, of SISMEMBER whether the member is there, of SMEMBERS the members.
	value int
}

// drawn returns a command of a set by chance.
func (in memberInput) drawn(random *rand.Rand) memberInput {
	one := uint8(1) << random.IntN(mostMembers)
	switch chance := random.IntN(10); {
	case chance < 3:
		in.kind, in.members = sadd, one|1<<random.IntN(mostMembers)
	case chance < 5:
		in.kind, in.members = srem, one|1<<random.IntN(mostMembers)
	case chance < 7:
		in.kind, in.members = sismember, one
	case chance < 9:
		in.kind = smembers
	default:
		in.kind = scard
	}
	in.isLong = in.kind != sismember && in.kind != scard && random.IntN(4) == 0
	return in
}

// words is the command. A long one names its members again and again, or its key, which changes nothing.
func (in memberInput) words() []any {
	count := 1
	if in.isLong {
		count = repeats
	}
	words := []any{[...]string{"SADD", "SREM", "SISMEMBER", "SMEMBERS", "SCARD"}[in.kind], in.key}
	if in.kind == smembers && in.isLong {
		words[0] = "SUNION"
	}
	for range count {
		if in.kind == smembers && in.isLong {
			words = append(words, in.key)
		}
		for member := range mostMembers {
			if in.members>>member&1 == 1 {
				words = append(words, fmt.Sprint("m", member))
			}
		}
	}
	return words
}

// value is what the answer says. Members that nobody has added, or one of them twice, are in no state.
func (in memberInput) value(answered *redis.Cmd) (int, error) {
	if in.kind != smembers {
		return answered.Int()
	}
	// A map, a set or an array, by the protocol.
	all, err := answered.StringSlice()
	if err != nil {
		return 0, err
	}
	found := 0
	for _, one := range all {
		member, err := strconv.Atoi(strings.TrimPrefix(one, "m"))
		if err != nil || member < 0 || member >= mostMembers || found>>member&1 == 1 {
			return torn, nil
		}
		found |= 1 << member
	}
	return found, nil
}

// memberStep returns whether a set can answer so, and what it has then.
func memberStep(state uint8, in memberInput, out memberOutput) (bool, uint8) {
	next, value := state, 0
	switch in.kind {
	case sadd:
		next, value = state|in.members, bits.OnesCount8(in.members&^state)
	case srem:
		next, value = state&^in.members, bits.OnesCount8(in.members&state)
	case sismember:
		value = bits.OnesCount8(in.members & state)
	case smembers:
		value = int(state)
	default:
		value = bits.OnesCount8(state)
	}
	return out.isUnknown || out.value == value, next
}

var members = porcupine.Model{
	Partition: partition(func(in any) string { return in.(memberInput).key }),
	Init:      func() any { return uint8(0) },
	Step: func(state, in, out any) (bool, any) {
		isRight, next := memberStep(state.(uint8), in.(memberInput), out.(memberOutput))
		return isRight, next
	},
	DescribeOperation: func(in, out any) string {
		asked, answered := in.(memberInput), out.(memberOutput)
		asked.isLong = false
		said := fmt.Sprint(answered.value)
		switch {
		case answered.isUnknown:
			said = "unknown"
		case asked.kind == smembers:
			said = fmt.Sprintf("%04b", answered.value)
		}
		return strings.Trim(fmt.Sprint(asked.words()), "[]") + " -> " + said
	},
}

// askSet asks a node about a set and notes the operation.
func (h *history) askSet(ctx context.Context, client int, node *redis.Client, in memberInput) error {
	call := h.now()
	command := redis.NewCmd(ctx, in.words()...)
	_ = node.Process(ctx, command)
	answered := h.now()
	err := command.Err()
	switch isRead := in.kind != sadd && in.kind != srem; {
	case err != nil && (isRead || hadNoEffect(err)):
		h.refuse(err)
		return err
	case err != nil:
		h.noteSet(client, in, memberOutput{isUnknown: true}, call, answered)
		return err
	}
	value, err := in.value(command)
	if err != nil {
		// No state explains an answer of another type.
		value = torn
	}
	h.noteSet(client, in, memberOutput{value: value}, call, answered)
	return nil
}

func (h *history) noteSet(client int, in memberInput, out memberOutput, call, answered int64) {
	h.noteIn(&h.ofSets, in.key, out.isUnknown, porcupine.Operation{
		ClientId: client, Input: in, Call: call, Output: out, Return: answered,
	})
}
