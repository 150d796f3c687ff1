// What waits for a lane: parts in their order, which are taken together.

package main

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// answer is what a part gets: its replies, or an error for all of its commands.
type answer struct {
	replies []byte
	err     error
}

// waiting is a part that waits for its answer.
type waiting struct {
	part  []byte
	since time.Time
	// How often it was put back.
	tries int
	done  chan answer
}

// queue is what waits, for a loop that takes it.
type queue struct {
	mutex    sync.Mutex
	parts    []*waiting
	isClosed bool
	bell     chan struct{}
}

func newQueue() *queue { return &queue{bell: make(chan struct{}, 1)} }

func (q *queue) ring() {
	select {
	case q.bell <- struct{}{}:
	default:
	}
}

func (q *queue) push(part *waiting) {
	q.mutex.Lock()
	isClosed := q.isClosed
	if !isClosed {
		q.parts = append(q.parts, part)
	}
	q.mutex.Unlock()
	if isClosed {
		refuse([]*waiting{part}, errTryAgain)
		return
	}
	q.ring()
}

// close refuses what waits, and what comes later.
func (q *queue) close() {
	q.mutex.Lock()
	parts := q.parts
	q.parts, q.isClosed = nil, true
	q.mutex.Unlock()
	refuse(parts, errTryAgain)
}

// pushFront puts parts back that were not carried out.
func (q *queue) pushFront(parts []*waiting) {
	q.mutex.Lock()
	isClosed := q.isClosed
	if !isClosed {
		q.parts = append(append(make([]*waiting, 0, len(parts)+len(q.parts)), parts...), q.parts...)
	}
	q.mutex.Unlock()
	if isClosed {
		refuse(parts, errTryAgain)
		return
	}
	q.ring()
}

// take takes the parts that came first, at least one if there is any, and not many more bytes than a limit.
func (q *queue) take(most int) []*waiting {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	size, count := 0, 0
	for count < len(q.parts) && (count == 0 || size+len(q.parts[count].part) <= most) {
		size += len(q.parts[count].part)
		count++
	}
	taken := q.parts[:count:count]
	q.parts = q.parts[count:]
	if len(q.parts) > 0 {
		q.ring()
	}
	return taken
}

func refuse(parts []*waiting, err error) {
	for _, part := range parts {
		part.done <- answer{err: err}
	}
}

// loop hands what waits to a function, with so much under way at a time.
func loop(ctx context.Context, from *queue, most, bytes int, handle func([]*waiting)) {
	tokens := make(chan struct{}, most)
	for {
		select {
		case <-ctx.Done():
			from.close()
			return
		case <-from.bell:
		}
		// Wait for a free place first: what comes meanwhile is merged.
		tokens <- struct{}{}
		// Connections that can run are let run first: what they ask for goes together, and not as an entry of each.
		runtime.Gosched()
		parts := from.take(bytes)
		if len(parts) == 0 {
			<-tokens
			continue
		}
		go func() {
			handle(parts)
			<-tokens
		}()
	}
}
