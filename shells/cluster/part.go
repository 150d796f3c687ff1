// Parts: the commands of one client for one group, and entries made of parts. crates/holm-node/src/entry.rs has the
// bytes.

package main

import (
	"encoding/binary"
	"math/rand/v2"
)

const (
	entryCommands = 0
	entrySweep    = 1
	entryFlush    = 2
	entryCompare  = 3
	entrySlots    = 4
	entryLoad     = 5

	partPipeline     = 0
	partTransaction  = 1
	partFingerprints = 2
	partDue          = 3
	partExport       = 4
)

// The bytes before the parts of an entry.
const entryHeader = 18

// watch is a key that a transaction watches.
type watch struct {
	key         []byte
	fingerprint uint64
}

func appendPart(bytes []byte, kind, protocol int, watches []watch, requests ...[]byte) []byte {
	bytes = append(bytes, byte(kind), byte(protocol))
	bytes = binary.LittleEndian.AppendUint16(bytes, uint16(len(watches)))
	for _, watch := range watches {
		bytes = binary.LittleEndian.AppendUint32(bytes, uint32(len(watch.key)))
		bytes = append(bytes, watch.key...)
		bytes = binary.LittleEndian.AppendUint64(bytes, watch.fingerprint)
	}
	length := 0
	for _, request := range requests {
		length += len(request)
	}
	bytes = binary.LittleEndian.AppendUint32(bytes, uint32(length))
	for _, request := range requests {
		bytes = append(bytes, request...)
	}
	return bytes
}

// entryOf returns an entry without commands. The payload of one about slots begins with its least time.
func entryOf(level uint8, kind int, payload []byte) []byte {
	if kind != entrySlots || len(payload) < 8 {
		return append(newEntry(level, kind, len(payload)), payload...)
	}
	entry := newEntry(level, kind, len(payload))
	if least := binary.LittleEndian.Uint64(payload); least > binary.LittleEndian.Uint64(entry[2:]) {
		binary.LittleEndian.PutUint64(entry[2:], least)
	}
	return append(entry, payload[8:]...)
}

// newEntry returns the header of an entry, with this node's time and a seed.
func newEntry(level uint8, kind int, size int) []byte {
	bytes := make([]byte, 0, entryHeader+size)
	bytes = append(bytes, level, byte(kind))
	bytes = binary.LittleEndian.AppendUint64(bytes, uint64(clock().UnixMilli()))
	return binary.LittleEndian.AppendUint64(bytes, rand.Uint64())
}
