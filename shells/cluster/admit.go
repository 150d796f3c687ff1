// What HOLM.CLUSTER is asked for is looked at before it goes into a log: what cannot be read there ends each replica,
// again and again, for it may be a damaged log. Entries of this node's own clients are made of what was parsed.

package main

import (
	"errors"
	"fmt"
)

var (
	errNoEntry = errors.New("ERR this is no entry of the log")
	// With another hash it would end all replicas that have the right one.
	errComparison = fmt.Errorf("%w for others: replicas are compared by the node that leads", errNoEntry)
)

// admit returns an error unless all replicas can read an entry of another node, and go on after it.
func admit(entry []byte, knows uint8) error {
	if len(entry) > 1 && entry[1] == entryCompare {
		return errComparison
	}
	return checkEntry(entry, knows)
}

// admitParts returns an error unless all replicas can read parts that write.
func admitParts(parts []byte, knows uint8) error {
	return checkEntry(append(newEntry(knows, entryCommands, len(parts)), parts...), knows)
}
