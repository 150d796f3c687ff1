// Cycles of dependencies between transactions: with one, no order of the transactions explains what clients have seen.
// A cycle has the name of its weakest kind, as in Adya's thesis (2000) and in Elle.

package main

import (
	"fmt"
	"slices"
	"strings"
)

// cycleKind is a kind of cycle: one edge of `first`, and otherwise edges of `rest`.
type cycleKind struct {
	name        string
	first, rest dependency
}

// The kinds from the weakest on. Each stands behind those that it has in it. A cycle of edges of time alone cannot be.
var cycleKinds = []cycleKind{
	{"G0", ww, ww},
	{"G1c", wr, ww | wr},
	{"G-single", rw, ww | wr},
	{"G2", rw, ww | wr | rw},
	{"G0-realtime", ww, ww | rt},
	{"G1c-realtime", wr, ww | wr | rt},
	{"G-single-realtime", rw, ww | wr | rt},
	{"G2-realtime", rw, ww | wr | rw | rt},
}

// anomalies returns all that is wrong with a history: single reads, lists of a key, and for each strongly connected
// component of the dependencies one of the shortest cycles of its weakest kind.
func anomalies(history []transaction) []anomaly {
	d := dependenciesOf(history)
	found := d.wrong
	all := make([]int, len(history))
	for number := range all {
		all[number] = number
	}
	for _, component := range d.components(all, ww|wr|rw|rt) {
		for _, kind := range cycleKinds {
			var cycle []edge
			for _, part := range d.components(component, kind.first|kind.rest) {
				cycle = shorter(cycle, d.cycle(part, kind))
			}
			if cycle != nil {
				found = append(found, anomaly{kind.name, d.words(cycle)})
				break
			}
		}
	}
	return found
}

// shorter returns the shorter one of two cycles; none has no edges.
func shorter(one, other []edge) []edge {
	if one == nil || other != nil && len(other) < len(one) {
		return other
	}
	return one
}

// among returns which transactions are in a set.
func among(set []int) map[int]bool {
	isIn := make(map[int]bool, len(set))
	for _, number := range set {
		isIn[number] = true
	}
	return isIn
}

// components returns the strongly connected components of several transactions within a set, over edges of some kinds:
// Tarjan's algorithm, linear in the set and its edges.
func (d *dependencies) components(set []int, kinds dependency) [][]int {
	isIn := among(set)
	// Numbers begin at 1; 0 is a transaction that was not met.
	met, low, isOpen := make(map[int]int, len(set)), make(map[int]int, len(set)), make(map[int]bool, len(set))
	var open []int
	var found [][]int
	count := 0
	var visit func(int)
	visit = func(number int) {
		count++
		met[number], low[number] = count, count
		open, isOpen[number] = append(open, number), true
		for _, one := range d.edges[number] {
			if one.why&kinds == 0 || !isIn[one.to] {
				continue
			}
			if met[one.to] == 0 {
				visit(one.to)
				low[number] = min(low[number], low[one.to])
			} else if isOpen[one.to] {
				low[number] = min(low[number], met[one.to])
			}
		}
		if low[number] != met[number] {
			return
		}
		start := len(open) - 1
		for open[start] != number {
			start--
		}
		component := slices.Clone(open[start:])
		open = open[:start]
		for _, closed := range component {
			isOpen[closed] = false
		}
		if len(component) > 1 {
			slices.Sort(component)
			found = append(found, component)
		}
	}
	for _, number := range set {
		if met[number] == 0 {
			visit(number)
		}
	}
	return found
}

// cycle returns one of the shortest cycles of a kind within a component.
func (d *dependencies) cycle(component []int, kind cycleKind) []edge {
	isIn := among(component)
	var best []edge
	for _, number := range component {
		for _, one := range d.edges[number] {
			if one.why&kind.first == 0 || !isIn[one.to] {
				continue
			}
			longest := len(component)
			if best != nil {
				longest = len(best) - 2
			}
			if way := d.way(one.to, number, kind.rest, isIn, longest); way != nil {
				best = append([]edge{one}, way...)
			}
		}
	}
	return best
}

// reached is a transaction on a way, and how it was reached.
type reached struct {
	number int
	by     edge
	before *reached
}

// way returns one of the shortest ways between two transactions, if it has no more edges than `longest`. Edges of time
// that follow each other count as one.
func (d *dependencies) way(from, to int, kinds dependency, isIn map[int]bool, longest int) []edge {
	type state struct {
		number int
		byTime bool
	}
	isSeen := map[state]bool{}
	level := []*reached{{number: from}}
	for length := 0; len(level) > 0 && length <= longest; length++ {
		var next []*reached
		for at := 0; at < len(level); at++ {
			one := level[at]
			byTime := one.by.why == rt
			if isSeen[state{one.number, byTime}] {
				continue
			}
			if isSeen[state{one.number, byTime}] = true; one.number == to {
				return one.edges()
			}
			for _, by := range d.edges[one.number] {
				switch then := (&reached{by.to, by, one}); {
				case by.why&kinds == 0 || !isIn[by.to]:
				case byTime && by.why == rt:
					level = append(level, then)
				default:
					next = append(next, then)
				}
			}
		}
		level = next
	}
	return nil
}

// edges returns the way to a transaction.
func (r *reached) edges() []edge {
	var way []edge
	for ; r.before != nil; r = r.before {
		if last := len(way) - 1; r.by.why == rt && last >= 0 && way[last].why == rt {
			way[last].from = r.by.from
			continue
		}
		way = append(way, r.by)
	}
	slices.Reverse(way)
	return way
}

// words says a cycle: why each of its transactions precedes the next one, and what they are.
func (d *dependencies) words(cycle []edge) string {
	var text strings.Builder
	for _, one := range cycle {
		fmt.Fprintf(&text, "T%d precedes T%d: ", one.from, one.to)
		switch one.why {
		case ww:
			fmt.Fprintf(&text, "T%d appended %d to %s behind what T%d appended (ww)", one.to, one.element, one.key, one.from)
		case wr:
			fmt.Fprintf(&text, "T%d read %d of %s, which T%d appended (wr)", one.to, one.element, one.key, one.from)
		case rw:
			fmt.Fprintf(&text, "T%d read %s without %d, which T%d appended (rw)", one.from, one.key, one.element, one.to)
		default:
			fmt.Fprintf(&text, "T%d ended before T%d began (rt)", one.from, one.to)
		}
		text.WriteString("; ")
	}
	text.WriteString("that is a cycle")
	for _, one := range cycle {
		fmt.Fprintf(&text, "\n  T%d: %s", one.from, d.history[one.from])
	}
	return text.String()
}

// String says what a transaction did, with times in milliseconds.
func (t transaction) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "client %d, from %.3f to ", t.client, float64(t.began)/1e6)
	switch t.outcome {
	case committed:
		fmt.Fprintf(&text, "%.3f ms:", float64(t.ended)/1e6)
	case failed:
		fmt.Fprintf(&text, "%.3f ms, failed:", float64(t.ended)/1e6)
	default:
		text.WriteString("an unknown end:")
	}
	for _, step := range t.steps {
		if step.isRead {
			fmt.Fprintf(&text, " LRANGE %s -> %s", step.key, shown(step.list))
		} else {
			fmt.Fprintf(&text, " RPUSH %s %d", step.key, step.element)
		}
	}
	return text.String()
}
