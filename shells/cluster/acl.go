// ACL: users, as clients see and change them.

package main

import (
	"maps"
	"slices"
	"strings"
)

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
