// Clients: each asks one operation at a time of a random node, and notes when it asked and what it was answered.

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"

	"holm-cluster/trial"
)

// How often a long command names its key: it has more bytes than a node sends to the one that leads.
const repeats = 40

// Keys are used for that long, so that the history of each stays short.
const keyAge = 4 * time.Second

// history is what all clients have seen.
type history struct {
	begun      time.Time
	mutex      sync.Mutex
	operations []porcupine.Operation
	// Those on sets.
	ofSets  []porcupine.Operation
	ofLists []transaction
	// Of pairs and lists the tags.
	keys    map[string]bool
	unknown int
	// Operations that were answered with an error, and those of them because of a disk.
	refused, full atomic.Int64
	nextValue     atomic.Int64
}

func (h *history) now() int64 { return int64(time.Since(h.begun)) }

func (h *history) note(client int, in input, out output, call, answered int64) {
	h.noteIn(&h.operations, in.key, out.isUnknown, porcupine.Operation{
		ClientId: client, Input: in, Call: call, Output: out, Return: answered,
	})
}

func (h *history) noteIn(list *[]porcupine.Operation, key string, isUnknown bool, operation porcupine.Operation) {
	if isUnknown {
		// It may take effect at any time from its call on.
		operation.Return = math.MaxInt64
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	*list = append(*list, operation)
	h.keys[key] = true
	if isUnknown {
		h.unknown++
	}
}

// hadNoEffect returns whether an operation that was answered with an error has had no effect for certain.
func hadNoEffect(err error) bool {
	var failed *net.OpError
	if errors.As(err, &failed) && failed.Op == "dial" {
		return true
	}
	text := err.Error()
	return strings.HasPrefix(text, "CLUSTERDOWN") || strings.HasPrefix(text, "TRYAGAIN") ||
		strings.HasPrefix(text, "OOM") || strings.HasPrefix(text, "EXECABORT")
}

func (h *history) refuse(err error) {
	h.refused.Add(1)
	if strings.HasPrefix(err.Error(), "OOM") {
		h.full.Add(1)
	}
}

// ask asks a node and notes the operation.
func (h *history) ask(ctx context.Context, client int, node *redis.Client, in input) error {
	call := h.now()
	command := redis.NewCmd(ctx, in.words()...)
	_ = node.Process(ctx, command)
	answered := h.now()
	err := command.Err()
	switch {
	case errors.Is(err, redis.Nil):
		h.note(client, in, output{value: absent}, call, answered)
		return nil
	case err != nil && (in.kind == get || hadNoEffect(err)):
		h.refuse(err)
		return err
	case err != nil:
		h.note(client, in, output{isUnknown: true}, call, answered)
		return err
	case in.kind == set:
		h.note(client, in, output{}, call, answered)
		return nil
	}
	value, err := in.number(command)
	if err != nil {
		return fmt.Errorf("%v: %w", in.words(), err)
	}
	h.note(client, in, output{value: value}, call, answered)
	return nil
}

// words is the command of an operation. A long one names its key again and again, which changes nothing.
func (in input) words() []any {
	names, count := [...]string{get: "GET", set: "SET", del: "DEL", incr: "INCR"}, 1
	if in.isLong {
		names, count = [...]string{get: "MGET", set: "MSET", del: "DEL", incr: ""}, repeats
	}
	words := []any{names[in.kind]}
	for range count {
		words = append(words, in.key)
		if in.kind == set {
			words = append(words, in.value)
		}
	}
	return words
}

// number is what an operation was answered.
func (in input) number(answered *redis.Cmd) (int, error) {
	if !in.isLong || in.kind != get {
		return answered.Int()
	}
	all, err := answered.Slice()
	if err != nil || len(all) != repeats {
		return 0, fmt.Errorf("%d values in place of %d: %v", len(all), repeats, err)
	}
	for _, one := range all {
		if one != all[0] {
			return torn, nil
		}
	}
	text, isThere := all[0].(string)
	if !isThere {
		return absent, nil
	}
	return strconv.Atoi(text)
}

// askBoth asks a node about a pair of keys in one slot, in a transaction.
func (h *history) askBoth(ctx context.Context, client int, node *redis.Client, in input) error {
	one, other := "{"+in.key+"}one", "{"+in.key+"}other"
	var out output
	var err error
	call := h.now()
	switch in.kind {
	case incrBoth:
		var sums [2]*redis.IntCmd
		_, err = node.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			sums = [2]*redis.IntCmd{pipe.Incr(ctx, one), pipe.Incr(ctx, other)}
			return nil
		})
		out.value = same(int(sums[0].Val()), int(sums[1].Val()))
	case getBoth:
		var values [2]*redis.StringCmd
		_, err = node.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			values = [2]*redis.StringCmd{pipe.Get(ctx, one), pipe.Get(ctx, other)}
			return nil
		})
		if errors.Is(err, redis.Nil) {
			err = nil
		}
		out.value = same(valueOf(values[0]), valueOf(values[1]))
	default:
		isSent := false
		err = node.Watch(ctx, func(tx *redis.Tx) error {
			read := tx.Get(ctx, one)
			if read.Err() != nil && !errors.Is(read.Err(), redis.Nil) {
				return read.Err()
			}
			in.value, isSent = valueOf(read), true
			_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, one, max(in.value, 0)+1, 0)
				pipe.Set(ctx, other, max(in.value, 0)+1, 0)
				return nil
			})
			return err
		}, one)
		if errors.Is(err, redis.TxFailedErr) || err != nil && !isSent {
			// It did nothing.
			h.refused.Add(1)
			return nil
		}
	}
	answered := h.now()
	if err != nil && (in.kind == getBoth || hadNoEffect(err)) {
		h.refuse(err)
		return err
	}
	out.isUnknown = err != nil
	h.note(client, in, out, call, answered)
	return err
}

// same returns the value that both keys have.
func same(one, other int) int {
	if one != other {
		return torn
	}
	return one
}

func valueOf(found *redis.StringCmd) int {
	value, err := found.Int()
	if err != nil {
		return absent
	}
	return value
}

// run asks until the context ends. A client that had no answer goes to another node.
func (h *history) run(ctx context.Context, client int, cluster *trial.Cluster, random *rand.Rand) {
	nodes := make([]*redis.Client, len(cluster.Addresses))
	for at := range nodes {
		nodes[at] = cluster.Node(at)
		defer nodes[at].Close()
	}
	at := random.IntN(len(nodes))
	for ctx.Err() == nil {
		// An operation that has begun is awaited: its outcome counts.
		if err := h.askOne(context.Background(), client, nodes[at], random); err != nil || random.IntN(50) == 0 {
			at = random.IntN(len(nodes))
			time.Sleep(10 * time.Millisecond)
		}
		// A history that is too long cannot be checked.
		time.Sleep(time.Millisecond)
	}
}

// askOne asks a node for an operation by chance.
func (h *history) askOne(ctx context.Context, client int, node *redis.Client, random *rand.Rand) error {
	age := time.Since(h.begun) / keyAge
	switch chance := random.IntN(20); {
	case chance < 4:
		in := input{key: fmt.Sprintf("pair%d-%d", age, random.IntN(3)), kind: incrBoth + random.IntN(3)}
		return h.askBoth(ctx, client, node, in)
	case chance < 8:
		in := memberInput{key: fmt.Sprintf("set%d-%d", age, random.IntN(6))}
		return h.askSet(ctx, client, node, in.drawn(random))
	case chance < 12:
		steps, watched := h.drawSteps(random, fmt.Sprintf("list%d-%d", age, random.IntN(3)))
		return h.askLists(ctx, client, node, transaction{steps: steps}, watched)
	}
	in := input{key: fmt.Sprintf("key%d-%d", age, random.IntN(12))}
	switch chance := random.IntN(10); {
	case chance < 4:
		in.kind = get
	case chance < 7:
		in.kind, in.value = set, int(h.nextValue.Add(1))*1000
	case chance < 9:
		in.kind = incr
	default:
		in.kind = del
	}
	in.isLong = in.kind != incr && random.IntN(4) == 0
	return h.ask(ctx, client, node, in)
}

// readAll reads every key from each node.
func (h *history) readAll(ctx context.Context, cluster *trial.Cluster) error {
	for at := range cluster.Addresses {
		node := cluster.Node(at)
		for key := range h.keys {
			err := trial.Until(20*time.Second, func() error { return h.readOne(ctx, 1000+at, node, key) })
			if err != nil {
				return fmt.Errorf("node %d: %w", at+1, err)
			}
		}
		node.Close()
	}
	return nil
}

// readOne reads a key, or all keys of a pair or of a tag of lists.
func (h *history) readOne(ctx context.Context, client int, node *redis.Client, key string) error {
	switch {
	case strings.HasPrefix(key, "pair"):
		return h.askBoth(ctx, client, node, input{kind: getBoth, key: key})
	case strings.HasPrefix(key, "set"):
		return h.askSet(ctx, client, node, memberInput{kind: smembers, key: key})
	case strings.HasPrefix(key, "list"):
		return h.readLists(ctx, client, node, key)
	default:
		return h.ask(ctx, client, node, input{kind: get, key: key})
	}
}
