// What HOLM.CLUSTER is asked for is looked at before it goes into a log: what cannot be read there ends each replica,
// again and again, for it may be a damaged log. Entries of this node's own clients are made of what was parsed.

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
)

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
		// An operation, three numbers, and ranges after their count.
		isWhole = len(rest) >= 29 && rest[0] <= slotsForget &&
			uint64(len(rest)-29) >= 4*uint64(binary.LittleEndian.Uint32(rest[25:]))
	case entryLoad:
		// The first step renews the group; others that cannot be read do nothing.
		isWhole = len(rest) > 0 && (rest[0] != 0 || len(rest) == 17)
	}
	if !isWhole {
		return errNoEntry
	}
	return nil
}

// admitParts returns an error unless all replicas can read parts that write.
func admitParts(parts []byte, knows uint8) error {
	// sized takes bytes with their length before them, and more bytes behind them.
	sized := func(more int) ([]byte, bool) {
		if len(parts) < 4 {
			return nil, false
		}
		length := int(binary.LittleEndian.Uint32(parts))
		if len(parts)-4-more < length {
			return nil, false
		}
		taken := parts[4 : 4+length]
		parts = parts[4+length+more:]
		return taken, true
	}
	for len(parts) > 0 {
		if len(parts) < 4 || parts[0] > partTransaction || parts[1] < 2 || parts[1] > 3 {
			return errNoEntry
		}
		watches := int(binary.LittleEndian.Uint16(parts[2:]))
		parts = parts[4:]
		for range watches {
			if _, isThere := sized(8); !isThere {
				return errNoEntry
			}
		}
		requests, isThere := sized(0)
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
