// HOLM.CLUSTER: what nodes and operators ask of a node about the placement, and what they change.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// administer answers HOLM.CLUSTER.
func administer(c *connection, _ route, given []string) {
	var said []byte
	var err error
	switch verb := strings.ToUpper(given[1]); {
	case verb == "VIEW" && len(given) == 3:
		said, err = c.openView(given[2])
	case verb == "FRAME" && len(given) == 2:
		said, err = c.nextFrame()
	default:
		said, err = c.host.administer(verb, given[2:])
	}
	switch {
	case err != nil:
		c.out = appendError(c.out, coded(err))
	case said == nil:
		c.out = appendNull(c.out, c.protocol)
	default:
		c.out = appendBulk(c.out, string(said))
	}
}

// coded returns an error as clients get it: a line that begins with a word for them.
func coded(err error) string {
	words := err.Error()
	if !isCoded(words) {
		words = "ERR " + words
	}
	return strings.ReplaceAll(words, "\n", "; ")
}

// isCoded returns whether an error begins with a word for clients.
func isCoded(words string) bool {
	first, _, _ := strings.Cut(words, " ")
	return first != "" && first == strings.ToUpper(first)
}

// replicaStatus is what a node says of a replica of its.
type replicaStatus struct {
	Group   int    `json:"group"`
	Replica uint64 `json:"replica"`
	Leads   bool   `json:"leads"`
	Applied uint64 `json:"applied"`
	Keys    uint64 `json:"keys"`
}

func (h *host) administer(verb string, given []string) ([]byte, error) {
	switch {
	case verb == "MAP" && len(given) == 0:
		if now := h.placement.Load(); now.Version > 0 {
			return now.bytes(), nil
		}
		return nil, nil
	case verb == "FOLDERS" && len(given) == 1:
		if given[0] != h.settings.Cluster {
			return nil, fmt.Errorf("ERR this is a node of the cluster %q, and not of %q", h.settings.Cluster, given[0])
		}
		return json.Marshal(h.folders())
	case verb == "PLACEMENT" && len(given) == 0:
		now, _, err := h.readMeta()
		if err != nil || now == nil {
			return nil, err
		}
		return now.bytes(), nil
	case verb == "REPLICAS" && len(given) == 0:
		return json.Marshal(h.replicaStatuses())
	case verb == "PART" && len(given) == 3:
		return h.relayed(given[0], given[1], []byte(given[2]))
	case verb == "ENTRY" && len(given) == 2:
		return h.putHere(given[0], []byte(given[1]))
	case verb == "READ" && len(given) == 2:
		return h.asLeader(given[0], []byte(given[1]))
	case verb == "CONFIRM" && len(given) == 1:
		return h.confirmed(given[0])
	case verb == "YIELD" && len(given) == 2:
		return nil, h.yielded(given)
	case verb == "LEASELESS" && len(given) == 2:
		return nil, h.leaseless(given)
	case verb == "HOLD" && (len(given) == 1 || len(given) == 2):
		return nil, h.held(given)
	case verb == "LOOK" && len(given) == 1:
		return nil, h.looked(given[0])
	case verb == "RELEASE" && len(given) == 2:
		return nil, h.released(given)
	case verb == "JOIN" && (len(given) == 4 || len(given) == 5):
		return h.join(given[0], member{Address: given[1], Raft: given[2], Plain: given[3]}, given[4:])
	case verb == "DRAIN" && len(given) == 1:
		return nil, h.changeNode(given[0], false, func(_ *placement, one *placed) error {
			one.State = nodeDraining
			return nil
		})
	case verb == "RETURN" && len(given) == 1:
		return nil, h.changeNode(given[0], false, func(_ *placement, one *placed) error {
			one.State = nodeUp
			return nil
		})
	case verb == "REMOVE" && (len(given) == 1 || len(given) == 2 && strings.EqualFold(given[1], "GONE")):
		return nil, h.changeNode(given[0], true, func(p *placement, one *placed) error {
			if len(given) == 1 && p.has(one.ID) {
				return fmt.Errorf("node %d has replicas: drain it first; if it does not come back, say that it is gone", one.ID)
			}
			one.State = nodeGone
			return nil
		})
	case verb == "MOVE" && len(given) == 2:
		return nil, h.wantMove(given[0], given[1])
	case verb == "RESTORE" && len(given) == 1:
		return h.wantRestore(given[0])
	case verb == "LOAD" && len(given) == 2:
		return h.loadStep(given[0], given[1])
	case verb == "LEAD" && len(given) == 2:
		return nil, h.prefer(given[0], given[1])
	}
	return nil, errors.New("unknown subcommand or wrong number of arguments for HOLM.CLUSTER")
}

func (h *host) replicaStatuses() []replicaStatus {
	found := []replicaStatus{}
	for group := range h.lanes {
		own, opened := h.lane(group), h.machines.find(shard(group))
		if own == nil || opened == nil {
			continue
		}
		applied, _, keys, err := opened.status()
		if err == nil {
			found = append(found, replicaStatus{Group: group, Replica: own.replica, Leads: h.leads(group),
				Applied: applied, Keys: keys})
		}
	}
	return found
}

// relayed carries out what another node asks of a replica of this one.
func (h *host) relayed(group, kind string, payload []byte) ([]byte, error) {
	number, err := strconv.Atoi(group)
	if err != nil {
		return nil, err
	}
	own := h.lane(number)
	if own == nil {
		return nil, errTryAgain
	}
	switch kind {
	case "write":
		if err := admitParts(payload, h.knows); err != nil {
			return nil, err
		}
		fallthrough
	case "read":
		found := <-own.ask(payload, kind == "write")
		return found.replies, found.err
	}
	entry, err := strconv.ParseUint(kind, 10, 8)
	if err != nil {
		return nil, err
	}
	if entry == entryCompare {
		return nil, errComparison
	}
	return own.entry(int(entry), payload)
}

// join notes a new node and returns its settings. The same folder gets the same answer again. A node that does not say
// its level knows the first one.
func (h *host) join(folder string, one member, said []string) ([]byte, error) {
	level := uint64(1)
	if len(said) > 0 {
		var err error
		if level, err = strconv.ParseUint(said[0], 10, 8); err != nil {
			return nil, fmt.Errorf("%q is no level", said[0])
		}
	}
	var made settings
	err := h.change(func(p *placement) (bool, error) {
		if err := p.checkLevel(uint8(level)); err != nil {
			return false, fmt.Errorf("the new node cannot come: %w", err)
		}
		id := uint64(0)
		for _, known := range p.Nodes {
			for _, address := range []string{known.Address, known.Raft, known.Plain} {
				if address != "" && slices.Contains([]string{one.Address, one.Raft, one.Plain}, address) {
					if known.Folder != folder {
						return false, fmt.Errorf("node %d has the address %s", known.ID, address)
					}
					id = known.ID
				}
			}
		}
		isNew := id == 0
		if isNew {
			id = p.newID()
			one.ID = id
			p.Nodes = append(p.Nodes, placed{member: one, Folder: folder, State: nodeUp, Level: uint8(level)})
		}
		one.ID = id
		made = *h.settings
		made.ID, made.Folder, made.IsJoined = id, folder, true
		made.Members = p.members()
		made.Password, made.Authority, made.Certificate, made.Key, made.TLS = "", "", "", "", secured{}
		return isNew, nil
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(made)
}

// changeNode changes what the placement says of a node. One that is gone can be removed again, and nothing else.
func (h *host) changeNode(given string, isRemoval bool, by func(*placement, *placed) error) error {
	id, err := strconv.ParseUint(given, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is no id of a node", given)
	}
	return h.change(func(p *placement) (bool, error) {
		one := p.node(id)
		if one == nil {
			return false, fmt.Errorf("there is no node %d", id)
		}
		if one.State == nodeGone {
			if isRemoval {
				return false, nil
			}
			return false, fmt.Errorf("node %d is gone for good", id)
		}
		if err := by(p, one); err != nil {
			return false, err
		}
		if len(p.upNodes()) == 0 {
			return false, errors.New("no node would be left")
		}
		return true, nil
	})
}

// prefer lets a node lead a group, until it has no replica any more; node 0 lets the driver choose.
func (h *host) prefer(givenGroup, givenNode string) error {
	group, err := strconv.Atoi(givenGroup)
	node, failed := strconv.ParseUint(givenNode, 10, 64)
	if err != nil || failed != nil || group < 0 || group >= h.settings.Groups {
		return errors.New("a group and the id of a node are needed")
	}
	return h.change(func(p *placement) (bool, error) {
		g := &p.Groups[group]
		if node == 0 {
			g.IsPinned = false
			return true, nil
		}
		if !slices.Contains(g.mayLead(p), node) {
			return false, fmt.Errorf("node %d has no replica of group %d that votes", node, group)
		}
		g.Preferred, g.IsPinned = node, true
		return true, nil
	})
}

// parseSlots reads 0-99,200.
func parseSlots(given string) ([]slotRange, error) {
	var found []slotRange
	for _, one := range strings.Split(given, ",") {
		first, last, isRange := strings.Cut(one, "-")
		if !isRange {
			last = first
		}
		low, err := strconv.Atoi(first)
		high, failed := strconv.Atoi(last)
		if err != nil || failed != nil || low < 0 || low > high || high >= slotCount {
			return nil, fmt.Errorf("%q is no range of slots", one)
		}
		found = append(found, slotRange{low, high})
	}
	return found, nil
}

// group returns the number of a group that has keys.
func (h *host) group(given string) (int, error) {
	group, err := strconv.Atoi(given)
	if err != nil || group < 0 || group >= h.settings.Groups {
		return 0, fmt.Errorf("%q is no group", given)
	}
	return group, nil
}

// wantMove notes moves of slots to a group: one for each group that has some of them.
func (h *host) wantMove(givenSlots, givenGroup string) error {
	ranges, err := parseSlots(givenSlots)
	if err != nil {
		return err
	}
	to, err := h.group(givenGroup)
	if err != nil {
		return err
	}
	return h.change(func(p *placement) (bool, error) {
		by := map[int][]slotRange{}
		for slot, from := range p.groups {
			if !holdsSlot(ranges, slot) || int(from) == to || p.isMoving(slot, to) {
				continue
			}
			list := by[int(from)]
			if last := len(list) - 1; last >= 0 && list[last][1] == slot-1 {
				list[last][1] = slot
			} else {
				list = append(list, slotRange{slot, slot})
			}
			by[int(from)] = list
		}
		for from := range h.settings.Groups {
			if by[from] == nil {
				continue
			}
			for _, one := range p.Moves {
				if one.From == from {
					return false, fmt.Errorf("slots of group %d are being moved", from)
				}
			}
			p.Moves = append(p.Moves, slotMove{ID: p.newID(), From: from, To: to, Ranges: by[from]})
		}
		return len(by) > 0, nil
	})
}
