// Failover: how long a client waits for its first write after the node that leads was killed, and whether anything that
// was acknowledged is lost.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"holm-cluster/trial"
)

func main() {
	runs := flag.Int("runs", 20, "how often the leader is killed")
	election := flag.Int("election-ms", 750, "the nodes' --election-ms")
	reads := flag.String("reads", "index", "the nodes' --reads; clients read before each kill, so that there is a lease")
	flag.Parse()
	trial.Quiet()
	if err := measure(*runs, *election, *reads); err != nil {
		fmt.Fprintln(os.Stderr, "failover:", err)
		os.Exit(1)
	}
}

func measure(runs, election int, reads string) error {
	folder, err := os.MkdirTemp("", "holm-failover")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	cluster, err := trial.Start(folder, trial.Settings{
		Groups: 1, Init: []string{"--election-ms", fmt.Sprint(election)}, Serve: []string{"--reads", reads},
	})
	if err != nil {
		return err
	}
	defer cluster.Close()
	ctx := context.Background()
	var waits []time.Duration
	acknowledged := 0
	for run := range runs {
		if err := cluster.Ready(ctx); err != nil {
			return err
		}
		// The preferred leader takes the lead back after its start.
		if err := cluster.Spread(ctx); err != nil {
			return err
		}
		var leader int
		err := trial.Until(20*time.Second, func() (err error) {
			leader, err = leaderOf(ctx, cluster)
			return err
		})
		if err != nil {
			return err
		}
		node := cluster.Node((leader + 1) % len(cluster.Addresses))
		for range 50 {
			key := fmt.Sprint("key", acknowledged)
			err := trial.Until(10*time.Second, func() error { return node.Set(ctx, key, acknowledged, 0).Err() })
			if err != nil {
				return err
			}
			acknowledged++
		}
		for range 20 {
			if err := node.Get(ctx, "first").Err(); err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
		}
		cluster.Kill(leader)
		begun := time.Now()
		err = trial.Until(20*time.Second, func() error { return node.Set(ctx, "first", run, 0).Err() })
		if err != nil {
			return err
		}
		waits = append(waits, time.Since(begun))
		fmt.Printf("run %d: %v\n", run+1, waits[run].Round(time.Millisecond))
		for at := range acknowledged {
			found, err := node.Get(ctx, fmt.Sprint("key", at)).Int()
			if err != nil || found != at {
				return fmt.Errorf("run %d: key%d has %d: %w", run, at, found, errors.Join(err, errors.New("a write is lost")))
			}
		}
		node.Close()
		if err := cluster.StartNode(leader); err != nil {
			return err
		}
	}
	slices.Sort(waits)
	at := func(share int) time.Duration { return waits[(len(waits)-1)*share/100].Round(time.Millisecond) }
	fmt.Printf("%d kills of the leader, elections after %d ms: first write after %v (median), %v (p90), %v (longest); "+
		"%d acknowledged writes, none lost\n", runs, election, at(50), at(90), at(100), acknowledged)
	return cluster.Ready(ctx)
}

// leaderOf returns the node that leads the only group.
func leaderOf(ctx context.Context, cluster *trial.Cluster) (int, error) {
	node := cluster.Member(0)
	defer node.Close()
	slots, err := node.ClusterSlots(ctx).Result()
	if err != nil || len(slots) == 0 {
		return 0, errors.Join(err, errors.New("no leader is known"))
	}
	for at, address := range cluster.Addresses {
		if slots[0].Nodes[0].Addr == address {
			return at, nil
		}
	}
	return 0, errors.New("the leader is no node of the trial")
}
