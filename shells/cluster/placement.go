// The placement: the nodes of the cluster, the replicas of each group, and the group of each slot. It is one value of
// the meta group, changed by comparison, and each node has a copy that may be old. An old copy costs a redirection, and
// never a wrong answer: replicas are members by the log of their group, and groups own slots by theirs.

package main

import (
	"encoding/json"
	"fmt"
	"slices"
)

// The most replicas of a group that vote.
const mostReplicas = 3

// What a node is.
const (
	nodeUp = "up"
	// Its replicas go to other nodes.
	nodeDraining = "draining"
	// It does not come back. Its replicas are replaced.
	nodeGone = "gone"
)

// What a replica is.
const (
	// It is to be added to the log of its group.
	replicaNew = "new"
	// It does not vote yet, and has all that the others have.
	replicaReady = "ready"
	replicaVotes = "votes"
	// It is to be removed once the others are complete.
	replicaLeaves = "leaves"
)

// placed is a node, as the placement has it.
type placed struct {
	member
	// What the node's folder has. Another folder is another node, whatever its settings say.
	Folder string `json:"folder,omitempty"`
	State  string `json:"state"`
	// It has begun to serve once, and may get replicas.
	HasServed bool `json:"served,omitempty"`
	// The highest level of entries that it knows; nothing is 1.
	Level uint8 `json:"level,omitempty"`
}

// replica is one copy of a group. Its id is used once, and then by no other replica of any group.
type replica struct {
	ID    uint64 `json:"id"`
	Node  uint64 `json:"node"`
	State string `json:"state"`
}

// grouped is a group and where it is.
type grouped struct {
	Replicas []replica `json:"replicas"`
	// The node that led when it was last asked: a hint for nodes without a replica.
	Leader uint64 `json:"leader,omitempty"`
	// The node that is to lead.
	Preferred uint64 `json:"preferred"`
	// An operator has chosen it.
	IsPinned bool `json:"pinned,omitempty"`
}

// votesOn returns whether a replica on a node votes.
func (g *grouped) votesOn(node uint64) bool {
	return slices.ContainsFunc(g.Replicas, func(one replica) bool { return one.Node == node && one.State == replicaVotes })
}

// placement is what the meta group has.
type placement struct {
	Version uint64 `json:"version"`
	// The level of entries that nodes propose; nothing is 1.
	Level uint8 `json:"level,omitempty"`
	// The next id of a node or a replica.
	Next  uint64   `json:"next"`
	Nodes []placed `json:"nodes"`
	// By number; the last one is the meta group.
	Groups []grouped `json:"groups"`
	// All slots, in their order.
	Slots []owned    `json:"slots"`
	Moves []slotMove `json:"moves,omitempty"`
	// In the order of their names; without the user `default` until it is changed.
	Users []named `json:"users,omitempty"`
	// The version that has changed them last.
	UsersAt uint64 `json:"users_at,omitempty"`
	// By slot.
	groups []uint16
	// Nodes that do not answer the driver now.
	away map[uint64]bool
}

// founding returns the placement of a cluster that was just made: the same on all founders.
func founding(with *settings) *placement {
	first := &placement{}
	for _, one := range with.Members {
		first.Nodes = append(first.Nodes, placed{member: one, State: nodeUp})
		first.Next = max(first.Next, one.ID+1)
	}
	for group := range with.Groups + 1 {
		var here grouped
		for _, one := range with.replicas(group) {
			here.Replicas = append(here.Replicas, replica{ID: one.ID, Node: one.ID, State: replicaVotes})
		}
		here.Preferred = here.Replicas[0].Node
		first.Groups = append(first.Groups, here)
	}
	for group := range with.Groups {
		low, high := with.slotsOf(group)
		first.Slots = append(first.Slots, owned{Range: slotRange{low, high}, Group: group})
	}
	first.index()
	return first
}

// index makes the group of a slot quick to find.
func (p *placement) index() {
	p.groups = make([]uint16, slotCount)
	for _, one := range p.Slots {
		for slot := max(0, one.Range[0]); slot <= one.Range[1] && slot < slotCount; slot++ {
			p.groups[slot] = uint16(one.Group)
		}
	}
}

func (p *placement) groupOf(slot int) int { return int(p.groups[slot]) }

// own gives slots to a group.
func (p *placement) own(given slotRange, group int) {
	for slot := given[0]; slot <= given[1]; slot++ {
		p.groups[slot] = uint16(group)
	}
	p.Slots = nil
	for slot, group := range p.groups {
		if last := len(p.Slots) - 1; last >= 0 && p.Slots[last].Group == int(group) {
			p.Slots[last].Range[1] = slot
			continue
		}
		p.Slots = append(p.Slots, owned{Range: slotRange{slot, slot}, Group: int(group)})
	}
}

// rangesOf returns the slots of a group.
func (p *placement) rangesOf(group int) []slotRange {
	var found []slotRange
	for _, one := range p.Slots {
		if one.Group == group {
			found = append(found, one.Range)
		}
	}
	return found
}

// metaGroup returns the number of the meta group, which has no slots.
func (p *placement) metaGroup() int { return len(p.Groups) - 1 }

func (p *placement) node(id uint64) *placed {
	for at := range p.Nodes {
		if p.Nodes[at].ID == id {
			return &p.Nodes[at]
		}
	}
	return nil
}

// member returns a node that is known.
func (p *placement) member(id uint64) (member, bool) {
	if found := p.node(id); found != nil {
		return found.member, true
	}
	return member{}, false
}

// members returns all nodes.
func (p *placement) members() []member {
	var found []member
	for _, one := range p.Nodes {
		found = append(found, one.member)
	}
	return found
}

// upNodes returns the nodes that are to have replicas, those that have not served yet included.
func (p *placement) upNodes() []uint64 {
	var found []uint64
	for _, one := range p.Nodes {
		if one.State == nodeUp {
			found = append(found, one.ID)
		}
	}
	return found
}

// usable returns the nodes that may get replicas.
func (p *placement) usable() []uint64 {
	var found []uint64
	for _, one := range p.Nodes {
		if one.State == nodeUp && one.HasServed {
			found = append(found, one.ID)
		}
	}
	return found
}

// present returns those of some nodes that answer.
func (p *placement) present(among []uint64) []uint64 {
	return slices.DeleteFunc(slices.Clone(among), func(id uint64) bool { return p.away[id] })
}

// newID returns an id that nobody has had.
func (p *placement) newID() uint64 {
	p.Next++
	return p.Next - 1
}

// replica returns the replica with an id.
func (g *grouped) replica(id uint64) *replica {
	for at := range g.Replicas {
		if g.Replicas[at].ID == id {
			return &g.Replicas[at]
		}
	}
	return nil
}

// on returns the replica of a node that is not about to leave.
func (g *grouped) on(node uint64) *replica {
	for at := range g.Replicas {
		if g.Replicas[at].Node == node && g.Replicas[at].State != replicaLeaves {
			return &g.Replicas[at]
		}
	}
	return nil
}

// count returns how many replicas are in one of these states.
func (g *grouped) count(states ...string) int {
	count := 0
	for _, one := range g.Replicas {
		if slices.Contains(states, one.State) {
			count++
		}
	}
	return count
}

// staying returns how many replicas the group has when nothing is under way.
func (g *grouped) staying() int { return len(g.Replicas) - g.count(replicaLeaves) }

// isSettled returns whether no replica comes or goes.
func (g *grouped) isSettled() bool { return g.count(replicaVotes) == len(g.Replicas) }

// holds returns how many replicas a node has or gets.
func (p *placement) holds(node uint64) int {
	count := 0
	for at := range p.Groups {
		if p.Groups[at].on(node) != nil {
			count++
		}
	}
	return count
}

func (p *placement) bytes() []byte {
	text, err := json.Marshal(p)
	if err != nil {
		// Numbers and texts alone.
		panic(err)
	}
	return text
}

func readPlacement(text []byte) (*placement, error) {
	var read placement
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, err
	}
	for _, one := range read.Slots {
		if one.Group < 0 || one.Group >= len(read.Groups) {
			return nil, fmt.Errorf("slots of group %d, and there are %d groups", one.Group, len(read.Groups))
		}
	}
	read.index()
	return &read, nil
}
