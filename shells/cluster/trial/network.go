package trial

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// network has each node in a network namespace of its own, with one address for clients and one for the other nodes. So
// a node can be cut off from the others while clients reach it.
type network struct {
	name string
	// A number for addresses: trials at the same time have others.
	number int
	nodes  int
}

// CanCut returns whether this machine lets the caller make network namespaces.
func CanCut() bool {
	made := &network{name: fmt.Sprintf("ht%d", os.Getpid()%100_000), number: 0}
	defer made.close()
	return made.ip("netns", "add", made.name+"n0") == nil && made.ip("link", "add", made.name+"c", "type", "bridge") == nil
}

func (n *network) ip(words ...string) error {
	said, err := exec.Command("ip", words...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(words, " "), err, said)
	}
	return nil
}

// newNetwork makes the namespaces of nodes, and two bridges between them.
func newNetwork(nodes int) (*network, error) {
	made := &network{name: fmt.Sprintf("ht%d", os.Getpid()%100_000), number: os.Getpid() % 250, nodes: nodes}
	var failed error
	do := func(words ...string) { failed = errors.Join(failed, made.ip(words...)) }
	for _, kind := range []string{"c", "r"} {
		do("link", "add", made.name+kind, "type", "bridge")
		do("link", "set", made.name+kind, "up")
	}
	do("addr", "add", fmt.Sprintf("10.213.%d.1/24", made.number), "dev", made.name+"c")
	for at := range nodes {
		do("netns", "add", made.space(at))
		do("-n", made.space(at), "link", "set", "lo", "up")
		for _, kind := range []string{"c", "r"} {
			outer, inner := made.link(at, kind), kind+"0"
			do("link", "add", outer, "type", "veth", "peer", "name", inner, "netns", made.space(at))
			do("link", "set", outer, "master", made.name+kind)
			do("link", "set", outer, "up")
			do("-n", made.space(at), "addr", "add", made.address(at, kind)+"/24", "dev", inner)
			do("-n", made.space(at), "link", "set", inner, "up")
		}
	}
	if failed != nil {
		made.close()
		return nil, failed
	}
	return made, nil
}

func (n *network) space(at int) string             { return fmt.Sprint(n.name, "n", at) }
func (n *network) link(at int, kind string) string { return fmt.Sprint(n.name, kind, at) }

func (n *network) address(at int, kind string) string {
	second := 213
	if kind == "r" {
		second = 214
	}
	return fmt.Sprintf("10.%d.%d.%d", second, n.number, 10+at)
}

// ports returns the addresses of a node: for clients, for other nodes, and for plain clients.
func (n *network) ports(at int) []string {
	return []string{n.address(at, "c") + ":7001", n.address(at, "r") + ":17001", n.address(at, "c") + ":7101"}
}

func (n *network) close() {
	for at := range n.nodes + 1 {
		_ = n.ip("netns", "del", n.space(at))
	}
	for _, kind := range []string{"c", "r"} {
		_ = n.ip("link", "del", n.name+kind)
	}
}

// Cut cuts a node off from the other nodes. Clients reach it.
func (c *Cluster) Cut(at int) error {
	return c.network.ip("link", "set", c.network.link(at, "r"), "down")
}

// Heal lets a node reach the others again.
func (c *Cluster) Heal(at int) error {
	return c.network.ip("link", "set", c.network.link(at, "r"), "up")
}

// CanCut returns whether nodes of this cluster can be cut off.
func (c *Cluster) CanCut() bool { return c.network != nil }
