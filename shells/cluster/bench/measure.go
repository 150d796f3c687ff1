package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"
)

// cell is what is measured of an engine: writes or reads, and how many requests a connection has under way.
type cell struct {
	isWrite bool
	depth   int
}

func (c cell) String() string {
	if c.isWrite {
		return fmt.Sprintf("SET, P=%d", c.depth)
	}
	return fmt.Sprintf("GET, P=%d", c.depth)
}

// measured is what one cell of one round has shown.
type measured struct {
	// Requests per second.
	rate float64
	// Milliseconds until a reply: of a request, or of the whole pipeline.
	middle, tail float64
	// Microseconds of processors that the client takes for a request.
	client float64
	// What all nodes take for a request.
	nodes costs
	// Requests that were answered with an error.
	refused int
}

// seen is what one asker has seen.
type seen struct {
	answered, refused int
	waits             []time.Duration
	err               error
}

func closeAll(askers []asker) {
	for _, one := range askers {
		one.close()
	}
}

// valueOf returns random bytes, which no engine can make shorter.
func valueOf(length int) []byte {
	value := make([]byte, length)
	for at := range value {
		value[at] = byte(rand.Uint32())
	}
	return value
}

// fill writes all keys.
func fill(ctx context.Context, one engine, with load) error {
	askers, err := one.askers(ctx, with.connections, 16, with.bytes)
	defer func() { closeAll(askers) }()
	if err != nil {
		return err
	}
	failures := make([]error, len(askers))
	var all sync.WaitGroup
	for at, each := range askers {
		all.Go(func() {
			for keys := range slices.Chunk(each.share, each.depth) {
				refused, err := each.ask(true, keys, valueOf(with.bytes))
				if err == nil && refused > 0 {
					err = errors.New("a write is refused")
				}
				if err != nil {
					failures[at] = err
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(failures...)
}

// measure measures a cell. What happens in its first part is not counted.
func measure(ctx context.Context, one engine, with load, wanted cell) (measured, error) {
	askers, err := one.askers(ctx, with.connections, wanted.depth, with.bytes)
	defer func() { closeAll(askers) }()
	if err != nil {
		return measured{}, err
	}
	found := make([]seen, len(askers))
	from := time.Now().Add(with.warmUp)
	until := from.Add(with.length)
	var all sync.WaitGroup
	for at, each := range askers {
		all.Go(func() { found[at] = drive(each, wanted.isWrite, with.bytes, from, until) })
	}
	time.Sleep(time.Until(from))
	before, spent := processorTime(), costsOf(one.processes())
	time.Sleep(time.Until(until))
	used, took := processorTime()-before, costsOf(one.processes())
	all.Wait()
	var waits []time.Duration
	sum := seen{}
	for _, each := range found {
		if each.err != nil {
			return measured{}, fmt.Errorf("%v: %w", wanted, each.err)
		}
		sum.answered += each.answered
		sum.refused += each.refused
		waits = append(waits, each.waits...)
	}
	if sum.answered == 0 {
		return measured{}, fmt.Errorf("%v: nothing was answered, and %d requests were refused", wanted, sum.refused)
	}
	slices.Sort(waits)
	wait := func(share int) float64 { return float64(waits[(len(waits)-1)*share/100]) / 1e6 }
	return measured{
		rate: float64(sum.answered) / with.length.Seconds(), middle: wait(50), tail: wait(99),
		client: float64(used) / 1e3 / float64(sum.answered), refused: sum.refused,
		nodes: took.per(spent, sum.answered),
	}, nil
}

// drive lets an asker ask until a time, and counts what is answered from another time on.
func drive(one asker, isWrite bool, length int, from, until time.Time) seen {
	var found seen
	keys, value := make([]int, one.depth), valueOf(length)
	for begun := time.Now(); begun.Before(until); {
		for at := range keys {
			keys[at] = one.share[rand.IntN(len(one.share))]
		}
		value[rand.IntN(length)]++
		refused, err := one.ask(isWrite, keys, value)
		if err != nil {
			found.err = err
			return found
		}
		ended := time.Now()
		if ended.After(from) && ended.Before(until) {
			found.refused += refused
			found.answered += len(keys) - refused
			found.waits = append(found.waits, ended.Sub(begun))
		}
		begun = ended
	}
	return found
}

// processorTime returns the time of processors that this process has taken.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
