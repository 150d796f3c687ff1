// Entries and reads about slots that go from one group to another. crates/holm-node/src/slot_entry.rs and export.rs
// have the bytes.

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

const (
	slotsAssign = iota
	slotsImport
	slotsStore
	slotsOwn
	slotsSend
	slotsFreeze
	slotsGive
	slotsRest
	slotsClean
	slotsForget
)

const (
	exportSlots   = 0
	exportChanged = 1
	exportMembers = 2
)

// slotRange is a range of slots, first and last.
type slotRange [2]int

// holdsSlot returns whether one of the ranges has a slot.
func holdsSlot(ranges []slotRange, slot int) bool {
	return slices.ContainsFunc(ranges, func(one slotRange) bool { return one[0] <= slot && slot <= one[1] })
}

// slotStep is an entry about slots.
type slotStep struct {
	operation int
	attempt   uint64
	// The other group of the move.
	peer     int
	sequence uint64
	ranges   []slotRange
	rest     []byte
}

func (s *slotStep) bytes() []byte {
	bytes := binary.LittleEndian.AppendUint64([]byte{byte(s.operation)}, s.attempt)
	bytes = binary.LittleEndian.AppendUint64(bytes, uint64(s.peer))
	bytes = binary.LittleEndian.AppendUint64(bytes, s.sequence)
	return append(appendRanges(bytes, s.ranges), s.rest...)
}

func appendRanges(bytes []byte, ranges []slotRange) []byte {
	bytes = binary.LittleEndian.AppendUint32(bytes, uint32(len(ranges)))
	for _, one := range ranges {
		bytes = binary.LittleEndian.AppendUint16(bytes, uint16(one[0]))
		bytes = binary.LittleEndian.AppendUint16(bytes, uint16(one[1]))
	}
	return bytes
}

func appendSized(bytes, part []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(bytes, uint32(len(part))), part...)
}

// errStep is a step that a group has refused: the move is not where this driver thinks.
type errStep string

func (e errStep) Error() string { return string(e) }

// takeStep puts a step into the log of a group. An outcome that is not known is asked for again: a step that was taken
// is not taken twice. The time of the entry is at least the one given, which another group has gone by.
func takeStep(to asker, step *slotStep, least uint64) ([]byte, error) {
	var last error
	for begun := time.Now(); time.Since(begun) < 4*patience; time.Sleep(20 * time.Millisecond) {
		answer, err := to.entry(entrySlots, appendLeast(least, step.bytes()))
		if err != nil {
			last = err
			continue
		}
		if len(answer) == 0 {
			return nil, errors.New("a step without an answer")
		}
		if answer[0] != 0 {
			return nil, errStep(answer[1:])
		}
		return answer[1:], nil
	}
	return nil, last
}

// appendLeast puts the least time of an entry before its payload, for `entryOf`.
func appendLeast(least uint64, payload []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, least), payload...)
}

// exported is a chunk of keys, and what belongs to it.
type exported struct {
	time       uint64
	isComplete bool
	// Where to go on.
	key, row []byte
	// Keys that have changed, as an entry that forgets them has them, and how many.
	changed []byte
	count   int
	chunk   []byte
}

// export reads keys of slots that go to another group.
func export(from asker, asked []byte) (*exported, error) {
	found := <-from.ask(appendPart(nil, partExport, 2, nil, asked), false)
	if found.err != nil {
		return nil, found.err
	}
	read, err := readExported(found.replies)
	if err != nil {
		return nil, fmt.Errorf("a chunk of keys: %w", err)
	}
	return read, nil
}

func readExported(bytes []byte) (*exported, error) {
	if len(bytes) < 9 {
		return nil, io.ErrUnexpectedEOF
	}
	read := &exported{time: binary.LittleEndian.Uint64(bytes), isComplete: bytes[8] == 1}
	rest := bytes[9:]
	sized := func() ([]byte, error) {
		if len(rest) < 4 {
			return nil, io.ErrUnexpectedEOF
		}
		length := int(binary.LittleEndian.Uint32(rest))
		if len(rest) < 4+length {
			return nil, io.ErrUnexpectedEOF
		}
		part := rest[4 : 4+length]
		rest = rest[4+length:]
		return part, nil
	}
	var err error
	if read.key, err = sized(); err != nil {
		return nil, err
	}
	if read.row, err = sized(); err != nil {
		return nil, err
	}
	if len(rest) < 4 {
		return nil, io.ErrUnexpectedEOF
	}
	read.count = int(binary.LittleEndian.Uint32(rest))
	rest = rest[4:]
	changed := rest
	for range read.count {
		if _, err := sized(); err != nil || len(rest) < 8 {
			return nil, io.ErrUnexpectedEOF
		}
		rest = rest[8:]
	}
	read.changed, read.chunk = changed[:len(changed)-len(rest)], rest
	return read, nil
}
