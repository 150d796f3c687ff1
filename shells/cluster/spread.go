// Commands about several slots, and about all keys of a node: divided among groups, atomic in each.

package main

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// spread divides a command among the groups of its keys.
func (c *connection) spread(given []string) {
	name := strings.ToLower(given[0])
	switch name {
	case "mget", "del", "unlink", "exists", "touch":
	default:
		c.out = appendError(c.out, crossSlot)
		return
	}
	// By group: the places of its keys.
	places, now := map[int][]int{}, c.host.placement.Load()
	for at, key := range given[1:] {
		group := now.groupOf(slotOf([]byte(key)))
		if !c.isPlain && c.host.lane(group) == nil {
			c.out = appendError(c.out, crossSlot)
			return
		}
		places[group] = append(places[group], at)
	}
	answers := map[int]<-chan answer{}
	for group, at := range places {
		request := []string{given[0]}
		for _, place := range at {
			request = append(request, given[1+place])
		}
		part := appendPart(nil, partPipeline, c.protocol, nil, appendRequest(nil, request...))
		answers[group] = c.host.asker(group).ask(part, name == "del" || name == "unlink")
	}
	sum, values := 0, make([][]byte, len(given)-1)
	var refused []byte
	for group, at := range places {
		found := <-answers[group]
		if isSlotRefusal(found.replies) || found.err == errTryAgain {
			found = c.oneByOne(given, at, name)
		}
		switch {
		case found.err != nil:
			refused = appendError(nil, found.err.Error())
		case len(found.replies) > 0 && found.replies[0] == '-':
			refused = found.replies
		case name == "mget":
			each, err := elements(found.replies)
			if err != nil || len(each) != len(at) {
				refused = appendError(nil, "ERR a bug: the keys and their values differ in number")
				continue
			}
			for index, place := range at {
				values[place] = each[index]
			}
		default:
			sum += number(found.replies)
		}
	}
	switch {
	case refused != nil:
		c.out = append(c.out, refused...)
	case name == "mget":
		c.out = appendArray(c.out, len(values))
		for _, value := range values {
			c.out = append(c.out, value...)
		}
	default:
		c.out = appendInteger(c.out, sum)
	}
}

// oneByOne delivers the keys of a group each by itself: some of their slots are elsewhere. The answer is as one of all.
func (c *connection) oneByOne(given []string, places []int, name string) answer {
	sum, values := 0, appendArray(nil, len(places))
	for _, place := range places {
		key := given[1+place]
		request := appendRequest(nil, given[0], key)
		one := route{request: request, slot: slotOf([]byte(key)), writes: name == "del" || name == "unlink"}
		reply := c.request(one, nil)
		if len(reply) == 0 || reply[0] == '-' {
			return answer{replies: reply}
		}
		if name != "mget" {
			sum += number(reply)
			continue
		}
		each, err := elements(reply)
		if err != nil || len(each) != 1 {
			return answer{err: errors.New("ERR a bug: a key has one value")}
		}
		values = append(values, each[0]...)
	}
	if name == "mget" {
		return answer{replies: values}
	}
	return answer{replies: appendInteger(nil, sum)}
}

// number returns the number of an integer reply.
func number(reply []byte) int {
	first, _, _ := line(reply)
	found, _ := strconv.Atoi(first)
	return found
}

// own returns the groups that this node leads: a client of the cluster asks each node for its own keys. For a plain
// client all groups are one.
func (c *connection) own() []int {
	var groups []int
	for group := range c.host.settings.Groups {
		if c.isPlain {
			groups = append(groups, group)
			continue
		}
		if leader, known := c.host.leader(group); known && leader.ID == c.host.settings.ID {
			groups = append(groups, group)
		}
	}
	return groups
}

// ask asks a group alone.
func (c *connection) ask(group int, request ...string) ([]byte, error) {
	part := appendPart(nil, partPipeline, c.protocol, nil, appendRequest(nil, request...))
	found := <-c.host.asker(group).ask(part, false)
	return found.replies, found.err
}

// everywhere answers for the keys of this node, or, to a plain client, for all keys.
func (c *connection) everywhere(given []string) {
	name := strings.ToLower(given[0])
	if name == "scan" {
		c.scan(given)
		return
	}
	if name == "randomkey" {
		c.randomKey()
		return
	}
	own := c.own()
	answers := make([]<-chan answer, len(own))
	part := appendPart(nil, partPipeline, c.protocol, nil, appendRequest(nil, given...))
	for at, group := range own {
		answers[at] = c.host.asker(group).ask(part, false)
	}
	sum, count := 0, 0
	var keys []byte
	for at, group := range own {
		found := <-answers[at]
		if found.err != nil {
			c.out = appendError(c.out, found.err.Error())
			return
		}
		switch reply := found.replies; {
		case len(reply) > 0 && reply[0] == '-':
			c.out = append(c.out, reply...)
			return
		case name == "dbsize":
			sum += number(reply)
		case name == "keys":
			found := c.ownKeys(reply, group)
			count += len(found)
			for _, key := range found {
				keys = append(keys, key...)
			}
		}
	}
	if name == "dbsize" {
		c.out = appendInteger(c.out, sum)
	} else {
		c.out = append(appendArray(c.out, count), keys...)
	}
}

// randomKey asks one group after the other, in an order by chance, until one has a key.
func (c *connection) randomKey() {
	own := c.own()
	rand.Shuffle(len(own), func(one, other int) { own[one], own[other] = own[other], own[one] })
	for _, group := range own {
		reply, err := c.ask(group, "RANDOMKEY")
		switch {
		case err != nil:
			c.out = appendError(c.out, err.Error())
			return
		case len(reply) > 1 && reply[0] == '$' && reply[1] != '-', len(reply) > 0 && reply[0] == '-':
			c.out = append(c.out, reply...)
			return
		}
	}
	c.out = appendNull(c.out, c.protocol)
}

// anywhere asks some group: the answer depends on none.
func (c *connection) anywhere(given []string) {
	group := 0
	if own := c.own(); len(own) > 0 {
		group = own[0]
	}
	reply, err := c.ask(group, given...)
	if err != nil {
		reply = appendError(nil, err.Error())
	}
	c.out = append(c.out, reply...)
}

// scan goes from group to group. A cursor is that of the group, times the number of groups, plus the group.
func (c *connection) scan(given []string) {
	cursor, err := strconv.ParseUint(given[1], 10, 64)
	if err != nil {
		c.out = appendError(c.out, "ERR invalid cursor")
		return
	}
	groups := uint64(c.host.settings.Groups)
	group, inner := int(cursor%groups), cursor/groups
	own := c.own()
	if cursor == 0 && len(own) > 0 {
		group = own[0]
	}
	if !c.isPlain && c.host.lane(group) == nil || len(own) == 0 && cursor == 0 {
		c.out = append(c.out, "*2\r\n$1\r\n0\r\n*0\r\n"...)
		return
	}
	request := append([]string{given[0], strconv.FormatUint(inner, 10)}, given[2:]...)
	reply, err := c.ask(group, request...)
	if err != nil {
		c.out = appendError(c.out, err.Error())
		return
	}
	each, err := elements(reply)
	if err != nil || len(each) != 2 {
		c.out = append(c.out, reply...)
		return
	}
	next, _ := strconv.ParseUint(text(each[0]), 10, 64)
	outer := uint64(0)
	if next != 0 {
		outer = next*groups + uint64(group)
	} else {
		for _, other := range own {
			if other > group {
				outer = uint64(other)
				break
			}
		}
	}
	found := c.ownKeys(each[1], group)
	c.out = appendArray(appendBulk(appendArray(c.out, 2), strconv.FormatUint(outer, 10)), len(found))
	for _, key := range found {
		c.out = append(c.out, key...)
	}
}

// ownKeys returns the keys of an array whose slots are those of a group: while slots are moved, two groups have some.
func (c *connection) ownKeys(reply []byte, group int) [][]byte {
	keys, err := elements(reply)
	now := c.host.placement.Load()
	if err != nil || len(now.Moves) == 0 {
		return keys
	}
	return slices.DeleteFunc(keys, func(key []byte) bool { return now.groupOf(slotOf([]byte(text(key)))) != group })
}
