package tests

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"holm-cluster/trial"
)

// What CLUSTER SHARDS and CLUSTER NODES of a node say: each slot once, and the same masters.
func TestShardsAndNodesTellOneMasterForEachSlot(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{}), context.Background()
	for _, protocol := range []int{2, 3} {
		for _, address := range cluster.Addresses {
			node := redis.NewClient(&redis.Options{Addr: address, Protocol: protocol})
			defer node.Close()
			insist(t, func() error {
				byShards, err := mastersOfShards(ctx, node)
				if err != nil {
					return err
				}
				byNodes, err := mastersOfNodes(ctx, node)
				if err != nil {
					return err
				}
				for slot := range byShards {
					if byShards[slot] == "" || byShards[slot] != byNodes[slot] {
						return fmt.Errorf("slot %d: %q by SHARDS, %q by NODES", slot, byShards[slot], byNodes[slot])
					}
				}
				return nil
			})
		}
	}
}

// mastersOfShards returns the id of the master of each slot.
func mastersOfShards(ctx context.Context, node *redis.Client) (masters [16384]string, err error) {
	shards, err := node.ClusterShards(ctx).Result()
	for _, shard := range shards {
		var master []string
		for _, one := range shard.Nodes {
			if one.Role == "master" {
				master = append(master, one.ID)
			}
			if one.Endpoint == "" || one.Port == 0 || one.Health != "online" {
				return masters, fmt.Errorf("a node of a shard: %+v", one)
			}
		}
		if len(master) != 1 || len(shard.Nodes) != 3 {
			return masters, fmt.Errorf("%d masters and %d nodes in a shard", len(master), len(shard.Nodes))
		}
		for _, slots := range shard.Slots {
			for slot := slots.Start; slot <= slots.End; slot++ {
				if masters[slot] != "" {
					return masters, fmt.Errorf("slot %d is in two shards", slot)
				}
				masters[slot] = master[0]
			}
		}
	}
	return masters, err
}

// mastersOfNodes returns the same by the lines of CLUSTER NODES.
func mastersOfNodes(ctx context.Context, node *redis.Client) (masters [16384]string, err error) {
	text, err := node.ClusterNodes(ctx).Result()
	if count := strings.Count(text, "myself"); err == nil && count != 1 {
		return masters, fmt.Errorf("%d nodes are myself: %s", count, text)
	}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		words := strings.Fields(line)
		if len(words) < 8 || words[7] != "connected" {
			return masters, fmt.Errorf("a line of CLUSTER NODES: %q", line)
		}
		for _, slots := range words[8:] {
			first, last, isRange := strings.Cut(slots, "-")
			if !isRange {
				last = first
			}
			from, badFrom := strconv.Atoi(first)
			upto, badUpto := strconv.Atoi(last)
			if badFrom != nil || badUpto != nil || upto >= len(masters) {
				return masters, fmt.Errorf("slots of CLUSTER NODES: %q", slots)
			}
			for slot := from; slot <= upto; slot++ {
				masters[slot] = words[0]
			}
		}
	}
	return masters, err
}
