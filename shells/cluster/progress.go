// How far a replica has applied its log, for those who wait for an entry.

package main

import (
	"sync"
	"time"
)

// progress is the last entry that is applied.
type progress struct {
	mutex sync.Mutex
	last  uint64
	// Entries are being applied.
	isApplying bool
	// Closed with the next step; nil: nobody waits.
	step chan struct{}
}

// begin notes that entries are being applied.
func (p *progress) begin() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.isApplying = true
}

// isGoingOn returns a function that returns whether entries are being applied, or were since its last call.
func (p *progress) isGoingOn() func() bool {
	look := func() (uint64, bool) {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		return p.last, p.isApplying
	}
	before, _ := look()
	return func() bool {
		last, isApplying := look()
		isLater := last != before
		before = last
		return isLater || isApplying
	}
}

// reach notes that an entry is applied, and those before it.
func (p *progress) reach(index uint64) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.last, p.isApplying = max(p.last, index), false
	if p.step != nil {
		close(p.step)
		p.step = nil
	}
}

// wait waits until an entry is applied, but not for longer than some time, and returns whether it is.
func (p *progress) wait(index uint64, most time.Duration) bool {
	var late <-chan time.Time
	for {
		p.mutex.Lock()
		if p.last >= index {
			p.mutex.Unlock()
			return true
		}
		if p.step == nil {
			p.step = make(chan struct{})
		}
		step := p.step
		p.mutex.Unlock()
		if late == nil {
			late = time.After(most)
		}
		select {
		case <-step:
		case <-late:
			return false
		}
	}
}
