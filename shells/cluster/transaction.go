// MULTI, EXEC and WATCH within one slot: one part, which is one entry or a read of one instant.

package main

import (
	"bytes"
	"encoding/binary"
)

const crossSlot = "CROSSSLOT Keys in request don't hash to the same slot"

// transaction is what a client has queued.
type transaction struct {
	requests [][]byte
	bytes    int
	slot     int
	writes   bool
	isFailed bool
}

// endsTransaction returns whether a command is carried out within MULTI.
func endsTransaction(name string) bool {
	switch name {
	case "exec", "discard", "multi", "watch", "reset", "quit":
		return true
	}
	return false
}

// abort lets EXEC fail.
func (c *connection) abort() {
	if c.multi != nil {
		c.multi.isFailed = true
	}
}

func (c *connection) queue(one route, name string) {
	group := c.groupFor(c.host.placement.Load(), one.slot)
	switch {
	case one.kind == routeCross,
		one.kind == routeKeyed && len(c.multi.requests) > 0 && one.slot != c.multi.slot,
		one.kind == routeKeyed && len(c.watches) > 0 && one.slot != c.watchSlot:
		c.abort()
		c.out = appendError(c.out, crossSlot)
	case one.kind != routeKeyed:
		c.abort()
		c.out = appendError(c.out, "ERR the command '"+name+"' cannot be part of a transaction in a cluster")
	default:
		if moved := c.moved(one.slot, group); moved != nil {
			c.abort()
			c.out = append(c.out, moved...)
			return
		}
		if c.multi.bytes += len(one.request); c.multi.bytes > mostRequestBytes {
			// What was queued is of no use any more, and may be large.
			c.abort()
			c.multi.requests = nil
			c.out = appendError(c.out, "ERR a transaction has more than 16 MiB")
			return
		}
		c.multi.requests = append(c.multi.requests, bytes.Clone(one.request))
		c.multi.slot = one.slot
		c.multi.writes = c.multi.writes || one.writes
		c.out = appendStatus(c.out, "QUEUED")
	}
}

func (c *connection) unwatch() { c.watches = nil }

func multi(c *connection, _ route, _ []string) {
	if c.multi != nil {
		c.out = appendError(c.out, "ERR MULTI calls can not be nested")
		return
	}
	c.multi = &transaction{}
	c.out = appendStatus(c.out, "OK")
}

func discard(c *connection, _ route, _ []string) {
	if c.multi == nil {
		c.out = appendError(c.out, "ERR DISCARD without MULTI")
		return
	}
	c.multi = nil
	c.unwatch()
	c.out = appendStatus(c.out, "OK")
}

func execute(c *connection, _ route, _ []string) {
	queued, watches := c.multi, c.watches
	if queued == nil {
		c.out = appendError(c.out, "ERR EXEC without MULTI")
		return
	}
	c.multi = nil
	c.unwatch()
	if queued.isFailed {
		c.out = appendError(c.out, "EXECABORT Transaction discarded because of previous errors.")
		return
	}
	if len(queued.requests) == 0 {
		c.out = appendArray(c.out, 0)
		return
	}
	if c.host.tests.unwatched {
		watches = nil
	}
	// What the user may do can have changed since the commands were queued.
	allowed, refused := c.allowed(queued.requests)
	if len(allowed) == 0 {
		c.out = append(c.out, withRefusals(appendArray(nil, 0), refused)...)
		return
	}
	part := appendPart(nil, partTransaction, c.protocol, watches, allowed...)
	reply, err := c.deliver(queued.slot, part, queued.writes || len(watches) > 0, nil)
	if err != nil {
		reply = appendError(nil, err.Error())
	}
	if hasRun(reply) {
		c.done += int64(len(allowed))
		reply = withRefusals(reply, refused)
	}
	c.out = append(c.out, reply...)
}

// allowed returns the commands that the user may carry out, and for each of all the reply if it may not; nothing if it
// may carry all of them out.
func (c *connection) allowed(requests [][]byte) (allowed, refused [][]byte) {
	if c.account.mayDoAll.Load() {
		return requests, nil
	}
	refused = make([][]byte, len(requests))
	for at, one := range requests {
		if refused[at] = c.denied(one, true); refused[at] == nil {
			allowed = append(allowed, one)
		}
	}
	return allowed, refused
}

// withRefusals puts refusals between the replies of the commands that were carried out.
func withRefusals(reply []byte, refused [][]byte) []byte {
	if refused == nil {
		return reply
	}
	each, err := elements(reply)
	if err != nil {
		return appendError(nil, "ERR a bug: "+err.Error())
	}
	reply = appendArray(nil, len(refused))
	for _, one := range refused {
		if one == nil && len(each) > 0 {
			one, each = each[0], each[1:]
		}
		reply = append(reply, one...)
	}
	return reply
}

// hasRun returns whether EXEC has carried its commands out: their replies are an array.
func hasRun(reply []byte) bool {
	return bytes.HasPrefix(reply, []byte("*")) && !bytes.HasPrefix(reply, []byte("*-1"))
}

// watchKeys reads a fingerprint of each key, which EXEC carries and the group compares.
func watchKeys(c *connection, one route, given []string) {
	if c.multi != nil {
		c.out = appendError(c.out, "ERR WATCH inside MULTI is not allowed")
		return
	}
	slot := one.slot
	for _, key := range given[1:] {
		if slotOf([]byte(key)) != slot || len(c.watches) > 0 && slot != c.watchSlot {
			c.out = appendError(c.out, crossSlot)
			return
		}
	}
	reply, err := c.deliver(slot, appendPart(nil, partFingerprints, c.protocol, nil, one.request), false, nil)
	if err != nil {
		c.out = appendError(c.out, err.Error())
		return
	}
	if len(reply) == 0 || reply[0] != 0 {
		c.out = append(c.out, reply...)
		return
	}
	for at, key := range given[1:] {
		fingerprint := binary.LittleEndian.Uint64(reply[1+at*8:])
		c.watches = append(c.watches, watch{key: []byte(key), fingerprint: fingerprint})
	}
	c.watchSlot = slot
	c.out = appendStatus(c.out, "OK")
}
