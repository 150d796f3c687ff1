package main

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// What goroutines ask that can run, and have not run yet, is taken together. On one processor their order is known, but
// for one in 61 turns of the scheduler.
func TestWhatCanBeAskedIsTakenTogether(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	const rounds, asked = 50, 10
	var calls atomic.Int64
	from := newQueue()
	go loop(ctx, from, mostEntries, 1<<20, func(parts []*waiting) {
		calls.Add(1)
		refuse(parts, errDown)
	})
	for range rounds {
		runtime.Gosched()
		var all sync.WaitGroup
		for range asked {
			all.Go(func() {
				one := &waiting{part: []byte("x"), done: make(chan answer, 1)}
				from.push(one)
				<-one.done
			})
		}
		all.Wait()
	}
	if found := calls.Load(); found > 2*rounds {
		t.Fatalf("%d parts in %d rounds were taken by %d calls", rounds*asked, rounds, found)
	}
}
