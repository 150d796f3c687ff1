package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"holm-cluster/trial"
)

const slotCount = 16384

// cluster is three nodes of holm-cluster with the default settings, but for the number of groups. As with
// redis-benchmark, a connection belongs to a node and asks for keys that this node leads; together the connections have
// all keys, of all groups.
type cluster struct {
	title, folder string
	// The path of holm-cluster; empty: what HOLM_CLUSTER names.
	program string
	// Words for `holm-cluster serve`.
	serve        []string
	groups, keys int
	running      *trial.Cluster
	// The slot of each key.
	slots []int
}

func newCluster(folder string, groups, keys int) engine {
	return &cluster{title: "holm-cluster", folder: folder, groups: groups, keys: keys}
}

func (c *cluster) name() string { return c.title }

func (c *cluster) start(ctx context.Context) error {
	if c.running == nil {
		started, err := trial.Start(c.folder, trial.Settings{
			Groups: c.groups, Program: c.program, Init: []string{"--election-ms", "750"}, Serve: c.serve,
		})
		if err != nil {
			return err
		}
		c.running = started
	} else {
		for at := range c.running.Addresses {
			if err := c.running.StartNode(at); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(c.running.Ready(ctx), c.running.Spread(ctx)); err != nil {
		return err
	}
	if c.slots == nil {
		return c.findSlots(ctx)
	}
	return nil
}

// findSlots asks a node for the slots of all keys.
func (c *cluster) findSlots(ctx context.Context) error {
	node := c.running.Member(0)
	defer node.Close()
	for keys := range slices.Chunk(upTo(c.keys), 1000) {
		replies, err := node.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, key := range keys {
				pipe.ClusterKeySlot(ctx, string(appendKey(nil, key)))
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, reply := range replies {
			c.slots = append(c.slots, int(reply.(*redis.IntCmd).Val()))
		}
	}
	return nil
}

func (c *cluster) askers(ctx context.Context, connections, depth, length int) ([]asker, error) {
	leaders, err := c.leaders(ctx)
	if err != nil {
		return nil, err
	}
	keys := map[string][]int{}
	for key, slot := range c.slots {
		keys[leaders[slot]] = append(keys[leaders[slot]], key)
	}
	var all []asker
	addresses := slices.Sorted(maps.Keys(keys))
	for at, address := range addresses {
		count := (connections + len(addresses) - 1 - at) / len(addresses)
		if len(keys[address]) < depth*count {
			return all, fmt.Errorf("%s leads %d keys: that is too few for %d connections", address, len(keys[address]), count)
		}
		for _, share := range sharesOf(keys[address], count) {
			one, err := dial(address, share, depth, length)
			if err != nil {
				return all, err
			}
			all = append(all, one)
		}
	}
	return all, nil
}

// leaders returns the addresses of the nodes that lead slots.
func (c *cluster) leaders(ctx context.Context) (map[int]string, error) {
	node := c.running.Member(0)
	defer node.Close()
	ranges, err := node.ClusterSlots(ctx).Result()
	if err != nil {
		return nil, err
	}
	leaders := map[int]string{}
	for _, one := range ranges {
		for slot := one.Start; slot <= one.End; slot++ {
			leaders[slot] = one.Nodes[0].Addr
		}
	}
	return leaders, nil
}

func (c *cluster) processes() []int { return c.running.Processes() }

func (c *cluster) stop() error {
	var failed error
	for at := range c.running.Addresses {
		failed = errors.Join(failed, c.running.Stop(at))
	}
	return failed
}

func (c *cluster) close() {
	if c.running != nil {
		c.running.Close()
	}
}
