package trial

import (
	"errors"
	"fmt"
)

// network has each node in a network namespace of its own, with one address for clients and one for the other nodes. So
// a node can be cut off from the others while clients reach it. The program that makes it runs alone: names and
// addresses are its own, and nobody has to remove them.
type network struct{}

func ip(words ...string) error { return run(append([]string{"ip"}, words...)...) }

// newNetwork makes the namespaces of nodes, and two bridges between them.
func newNetwork(nodes int) (*network, error) {
	made := &network{}
	var failed error
	do := func(words ...string) { failed = errors.Join(failed, ip(words...)) }
	for _, kind := range []string{"c", "r"} {
		do("link", "add", kind, "type", "bridge")
		do("link", "set", kind, "up")
	}
	do("addr", "add", "10.213.0.1/24", "dev", "c")
	for at := range nodes {
		do("netns", "add", made.space(at))
		do("-n", made.space(at), "link", "set", "lo", "up")
		for _, kind := range []string{"c", "r"} {
			outer, inner := made.link(at, kind), kind+"0"
			do("link", "add", outer, "type", "veth", "peer", "name", inner, "netns", made.space(at))
			do("link", "set", outer, "master", kind)
			do("link", "set", outer, "up")
			do("-n", made.space(at), "addr", "add", made.address(at, kind)+"/24", "dev", inner)
			do("-n", made.space(at), "link", "set", inner, "up")
		}
	}
	return made, failed
}

func (n *network) space(at int) string             { return fmt.Sprint("n", at+1) }
func (n *network) link(at int, kind string) string { return fmt.Sprint(kind, at+1) }

func (n *network) address(at int, kind string) string {
	second := 213
	if kind == "r" {
		second = 214
	}
	return fmt.Sprintf("10.%d.0.%d", second, 10+at)
}

// ports returns the addresses of a node: for clients, for other nodes, and for plain clients.
func (n *network) ports(at int) []string {
	return []string{n.address(at, "c") + ":7001", n.address(at, "r") + ":17001", n.address(at, "c") + ":7101"}
}

// Cut cuts a node off from the other nodes. Clients reach it.
func (c *Cluster) Cut(at int) error { return ip("link", "set", c.network.link(at, "r"), "down") }

// Heal lets a node reach the others again.
func (c *Cluster) Heal(at int) error { return ip("link", "set", c.network.link(at, "r"), "up") }

// CanCut returns whether nodes of this cluster can be cut off.
func (c *Cluster) CanCut() bool { return c.network != nil }
