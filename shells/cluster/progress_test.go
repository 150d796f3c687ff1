package main

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	sm "github.com/lni/dragonboat/v4/statemachine"
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

// A replica that got entries as a stream said that it had not applied them, until the next one: who had sent one of them
// waited for that.
func TestEntriesOfAStreamAreApplied(t *testing.T) {
	opened, err := openDatabase(filepath.Join(t.TempDir(), "node.holm"), options{})
	if err != nil {
		t.Fatal(err)
	}
	all := &machines{database: opened, groups: map[uint64]*group{}}
	defer all.close()
	sends, receives := &machine{number: 1, database: opened, machines: all}, &machine{number: 2, database: opened, machines: all}
	for _, one := range []*machine{sends, receives} {
		if _, err := one.Open(nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sends.Update([]sm.Entry{{Index: 7}}); err != nil {
		t.Fatal(err)
	}
	prepared, err := sends.PrepareSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	var stream bytes.Buffer
	if err := sends.SaveSnapshot(prepared, &stream, nil); err != nil {
		t.Fatal(err)
	}
	if err := receives.RecoverFromSnapshot(&stream, nil); err != nil {
		t.Fatal(err)
	}
	if !receives.group.progress.wait(7, 0) {
		t.Fatal("entry 7 came with the stream, and is not applied")
	}
}
