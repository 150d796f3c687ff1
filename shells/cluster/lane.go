// The lane of a group on a node: parts that wait are merged into entries of the log, and reads share a ReadIndex.

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lni/dragonboat/v4"
	"github.com/lni/dragonboat/v4/client"
)

const (
	// The most bytes of an entry that is made of several parts.
	mostEntryBytes = 128 << 10
	// Entries of a group that are under way, and rounds of reads.
	mostEntries = 4
	mostReads   = 8
	// How long a part waits for a leader before it is refused.
	patience = 5 * time.Second
	// How long a read waits at first until it is asked again, and then twice as long each time. What a leader is asked
	// may be lost without a word: by one that was just elected, or on behalf of a replica that has just begun.
	firstRead = 250 * time.Millisecond
	// How long a request of the consensus engine may take, and an entry while this replica applies some.
	requestTimeout = 3 * time.Second
	applyTimeout   = 30 * time.Second
	// After the leader has changed, how long an entry may still take that was handed to the former one.
	changeGrace = 300 * time.Millisecond
)

var (
	errUnknown  = errors.New("UNKNOWN the outcome of this write is not known: its leader is gone or does not answer")
	errDown     = errors.New("CLUSTERDOWN the group of this slot has no leader")
	errTryAgain = errors.New("TRYAGAIN the replica of this node is stopping")
	errFull     = errors.New("OOM command not allowed: the disk is nearly full")
)

// asker is a group as this node reaches it: by its own replica, or by another node.
type asker interface {
	// ask hands a part over. The answer comes once, in the channel.
	ask(part []byte, writes bool) <-chan answer
	// entry puts an entry without commands into the log, and returns what the group answers.
	entry(kind int, payload []byte) ([]byte, error)
}

// lane is a group of which this node has a replica.
type lane struct {
	number uint64
	// The replica of this node.
	replica uint64
	stop    context.CancelFunc
	// The group knows which slots it has.
	isAssigned atomic.Bool
	// The replica has what the others have. Until then clients are served by another node.
	isReady atomic.Bool
	gate    gate
	// Until then the lead is left where it is, in nanoseconds.
	leadFrom atomic.Int64
	counts   counts
	host     *dragonboat.NodeHost
	session  *client.Session
	writes   *queue
	reads    *queue
	looks    *queue
	tenure   *tenure
	// Whether this node takes leases as a leader.
	takesLeases func() bool
	isExtending atomic.Bool
	// A bug for tests that are to catch it: reads do not ask the leader.
	staleReads bool
	// Another one: what this replica has applied is shown although the leader may not have.
	unconfirmed bool
	// The most bytes of an entry that is sent to the node that leads.
	sentBytes int
	isFull    func() bool
	// The node that leads, if it is another one.
	elsewhere func() (member, bool)
	// The node that has a replica.
	holder func(uint64) (member, bool)
	relays *relays
	others *credentials
	// The group of this node.
	group func() *group
	// The level of entries.
	level func() uint8

	mutex   sync.Mutex
	leader  uint64
	changed chan struct{}
}

func newLane(number, replica uint64, host *dragonboat.NodeHost) *lane {
	return &lane{
		number:  number,
		replica: replica,
		host:    host,
		session: host.GetNoOPSession(number),
		writes:  newQueue(),
		reads:   newQueue(),
		looks:   newQueue(),
		tenure:  newTenure(replica),
		changed: make(chan struct{}),
	}
}

// leaderIs notes who leads a term; 0 is nobody.
func (l *lane) leaderIs(replica, term uint64) {
	if replica != 0 {
		if former, isNew := l.tenure.hear(replica, term); isNew && replica == l.replica {
			go l.succeed(former, term)
		} else if isNew {
			go l.inquire(replica, term)
		}
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if replica == 0 || replica == l.leader {
		return
	}
	isFirst := l.leader == 0
	l.leader = replica
	if isFirst {
		// Entries may have been handed to it before this was heard.
		return
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// change returns what is closed when another replica leads.
func (l *lane) change() <-chan struct{} {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.changed
}

// ask puts a part into the lane. The answer comes once, in the channel.
func (l *lane) ask(part []byte, writes bool) <-chan answer {
	waits := &waiting{part: part, since: time.Now(), done: make(chan answer, 1)}
	if writes && l.isFull() {
		waits.done <- answer{err: errFull}
	} else if writes {
		l.writes.push(waits)
	} else if found, isRead := l.readLeased(part); isRead {
		waits.done <- found
	} else {
		l.reads.push(waits)
	}
	return waits.done
}

// distribute gives each part its replies.
func distribute(parts []*waiting, packed []byte) {
	replies, err := divide(packed)
	if err != nil || len(replies) != len(parts) {
		refuse(parts, errors.New("ERR a bug: the parts and their replies differ in number"))
		return
	}
	for at, part := range parts {
		part.done <- answer{replies: replies[at]}
	}
}

// again puts parts back that were not carried out for certain, and refuses those that have waited for long.
func again(to *queue, parts []*waiting) {
	kept := parts[:0:0]
	for _, part := range parts {
		if time.Since(part.since) > patience {
			part.done <- answer{err: errDown}
		} else {
			part.tries++
			kept = append(kept, part)
		}
	}
	if len(kept) > 0 {
		time.Sleep(5 * time.Millisecond)
		to.pushFront(kept)
	}
}

func (l *lane) run(ctx context.Context) {
	go loop(ctx, l.writes, mostEntries, mostEntryBytes, l.propose)
	go loop(ctx, l.reads, mostReads, 1<<20, l.read)
	go loop(ctx, l.looks, mostReads, 1<<20, l.lookFor)
}

// propose puts parts into the log as one entry, and waits until it is applied here.
func (l *lane) propose(parts []*waiting) {
	size := 0
	for _, part := range parts {
		size += len(part.part)
	}
	entry := newEntry(l.level(), entryCommands, size)
	for _, part := range parts {
		entry = append(entry, part.part...)
	}
	l.counts.entries.Add(1)
	l.counts.writes.Add(int64(len(parts)))
	found, err := l.put(entry)
	switch {
	case err == nil:
		distribute(parts, found)
	case errors.Is(err, errNotPut):
		again(l.writes, parts)
	default:
		refuse(parts, err)
	}
}

// readHere answers a part from what this node has, perhaps an old state.
func (l *lane) readHere(part []byte) ([]byte, error) {
	if _, _, known, err := l.host.GetLeaderID(l.number); err != nil || !known {
		return nil, errDown
	}
	found, err := l.host.StaleRead(l.number, part)
	if err != nil {
		return nil, errors.New("ERR " + err.Error())
	}
	divided, err := divide(found.([]byte))
	if err != nil || len(divided) != 1 {
		return nil, errors.New("ERR a bug: a part has one answer")
	}
	return divided[0], nil
}

// nothing is a part that reads nothing.
func nothing() []byte {
	var never [8]byte
	return appendPart(nil, partDue, 2, nil, never[:])
}

// settle makes the lane ready once it has answered a linearizable read.
func (l *lane) settle(ctx context.Context) {
	for ctx.Err() == nil {
		if found := <-l.look(); found.err == nil {
			l.isReady.Store(true)
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// entry waits until the entry is applied here, but not for long after the leader has changed.
func (l *lane) entry(kind int, payload []byte) ([]byte, error) {
	if kind == entryLoad {
		if err := l.mayLoad(); err != nil {
			return nil, err
		}
	}
	made := entryOf(l.level(), kind, payload)
	if err := checkEntry(made, l.level()); err != nil {
		return nil, err
	}
	found, err := l.put(made)
	if errors.Is(err, errNotPut) {
		err = errDown
	}
	return found, err
}

// tend proposes the removal of what has expired, and comparisons of replicas, while this replica leads.
func (l *lane) tend(ctx context.Context, find func(uint64) *group) {
	compared := uint64(0)
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if leader, _, known, err := l.host.GetLeaderID(l.number); err != nil || !known || leader != l.replica {
			continue
		}
		if opened := find(l.number); opened != nil {
			if mark, payload, err := opened.mark(); err == nil && mark > compared {
				compared = mark
				_, _ = l.entry(entryCompare, payload)
			}
		}
		var now [8]byte
		binary.LittleEndian.PutUint64(now[:], uint64(clock().UnixMilli()))
		due, err := l.readHere(appendPart(nil, partDue, 2, nil, now[:]))
		if err == nil && len(due) == 1 && due[0] == 1 {
			// Without an answer the next tick asks again.
			_, _ = l.entry(entrySweep, nil)
		}
	}
}
