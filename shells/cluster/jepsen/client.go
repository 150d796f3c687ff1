// Clients: each asks one operation at a time of a random node, and notes when it asked and what it was answered.

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"

	"holm-cluster/trial"
)

// Keys are used for that long, so that the history of each stays short.
const keyAge = 4 * time.Second

// history is what all clients have seen.
type history struct {
	begun      time.Time
	mutex      sync.Mutex
	operations []porcupine.Operation
	keys       map[string]bool
	unknown    int
	refused    atomic.Int64
	nextValue  atomic.Int64
}

func (h *history) now() int64 { return int64(time.Since(h.begun)) }

func (h *history) note(client int, in input, out output, call, answered int64) {
	if out.isUnknown {
		// It may take effect at any time from its call on.
		answered = math.MaxInt64
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.operations = append(h.operations, porcupine.Operation{
		ClientId: client, Input: in, Call: call, Output: out, Return: answered,
	})
	h.keys[in.key] = true
	if out.isUnknown {
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
	return strings.HasPrefix(text, "CLUSTERDOWN") || strings.HasPrefix(text, "TRYAGAIN") || strings.HasPrefix(text, "OOM")
}

// ask asks a node and notes the operation.
func (h *history) ask(ctx context.Context, client int, node *redis.Client, in input) error {
	var words []any
	switch in.kind {
	case get:
		words = []any{"GET", in.key}
	case set:
		words = []any{"SET", in.key, in.value}
	case del:
		words = []any{"DEL", in.key}
	default:
		words = []any{"INCR", in.key}
	}
	call := h.now()
	command := redis.NewCmd(ctx, words...)
	_ = node.Process(ctx, command)
	answered := h.now()
	err := command.Err()
	switch {
	case errors.Is(err, redis.Nil):
		h.note(client, in, output{value: absent}, call, answered)
		return nil
	case err != nil && (in.kind == get || hadNoEffect(err)):
		h.refused.Add(1)
		return err
	case err != nil:
		h.note(client, in, output{isUnknown: true}, call, answered)
		return err
	case in.kind == set:
		h.note(client, in, output{}, call, answered)
		return nil
	}
	value, err := command.Int()
	if err != nil {
		return fmt.Errorf("%v: %w", words, err)
	}
	h.note(client, in, output{value: value}, call, answered)
	return nil
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
		age := time.Since(h.begun) / keyAge
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
		// An operation that has begun is awaited: its outcome counts.
		if err := h.ask(context.Background(), client, nodes[at], in); err != nil || random.IntN(50) == 0 {
			at = random.IntN(len(nodes))
			time.Sleep(10 * time.Millisecond)
		}
		// A history that is too long cannot be checked.
		time.Sleep(time.Millisecond)
	}
}

// readAll reads every key from each node.
func (h *history) readAll(ctx context.Context, cluster *trial.Cluster) error {
	for at := range cluster.Addresses {
		node := cluster.Node(at)
		for key := range h.keys {
			in := input{kind: get, key: key}
			err := trial.Until(20*time.Second, func() error { return h.ask(ctx, 1000+at, node, in) })
			if err != nil {
				return fmt.Errorf("node %d: %w", at+1, err)
			}
		}
		node.Close()
	}
	return nil
}
