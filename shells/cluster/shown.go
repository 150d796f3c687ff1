// CLIENT: what connections say of themselves, and what is shown of all of them.

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// shown is what others see of a connection. `clients` guards what changes.
type shown struct {
	id            int64
	remote, local string
	since         time.Time
	name          string
	protocol      int
	account       *account
}

func (s *shown) line() string {
	age := int(time.Since(s.since).Seconds())
	return fmt.Sprintf("id=%d addr=%s laddr=%s name=%s age=%d db=0 user=%s resp=%d", s.id, s.remote, s.local, s.name,
		age, s.account.name, s.protocol)
}

// lines describes connections in the order in which they came; all, or those with some ids.
func (c *clients) lines(ids []int64) string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var found []*shown
	for _, one := range c.open {
		if ids == nil || slices.Contains(ids, one.id) {
			found = append(found, one)
		}
	}
	slices.SortFunc(found, func(one, other *shown) int { return cmp.Compare(one.id, other.id) })
	var text strings.Builder
	for _, one := range found {
		text.WriteString(one.line() + "\n")
	}
	return text.String()
}

// describe returns the line of this connection.
func (c *connection) describe() string {
	c.host.clients.mutex.Lock()
	defer c.host.clients.mutex.Unlock()
	return c.shown.line()
}

const noName = "ERR Client names cannot contain spaces, newlines or special characters."

// isName returns whether a line that describes clients can have a name.
func isName(name string) bool {
	return !strings.ContainsFunc(name, func(one rune) bool { return one < '!' || one > '~' })
}

func clientCommand(c *connection, _ route, given []string) {
	switch option := strings.ToLower(given[1]); option {
	case "id":
		c.out = appendInteger(c.out, int(c.shown.id))
	case "getname":
		if c.shown.name == "" {
			c.out = appendNull(c.out, c.protocol)
			return
		}
		c.out = appendBulk(c.out, c.shown.name)
	case "setname":
		if !isName(given[2]) {
			c.out = appendError(c.out, noName)
			return
		}
		c.host.clients.change(c.shown, func(one *shown) { one.name = given[2] })
		c.out = appendStatus(c.out, "OK")
	case "no-evict", "no-touch":
		if !strings.EqualFold(given[2], "on") && !strings.EqualFold(given[2], "off") {
			c.out = appendError(c.out, syntaxError)
			return
		}
		c.out = appendStatus(c.out, "OK")
	case "info":
		c.out = appendBulk(c.out, c.describe()+"\n")
	case "list":
		c.listClients(given[2:])
	default:
		// SETINFO.
		c.out = appendStatus(c.out, "OK")
	}
}

// listClients answers CLIENT LIST. All connections are of one type.
func (c *connection) listClients(options []string) {
	switch {
	case len(options) == 0:
		c.out = appendBulk(c.out, c.host.clients.lines(nil))
	case len(options) == 2 && strings.EqualFold(options[0], "type"):
		switch strings.ToLower(options[1]) {
		case "normal":
			c.out = appendBulk(c.out, c.host.clients.lines(nil))
		case "master", "replica", "slave", "pubsub":
			c.out = appendBulk(c.out, "")
		default:
			c.out = appendError(c.out, "ERR Unknown client type '"+options[1]+"'")
		}
	case len(options) > 1 && strings.EqualFold(options[0], "id"):
		ids := []int64{}
		for _, one := range options[1:] {
			id, err := strconv.ParseInt(one, 10, 64)
			if err != nil || id < 1 {
				c.out = appendError(c.out, "ERR Invalid client ID")
				return
			}
			ids = append(ids, id)
		}
		c.out = appendBulk(c.out, c.host.clients.lines(ids))
	default:
		c.out = appendError(c.out, syntaxError)
	}
}
