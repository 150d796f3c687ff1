// MULTI, EXEC and WATCH within one slot: one part, which is one entry or a read of one instant.

package main

import (
	"bytes"
	"encoding/binary"
	"strings"
)

const crossSlot = "CROSSSLOT Keys in request don't hash to the same slot"

// The most keys that a connection watches, and the most bytes of them: a part counts its watches by 2 bytes, and what does
// not fit there would be taken for another part by all replicas.
const (
	mostWatches    = 1<<16 - 1
	mostWatchBytes = 4 << 20
)

// transaction is what a client has queued.
type transaction struct {
	commands []route
	bytes    int
	// The slot of the keys, once a command has some.
	slot     int
	hasSlot  bool
	writes   bool
	isFailed bool
}

// Commands without keys that this node answers itself when EXEC carries the others out.
var queuedFront = map[string]bool{"acl": true, "asking": true, "client": true, "cluster": true, "command": true,
	"config": true, "echo": true, "info": true, "ping": true, "readonly": true, "readwrite": true, "select": true,
	"time": true, "unwatch": true, "wait": true}

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
	isKeyed := one.kind == routeKeyed
	switch {
	case one.kind == routeCross, isKeyed && c.multi.hasSlot && one.slot != c.multi.slot,
		isKeyed && len(c.watches) > 0 && one.slot != c.watchSlot:
		c.abort()
		c.out = appendError(c.out, crossSlot)
		return
	case !isKeyed && one.kind != routeAnywhere && !(one.kind == routeFront && queuedFront[name]):
		c.abort()
		c.out = appendError(c.out, "ERR the command '"+name+"' cannot be part of a transaction in a cluster")
		return
	case isKeyed:
		if moved := c.moved(one.slot, c.groupFor(c.host.placement.Load(), one.slot)); moved != nil {
			c.abort()
			c.out = append(c.out, moved...)
			return
		}
		c.multi.slot, c.multi.hasSlot = one.slot, true
		c.multi.writes = c.multi.writes || one.writes
	}
	if c.multi.bytes += len(one.request); c.multi.bytes > mostCommandBytes {
		// What was queued is of no use any more, and may be large.
		c.abort()
		c.multi.commands = nil
		c.out = appendError(c.out, "ERR a transaction has more than 16 MiB")
		return
	}
	one.request = bytes.Clone(one.request)
	c.multi.commands = append(c.multi.commands, one)
	c.out = appendStatus(c.out, "QUEUED")
}

func (c *connection) unwatch() { c.watches, c.watchBytes = nil, 0 }

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
	if c.host.tests.unwatched {
		watches = nil
	}
	// What the user may do can have changed since the commands were queued.
	known := c.refusals(queued.commands)
	var requests [][]byte
	reads := 0
	for at, one := range queued.commands {
		if one.kind == routeKeyed && known[at] == nil {
			if !one.writes && reads == len(requests) {
				reads++
			}
			requests = append(requests, one.request)
		}
	}
	reply := appendArray(nil, 0)
	if len(requests) > 0 || len(watches) > 0 {
		slot := queued.slot
		if !queued.hasSlot {
			slot = c.watchSlot
		}
		if c.host.tests.readsApart && len(watches) == 0 && 0 < reads && reads < len(requests) {
			reply = c.deliverApart(slot, requests[:reads], requests[reads:])
		} else {
			reply = c.deliverTransaction(slot, watches, queued.writes || len(watches) > 0, requests...)
		}
	}
	if hasRun(reply) && len(requests) < len(queued.commands) {
		c.answerQueued(queued.commands, known)
		reply = merged(reply, known)
	}
	if hasRun(reply) {
		c.done += int64(len(requests))
	}
	c.out = append(c.out, reply...)
}

// deliverTransaction carries out the commands of a group, and returns the reply of EXEC.
func (c *connection) deliverTransaction(slot int, watches []watch, writes bool, requests ...[]byte) []byte {
	part := appendPart(nil, partTransaction, c.protocol, watches, requests...)
	reply, err := c.deliver(slot, part, writes, nil)
	if err != nil {
		return appendError(nil, err.Error())
	}
	return reply
}

// deliverApart is a bug for tests that are to catch it: the reads that a transaction begins with are of an instant
// before the others.
func (c *connection) deliverApart(slot int, reads, others [][]byte) []byte {
	first := c.deliverTransaction(slot, nil, false, reads...)
	if !hasRun(first) {
		return first
	}
	then := c.deliverTransaction(slot, nil, true, others...)
	if !hasRun(then) {
		return then
	}
	known, err := elements(first)
	if err != nil {
		return appendError(nil, "ERR a bug: "+err.Error())
	}
	return merged(then, append(known, make([][]byte, len(others))...))
}

// refusals returns for each command the reply if the user may not carry it out.
func (c *connection) refusals(commands []route) [][]byte {
	refused := make([][]byte, len(commands))
	if !c.account.mayDoAll.Load() {
		for at, one := range commands {
			refused[at] = c.denied(one.request, true)
		}
	}
	return refused
}

// answerQueued carries out what is not the group's, and puts the replies at their places.
func (c *connection) answerQueued(commands []route, known [][]byte) {
	out := c.out
	for at, one := range commands {
		if one.kind != routeKeyed && known[at] == nil {
			c.out = nil
			c.carryOut(one, strings.ToLower(firstWord(one.request)))
			known[at] = c.out
		}
	}
	c.out = out
}

// merged puts the replies of a group between those that are known.
func merged(reply []byte, known [][]byte) []byte {
	each, err := elements(reply)
	if err != nil {
		return appendError(nil, "ERR a bug: "+err.Error())
	}
	reply = appendArray(nil, len(known))
	for _, one := range known {
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
	slot, bytes := one.slot, c.watchBytes
	for _, key := range given[1:] {
		bytes += len(key)
		if slotOf([]byte(key)) != slot || len(c.watches) > 0 && slot != c.watchSlot {
			c.out = appendError(c.out, crossSlot)
			return
		}
	}
	if len(c.watches)+len(given)-1 > mostWatches || bytes > mostWatchBytes {
		c.out = appendError(c.out, "ERR a connection watches at most 65535 keys, with 4 MiB")
		return
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
	c.watchSlot, c.watchBytes = slot, bytes
	c.out = appendStatus(c.out, "OK")
}
