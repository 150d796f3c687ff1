// The state machine that dragonboat drives, over a group of the library.

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	sm "github.com/lni/dragonboat/v4/statemachine"
)

// frameHeader is the number of bytes before the content of a frame: its length, and a checksum.
const frameHeader = 12

// machine is one replica's state machine. The database is shared with all others of the node.
type machine struct {
	number   uint64
	database *database
	group    *group
	machines *machines
}

func (m *machine) Open(<-chan struct{}) (uint64, error) {
	opened, applied, err := m.machines.open(m.number)
	m.group = opened
	return applied, orHalt(m.number, err)
}

// Update applies all entries in one transaction, with the index of the last.
func (m *machine) Update(entries []sm.Entry) ([]sm.Entry, error) {
	size := 0
	for _, entry := range entries {
		size += 12 + len(entry.Cmd)
	}
	packed := make([]byte, 0, size)
	for _, entry := range entries {
		packed = binary.LittleEndian.AppendUint64(packed, entry.Index)
		packed = binary.LittleEndian.AppendUint32(packed, uint32(len(entry.Cmd)))
		packed = append(packed, entry.Cmd...)
	}
	m.group.progress.begin()
	m.machines.beLate()
	begun := time.Now()
	replies, err := m.group.apply(packed)
	m.group.applyNanoseconds.Add(int64(time.Since(begun)))
	m.group.applies.Add(1)
	m.group.applied.Add(int64(len(entries)))
	if err != nil {
		return nil, orHalt(m.number, err)
	}
	divided, err := divide(replies)
	if err != nil || len(divided) != len(entries) {
		return nil, fmt.Errorf("%d entries have %d replies: %w", len(entries), len(divided), err)
	}
	for at := range entries {
		// Who has proposed it says to others which entry it is.
		entries[at].Result = sm.Result{Value: entries[at].Index, Data: divided[at]}
	}
	m.group.progress.reach(entries[len(entries)-1].Index)
	return entries, nil
}

func (m *machine) Lookup(query interface{}) (interface{}, error) {
	parts, ok := query.([]byte)
	if !ok {
		return nil, fmt.Errorf("a query is bytes, and not %T", query)
	}
	return m.group.read(parts)
}

func (m *machine) Sync() error { return m.database.sync() }

// PrepareSnapshot takes constant time, so that entries hardly wait for it.
func (m *machine) PrepareSnapshot() (interface{}, error) {
	taken, err := m.group.view()
	if err != nil {
		return nil, err
	}
	// A snapshot that is given up between the two calls is closed all the same.
	runtime.SetFinalizer(taken, (*view).close)
	return taken, nil
}

func (m *machine) SaveSnapshot(prepared interface{}, to io.Writer, stop <-chan struct{}) error {
	taken, ok := prepared.(*view)
	if !ok {
		return fmt.Errorf("a prepared snapshot is a view, and not %T", prepared)
	}
	defer taken.close()
	for {
		select {
		case <-stop:
			return sm.ErrSnapshotStopped
		default:
		}
		frame, err := taken.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := to.Write(frame); err != nil {
			return err
		}
	}
}

func (m *machine) RecoverFromSnapshot(from io.Reader, stop <-chan struct{}) error {
	begun, err := m.group.restore()
	if err != nil {
		return err
	}
	defer begun.drop()
	header := make([]byte, frameHeader)
	for {
		select {
		case <-stop:
			return sm.ErrSnapshotStopped
		default:
		}
		if _, err := io.ReadFull(from, header); errors.Is(err, io.EOF) {
			if err := begun.finish(); err != nil {
				return orHalt(m.number, err)
			}
			// Who waits for an entry of it must not wait for the next one.
			applied, err := m.group.last()
			m.group.progress.reach(applied)
			return err
		} else if err != nil {
			return err
		}
		frame := make([]byte, frameHeader+int(binary.LittleEndian.Uint32(header)))
		copy(frame, header)
		if _, err := io.ReadFull(from, frame[frameHeader:]); err != nil {
			return err
		}
		if err := begun.frame(frame); err != nil {
			return err
		}
	}
}

// Close leaves the group open: reads may come later. The host closes it.
func (m *machine) Close() error { return nil }

// divide divides (length 4 | bytes)*.
func divide(packed []byte) ([][]byte, error) {
	var divided [][]byte
	for len(packed) > 0 {
		if len(packed) < 4 {
			return divided, io.ErrUnexpectedEOF
		}
		length := int(binary.LittleEndian.Uint32(packed))
		if len(packed) < 4+length {
			return divided, io.ErrUnexpectedEOF
		}
		divided = append(divided, packed[4:4+length:4+length])
		packed = packed[4+length:]
	}
	return divided, nil
}

// machines makes the state machines of a node and knows their groups.
type machines struct {
	database *database
	mutex    sync.Mutex
	groups   map[uint64]*group
	// For tests: one update in eight waits for up to that long, so that replicas apply at other times.
	lateness time.Duration
}

func (m *machines) beLate() {
	if m.lateness > 0 && rand.IntN(8) == 0 {
		time.Sleep(rand.N(m.lateness))
	}
}

func (m *machines) create(shard, _ uint64) sm.IOnDiskStateMachine {
	return &machine{number: shard, database: m.database, machines: m}
}

// open opens a group, or returns it if a replica that has ended has opened it.
func (m *machines) open(shard uint64) (*group, uint64, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if has := m.groups[shard]; has != nil {
		applied, err := has.last()
		return has, applied, err
	}
	opened, applied, err := m.database.openGroup(shard)
	if err == nil {
		m.groups[shard] = opened
	}
	return opened, applied, err
}

// remove removes a group with all that it has, beside the others: it takes time in proportion to the keys. Nobody opens
// the same group meanwhile.
func (m *machines) remove(shard uint64) error {
	m.mutex.Lock()
	has := m.groups[shard]
	delete(m.groups, shard)
	m.mutex.Unlock()
	if has != nil {
		has.close()
	}
	return m.database.removeGroup(shard)
}

func (m *machines) find(shard uint64) *group {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.groups[shard]
}

// finder returns a function that finds a group.
func (m *machines) finder(shard uint64) func() *group {
	return func() *group { return m.find(shard) }
}

func (m *machines) close() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, group := range m.groups {
		group.close()
	}
	m.groups = nil
	m.database.close()
}
