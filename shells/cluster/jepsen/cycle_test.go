// Histories made by hand: good ones are accepted, and each anomaly is found and named.

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func push(key string, element int) step { return step{key: key, element: element} }

func read(key string, list ...int) step { return step{key: key, isRead: true, list: list} }

// during is a transaction that has committed.
func during(began, ended int64, steps ...step) transaction {
	return transaction{began: began, ended: ended, steps: steps}
}

// ending is a transaction that ended otherwise.
func ending(result outcome, began, ended int64, steps ...step) transaction {
	return transaction{outcome: result, began: began, ended: ended, steps: steps}
}

// last is a final read.
func last(began int64, steps ...step) transaction {
	return transaction{began: began, ended: began + 1, isFinal: true, steps: steps}
}

func namesOf(found []anomaly) string {
	var names []string
	for _, one := range found {
		names = append(names, one.name)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

type made struct {
	what    string
	names   string
	history []transaction
}

func (m *made) check(t *testing.T) {
	t.Helper()
	found := anomalies(m.history)
	if names := namesOf(found); names != m.names {
		t.Errorf("%s: found %q and not %q: %v", m.what, names, m.names, found)
	}
}

func TestGoodHistoriesAreAccepted(t *testing.T) {
	for _, one := range []made{
		{"nothing", "", nil},
		{"one after the other", "", []transaction{
			during(0, 1, push("x", 1), push("y", 2)),
			during(2, 3, read("x", 1), push("x", 3), read("x", 1, 3), push("x", 4), read("x", 1, 3, 4)),
			during(4, 5, read("x", 1, 3, 4), read("y", 2)),
			last(6, read("x", 1, 3, 4), read("y", 2)),
		}},
		{"overlapping ones in the order against their numbers", "", []transaction{
			during(0, 10, push("x", 1), read("y", 2)),
			during(0, 10, push("x", 3), push("y", 2)),
			during(5, 8, read("x", 3), read("y", 2)),
			during(11, 12, read("x", 3, 1)),
		}},
		{"an end and a beginning at the same instant have no order", "", []transaction{
			during(0, 5, push("x", 1)),
			during(5, 6, read("x")),
		}},
		{"unknown outcomes that had their effect, late or never", "", []transaction{
			ending(unknown, 0, 1, push("x", 1), push("y", 2)),
			ending(unknown, 0, 1, push("x", 3), push("y", 4)),
			during(2, 3, read("x"), read("y")),
			during(4, 5, read("x", 1), read("y", 2), push("x", 5)),
			last(9, read("x", 1, 5), read("y", 2)),
		}},
		{"failed ones without an effect", "", []transaction{
			ending(failed, 0, 1, push("x", 1)),
			during(2, 3, read("x"), push("x", 2)),
			last(9, read("x", 2)),
		}},
		{"appends that no read has", "", []transaction{
			during(0, 1, push("x", 1)),
			during(0, 9, push("x", 2)),
			during(2, 3, read("x", 1)),
			during(10, 11, push("x", 3)),
		}},
	} {
		one.check(t)
	}
}

func TestCyclesAreFoundAndNamed(t *testing.T) {
	for _, one := range []made{
		{"writes of two in turns", "G0", []transaction{
			during(0, 9, push("x", 1), push("y", 2)),
			during(0, 9, push("x", 3), push("y", 4)),
			during(0, 9, read("x", 1, 3)),
			during(0, 9, read("y", 4, 2)),
		}},
		{"each reads from the other", "G1c", []transaction{
			during(0, 9, push("x", 1), read("y", 2)),
			during(0, 9, push("y", 2), read("x", 1)),
		}},
		{"read skew", "G-single", []transaction{
			during(0, 9, push("x", 1), push("y", 2)),
			during(0, 9, read("x", 1), read("y")),
			during(0, 9, read("y", 2)),
		}},
		{"a lost update", "G-single", []transaction{
			during(0, 9, read("x"), push("x", 1)),
			during(0, 9, read("x"), push("x", 2)),
			during(0, 9, read("x", 1, 2)),
		}},
		{"a read that changes within a transaction", "G-single", []transaction{
			during(0, 9, push("x", 1)),
			during(0, 9, read("x"), read("x", 1)),
		}},
		{"a part of an unknown outcome", "G-single, lost append", []transaction{
			ending(unknown, 0, 1, push("x", 1), push("y", 2)),
			last(5, read("x", 1), read("y")),
		}},
		{"write skew", "G2", []transaction{
			during(0, 9, read("x"), push("y", 1)),
			during(0, 9, read("y"), push("x", 2)),
			during(0, 9, read("x", 2), read("y", 1)),
		}},
		{"write skew of what no read has", "G2", []transaction{
			during(0, 9, read("x"), push("y", 1)),
			during(0, 9, read("y"), push("x", 2)),
		}},
		{"a stale read", "G-single-realtime", []transaction{
			during(0, 1, push("x", 1)),
			during(2, 3, read("x")),
			during(4, 5, read("x", 1)),
		}},
		{"a read of the future", "G1c-realtime", []transaction{
			during(0, 1, read("x", 1)),
			during(2, 3, push("x", 1)),
		}},
		{"appends against their time", "G0-realtime", []transaction{
			during(0, 1, push("x", 1)),
			during(2, 3, push("x", 2)),
			during(0, 9, read("x", 2, 1)),
		}},
		{"an append that no read has against its time", "G0-realtime", []transaction{
			during(0, 1, push("x", 1)),
			during(2, 3, push("x", 2)),
			during(0, 9, read("x", 2)),
		}},
		{"stale reads of two", "G2-realtime", []transaction{
			during(0, 1, push("x", 1)),
			during(0, 20, read("x"), push("y", 2)),
			during(5, 6, read("y")),
			during(21, 22, read("x", 1), read("y", 2)),
		}},
	} {
		one.check(t)
	}
}

func TestWrongReadsAreFoundAndNamed(t *testing.T) {
	for _, one := range []made{
		{"a read of what has failed", "G1a", []transaction{
			ending(failed, 0, 1, push("x", 1)),
			during(2, 3, read("x", 1)),
		}},
		{"what has failed under a later append", "G1a", []transaction{
			ending(failed, 0, 1, push("x", 1)),
			during(2, 3, push("x", 2)),
			during(4, 5, read("x", 1, 2)),
		}},
		{"a read amid a transaction", "G-single, G1b", []transaction{
			during(0, 9, push("x", 1), push("x", 2)),
			during(0, 9, read("x", 1)),
			during(0, 9, read("x", 1, 2)),
		}},
		{"what nobody appended", "garbage", []transaction{during(0, 1, read("x", 7))}},
		{"what was appended to another key", "garbage", []transaction{
			during(0, 1, push("y", 1)),
			during(2, 3, read("x", 1), read("y", 1)),
		}},
		{"an element twice", "duplicate", []transaction{
			during(0, 1, push("x", 1)),
			during(2, 3, read("x", 1, 1)),
		}},
		{"two orders", "incompatible order", []transaction{
			during(0, 9, push("x", 1)),
			during(0, 9, push("x", 2)),
			during(0, 9, read("x", 1, 2)),
			during(0, 9, read("x", 2)),
		}},
		{"appends of one that change places", "incompatible order", []transaction{
			during(0, 9, push("x", 1), push("x", 2)),
			during(0, 9, push("x", 3)),
			during(0, 9, read("x", 2, 1, 3)),
		}},
		{"the first append of one that is not there", "G-single, incompatible order", []transaction{
			during(0, 9, push("x", 1), push("x", 2)),
			during(0, 9, read("x", 2)),
		}},
		{"own appends that are not there", "internal", []transaction{during(0, 1, push("x", 1), read("x"))}},
		{"another append in place of the own one", "internal", []transaction{
			during(0, 9, push("x", 1), read("x", 2)),
			during(0, 9, push("x", 2)),
		}},
		{"an append before it was asked for", "internal", []transaction{during(0, 1, read("x", 1), push("x", 1))}},
		{"an element that two append", "malformed", []transaction{
			during(0, 1, push("x", 1)),
			during(0, 1, push("y", 1)),
		}},
		{"an acknowledged append that is gone", "G-single-realtime, lost append", []transaction{
			during(0, 1, push("x", 1)),
			last(5, read("x")),
		}},
		{"one that was read and is gone", "G-single-realtime, lost append", []transaction{
			ending(unknown, 0, 1, push("x", 1)),
			during(2, 3, read("x", 1)),
			last(5, read("x")),
		}},
	} {
		one.check(t)
	}
}

// A cycle through many is there too; edges of time in a row count as one.
func TestTheShortestCycleIsSaidInWords(t *testing.T) {
	var history []transaction
	for at := range int64(20) {
		history = append(history, during(10*at, 10*at+1, push("x", int(at)+1)))
	}
	history = append(history, during(500, 501, read("x", 1, 2, 3)), during(502, 503, read("x", 1, 2, 3, 4, 5)))
	found := anomalies(history)
	if len(found) != 1 {
		t.Fatalf("%d anomalies: %v", len(found), found)
	}
	first, _, _ := strings.Cut(found[0].text, "\n")
	for _, want := range []string{
		"T20 precedes T3: T20 read x without 4, which T3 appended (rw)",
		"T3 precedes T20: T3 ended before T20 began (rt)",
	} {
		if !strings.Contains(first, want) {
			t.Errorf("no %q in %q", want, first)
		}
	}
	if count := strings.Count(first, "precedes"); count != 2 {
		t.Errorf("%d edges: %s", count, first)
	}
}

func TestAShorterCycleBehindALongerOneIsFound(t *testing.T) {
	found := anomalies([]transaction{
		during(0, 9, push("x", 1), push("z", 6)),
		during(0, 9, push("x", 2), push("y", 3), push("w", 8)),
		during(0, 9, push("y", 4), push("z", 5), push("w", 7)),
		last(10, read("x", 1, 2), read("y", 3, 4), read("z", 5, 6), read("w", 7, 8)),
	})
	if len(found) != 1 || found[0].name != "G0" || strings.Count(found[0].text, "precedes") != 2 {
		t.Errorf("found %v", found)
	}
}

// simulated is a history of clients that overlap, each of whose transactions takes effect where it begins.
func simulated(count int) []transaction {
	lists := map[string][]int{}
	var history []transaction
	for at := range count {
		key, other := fmt.Sprint("x", at/200), fmt.Sprint("y", at/200)
		began := int64(at) * 10
		one := during(began, began+75, read(key, slices.Clone(lists[key])...), push(key, at+1))
		lists[key] = append(lists[key], at+1)
		if at%3 == 0 {
			one.steps = append(one.steps, read(other, slices.Clone(lists[other])...), push(other, -at-1))
			lists[other] = append(lists[other], -at-1)
		}
		history = append(history, one)
	}
	return history
}

// Among many transactions that overlap, one read that is a little too old is found.
func TestOneStaleReadAmongManyIsFound(t *testing.T) {
	history := simulated(20_000)
	if found := anomalies(history); len(found) > 0 {
		t.Fatal(found[0])
	}
	stale := &history[15_190].steps[0]
	if len(stale.list) < 20 {
		t.Fatalf("a list of %d elements", len(stale.list))
	}
	// It appends no more: else that would be a lost update, without any times.
	history[15_190].steps = []step{read(stale.key, stale.list[:len(stale.list)-12]...)}
	for at := range history {
		for number, one := range history[at].steps {
			isGone := func(element int) bool { return element == 15_191 }
			history[at].steps[number].list = slices.DeleteFunc(one.list, isGone)
		}
	}
	if names := namesOf(anomalies(history)); names != "G-single-realtime" {
		t.Errorf("found %q", names)
	}
}
