package main

import (
	"errors"
	"testing"
)

func TestTheLevelIsTheLowestThatNodesKnowAndNeverFalls(t *testing.T) {
	made := newModel(3, 4).placement
	expect := func(isRaised bool, level uint8) {
		t.Helper()
		if found := made.raise(); found != isRaised || made.current() != level {
			t.Fatalf("raised: %v, level %d", found, made.current())
		}
	}
	expect(false, 1)
	made.Nodes[0].Level, made.Nodes[1].Level = 3, 2
	expect(false, 1)
	made.Nodes[2].State = nodeGone
	expect(true, 2)
	expect(false, 2)
	made.Nodes[2].State, made.Nodes[2].Level = nodeDraining, 2
	made.Nodes[1].Level = 4
	expect(false, 2)
	made.Nodes[2].Level = 5
	expect(true, 3)
	made.Nodes[0].Level = 0
	expect(false, 3)
	if err := made.checkLevel(2); !errors.Is(err, errLevel) {
		t.Fatal("a version that is too old is let in:", err)
	}
	if err := made.checkLevel(3); err != nil {
		t.Fatal(err)
	}
}
