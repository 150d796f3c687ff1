// Transactions that append to lists of one slot and read them, for `cycle.go`.

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// The lists of a tag, and the most commands of a transaction.
const (
	listCount = 3
	mostSteps = 6
)

func listOf(tag string, number int) string { return fmt.Sprintf("{%s}%c", tag, 'a'+number) }

// drawSteps returns the commands of a transaction over the lists of a tag. How many of them are carried out before
// MULTI, with what they read watched, comes with them.
func (h *history) drawSteps(random *rand.Rand, tag string) (steps []step, watched int) {
	readShare, count := random.IntN(4), 1+random.IntN(mostSteps)
	if random.IntN(4) == 0 {
		watched = 1 + random.IntN(2)
		// At least one append comes behind.
		readShare, count = min(readShare, 2), max(count, watched+1)
	}
	for at := range count {
		one := step{key: listOf(tag, random.IntN(listCount))}
		one.isRead = at < watched || random.IntN(3) < readShare && !(watched > 0 && at == watched)
		if !one.isRead {
			one.element = int(h.nextValue.Add(1))
		}
		steps = append(steps, one)
	}
	return steps, watched
}

// queue queues the commands of steps, and returns a function that takes what reads were answered into them.
func queue(ctx context.Context, pipe redis.Cmdable, steps []step) (take func() error) {
	read := map[int]*redis.StringSliceCmd{}
	for at, one := range steps {
		if one.isRead {
			read[at] = pipe.LRange(ctx, one.key, 0, -1)
		} else {
			pipe.RPush(ctx, one.key, one.element)
		}
	}
	return func() error {
		for at, answered := range read {
			if answered.Err() != nil {
				return answered.Err()
			}
			steps[at].list = nil
			for _, text := range answered.Val() {
				element, err := strconv.Atoi(text)
				if err != nil {
					// No element is negative: nobody has appended it.
					element = torn
				}
				steps[at].list = append(steps[at].list, element)
			}
		}
		return nil
	}
}

// askLists asks a node for a transaction, the first commands before MULTI, and notes it.
func (h *history) askLists(ctx context.Context, client int, node *redis.Client, one transaction, watched int) error {
	one.client, one.began = client, h.now()
	isSent := false
	exec := func(node interface {
		TxPipelined(context.Context, func(redis.Pipeliner) error) ([]redis.Cmder, error)
	}) error {
		take := func() error { return nil }
		isSent = true
		_, err := node.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			take = queue(ctx, pipe, one.steps[watched:])
			return nil
		})
		if err != nil {
			return err
		}
		return take()
	}
	var err error
	if watched == 0 {
		err = exec(node)
	} else {
		err = node.Watch(ctx, func(tx *redis.Tx) error {
			if err := queue(ctx, tx, one.steps[:watched])(); err != nil {
				return err
			}
			return exec(tx)
		}, keysOf(one.steps[:watched])...)
	}
	one.ended = h.now()
	isRefused := errors.Is(err, redis.TxFailedErr)
	switch {
	case err == nil:
	case isRefused || !isSent || hadNoEffect(err):
		one.outcome = failed
		h.refuse(err)
	default:
		one.outcome = unknown
	}
	h.noteLists(one)
	if isRefused {
		// The node is well: another client was faster.
		return nil
	}
	return err
}

func keysOf(steps []step) []string {
	var keys []string
	for _, one := range steps {
		keys = append(keys, one.key)
	}
	return keys
}

// tagOf returns the tag of the keys of a transaction.
func tagOf(one transaction) string {
	_, rest, _ := strings.Cut(one.steps[0].key, "{")
	tag, _, _ := strings.Cut(rest, "}")
	return tag
}

func (h *history) noteLists(one transaction) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.keys[tagOf(one)] = true
	h.ofLists = append(h.ofLists, one)
	if one.outcome == unknown {
		h.unknown++
	}
}

// readLists reads all lists of a tag at the end.
func (h *history) readLists(ctx context.Context, client int, node *redis.Client, tag string) error {
	one := transaction{isFinal: true}
	for number := range listCount {
		one.steps = append(one.steps, step{key: listOf(tag, number), isRead: true})
	}
	return h.askLists(ctx, client, node, one, 0)
}
