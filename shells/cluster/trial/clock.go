package trial

import (
	"fmt"
	"math/rand/v2"
	"os"
)

// clock returns the file that says how wrong the clock of a node is.
func (c *Cluster) clock(at int) string { return c.node(at) + ".clock" }

// Jump sets the clock of a node ahead by so many milliseconds, whether it runs or not. It looks at once, about.
func (c *Cluster) Jump(at int, milliseconds int64) error {
	name := c.clock(at)
	if err := os.WriteFile(name+".new", fmt.Append(nil, milliseconds), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// skew returns the words for a node whose clock may be wrong. Each start has another clock.
func (c *Cluster) skew(at int) ([]string, error) {
	if c.settings.Skew == 0 {
		return nil, nil
	}
	err := c.Jump(at, rand.Int64N(2*c.settings.Skew)-c.settings.Skew)
	return []string{"--test-clock", c.clock(at)}, err
}
