package main

import (
	"testing"
	"time"
)

func TestANodeWhoseLoopHangsDoesNotLive(t *testing.T) {
	var one host
	one.beat()
	if err := one.live(); err != nil {
		t.Fatal(err)
	}
	one.lastBeat.Store(time.Now().Add(-mostBeat - time.Second).UnixNano())
	if one.live() == nil {
		t.Fatal("a node without a round lives")
	}
}
