// What HOLM.CLUSTER is asked for is looked at before it goes into a log: what cannot be read there ends each replica,
// again and again, for it may be a damaged log. Entries of this node's own clients are made of what was parsed.

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// No key and no member of a collection has more bytes.
const mostNameBytes = 64 << 10

var errNoEntry = errors.New("ERR this is no entry of the log")

// admit returns an error unless all replicas can read an entry.
func admit(entry []byte, knows uint8) error {
	if len(entry) < entryHeader || entry[0] == 0 || entry[0] > knows || entry[1] > entryLoad {
		return errNoEntry
	}
	rest, isWhole := entry[entryHeader:], true
	switch entry[1] {
	case entryCommands:
		return admitParts(rest, knows)
	case entryCompare:
		isWhole = len(rest) == 16
	case entrySlots:
		isWhole = isSlotStep(rest)
	case entryLoad:
		// The first step renews the group; others that cannot be read do nothing.
		isWhole = entry[0] >= levelOfLoads && len(rest) > 0 && (rest[0] != 0 || len(rest) == 17)
	}
	if !isWhole {
		return errNoEntry
	}
	return nil
}

// admitParts returns an error unless all replicas can read parts that write.
func admitParts(parts []byte, knows uint8) error {
	for len(parts) > 0 {
		if len(parts) < 4 || parts[0] > partTransaction || parts[1] < 2 || parts[1] > 3 {
			return errNoEntry
		}
		watches := int(binary.LittleEndian.Uint16(parts[2:]))
		parts = parts[4:]
		for range watches {
			if _, isThere := cut(&parts, 8); !isThere {
				return errNoEntry
			}
		}
		requests, isThere := cut(&parts, 0)
		if !isThere {
			return errNoEntry
		}
		for len(requests) > 0 {
			_, used, err := parse(requests, true, knows, nil)
			if err != nil {
				return fmt.Errorf("%w: %w", errNoEntry, err)
			}
			if used == 0 {
				return errNoEntry
			}
			requests = requests[used:]
		}
	}
	return nil
}

// cut takes bytes with their length, of 4 bytes, before them, and more bytes behind them.
func cut(from *[]byte, more int) ([]byte, bool) {
	if len(*from) < 4 {
		return nil, false
	}
	length, rest := int(binary.LittleEndian.Uint32(*from)), (*from)[4:]
	if len(rest)-more < length {
		return nil, false
	}
	*from = rest[length+more:]
	return rest[:length], true
}

// isSlotStep returns whether all replicas can read a step in a move of slots: an operation, three numbers, ranges after
// their count, and what the operation takes.
func isSlotStep(step []byte) bool {
	if len(step) < 29 || step[0] > slotsForget {
		return false
	}
	count, rest := uint64(binary.LittleEndian.Uint32(step[25:])), step[29:]
	if uint64(len(rest)) < 4*count {
		return false
	}
	for ; count > 0; count-- {
		if binary.LittleEndian.Uint16(rest) > binary.LittleEndian.Uint16(rest[2:]) {
			return false
		}
		rest = rest[4:]
	}
	switch step[0] {
	case slotsStore:
		return isChunk(rest)
	case slotsForget:
		for len(rest) > 0 {
			if _, isThere := cut(&rest, 8); !isThere {
				return false
			}
		}
	}
	return true
}

// isChunk returns whether all replicas can store keys that are carried. crates/holm-commands/src/carry.rs has their
// bytes, and record.rs those of a record.
func isChunk(chunk []byte) bool {
	const key, absent, more, row = 1, 2, 3, 4
	const lastKind, expires, flags, firstFamily, lastFamily = 5, 1, 3, 2, 7
	for len(chunk) > 0 {
		kind := chunk[0]
		chunk = chunk[1:]
		if kind == row {
			if len(chunk) == 0 || chunk[0] < firstFamily || chunk[0] > lastFamily {
				return false
			}
			chunk = chunk[1:]
		}
		name, isThere := cut(&chunk, 0)
		if !isThere || kind < key || kind > row || len(name) > mostNameBytes {
			return false
		}
		if kind == absent || kind == more {
			continue
		}
		value, isThere := cut(&chunk, 0)
		isRecord := len(value) >= 2 && value[0] >= 1 && value[0] <= lastKind && value[1]&^flags == 0 &&
			(value[1]&expires == 0 || len(value) >= 10)
		if !isThere || kind == key && !isRecord {
			return false
		}
	}
	return true
}
