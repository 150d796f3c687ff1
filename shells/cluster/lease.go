// Terms and leases. A leader that takes leases answers reads from what it has applied, without a round to others, for
// some time after the beginning of a round. Who leads a later term answers nothing until that time is over for certain:
// docs/decisions.md says why that is enough.

package main

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// How long a leader answers without a round, from the beginning of the last one that has succeeded.
	leaseTime = 80 * time.Millisecond
	// How long who leads a new term waits. The clock of one node may run by so much faster than that of another one.
	openTime = leaseTime * 5 / 4
)

// The first level at which leaders may take leases: before, nodes of former versions do not wait for their end.
const levelOfLeases = 3

// sinceBoot is a clock that nobody sets, and that goes on while the machine sleeps.
func sinceBoot() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		// Each kernel that Go runs on has it.
		panic(err)
	}
	return time.Duration(now.Nano())
}

// tenure is what a replica knows of the terms of its group, and above all of the last one in which it has led.
type tenure struct {
	clock   func() time.Duration
	replica uint64
	// A bug for tests that are to catch it: leases do not end.
	isEndless bool

	mutex sync.Mutex
	// The last leader that was heard of, and its term.
	leader, heard uint64
	// The leader of this term takes no leases, and those of the terms before had ended when it said so.
	leaseless uint64
	// The last term that this replica has led, and when it heard of that. The leases of the terms before have ended
	// once it is open: `openTime` later, or when it is clear.
	term    uint64
	since   time.Duration
	isClear bool
	// In terms below, this replica answers nothing any more.
	ended uint64
	// The lease is of this term, and ends then.
	leased uint64
	until  time.Duration
}

func newTenure(replica uint64) *tenure { return &tenure{clock: sinceBoot, replica: replica} }

// hear notes who leads a term, and returns whether that is new, and who led the term before, if that is known: 0 is
// nobody.
func (t *tenure) hear(leader, term uint64) (former uint64, isNew bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if term <= t.heard {
		return 0, false
	}
	if t.heard == term-1 {
		former = t.leader
	}
	t.leader, t.heard = leader, term
	if leader == t.replica {
		t.term, t.since, t.isClear = term, t.clock(), t.leaseless > 0 && t.leaseless == term-1
	}
	return former, true
}

// left is called with the mutex. It returns how long it takes until the last term that this replica has led is open.
func (t *tenure) left() time.Duration {
	if t.isClear {
		return 0
	}
	return max(0, t.since+openTime-t.clock())
}

// awaitOpen waits until the last term that this replica has led is open: then no lease of a term before goes on.
func (t *tenure) awaitOpen() {
	for {
		t.mutex.Lock()
		left := t.left()
		t.mutex.Unlock()
		if left == 0 {
			return
		}
		time.Sleep(min(left, 2*time.Millisecond))
	}
}

// hearLeaseless notes that the leader of a term takes no leases.
func (t *tenure) hearLeaseless(term uint64) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.leaseless = max(t.leaseless, term)
}

// clear notes that the leader of the term before has no lease, and never will have one.
func (t *tenure) clear(term uint64) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.isClear = t.isClear || t.term == term
}

// yield ends all answers of this replica as the leader of a term below the one given. It returns whether that makes the
// term clear: this replica has led the term just before, and leases of terms before that had ended.
func (t *tenure) yield(below uint64) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.ended = max(t.ended, below)
	return t.term > 0 && t.term == below-1 && t.left() == 0
}

// leads returns whether this replica may answer as the leader of a term, which the consensus engine says it leads.
func (t *tenure) leads(term uint64) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.term == term && t.ended <= term && t.left() == 0
}

// extend extends the lease by a round of a term that was begun at some time. The first lease of a term is not begun
// before others have heard of the term: until then they may show entries that this replica has not applied.
func (t *tenure) extend(term uint64, begun time.Duration) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.term == term && begun-t.since >= openTime {
		t.leased, t.until = term, max(t.until, begun+leaseTime)
	}
}

// holds returns whether there is a lease, and whether it is to be extended soon. It is asked after a value was read:
// the process may have stood still.
func (t *tenure) holds() (isHeld, isOld bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.isEndless {
		return t.leased > 0, true
	}
	left := t.until - t.clock()
	return t.leased > 0 && t.ended <= t.leased && left > 0, left < leaseTime/2
}
