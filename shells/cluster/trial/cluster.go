// Package trial runs clusters on this machine for tests: nodes as processes that are killed, paused and started again.
package trial

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Settings of a cluster; the zero value is three nodes with four groups.
type Settings struct {
	Nodes, Groups int
	// The path of holm-cluster; empty: what HOLM_CLUSTER names.
	Program string
	// Words for `holm-cluster init`.
	Init []string
	// Words for `holm-cluster serve`.
	Serve []string
	// Each node has a network of its own, from which it can be cut off. The program must run alone.
	IsApart bool
	// Each node has a file system of its own, of so many bytes. The program must run alone.
	DiskBytes int64
	// Nodes have certificates, and clients a password. Nodes with networks of their own have both.
	IsSecret bool
	// `holm-cluster init` is killed at each of its steps, and given again.
	IsCutShort bool
	// Syncs of nodes do nothing: a bug. The program must have called Alone.
	IsUnsynced bool
	// The clock of each node is wrong by another time, of up to so many milliseconds.
	Skew int64
}

// The password of a cluster with secrets.
const password = "trial"

// Cluster is a cluster of processes.
type Cluster struct {
	Folder string
	// Where clients of a cluster connect, and those that know nothing of clusters.
	Addresses, Plain []string
	// Where nodes connect to each other.
	Raft      []string
	settings  Settings
	program   string
	processes []*process
	logs      []*os.File
	// Words for `holm-cluster init` of every founder.
	initial []string
	network *network
	disks   []*disk
	// Words of each founder alone.
	secrets [][]string
}

// Program returns the path of holm-cluster, which the caller of the tests has built.
func Program() (string, error) {
	program := os.Getenv("HOLM_CLUSTER")
	if program == "" {
		return "", errors.New("HOLM_CLUSTER names no program: `cargo xtask cluster --test` builds it and runs the tests")
	}
	return program, nil
}

// FreePorts returns ports that nobody listens on at the moment. The kernel takes those of clients from 32,768 on: a
// client that calls a node which does not run must not get the node's own port.
func FreePorts(count int) ([]string, error) {
	var ports []string
	for range 100 * count {
		listener, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 10_000+rand.IntN(22_000)))
		if err != nil {
			continue
		}
		defer listener.Close()
		if ports = append(ports, listener.Addr().String()); len(ports) == count {
			return ports, nil
		}
	}
	return nil, errors.New("there are no free ports")
}

// Start makes a cluster in a folder and starts all nodes.
func Start(folder string, settings Settings) (started *Cluster, failed error) {
	if settings.Program == "" {
		program, err := Program()
		if err != nil {
			return nil, err
		}
		settings.Program = program
	}
	if settings.Nodes == 0 {
		settings.Nodes = 3
	}
	if settings.Groups == 0 {
		settings.Groups = 4
	}
	c := &Cluster{Folder: folder, settings: settings, program: settings.Program}
	defer func() {
		if failed != nil {
			c.Close()
		}
	}()
	ports, err := c.addresses()
	if err != nil {
		return nil, err
	}
	if settings.IsApart || settings.IsSecret {
		if err := c.makeSecrets(ports); err != nil {
			return nil, err
		}
	}
	var members []string
	for at := range settings.Nodes {
		members = append(members, fmt.Sprintf("%d=%s/%s/%s", at+1, ports[3*at], ports[3*at+1], ports[3*at+2]))
	}
	c.processes = make([]*process, settings.Nodes)
	c.logs = make([]*os.File, settings.Nodes)
	c.initial = append([]string{"--cluster", filepath.Base(folder), "--members", strings.Join(members, ","), "--groups",
		fmt.Sprint(settings.Groups), "--election-ms", "400"}, settings.Init...)
	for at := range settings.Nodes {
		c.Addresses, c.Plain = append(c.Addresses, ports[3*at]), append(c.Plain, ports[3*at+2])
		c.Raft = append(c.Raft, ports[3*at+1])
		if settings.DiskBytes > 0 {
			made, err := newDisk(c.node(at), settings.DiskBytes)
			if err != nil {
				return nil, err
			}
			c.disks = append(c.disks, made)
		}
		initialize := c.Initialize
		if settings.IsCutShort {
			initialize = c.initializeInSteps
		}
		if err := initialize(at); err != nil {
			return nil, err
		}
		if c.logs[at], err = os.Create(c.node(at) + ".log"); err != nil {
			return nil, err
		}
		if err := c.StartNode(at); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// addresses returns three addresses for each node, and makes networks if they are wanted.
func (c *Cluster) addresses() ([]string, error) {
	if !c.settings.IsApart {
		return FreePorts(3 * c.settings.Nodes)
	}
	var err error
	if c.network, err = newNetwork(c.settings.Nodes); err != nil {
		return nil, err
	}
	var ports []string
	for at := range c.settings.Nodes {
		ports = append(ports, c.network.ports(at)...)
	}
	return ports, nil
}

func (c *Cluster) makeSecrets(ports []string) error {
	c.settings.IsSecret = true
	authority, err := NewAuthority(filepath.Join(c.Folder, "secrets"))
	if err != nil {
		return err
	}
	for at := range c.settings.Nodes {
		words, err := authority.Words(fmt.Sprint("node", at+1), ports[3*at+1])
		if err != nil {
			return err
		}
		c.secrets = append(c.secrets, append(words, "--password", password))
	}
	return nil
}

func (c *Cluster) node(at int) string { return filepath.Join(c.Folder, fmt.Sprint("node", at+1)) }

// Groups returns the number of groups.
func (c *Cluster) Groups() int { return c.settings.Groups }

// StartNode starts a node that does not run.
func (c *Cluster) StartNode(at int) error {
	words := append([]string{c.program, "serve", "--folder", c.node(at)}, c.settings.Serve...)
	skew, err := c.skew(at)
	if err != nil {
		return err
	}
	words = append(words, skew...)
	if c.settings.IsUnsynced {
		if words, err = unsynced(words); err != nil {
			return err
		}
	}
	if c.network != nil {
		words = append([]string{"ip", "netns", "exec", c.network.space(at)}, words...)
	}
	started, err := startProcess(c.logs[at], words...)
	c.processes[at] = started
	return err
}

// Close kills all nodes.
func (c *Cluster) Close() {
	for at := range c.processes {
		c.Kill(at)
		if c.logs[at] != nil {
			c.logs[at].Close()
		}
	}
}

// Logs returns what the nodes have said.
func (c *Cluster) Logs() string {
	var all strings.Builder
	for at := range c.processes {
		said, _ := os.ReadFile(c.node(at) + ".log")
		fmt.Fprintf(&all, "node %d: %s\n", at+1, said)
	}
	return all.String()
}

// Until calls a function until it returns no error, for a time at most.
func Until(most time.Duration, try func() error) error { return until(most, 20*time.Millisecond, try) }

func until(most, pause time.Duration, try func() error) error {
	var err error
	for begun := time.Now(); time.Since(begun) < most; time.Sleep(pause) {
		if err = try(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("not within %v: %w", most, err)
}
