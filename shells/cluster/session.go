// Commands about the connection and the node.

package main

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
)

// frontCommands are those that the front answers. crates/holm-node/src/front.rs describes each.
var frontCommands map[string]func(*connection, route, []string)

func init() {
	frontCommands = map[string]func(*connection, route, []string){
		"hello": hello, "auth": auth, "quit": quit, "reset": reset, "ping": ping, "echo": echo, "select": selectNumber,
		"client": clientCommand, "readonly": readOnly, "readwrite": readWrite, "asking": fine, "multi": multi,
		"exec": execute, "discard": discard, "watch": watchKeys, "command": command, "cluster": clusterCommand,
		"info": info, "config": configCommand, "time": timeCommand, "wait": wait, "flushall": flushAll,
		"flushdb": flushAll, "acl": aclCommand, "holm.hash": hashCommand, "holm.leader": leaderCommand,
		"holm.cluster": administer,
		"unwatch": func(c *connection, _ route, _ []string) {
			c.unwatch()
			c.out = appendStatus(c.out, "OK")
		},
	}
}

const wrongPassword = "WRONGPASS invalid username-password pair or user is disabled."

func fine(c *connection, _ route, _ []string) { c.out = appendStatus(c.out, "OK") }

// signIn checks a name and a password, which came with a command.
func (c *connection) signIn(name, password, command string) bool {
	found := c.host.signIn(name, password)
	if found == nil {
		c.host.denied.add(nil, appendRequest(nil, command), false, name, c.describe())
		return false
	}
	c.isKnown = true
	c.become(found)
	return true
}

// become gives the connection the account of a user.
func (c *connection) become(user *account) {
	c.account = user
	c.host.clients.become(c.net, user)
}

func auth(c *connection, _ route, given []string) {
	name, password := defaultUser, given[len(given)-1]
	if len(given) == 3 {
		name = given[1]
	}
	switch {
	case len(given) > 3:
		c.out = appendError(c.out, "ERR syntax error")
	case len(given) == 2 && c.host.accounts.isOpen():
		c.out = appendError(c.out, "ERR AUTH called without any password configured for the default user.")
	case c.signIn(name, password, "AUTH"):
		c.out = appendStatus(c.out, "OK")
	default:
		c.out = appendError(c.out, wrongPassword)
	}
}

func hello(c *connection, _ route, given []string) {
	protocol := c.protocol
	if len(given) > 1 {
		switch given[1] {
		case "2":
			protocol = 2
		case "3":
			protocol = 3
		default:
			c.out = appendError(c.out, "NOPROTO unsupported protocol version")
			return
		}
	}
	for at := 2; at < len(given); {
		switch option := strings.ToLower(given[at]); {
		case option == "auth" && at+2 < len(given):
			if !c.signIn(given[at+1], given[at+2], "HELLO") {
				c.out = appendError(c.out, wrongPassword)
				return
			}
			at += 3
		case option == "setname" && at+1 < len(given):
			c.name = given[at+1]
			at += 2
		default:
			c.out = appendError(c.out, "ERR Syntax error in HELLO option '"+given[at]+"'")
			return
		}
	}
	if !c.isKnown {
		c.out = appendError(c.out, "NOAUTH HELLO must be called with the client already authenticated, otherwise the "+
			"HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP "+
			"protocol version at the same time")
		return
	}
	c.protocol = protocol
	c.out = appendMap(c.out, protocol, 7)
	c.out = appendBulk(appendBulk(c.out, "server"), "redis")
	c.out = appendBulk(appendBulk(c.out, "version"), compatible)
	c.out = appendInteger(appendBulk(c.out, "proto"), protocol)
	c.out = appendInteger(appendBulk(c.out, "id"), int(c.id))
	mode := "cluster"
	if c.isPlain {
		mode = "standalone"
	}
	c.out = appendBulk(appendBulk(c.out, "mode"), mode)
	c.out = appendBulk(appendBulk(c.out, "role"), "master")
	c.out = appendArray(appendBulk(c.out, "modules"), 0)
}

func quit(c *connection, _ route, _ []string) {
	c.out = appendStatus(c.out, "OK")
	c.quits = true
}

func reset(c *connection, _ route, _ []string) {
	c.multi, c.protocol, c.name, c.readOnly = nil, 2, "", false
	c.unwatch()
	c.become(c.host.accounts.find(defaultUser))
	c.isKnown = c.host.accounts.isOpen()
	c.out = appendStatus(c.out, "RESET")
}

func ping(c *connection, _ route, given []string) {
	switch len(given) {
	case 1:
		c.out = appendStatus(c.out, "PONG")
	case 2:
		c.out = appendBulk(c.out, given[1])
	default:
		c.out = appendError(c.out, "ERR wrong number of arguments for 'ping' command")
	}
}

func echo(c *connection, _ route, given []string) { c.out = appendBulk(c.out, given[1]) }

func selectNumber(c *connection, _ route, given []string) {
	if given[1] == "0" {
		c.out = appendStatus(c.out, "OK")
	} else {
		c.out = appendError(c.out, "ERR SELECT is not allowed in cluster mode")
	}
}

func readOnly(c *connection, _ route, _ []string) {
	c.readOnly = true
	c.out = appendStatus(c.out, "OK")
}

func readWrite(c *connection, _ route, _ []string) {
	c.readOnly = false
	c.out = appendStatus(c.out, "OK")
}

func (c *connection) describe() string {
	age := int(time.Since(c.since).Seconds())
	return fmt.Sprintf("id=%d addr=%s laddr=%s name=%s age=%d db=0 user=%s resp=%d", c.id, c.net.RemoteAddr(),
		c.net.LocalAddr(), c.name, age, c.account.name, c.protocol)
}

func clientCommand(c *connection, _ route, given []string) {
	switch option := strings.ToLower(given[1]); {
	case option == "id":
		c.out = appendInteger(c.out, int(c.id))
	case option == "getname" && c.name == "":
		c.out = appendNull(c.out, c.protocol)
	case option == "getname":
		c.out = appendBulk(c.out, c.name)
	case option == "setname" && len(given) == 3:
		c.name = given[2]
		c.out = appendStatus(c.out, "OK")
	case option == "setinfo", option == "no-evict", option == "no-touch":
		c.out = appendStatus(c.out, "OK")
	case option == "info", option == "list":
		c.out = appendBulk(c.out, c.describe()+"\n")
	default:
		c.out = appendError(c.out, "ERR unknown subcommand or wrong number of arguments for CLIENT")
	}
}

func command(c *connection, one route, _ []string) {
	described, err := describe(one.request, c.protocol)
	if err != nil {
		c.out = appendError(c.out, "ERR "+err.Error())
		return
	}
	c.out = append(c.out, described...)
}

// parameters are what clients look at when they start.
func (h *host) parameters() [][2]string {
	return [][2]string{
		{"appendonly", "yes"},
		{"cluster-enabled", "yes"},
		{"cluster-require-full-coverage", "no"},
		{"databases", "1"},
		{"maxmemory", "0"},
		{"save", ""},
	}
}

func configCommand(c *connection, _ route, given []string) {
	if strings.ToLower(given[1]) != "get" || len(given) < 3 {
		c.out = appendError(c.out, "ERR a cluster has CONFIG GET alone: its settings are in the folder of each node")
		return
	}
	var found [][2]string
	for _, one := range c.host.parameters() {
		for _, pattern := range given[2:] {
			if isMatch, err := path.Match(strings.ToLower(pattern), one[0]); err == nil && isMatch {
				found = append(found, one)
				break
			}
		}
	}
	c.out = appendMap(c.out, c.protocol, len(found))
	for _, one := range found {
		c.out = appendBulk(appendBulk(c.out, one[0]), one[1])
	}
}

func timeCommand(c *connection, _ route, _ []string) {
	now := clock()
	c.out = appendBulk(appendArray(c.out, 2), strconv.FormatInt(now.Unix(), 10))
	c.out = appendBulk(c.out, strconv.Itoa(now.Nanosecond()/1000))
}

// wait: each write that was acknowledged is on most replicas.
func wait(c *connection, _ route, _ []string) {
	c.out = appendInteger(c.out, len(c.host.placement.Load().Groups[0].Replicas)/2)
}

// flushAll removes the keys of all groups, one group after the other.
func flushAll(c *connection, _ route, _ []string) {
	for group := range c.host.settings.Groups {
		var err error
		for begun := time.Now(); time.Since(begun) < patience; time.Sleep(5 * time.Millisecond) {
			var refusal []byte
			if refusal, err = c.host.asker(group).entry(entryFlush, nil); err == nil && len(refusal) > 0 {
				err = errors.New(string(refusal))
				continue
			}
			if err == nil || err == errUnknown {
				break
			}
		}
		if err != nil {
			c.out = appendError(c.out, err.Error())
			return
		}
	}
	c.out = appendStatus(c.out, "OK")
}

// groupNumber reads the number of a group that this node has.
func (c *connection) groupNumber(given string) (int, bool) {
	number, err := strconv.Atoi(given)
	if err != nil || c.host.lane(number) == nil {
		c.out = appendError(c.out, "ERR no group of this node has this number")
		return 0, false
	}
	return number, true
}

// hashCommand answers the last entry of a group and the hash of its changes: replicas with the same entry are equal.
func hashCommand(c *connection, _ route, given []string) {
	number, ok := c.groupNumber(given[1])
	if !ok {
		return
	}
	applied, hash, keys, err := c.host.machines.find(shard(number)).status()
	if err != nil {
		c.out = appendError(c.out, "ERR "+err.Error())
		return
	}
	c.out = appendInteger(appendArray(c.out, 3), int(applied))
	c.out = appendInteger(appendBulk(c.out, strconv.FormatUint(hash, 16)), int(keys))
}

func leaderCommand(c *connection, _ route, given []string) {
	number, ok := c.groupNumber(given[1])
	if !ok {
		return
	}
	err := errBusy
	for begun := time.Now(); err != nil && time.Since(begun) < patience; time.Sleep(5 * time.Millisecond) {
		own := c.host.lane(number)
		if own == nil {
			err = errNoReplica
			break
		}
		err = c.host.handOver(number, own.replica, patience)
	}
	if err != nil {
		c.out = appendError(c.out, coded(err))
		return
	}
	c.out = appendStatus(c.out, "OK")
}
