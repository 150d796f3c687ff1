// Dependencies between transactions over lists, in the manner of Elle (Kingsbury and Alvaro, VLDB 2020). A transaction
// appends elements, each of them once in a history, and reads whole lists. So a list that was read shows all versions
// before it, and the longest one of a key orders them all. From that follow the dependencies: which transaction
// appended behind another (ww), read from another (wr), or appended what another had not read (rw). A transaction that
// ended before another began precedes it (rt).
//
// What a single read, or the lists of one key, show to be wrong is found here; cycles are found in `cycle.go`. Linear
// in the size of the history.

package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
)

// outcome is how a transaction ended.
type outcome int

const (
	committed outcome = iota
	// It has had no effect for certain.
	failed
	// It had all of its effect, or none, at any time since it began.
	unknown
)

// step is one command of a transaction: an append of an element, or a read of a list.
type step struct {
	key     string
	isRead  bool
	element int
	list    []int
}

// transaction is what a client has asked in one EXEC, and what it was answered.
type transaction struct {
	client       int
	began, ended int64
	outcome      outcome
	// It began once all others had ended and the cluster was whole: it has to see all that was acknowledged.
	isFinal bool
	steps   []step
}

// dependency is why one transaction precedes another; several are a set.
type dependency int

const (
	ww dependency = 1 << iota
	wr
	rw
	rt
)

// edge is a dependency of the transaction `to` on the transaction `from`.
type edge struct {
	from, to int
	why      dependency
	key      string
	// Of ww the later element, of wr the one that was read, of rw the one that was not.
	element int
}

// anomaly is something that no order of the transactions explains.
type anomaly struct{ name, text string }

// place is a list as one transaction knows it.
type place struct {
	transaction int
	key         string
}

// external is what a transaction has read of a key, without its own appends.
type external struct {
	place
	list []int
}

// version is the longest list of a key, and the elements behind it that no read has.
type version struct {
	longest external
	unread  []int
	// Reads that are no beginning of the longest list.
	others []external
}

// dependencies are those of a history.
type dependencies struct {
	history []transaction
	writers map[int]place
	// How many elements the writer of each had appended to the key before, and the last one.
	ranks    map[int]int
	last     map[place]int
	reads    []external
	versions map[string]*version
	// The keys in order, so that the same history gives the same text.
	keys []string
	// By the transaction that precedes.
	edges [][]edge
	wrong []anomaly
}

// dependenciesOf returns the dependencies of a history.
func dependenciesOf(history []transaction) *dependencies {
	d := &dependencies{history: history, writers: map[int]place{}, ranks: map[int]int{},
		last: map[place]int{}, versions: map[string]*version{}, edges: make([][]edge, len(history))}
	d.enterAppends()
	for reader := range history {
		d.enterReads(reader)
	}
	for _, one := range d.reads {
		d.enterVersion(one)
	}
	for key := range d.versions {
		d.keys = append(d.keys, key)
	}
	slices.Sort(d.keys)
	seen := map[int]bool{}
	for _, key := range d.keys {
		d.checkVersions(key, seen)
	}
	d.enterUnread(seen)
	for _, key := range d.keys {
		d.orderAppends(key)
	}
	for _, one := range d.reads {
		d.orderRead(one)
	}
	d.orderByTime()
	return d
}

// shown says a list, and of a long one the end.
func shown(list []int) string {
	const most = 6
	if len(list) <= most {
		return fmt.Sprint(list)
	}
	return fmt.Sprintf("[%d and then %s", len(list)-most, fmt.Sprint(list[len(list)-most:])[1:])
}

func (d *dependencies) report(name, text string, values ...any) {
	d.wrong = append(d.wrong, anomaly{name, fmt.Sprintf(text, values...)})
}

func (d *dependencies) order(one edge) {
	if one.from != one.to {
		d.edges[one.from] = append(d.edges[one.from], one)
	}
}

func (d *dependencies) enterAppends() {
	for number, one := range d.history {
		count := map[string]int{}
		for _, step := range one.steps {
			if step.isRead {
				continue
			}
			d.ranks[step.element] = count[step.key]
			count[step.key]++
			if other, isKnown := d.writers[step.element]; isKnown {
				d.report("malformed", "T%d and T%d append %d", other.transaction, number, step.element)
			}
			at := place{number, step.key}
			d.writers[step.element], d.last[at] = at, step.element
			d.version(step.key)
		}
	}
}

func (d *dependencies) version(key string) *version {
	if d.versions[key] == nil {
		d.versions[key] = &version{longest: external{place{-1, key}, nil}}
	}
	return d.versions[key]
}

// enterReads collects what a committed transaction has read, without its own appends, which must be at the end.
func (d *dependencies) enterReads(reader int) {
	if d.history[reader].outcome != committed {
		return
	}
	own := map[string][]int{}
	for _, step := range d.history[reader].steps {
		if !step.isRead {
			own[step.key] = append(own[step.key], step.element)
			continue
		}
		mine := own[step.key]
		rest := len(step.list) - len(mine)
		if rest < 0 || !slices.Equal(step.list[rest:], mine) {
			d.report("internal", "T%d has appended %v to %s and then reads %s", reader, mine, step.key, shown(step.list))
			continue
		}
		if rest > 0 && d.writers[step.list[rest-1]] == (place{reader, step.key}) {
			d.report("internal", "T%d reads %d of %s before it appends that", reader, step.list[rest-1], step.key)
			continue
		}
		d.reads = append(d.reads, external{place{reader, step.key}, step.list[:rest]})
	}
}

func startsWith(list, start []int) bool {
	return len(start) <= len(list) && slices.Equal(list[:len(start)], start)
}

func (d *dependencies) enterVersion(one external) {
	known := d.version(one.key)
	if len(one.list) > len(known.longest.list) {
		one, known.longest = known.longest, one
	}
	if !startsWith(known.longest.list, one.list) {
		known.others = append(known.others, one)
	}
}

// checkVersions looks at each list that shows an element which no other list shows.
func (d *dependencies) checkVersions(key string, seen map[int]bool) {
	known := d.versions[key]
	for _, one := range known.others {
		at := 0
		for one.list[at] == known.longest.list[at] {
			// It ends: a list that is no beginning of the longest one differs from it somewhere.
			at++
		}
		d.report("incompatible order", "T%d reads %d behind %s of %s, and T%d reads %d there", one.transaction,
			one.list[at], shown(one.list[:at]), key, known.longest.transaction, known.longest.list[at])
	}
	isReported := map[int]bool{}
	for _, shown := range append([]external{known.longest}, known.others...) {
		count, next := map[int]int{}, map[int]int{}
		for _, element := range shown.list {
			seen[element] = true
			count[element]++
			writer, isKnown := d.writers[element]
			switch {
			case count[element] == 2:
				d.report("duplicate", "T%d reads %d of %s more than once", shown.transaction, element, key)
			case count[element] > 2 || isReported[element]:
			case !isKnown || writer.key != key:
				isReported[element] = true
				d.report("garbage", "T%d reads %d of %s, which nobody has appended there", shown.transaction, element, key)
			case d.history[writer.transaction].outcome == failed:
				isReported[element] = true
				d.report("G1a", "T%d reads %d of %s, and T%d, which appended it, has failed for certain",
					shown.transaction, element, key, writer.transaction)
			case d.ranks[element] != next[writer.transaction]:
				d.report("incompatible order", "T%d reads %d of %s, and not what T%d appended before it there",
					shown.transaction, element, key, writer.transaction)
				fallthrough
			default:
				next[writer.transaction] = d.ranks[element] + 1
			}
		}
	}
}

// enterUnread finds what was appended and is in no list that was read. A transaction with an unknown outcome has had
// all of its effect if any of it was seen.
func (d *dependencies) enterUnread(seen map[int]bool) {
	isSeen := make([]bool, len(d.history))
	for element := range seen {
		if writer, isKnown := d.writers[element]; isKnown {
			isSeen[writer.transaction] = true
		}
	}
	hasEffect := func(number int) bool {
		result := d.history[number].outcome
		return result == committed || result == unknown && isSeen[number]
	}
	appended := map[string][]int{}
	for number, one := range d.history {
		for _, step := range one.steps {
			if step.isRead || !hasEffect(number) {
				continue
			}
			appended[step.key] = append(appended[step.key], step.element)
			if !seen[step.element] {
				known := d.versions[step.key]
				known.unread = append(known.unread, step.element)
			}
		}
	}
	d.findLost(appended)
}

// findLost compares final reads with what was appended.
func (d *dependencies) findLost(appended map[string][]int) {
	isReported := map[int]bool{}
	for _, read := range d.reads {
		if !d.history[read.transaction].isFinal {
			continue
		}
		has := map[int]bool{}
		for _, element := range read.list {
			has[element] = true
		}
		for _, element := range appended[read.key] {
			if !has[element] && !isReported[element] {
				isReported[element] = true
				d.report("lost append", "T%d appended %d to %s, and T%d, a final read, has %s",
					d.writers[element].transaction, element, read.key, read.transaction, shown(read.list))
			}
		}
	}
}

// orderAppends orders the transactions that appended to a key. What no read has comes behind the longest list.
func (d *dependencies) orderAppends(key string) {
	known, before := d.versions[key], -1
	for _, element := range known.longest.list {
		writer, isKnown := d.writers[element]
		if !isKnown || writer.key != key {
			continue
		}
		if before >= 0 {
			d.order(edge{before, writer.transaction, ww, key, element})
		}
		before = writer.transaction
	}
	for _, element := range known.unread {
		if before >= 0 {
			d.order(edge{before, d.writers[element].transaction, ww, key, element})
		}
	}
}

// orderRead orders a read behind the last append that it has, and before the next one.
func (d *dependencies) orderRead(one external) {
	known := d.versions[one.key]
	if !startsWith(known.longest.list, one.list) {
		return
	}
	if length := len(one.list); length > 0 {
		element := one.list[length-1]
		if writer, isKnown := d.writers[element]; isKnown && writer.key == one.key {
			if last := d.last[writer]; last != element {
				d.report("G1b", "T%d reads %s up to %d, and T%d, which appended it, has appended %d behind it",
					one.transaction, one.key, element, writer.transaction, last)
			}
			d.order(edge{writer.transaction, one.transaction, wr, one.key, element})
		}
	}
	next := known.unread
	if len(one.list) < len(known.longest.list) {
		next = known.longest.list[len(one.list) : len(one.list)+1]
	}
	for _, element := range next {
		if writer, isKnown := d.writers[element]; isKnown && writer.key == one.key {
			d.order(edge{one.transaction, writer.transaction, rw, one.key, element})
		}
	}
}

// orderByTime orders each committed transaction before those that begin after its end. Of these it takes the ones that
// begin before another one of them ends: they precede all others. There are about as many as clients.
func (d *dependencies) orderByTime() {
	var byBegin []int
	for number, one := range d.history {
		if one.outcome != failed {
			byBegin = append(byBegin, number)
		}
	}
	slices.SortStableFunc(byBegin, func(one, other int) int {
		return cmp.Compare(d.history[one].began, d.history[other].began)
	})
	for from, one := range d.history {
		if one.outcome != committed {
			continue
		}
		first := sort.Search(len(byBegin), func(at int) bool { return d.history[byBegin[at]].began > one.ended })
		end := int64(math.MaxInt64)
		for _, to := range byBegin[first:] {
			next := &d.history[to]
			if next.began > end {
				break
			}
			if next.outcome == committed {
				end = min(end, next.ended)
			}
			d.order(edge{from: from, to: to, why: rt})
		}
	}
}
