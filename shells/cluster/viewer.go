// Views for backups: a connection has one open, and asks for its frames one by one.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// viewStatus is what a node says of a view that it has taken.
type viewStatus struct {
	Cluster string `json:"cluster"`
	Entry   uint64 `json:"entry"`
	Keys    uint64 `json:"keys"`
	// The backup that the group was loaded from, or is; 0: none.
	Backup uint64 `json:"backup"`
	// No slot of the group is being moved or loaded.
	IsSettled bool `json:"settled"`
}

// openView takes a view of a group, and returns what it is of. The view has all that was acknowledged before it was
// asked for: the replica answers a linearizable read first.
func (c *connection) openView(given string) ([]byte, error) {
	group, err := strconv.Atoi(given)
	if err != nil {
		return nil, fmt.Errorf("%q is no group", given)
	}
	own := c.host.lane(group)
	if own == nil {
		return nil, errNoReplica
	}
	if found := <-own.look(); found.err != nil {
		return nil, found.err
	}
	opened := c.host.machines.find(shard(group))
	if opened == nil {
		return nil, errNoReplica
	}
	taken, err := opened.view()
	if err != nil {
		return nil, err
	}
	c.closeView()
	c.view = taken
	status, err := taken.describe()
	if err != nil {
		return nil, err
	}
	status.Cluster = c.host.settings.Cluster
	return json.Marshal(status)
}

var errNoReplica = errors.New("TRYAGAIN this node has no replica of the group")

// nextFrame returns the next frame of the view; nothing after the last one.
func (c *connection) nextFrame() ([]byte, error) {
	if c.view == nil {
		return nil, errors.New("there is no view")
	}
	frame, err := c.view.next()
	if err != nil {
		c.closeView()
	}
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	return frame, err
}

func (c *connection) closeView() {
	if c.view != nil {
		c.view.close()
		c.view = nil
	}
}
