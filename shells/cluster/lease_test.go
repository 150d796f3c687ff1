package main

import (
	"testing"
	"time"
)

// watched is the tenure of a replica whose clock is set by hand.
type watched struct {
	*tenure
	now time.Duration
}

func newWatched(replica uint64) *watched {
	made := &watched{tenure: newTenure(replica), now: time.Hour}
	made.clock = func() time.Duration { return made.now }
	return made
}

func (w *watched) pass(time time.Duration) { w.now += time }

func (w *watched) isHeld() bool {
	held, _ := w.holds()
	return held
}

// lead lets the replica lead a term for long.
func (w *watched) lead(term uint64) {
	w.hear(w.replica, term)
	w.pass(openTime)
}

func expect(t *testing.T, what string, found, expected bool) {
	t.Helper()
	if found != expected {
		t.Fatalf("%s: %v", what, found)
	}
}

func TestATermIsOpenOnceFormerLeasesHaveEnded(t *testing.T) {
	one := newWatched(1)
	expect(t, "a term that nobody has heard of", one.leads(5), false)
	one.hear(2, 5)
	expect(t, "a term of another one", one.leads(5), false)
	one.hear(1, 6)
	one.pass(openTime - 1)
	expect(t, "a term that has just begun", one.leads(6), false)
	one.pass(1)
	expect(t, "a term that is open", one.leads(6), true)
	one.hear(1, 6)
	expect(t, "a term that is heard of again", one.leads(6), true)
	one.hear(1, 8)
	expect(t, "a term that is over", one.leads(6), false)
	expect(t, "the next term", one.leads(8), false)
}

func TestTheFormerLeaderIsThatOfTheTermBefore(t *testing.T) {
	one := newWatched(1)
	for _, step := range []struct {
		leader, term, former uint64
		isNew                bool
	}{{2, 5, 0, true}, {1, 6, 2, true}, {1, 6, 0, false}, {3, 7, 1, true}, {1, 9, 0, true}, {2, 8, 0, false}} {
		former, isNew := one.hear(step.leader, step.term)
		if former != step.former || isNew != step.isNew {
			t.Fatalf("%v: former %d, new %v", step, former, isNew)
		}
	}
}

func TestALeaseEndsBySomeTimeAfterTheBeginningOfItsRound(t *testing.T) {
	one := newWatched(1)
	one.lead(5)
	expect(t, "without a round", one.isHeld(), false)
	begun := one.now
	one.pass(leaseTime / 4)
	one.extend(5, begun)
	expect(t, "after a round", one.isHeld(), true)
	if _, isOld := one.holds(); isOld {
		t.Fatal("it is old at once")
	}
	one.extend(5, begun-leaseTime/2)
	one.now = begun + leaseTime - 1
	held, isOld := one.holds()
	expect(t, "at its end", held && isOld, true)
	one.pass(1)
	expect(t, "after its end", one.isHeld(), false)
	one.extend(5, one.now-leaseTime)
	expect(t, "by a round that took too long", one.isHeld(), false)
	one.extend(4, one.now)
	expect(t, "by a round of another term", one.isHeld(), false)
}

// Until others have heard of a term they may show what its leader has not applied.
func TestTheFirstLeaseOfATermIsNotBegunAtOnce(t *testing.T) {
	one := newWatched(1)
	one.hear(1, 5)
	one.clear(5)
	expect(t, "a clear term", one.leads(5), true)
	one.pass(openTime - 1)
	one.extend(5, one.now)
	expect(t, "an early lease", one.isHeld(), false)
	one.pass(1)
	one.extend(5, one.now)
	expect(t, "a later one", one.isHeld(), true)
	one.hear(1, 6)
	one.clear(5)
	expect(t, "what another term has cleared", one.leads(6), false)
}

func TestATermIsOpenAtOnceAfterALeaderWithoutLeases(t *testing.T) {
	one := newWatched(1)
	one.hear(1, 1)
	expect(t, "the first term", one.leads(1), false)
	one.hear(2, 2)
	one.hearLeaseless(2)
	one.hear(1, 3)
	expect(t, "the next term", one.leads(3), true)
	one.extend(3, one.now)
	expect(t, "a lease in it", one.isHeld(), false)
	one.hear(2, 4)
	one.hearLeaseless(4)
	one.hear(1, 6)
	expect(t, "a term after one that nobody has heard of", one.leads(6), false)
}

func TestALeaderThatYieldsAnswersNothingAnyMore(t *testing.T) {
	one := newWatched(1)
	expect(t, "a replica that has led nothing clears a term", one.yield(3), false)
	one.lead(5)
	one.extend(5, one.now)
	expect(t, "a term ends for one that comes after it", one.yield(7), false)
	expect(t, "its lease", one.isHeld(), false)
	expect(t, "its lead", one.leads(5), false)
	one.lead(7)
	one.extend(7, one.now)
	expect(t, "the lease of a later term", one.isHeld(), true)
	expect(t, "the next term is clear", one.yield(8), true)
	expect(t, "that lease", one.isHeld(), false)
	one.hear(1, 10)
	expect(t, "a term that is not open clears the next one", one.yield(11), false)
}

// Two leaders, one after the other, whose clocks differ by as much as they may.
func TestNoLeaseGoesOnWhenTheNextTermIsOpen(t *testing.T) {
	former, next := newWatched(1), newWatched(2)
	former.lead(5)
	next.hear(1, 5)
	former.extend(5, former.now)
	next.hear(2, 6)
	for step := range 200 {
		if former.isHeld() && next.leads(6) {
			t.Fatalf("both answer after %d steps", step)
		}
		former.pass(time.Millisecond)
		next.pass(time.Millisecond * 5 / 4)
	}
	expect(t, "the next one answers", next.leads(6), true)
}
