package main

import (
	"testing"
	"time"
)

func TestAGateKeepsEntriesBackUntilTheLeadHasChanged(t *testing.T) {
	var one gate
	one.enter()
	one.enter()
	changed := make(chan struct{})
	idle := one.hold(changed, time.Hour, 1)
	entered := make(chan struct{})
	go func() {
		one.enter()
		close(entered)
	}()
	one.leave()
	if isClosed(idle) {
		t.Fatal("an entry is under way")
	}
	if again := one.hold(changed, time.Hour, 1); again != idle {
		t.Fatal("those who hold a gate wait for the same entries")
	}
	one.leave()
	<-idle
	if isClosed(entered) {
		t.Fatal("an entry has gone through a gate that is held")
	}
	close(changed)
	<-entered
	one.leave()
	if !isClosed(one.hold(changed, time.Hour, 2)) {
		t.Fatal("no entry is under way")
	}
}

func TestAGateOpensByItself(t *testing.T) {
	var one gate
	<-one.hold(make(chan struct{}), time.Millisecond, 1)
	one.enter()
}

// Two may hand over the same lead at a time: what the first one waits for says nothing about the second one.
func TestAGateIsHeldByTheLastOneWhoHoldsIt(t *testing.T) {
	var one gate
	first, second := make(chan struct{}), make(chan struct{})
	one.hold(first, time.Hour, 1)
	one.hold(second, time.Millisecond, 2)
	held := one.held
	close(first)
	one.release(1)
	time.Sleep(20 * time.Millisecond)
	if isClosed(held) {
		t.Fatal("a gate opens for one who held it before")
	}
	one.release(2)
	if !isClosed(held) {
		t.Fatal("a gate stays closed after the last one has opened it")
	}
	one.enter()
	one.leave()
	one.hold(second, time.Hour, 3)
	close(second)
	one.enter()
}
