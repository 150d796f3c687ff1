// ACL: users, as clients see and change them.

package main

import (
	"maps"
	"slices"
	"strings"
)

var aclHelp = []string{
	"ACL <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
	"CAT [<category>]: lists categories, or the commands of one",
	"DELUSER <username> [<username> ...]: removes users and disconnects their clients, on all nodes",
	"DRYRUN <username> <command> [<arg> ...]: tells whether a user may run a command, and does not run it",
	"GENPASS [<bits>]: makes a password by chance",
	"GETUSER <username>: describes a user",
	"LIST: describes all users",
	"LOG [<count> | RESET]: tells what users were refused on this node",
	"SETUSER <username> [<rule> ...]: makes or changes a user, for all nodes",
	"USERS: lists the names of all users",
	"WHOAMI: returns the name of this connection's user",
}

func aclCommand(c *connection, one route, given []string) {
	switch verb, count := strings.ToLower(given[1]), len(given); {
	case verb == "whoami" && count == 2:
		c.out = appendBulk(c.out, c.account.name)
	case verb == "users" && count == 2:
		c.out = appendBulks(c.out, c.host.accounts.names())
	case verb == "list" && count == 2:
		c.out = appendBulks(c.out, c.host.accounts.lines())
	case verb == "setuser" && count > 2:
		c.finish(c.host.setUser(given[2], one.request))
	case verb == "deluser" && count > 2 && slices.Contains(given[2:], defaultUser):
		c.out = appendError(c.out, "ERR The 'default' user cannot be removed")
	case verb == "deluser" && count > 2:
		removed, err := c.host.removeUsers(given[2:])
		if err != nil {
			c.out = appendError(c.out, coded(err))
			return
		}
		c.out = appendInteger(c.out, removed)
	case verb == "log" && count <= 3:
		said, err := c.host.denied.answer(one.request, c.protocol)
		if err != nil {
			said = appendError(nil, coded(err))
		}
		c.out = append(c.out, said...)
	case (verb == "load" || verb == "save") && count == 2:
		c.out = appendError(c.out, "ERR the users of a cluster have no file: each node keeps them with the placement")
	case verb == "help" && count == 2:
		c.out = appendBulks(c.out, aclHelp)
	default:
		c.answerACL(one, given)
	}
}

// finish answers OK, or an error.
func (c *connection) finish(err error) {
	if err != nil {
		c.out = appendError(c.out, coded(err))
		return
	}
	c.out = appendStatus(c.out, "OK")
}

// answerACL answers what is about one user, or about rules.
func (c *connection) answerACL(one route, given []string) {
	var about *user
	if len(given) > 2 {
		if found := c.host.accounts.find(given[2]); found != nil {
			about = found.user.Load()
		}
	}
	said, err := answerACL(about, one.request, c.protocol)
	if err != nil {
		c.out = appendError(c.out, coded(err))
		return
	}
	c.out = append(c.out, said...)
}

// names returns the names of all users, in their order.
func (a *accounts) names() []string {
	a.mutex.RLock()
	defer a.mutex.RUnlock()
	return slices.Sorted(maps.Keys(a.byName))
}

// lines returns all users with their rules.
func (a *accounts) lines() []string {
	names := a.names()
	a.mutex.RLock()
	defer a.mutex.RUnlock()
	var lines []string
	for _, name := range names {
		if one := a.byName[name]; one != nil {
			lines = append(lines, "user "+name+" "+string(one.rules))
		}
	}
	return lines
}
