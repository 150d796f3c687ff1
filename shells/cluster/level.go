// Levels: what a node must know to apply an entry. Each node says the highest level that it knows, and the cluster has
// the lowest of these. It is raised in the placement, once all nodes know more, and never lowered; entries name the
// level that the cluster has when they are proposed. So nodes of two versions apply the same entries alike.

package main

import (
	"errors"
	"fmt"
	"os"
)

// The first level that has entries which load a backup.
const levelOfLoads = 2

// errLevel is wrapped by what the library says of entries that it does not know.
var errLevel = errors.New("this version is too old")

// current returns the level that the cluster has.
func (p *placement) current() uint8 { return max(1, p.Level) }

// knows returns the highest level that a node knows, by what it has said.
func (one *placed) knows() uint8 { return max(1, one.Level) }

// raise gives the cluster the highest level that all of its nodes know.
func (p *placement) raise() bool {
	least := uint8(0)
	for at := range p.Nodes {
		if one := &p.Nodes[at]; one.State != nodeGone && (least == 0 || one.knows() < least) {
			least = one.knows()
		}
	}
	if least <= p.current() {
		return false
	}
	p.Level = least
	return true
}

// checkLevel refuses a version that does not know all entries of a cluster.
func (p *placement) checkLevel(known uint8) error {
	if p.current() <= known {
		return nil
	}
	return fmt.Errorf("%w: the cluster has level %d, and this version knows levels up to %d; install a newer one",
		errLevel, p.current(), known)
}

// level returns the level of entries that this node proposes. A copy of the placement may be old: then the level is the
// one before, which all nodes know as well.
func (h *host) level() uint8 { return min(h.knows, h.placement.Load().current()) }

// orHalt ends the process if a replica cannot go on with what this version knows. Nothing of the entries is applied, so
// a newer version goes on where this one ends; the consensus engine would end the process by a panic.
func orHalt(shard uint64, err error) error {
	if errors.Is(err, errLevel) {
		fmt.Fprintf(os.Stderr, "holm-cluster: group %d: %v\n", shard-1, err)
		os.Exit(1)
	}
	return err
}
