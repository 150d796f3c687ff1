package main

import (
	"testing"
	"time"
)

func isClosed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}

func TestAGateKeepsEntriesBackUntilTheLeadHasChanged(t *testing.T) {
	var one gate
	one.enter()
	one.enter()
	changed := make(chan struct{})
	idle := one.hold(changed, time.Hour)
	entered := make(chan struct{})
	go func() {
		one.enter()
		close(entered)
	}()
	one.leave()
	if isClosed(idle) {
		t.Fatal("an entry is under way")
	}
	if again := one.hold(make(chan struct{}), time.Hour); again != idle {
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
	if !isClosed(one.hold(changed, time.Hour)) {
		t.Fatal("no entry is under way")
	}
}

func TestAGateOpensByItself(t *testing.T) {
	var one gate
	<-one.hold(make(chan struct{}), time.Millisecond)
	one.enter()
}
