package main

import (
	"testing"
	"time"
)

// A write of a few bytes that makes a string of 63 MiB was given up after 3 s, on a machine that took longer to apply it.
func TestAnEntryIsAwaitedAsLongAsEntriesAreApplied(t *testing.T) {
	results, change := make(chan int, 1), make(chan struct{})
	looks := 0
	answered := func() bool {
		if looks++; looks == 3 {
			results <- 7
		}
		return true
	}
	if found, isKnown := await(results, change, whileApplying(time.Millisecond, time.Hour, answered)); !isKnown || found != 7 {
		t.Fatalf("an entry that is applied late is given up after %d looks", looks)
	}
	looks = 0
	idle := func() bool { looks++; return looks < 3 }
	if _, isKnown := await(results, change, whileApplying(time.Millisecond, time.Hour, idle)); isKnown || looks != 3 {
		t.Fatalf("known: %v after %d looks, though nothing is applied", isKnown, looks)
	}
	always := func() bool { return true }
	if _, isKnown := await(results, change, whileApplying(time.Millisecond, 5*time.Millisecond, always)); isKnown {
		t.Fatal("an entry without an answer is known")
	}
	// The leader has changed: what is applied may be another one's.
	close(change)
	if _, isKnown := await(results, change, whileApplying(time.Hour, time.Hour, always)); isKnown {
		t.Fatal("an entry without an answer is known")
	}
}

func TestAReplicaSaysWhetherItAppliesEntries(t *testing.T) {
	var replica progress
	replica.reach(3)
	isGoingOn := replica.isGoingOn()
	expect := func(expected bool, when string) {
		t.Helper()
		if isGoingOn() != expected {
			t.Errorf("%s: expected %v", when, expected)
		}
	}
	expect(false, "nothing has come")
	replica.begin()
	expect(true, "while an entry is applied")
	expect(true, "while it still is")
	replica.reach(4)
	expect(true, "an entry was applied since")
	expect(false, "nothing was applied since")
}
