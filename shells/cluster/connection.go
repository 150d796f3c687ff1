// A connection: requests in, replies out in their order. Commands for several groups run beside each other.

package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"
)

const (
	readBytes = 64 << 10
	// The most bytes of a command that are read: more than a client's may have, for nodes send each other larger ones. A
	// client's is refused once it is read whole.
	mostBufferBytes = 80 << 20
	// Replies of so many bytes are sent before others are waited for.
	mostOutBytes = 4 << 20
	// The most bytes of a transaction: it must fit into an entry of the log.
	mostCommandBytes = 16 << 20
	// The most bytes of one client's commands that become one part.
	mostPartBytes = 512 << 10
)

var nextClient atomic.Int64

// connection is a client.
type connection struct {
	host     *host
	net      net.Conn
	protocol int
	// What CLIENT LIST shows.
	shown *shown
	// The client has said who it is, or need not.
	isKnown bool
	account *account
	// Reads may be answered from what this node has.
	readOnly bool
	// The client knows nothing of clusters: this node answers for all of them.
	isPlain   bool
	quits     bool
	multi     *transaction
	watches   []watch
	watchSlot int
	// The bytes of the keys.
	watchBytes int
	out        []byte
	pending    []pending
	batches    []*batch
	// The placement that is looked at while something is pending: commands about a slot go to one group, in their order.
	placement *placement
	// What a backup reads.
	view *view
	// Commands that were carried out and are not counted yet.
	done int64
}

// batch is the commands of a wake-up for one group.
type batch struct {
	group    int
	requests [][]byte
	bytes    int
	writes   bool
	replies  [][]byte
	err      error
}

// pending is a reply that is known, or one of a batch.
type pending struct {
	route route
	known []byte
	batch *batch
	at    int
}

// serve accepts clients of a cluster, or, if isPlain, those that know nothing of one.
func (h *host) serve(listener net.Listener, isPlain bool) error {
	for {
		accepted, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			// Such as no free file descriptor.
			time.Sleep(10 * time.Millisecond)
			continue
		}
		c := &connection{host: h, net: accepted, protocol: 2}
		c.account, c.isKnown = h.accounts.find(defaultUser), h.accounts.isOpen()
		c.isPlain = isPlain
		c.shown = &shown{id: nextClient.Add(1), remote: accepted.RemoteAddr().String(),
			local: accepted.LocalAddr().String(), since: time.Now(), protocol: 2, account: c.account}
		if !h.clients.add(accepted, c.shown) {
			accepted.Close()
			continue
		}
		go func() {
			defer h.clients.remove(accepted)
			c.run()
		}()
	}
}

func (c *connection) run() {
	defer c.net.Close()
	defer c.closeView()
	buffer := make([]byte, 0, readBytes)
	var routes []route
	for {
		if len(buffer) >= mostBufferBytes {
			_, _ = c.net.Write(appendError(nil, "ERR Protocol error: a command has more than 80 MiB"))
			c.linger()
			return
		}
		if len(buffer) == cap(buffer) {
			buffer = append(make([]byte, 0, 2*cap(buffer)), buffer...)
		}
		count, err := c.net.Read(buffer[len(buffer):cap(buffer)])
		if err != nil {
			return
		}
		buffer = buffer[:len(buffer)+count]
		used := 0
		for {
			found, length, err := parse(buffer[used:], c.isKnown, c.host.level(), routes[:0])
			if err != nil {
				c.out = appendError(c.out, err.Error())
				c.quits = true
				break
			}
			c.handle(found)
			used += length
			routes = found
			// What is left may be no request, and then is not waited for.
			if c.quits || len(found) == 0 || used == len(buffer) {
				break
			}
		}
		if !c.send() {
			return
		}
		if c.quits {
			c.linger()
			return
		}
		buffer = append(buffer[:0], buffer[used:]...)
		if cap(buffer) > 1<<20 && len(buffer) < readBytes {
			buffer = append(make([]byte, 0, readBytes), buffer...)
		}
	}
}

// send sends what is to be said, and returns whether the connection can go on.
func (c *connection) send() bool {
	if len(c.out) == 0 {
		return true
	}
	_, err := c.net.Write(c.out)
	if c.out = c.out[:0]; cap(c.out) > mostOutBytes {
		c.out = nil
	}
	return err == nil
}

// handle carries commands out, and appends their replies in order.
func (c *connection) handle(routes []route) {
	if !c.isKnown {
		c.isKnown = c.host.accounts.isOpen()
	}
	for _, one := range routes {
		if c.quits {
			break
		}
		if one.kind == routeEmpty {
			continue
		}
		if !c.account.mayDoAll.Load() && c.refuse(one) {
			continue
		}
		if one.kind == routeKeyed && c.isKnown && c.multi == nil {
			c.keyed(one)
			continue
		}
		// Everything else sees what came before it.
		c.flush()
		c.alone(one)
	}
	c.flush()
	c.host.commands.Add(c.done)
	c.done = 0
}

// refuse answers a command that the user may not carry out, and returns whether it has done so. What is wrong for
// everybody is answered elsewhere.
func (c *connection) refuse(one route) bool {
	if !c.isKnown || one.kind == routeRefused {
		return false
	}
	refused := c.denied(one.request, c.multi != nil)
	if refused == nil {
		return false
	}
	c.flush()
	c.abort()
	c.out = append(c.out, refused...)
	return true
}

// denied returns the reply to a command that the user may not carry out, and notes that; nothing if it may.
func (c *connection) denied(request []byte, inTransaction bool) []byte {
	return c.host.refused(c.account, request, inTransaction, c.describe)
}

func (c *connection) keyed(one route) {
	if len(c.pending) == 0 {
		c.placement = c.host.placement.Load()
	}
	group := c.groupFor(c.placement, one.slot)
	isHere := c.readOnly && !one.writes && c.host.served(group) != nil
	if moved := c.moved(one.slot, group); moved != nil && !isHere {
		c.pending = append(c.pending, pending{known: moved})
		return
	}
	c.done++
	var to *batch
	for _, present := range c.batches {
		if present.group == group {
			to = present
		}
	}
	if to == nil {
		to = &batch{group: group}
		c.batches = append(c.batches, to)
	}
	c.pending = append(c.pending, pending{route: one, batch: to, at: len(to.requests)})
	to.requests = append(to.requests, one.request)
	to.bytes += len(one.request)
	to.writes = to.writes || one.writes
	if to.bytes > mostPartBytes {
		c.flush()
	}
}

// moved returns a redirection, if another node leads. Plain clients have none: this node reaches the leader for them.
func (c *connection) moved(slot, group int) []byte {
	leader, known := c.host.leader(group)
	if !known || leader.ID == c.host.settings.ID || c.isPlain {
		return nil
	}
	return appendError(nil, fmt.Sprintf("MOVED %d %s", slot, leader.Address))
}

// flush carries out what has been collected, and appends the replies.
func (c *connection) flush() {
	if len(c.pending) == 0 {
		return
	}
	answers := make([]<-chan answer, len(c.batches))
	for at, one := range c.batches {
		part := appendPart(nil, partPipeline, c.protocol, nil, one.requests...)
		if own := c.host.served(one.group); own != nil && c.readOnly && !one.writes {
			replies, err := own.readHere(part)
			one.take(answer{replies: replies, err: err})
			continue
		}
		answers[at] = c.host.asker(one.group).ask(part, one.writes)
	}
	for at, one := range c.batches {
		if answers[at] != nil {
			one.take(<-answers[at])
		}
	}
	for _, reply := range c.pending {
		if len(c.out) > mostOutBytes && !c.send() {
			c.quits = true
			break
		}
		switch {
		case reply.batch == nil:
			c.out = append(c.out, reply.known...)
		case reply.batch.err == errTryAgain:
			c.out = append(c.out, c.request(reply.route, nil)...)
		case reply.batch.err != nil:
			c.out = appendError(c.out, reply.batch.err.Error())
		case isSlotRefusal(reply.batch.replies[reply.at]):
			c.out = append(c.out, c.request(reply.route, reply.batch.replies[reply.at])...)
		default:
			c.out = append(c.out, reply.batch.replies[reply.at]...)
		}
	}
	c.pending, c.batches = c.pending[:0], c.batches[:0]
}

// take divides an answer among the commands of a batch.
func (b *batch) take(found answer) {
	b.err = found.err
	if b.err != nil {
		return
	}
	if len(b.requests) == 1 {
		b.replies = [][]byte{found.replies}
		return
	}
	b.replies, b.err = splitReplies(found.replies)
	if b.err == nil && len(b.replies) != len(b.requests) {
		b.err = fmt.Errorf("ERR a bug: %d commands have %d replies", len(b.requests), len(b.replies))
	}
}

// alone carries out a command that is not just handed to its group.
func (c *connection) alone(one route) {
	name := strings.ToLower(firstWord(one.request))
	if !c.isKnown && name != "auth" && name != "hello" && name != "quit" && name != "reset" {
		c.out = appendError(c.out, "NOAUTH Authentication required.")
		return
	}
	if one.kind == routeRefused {
		c.abort()
		c.out = append(c.out, refusal(one.request, c.host.level())...)
		return
	}
	if c.multi != nil && !endsTransaction(name) {
		c.queue(one, name)
		return
	}
	c.carryOut(one, name)
}

// carryOut carries out a command by its kind and its name in lower case.
func (c *connection) carryOut(one route, name string) {
	switch one.kind {
	case routeCross:
		c.done++
		c.spread(words(one.request))
	case routeEverywhere:
		c.done++
		c.everywhere(words(one.request))
	case routeAnywhere:
		c.done++
		c.anywhere(words(one.request))
	case routeFront:
		given := words(one.request)
		if containers[name] && len(given) == 2 && strings.EqualFold(given[1], "help") {
			c.done++
			command(c, one, given)
		} else if command, ok := frontCommands[name]; ok {
			if name != "holm.cluster" {
				// Other nodes ask it for clients of theirs.
				c.done++
			}
			command(c, one, given)
		} else {
			c.out = appendError(c.out, "ERR unknown command '"+name+"'")
		}
	default:
		c.keyed(one)
		c.flush()
	}
}

// firstWord returns the name of a command, as the client has written it.
func firstWord(request []byte) string {
	if len(request) > 0 && request[0] == '*' {
		_, used, err := line(request)
		if err == nil {
			request = request[used:]
			if length, err := replyLength(request); err == nil {
				return text(request[:length])
			}
		}
		return ""
	}
	word, _, _ := bytes.Cut(bytes.TrimSpace(request), []byte(" "))
	return string(word)
}
