// CLUSTER: the nodes, the slots and who leads, as clients of a Redis Cluster expect them.

package main

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// The version of Redis whose clients find what they expect.
const compatible = "7.2.0"

func split(address string) (string, int) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address, 0
	}
	number, _ := strconv.Atoi(port)
	return host, number
}

func clusterCommand(c *connection, _ route, given []string) {
	switch option := strings.ToLower(given[1]); {
	case option == "slots":
		c.slots()
	case option == "shards":
		c.shards()
	case option == "nodes":
		c.out = appendBulk(c.out, c.host.nodes())
	case option == "info":
		c.out = appendBulk(c.out, c.host.clusterInfo())
	case option == "myid":
		c.out = appendBulk(c.out, c.host.name(c.host.self()))
	case option == "keyslot":
		c.out = appendInteger(c.out, slotOf([]byte(given[2])))
	case option == "countkeysinslot":
		c.keysInSlot(given[2], -1)
	case option == "getkeysinslot":
		most, err := strconv.Atoi(given[3])
		if err != nil || most < 0 {
			c.out = appendError(c.out, "ERR Invalid number of keys")
			return
		}
		c.keysInSlot(given[2], most)
	}
}

// led returns the groups with a leader that is known, and their members with the leader first.
func (h *host) led() map[int][]member {
	found, now := map[int][]member{}, h.placement.Load()
	for group := range h.settings.Groups {
		leader, known := h.leader(group)
		if !known {
			continue
		}
		members := []member{leader}
		for _, placed := range now.Groups[group].Replicas {
			if one, known := now.member(placed.Node); known && placed.State == replicaVotes && one.ID != leader.ID {
				members = append(members, one)
			}
		}
		found[group] = members
	}
	return found
}

// slots names as replicas only nodes that lead no group: clients think that a node is either a master or a replica.
func (c *connection) slots() {
	led, now := c.host.led(), c.host.placement.Load()
	leads := map[uint64]bool{}
	for _, members := range led {
		leads[members[0].ID] = true
	}
	var rows []byte
	count := 0
	for _, owned := range now.Slots {
		members, known := led[owned.Group]
		if !known {
			continue
		}
		first := members[0]
		members = slices.DeleteFunc(slices.Clone(members), func(one member) bool { return one != first && leads[one.ID] })
		rows = appendArray(rows, 2+len(members))
		rows = appendInteger(appendInteger(rows, owned.Range[0]), owned.Range[1])
		for _, one := range members {
			address, port := split(one.Address)
			rows = appendInteger(appendBulk(appendArray(rows, 4), address), port)
			rows = appendArray(appendBulk(rows, c.host.name(one)), 0)
		}
		count++
	}
	c.out = append(appendArray(c.out, count), rows...)
}

func (c *connection) shards() {
	led, now := c.host.led(), c.host.placement.Load()
	c.out = appendArray(c.out, len(led))
	for group := range c.host.settings.Groups {
		members, known := led[group]
		if !known {
			continue
		}
		ranges := now.rangesOf(group)
		c.out = appendMap(c.out, c.protocol, 2)
		c.out = appendArray(appendBulk(c.out, "slots"), 2*len(ranges))
		for _, one := range ranges {
			c.out = appendInteger(appendInteger(c.out, one[0]), one[1])
		}
		c.out = appendArray(appendBulk(c.out, "nodes"), len(members))
		for at, one := range members {
			role := "replica"
			if at == 0 {
				role = "master"
			}
			address, port := split(one.Address)
			c.out = appendMap(c.out, c.protocol, 7)
			c.out = appendBulk(appendBulk(c.out, "id"), c.host.name(one))
			c.out = appendInteger(appendBulk(c.out, "port"), port)
			c.out = appendBulk(appendBulk(c.out, "ip"), address)
			c.out = appendBulk(appendBulk(c.out, "endpoint"), address)
			c.out = appendBulk(appendBulk(c.out, "role"), role)
			c.out = appendInteger(appendBulk(c.out, "replication-offset"), 0)
			c.out = appendBulk(appendBulk(c.out, "health"), "online")
		}
	}
}

// nodes shows each node as a master of the slots whose groups it leads.
func (h *host) nodes() string {
	led, now := h.led(), h.placement.Load()
	var text strings.Builder
	for _, one := range now.Nodes {
		flags := "master"
		if one.ID == h.settings.ID {
			flags = "myself,master"
		}
		_, raftPort := split(one.Raft)
		fmt.Fprintf(&text, "%s %s@%d %s - 0 0 %d connected", h.name(one.member), one.Address, raftPort, flags, one.ID)
		for group := range h.settings.Groups {
			if members, known := led[group]; known && members[0].ID == one.ID {
				for _, owned := range now.rangesOf(group) {
					fmt.Fprintf(&text, " %d-%d", owned[0], owned[1])
				}
			}
		}
		text.WriteString("\n")
	}
	return text.String()
}

func (h *host) clusterInfo() string {
	led, assigned := h.led(), 0
	leaders := map[uint64]bool{}
	for group, members := range led {
		for _, owned := range h.placement.Load().rangesOf(group) {
			assigned += owned[1] - owned[0] + 1
		}
		leaders[members[0].ID] = true
	}
	state := "ok"
	if assigned < slotCount {
		state = "fail"
	}
	return fmt.Sprintf("cluster_enabled:1\r\ncluster_state:%s\r\ncluster_slots_assigned:%d\r\ncluster_slots_ok:%d\r\n"+
		"cluster_slots_pfail:0\r\ncluster_slots_fail:%d\r\ncluster_known_nodes:%d\r\ncluster_size:%d\r\n"+
		"cluster_current_epoch:1\r\ncluster_my_epoch:1\r\n",
		state, slotCount, assigned, slotCount-assigned, len(h.placement.Load().Nodes), len(leaders))
}

// keysInSlot counts the keys of a slot, or returns some of them. It reads all keys of the slot's group.
func (c *connection) keysInSlot(given string, most int) {
	slot, err := strconv.Atoi(given)
	if err != nil || slot < 0 || slot >= slotCount {
		c.out = appendError(c.out, "ERR Invalid slot")
		return
	}
	group := c.host.placement.Load().groupOf(slot)
	if moved := c.moved(slot, group); moved != nil {
		c.out = append(c.out, moved...)
		return
	}
	reply, err := c.ask(group, "KEYS", "*")
	if err != nil {
		c.out = appendError(c.out, err.Error())
		return
	}
	keys, _ := elements(reply)
	var found []string
	for _, key := range keys {
		if name := text(key); slotOf([]byte(name)) == slot && (most < 0 || len(found) < most) {
			found = append(found, name)
		}
	}
	if most < 0 {
		c.out = appendInteger(c.out, len(found))
		return
	}
	c.out = appendArray(c.out, len(found))
	for _, name := range found {
		c.out = appendBulk(c.out, name)
	}
}
