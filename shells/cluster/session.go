// Commands about the connection and the node.

package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// frontCommands are those that the front answers. crates/holm-node/src/front.rs describes each.
var frontCommands map[string]func(*connection, route, []string)

// containers are the commands whose second word says what they do: HELP describes these words.
var containers = map[string]bool{"acl": true, "client": true, "cluster": true, "command": true, "config": true}

func init() {
	frontCommands = map[string]func(*connection, route, []string){
		"hello": hello, "auth": auth, "quit": quit, "reset": reset, "ping": ping, "echo": echo, "select": selectNumber,
		"client": clientCommand, "readonly": readOnly, "readwrite": readWrite, "asking": fine, "multi": multi,
		"exec": execute, "discard": discard, "watch": watchKeys, "command": command, "cluster": clusterCommand,
		"info": info, "config": configure, "time": timeCommand, "wait": wait, "flushall": flushAll,
		"flushdb": flushAll, "acl": aclCommand, "holm.hash": hashCommand, "holm.leader": leaderCommand,
		"holm.cluster": administer,
		"unwatch": func(c *connection, _ route, _ []string) {
			c.unwatch()
			c.out = appendStatus(c.out, "OK")
		},
	}
}

const (
	notInteger  = "ERR value is not an integer or out of range"
	syntaxError = "ERR syntax error"
)

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
	c.host.clients.become(c.net, c.shown, user)
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
			if _, err := strconv.Atoi(given[1]); err != nil {
				c.out = appendError(c.out, "ERR Protocol version is not an integer or out of range")
				return
			}
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
			if !isName(given[at+1]) {
				c.out = appendError(c.out, noName)
				return
			}
			c.host.clients.change(c.shown, func(one *shown) { one.name = given[at+1] })
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
	c.speak(protocol)
	c.out = appendMap(c.out, protocol, 7)
	c.out = appendBulk(appendBulk(c.out, "server"), "redis")
	c.out = appendBulk(appendBulk(c.out, "version"), compatible)
	c.out = appendInteger(appendBulk(c.out, "proto"), protocol)
	c.out = appendInteger(appendBulk(c.out, "id"), int(c.shown.id))
	c.out = appendBulk(appendBulk(c.out, "mode"), c.mode())
	c.out = appendBulk(appendBulk(c.out, "role"), "master")
	c.out = appendArray(appendBulk(c.out, "modules"), 0)
}

// speak chooses a version of the protocol.
func (c *connection) speak(protocol int) {
	c.protocol = protocol
	c.host.clients.change(c.shown, func(one *shown) { one.protocol = protocol })
}

// mode returns what a client takes the node for.
func (c *connection) mode() string {
	if c.isPlain {
		return "standalone"
	}
	return "cluster"
}

func quit(c *connection, _ route, _ []string) {
	c.out = appendStatus(c.out, "OK")
	c.quits = true
}

func reset(c *connection, _ route, _ []string) {
	c.multi, c.readOnly = nil, false
	c.unwatch()
	c.speak(2)
	c.host.clients.change(c.shown, func(one *shown) { one.name = "" })
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
	if number, err := strconv.Atoi(given[1]); err != nil {
		c.out = appendError(c.out, notInteger)
	} else if number == 0 {
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

func command(c *connection, one route, _ []string) {
	described, err := describe(one.request, c.protocol)
	if err != nil {
		c.out = appendError(c.out, "ERR "+err.Error())
		return
	}
	c.out = append(c.out, described...)
}

func timeCommand(c *connection, _ route, _ []string) {
	now := clock()
	c.out = appendBulk(appendArray(c.out, 2), strconv.FormatInt(now.Unix(), 10))
	c.out = appendBulk(c.out, strconv.Itoa(now.Nanosecond()/1000))
}

// wait: each write that was acknowledged is on most replicas.
func wait(c *connection, _ route, given []string) {
	for _, one := range given[1:] {
		if number, err := strconv.ParseInt(one, 10, 64); err != nil || number < 0 {
			c.out = appendError(c.out, notInteger)
			return
		}
	}
	c.out = appendInteger(c.out, len(c.host.placement.Load().Groups[0].Replicas)/2)
}

// flushAll removes the keys of all groups, one group after the other.
func flushAll(c *connection, _ route, given []string) {
	if len(given) > 2 || len(given) == 2 && !slices.Contains([]string{"async", "sync"}, strings.ToLower(given[1])) {
		c.out = appendError(c.out, syntaxError)
		return
	}
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
