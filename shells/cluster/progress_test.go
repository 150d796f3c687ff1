package main

import (
	"testing"
	"time"
)

func TestProgressIsWaitedForUntilAnEntryIsApplied(t *testing.T) {
	var one progress
	one.reach(3)
	if !one.wait(3, time.Hour) {
		t.Fatal("an entry that is applied is not")
	}
	if one.wait(4, time.Millisecond) {
		t.Fatal("an entry is applied that is not")
	}
	found := make(chan bool)
	go func() { found <- one.wait(7, time.Hour) }()
	one.reach(6)
	select {
	case <-found:
		t.Fatal("an entry is applied before it comes")
	case <-time.After(5 * time.Millisecond):
	}
	one.reach(8)
	if !<-found {
		t.Fatal("an entry is not applied that is")
	}
}
