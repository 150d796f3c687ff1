package trial

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Running returns the nodes that run.
func (c *Cluster) Running() []int {
	var found []int
	for at, process := range c.processes {
		if process != nil {
			found = append(found, at)
		}
	}
	return found
}

// Operate runs a verb of holm-cluster against a node that runs, and returns what it says.
func (c *Cluster) Operate(verb string, words ...string) (string, error) {
	at := c.Running()[0]
	command := exec.Command(c.program, append([]string{verb, "--at", c.Addresses[at]}, words...)...)
	if c.settings.IsSecret {
		command.Env = append(os.Environ(), "HOLM_CLUSTER_PASSWORD="+password)
	}
	said, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", verb, err, said)
	}
	return string(said), nil
}

// Join makes a node, starts it and returns its place. Its id is one more, if no replica ever came or went.
func (c *Cluster) Join() (int, uint64, error) {
	ports, err := FreePorts(3)
	if err != nil {
		return 0, 0, err
	}
	at := len(c.processes)
	said, err := c.Operate("join", "--folder", c.node(at), "--address", ports[0], "--raft", ports[1], "--plain", ports[2])
	if err != nil {
		return 0, 0, err
	}
	var id uint64
	if _, err := fmt.Sscanf(said, "node %d:", &id); err != nil {
		return 0, 0, fmt.Errorf("%q: %w", said, err)
	}
	log, err := os.Create(c.node(at) + ".log")
	if err != nil {
		return 0, 0, err
	}
	c.Addresses, c.Plain = append(c.Addresses, ports[0]), append(c.Plain, ports[2])
	c.processes, c.logs = append(c.processes, nil), append(c.logs, log)
	return at, id, c.StartNode(at)
}

// Lose removes the folder of a node that does not run, but for its settings if they are kept.
func (c *Cluster) Lose(at int, keepsSettings bool) error {
	const file = "cluster.json"
	settings, err := os.ReadFile(filepath.Join(c.node(at), file))
	if err = errors.Join(err, os.RemoveAll(c.node(at))); err != nil || !keepsSettings {
		return err
	}
	if err := os.MkdirAll(c.node(at), 0o750); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.node(at), file), settings, 0o600)
}

// initialWords returns the words that make the folder of a founder.
func (c *Cluster) initialWords(at int) []string {
	words := append([]string{"init", "--folder", c.node(at), "--id", fmt.Sprint(at + 1)}, c.initial...)
	if c.secrets != nil {
		words = append(words, c.secrets[at]...)
	}
	return words
}

// Initialize makes the folder of a founder again, as an operator might who does not know better.
func (c *Cluster) Initialize(at int) error {
	if said, err := exec.Command(c.program, c.initialWords(at)...).CombinedOutput(); err != nil {
		return fmt.Errorf("init: %w: %s", err, said)
	}
	return nil
}

// initializeInSteps makes the folder of a founder over and over again: `init` is killed at one step after the other,
// and given again. The folder that is left was cut short at a step by chance.
func (c *Cluster) initializeInSteps(at int) error {
	cut := func(step int) (bool, error) {
		err := os.RemoveAll(c.node(at))
		if err != nil {
			return false, err
		}
		isDone, err := cutShort(os.Stderr, step, append([]string{c.program}, c.initialWords(at)...)...)
		if err == nil {
			err = c.Initialize(at)
		}
		if err != nil {
			err = fmt.Errorf("cut short at step %d: %w", step, err)
		}
		return isDone, err
	}
	for step := 1; ; step++ {
		if isDone, err := cut(step); err != nil {
			return err
		} else if isDone {
			_, err = cut(1 + rand.IntN(step))
			return err
		}
	}
}

// Settled waits until no replica comes or goes, and a node has at least so many, and returns what `status` says. It asks
// rarely, for each question is a process: clients may be measured meanwhile.
func (c *Cluster) Settled(most time.Duration, node uint64, least int) (string, error) {
	var said string
	err := until(most, 250*time.Millisecond, func() error {
		var err error
		if said, err = c.Operate("status"); err != nil {
			return err
		}
		isThere := false
		for _, line := range strings.Split(said, "\n") {
			var id uint64
			var count int
			_, words, _ := strings.Cut(line, ": ")
			_, err := fmt.Sscanf(line, "node %d at", &id)
			if _, words, _ = strings.Cut(words, ", "); err == nil && id == node {
				if _, err := fmt.Sscanf(words, "%d replicas", &count); err == nil && count >= least {
					isThere = true
				}
			}
		}
		if !isThere || strings.Contains(said, "(comes)") || strings.Contains(said, "(leaves)") {
			return errors.New(said)
		}
		return nil
	})
	return said, err
}
