// CONFIG: the parameters of a node, by their names.

package main

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// parameters are what clients look at when they start, and what of a node can be changed while it runs.
func (h *host) parameters() [][2]string {
	return [][2]string{
		{"acllog-max-len", strconv.FormatUint(h.denied.most(), 10)},
		{"appendonly", "yes"},
		{"cluster-enabled", "yes"},
		{"cluster-require-full-coverage", "no"},
		{"databases", "1"},
		{"maxmemory", "0"},
		{"save", ""},
	}
}

func configure(c *connection, _ route, given []string) {
	if strings.ToLower(given[1]) == "set" {
		c.setParameters(given[2:])
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

// setParameters changes all of them, or none.
func (c *connection) setParameters(pairs []string) {
	if len(pairs)%2 != 0 {
		c.out = appendError(c.out, "ERR wrong number of arguments for 'config|set' command")
		return
	}
	most := c.host.denied.most()
	for at := 0; at < len(pairs); at += 2 {
		name := strings.ToLower(pairs[at])
		why := ""
		switch {
		case at > 0 && name == strings.ToLower(pairs[at-2]):
			why = "duplicate parameter"
		case name != "acllog-max-len":
			why = "the settings of a node are in its folder"
		default:
			var err error
			if most, err = strconv.ParseUint(pairs[at+1], 10, 31); err != nil {
				why = "argument must be a number between 0 and 2147483647"
			}
		}
		if why != "" {
			c.out = appendError(c.out, fmt.Sprintf("ERR CONFIG SET failed (possibly related to argument '%s') - %s",
				name, why))
			return
		}
	}
	c.host.denied.setMost(most)
	c.out = appendStatus(c.out, "OK")
}
