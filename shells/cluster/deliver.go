// Delivery: a part about one slot goes to the group that answers for it, although slots and replicas move meanwhile.

package main

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// isSlotRefusal returns whether a group has refused a command because of its slot, and has done nothing.
func isSlotRefusal(reply []byte) bool {
	return bytes.HasPrefix(reply, []byte("-ELSEWHERE ")) || bytes.HasPrefix(reply, []byte("-TRYAGAIN slot "))
}

// isRefusedWatch returns the same of an answer with fingerprints: a byte 1 and the refusal.
func isRefusedWatch(part, reply []byte) bool {
	return part[0] == partFingerprints && len(reply) > 0 && reply[0] == 1
}

// ownerIn returns the group that a refusal names; the one of the placement if it names none.
func (c *connection) ownerIn(refusal []byte, slot int) int {
	words := strings.Fields(string(bytes.TrimLeft(refusal, "-\x01")))
	if len(words) == 3 && words[0] == "ELSEWHERE" {
		if group, err := strconv.Atoi(words[2]); err == nil && group >= 0 && group < c.host.settings.Groups {
			return group
		}
	}
	return c.groupFor(c.host.placement.Load(), slot)
}

// groupFor returns the group of a slot. A placement may be older than a move: a group that this node leads knows
// better, and without it two nodes would send a client to each other. A plain client is sent nowhere.
func (c *connection) groupFor(now *placement, slot int) int {
	group, h := now.groupOf(slot), c.host
	if c.isPlain || h.leads(group) {
		return group
	}
	for other := range h.settings.Groups {
		if other != group && h.leads(other) {
			if opened := h.machines.find(shard(other)); opened != nil && opened.owns(slot) {
				return other
			}
		}
	}
	return group
}

// deliver asks the group of a slot, and the next one if it has gone there. A client of the cluster is sent to the node
// that leads. `refusal` is what a group has said before.
func (c *connection) deliver(slot int, part []byte, writes bool, refusal []byte) ([]byte, error) {
	group := c.ownerIn(refusal, slot)
	found := answer{replies: refusal}
	for begun := time.Now(); time.Since(begun) < patience; {
		if moved := c.moved(slot, group); moved != nil {
			return moved, nil
		}
		found = <-c.host.asker(group).ask(part, writes)
		switch {
		case errors.Is(found.err, errTryAgain):
			time.Sleep(10 * time.Millisecond)
			group = c.groupFor(c.host.placement.Load(), slot)
		case found.err != nil:
			return nil, found.err
		case isSlotRefusal(found.replies) || isRefusedWatch(part, found.replies):
			next := c.ownerIn(found.replies, slot)
			if next == group {
				time.Sleep(5 * time.Millisecond)
			}
			group = next
		default:
			return found.replies, nil
		}
	}
	if found.err != nil {
		return nil, found.err
	}
	return nil, fmt.Errorf("TRYAGAIN slot %d is being moved", slot)
}

// request delivers one command alone.
func (c *connection) request(one route, refusal []byte) []byte {
	part := appendPart(nil, partPipeline, c.protocol, nil, one.request)
	reply, err := c.deliver(one.slot, part, one.writes, refusal)
	if err != nil {
		return appendError(nil, err.Error())
	}
	return reply
}
