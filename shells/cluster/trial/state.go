package trial

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Node returns a plain client of one node, which repeats nothing by itself.
func (c *Cluster) Node(at int) *redis.Client { return c.client(c.Plain[at]) }

// Member returns a client of one node that gets redirections, and does not follow them.
func (c *Cluster) Member(at int) *redis.Client { return c.client(c.Addresses[at]) }

func (c *Cluster) client(address string) *redis.Client {
	secret := ""
	if c.settings.IsSecret {
		secret = password
	}
	return redis.NewClient(&redis.Options{
		Addr: address, Password: secret, MaxRetries: -1, DialTimeout: time.Second, ReadTimeout: 8 * time.Second,
		DialerRetries: 1, DisableIdentity: true,
	})
}

// Ready waits until all nodes say that every slot has a leader.
func (c *Cluster) Ready(ctx context.Context) error {
	return Until(60*time.Second, func() error {
		for _, at := range c.Running() {
			node := c.Node(at)
			info, err := node.ClusterInfo(ctx).Result()
			node.Close()
			if err != nil {
				return err
			}
			if !strings.Contains(info, "cluster_state:ok") {
				return errors.New(info)
			}
		}
		return nil
	})
}

// Equal waits until all nodes that run have the same last entry in each group that they have, and returns an error if
// they differ then, or if a group has fewer replicas than it is to have.
func (c *Cluster) Equal(ctx context.Context) error {
	for group := range c.Groups() {
		var differ error
		err := Until(60*time.Second, func() error {
			var first []interface{}
			count := 0
			for _, at := range c.Running() {
				node := c.Node(at)
				state, err := node.Do(ctx, "HOLM.HASH", group).Slice()
				node.Close()
				if err != nil && strings.Contains(err.Error(), "no group of this node") {
					continue
				}
				if err != nil {
					return err
				}
				count++
				if first == nil {
					first = state
				}
				if state[0] != first[0] {
					return fmt.Errorf("group %d is at %v and %v", group, first, state)
				}
				if fmt.Sprint(state) != fmt.Sprint(first) {
					differ = fmt.Errorf("group %d differs: %v and %v", group, first, state)
				}
			}
			if count != min(3, len(c.Running())) {
				return fmt.Errorf("group %d has %d replicas", group, count)
			}
			return nil
		})
		if err := errors.Join(err, differ); err != nil {
			return err
		}
	}
	return nil
}

// Spread waits until each node leads the groups that it is the first replica of.
func (c *Cluster) Spread(ctx context.Context) error {
	return Until(60*time.Second, func() error {
		for at := range c.Addresses {
			node := c.Member(at)
			slots, err := node.ClusterSlots(ctx).Result()
			node.Close()
			if err != nil {
				return err
			}
			for group, one := range slots {
				if leader := c.Addresses[group%len(c.Addresses)]; one.Nodes[0].Addr != leader {
					return fmt.Errorf("%s leads group %d, and not %s", one.Nodes[0].Addr, group, leader)
				}
			}
		}
		return nil
	})
}
