// Reads by a leader's lease.

package tests

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holm-cluster/trial"
)

var leasedLine = regexp.MustCompile(`group0:leader=(\d+),.*leased_reads=(\d+)`)

// leasedReads returns the node that leads the only group, as a node knows it, and how many reads leases have answered
// at that node.
func leasedReads(ctx context.Context, cluster *trial.Cluster, at int) (leader, reads int, err error) {
	node := cluster.Node(at)
	defer node.Close()
	said, err := node.Info(ctx).Result()
	if err != nil {
		return 0, 0, err
	}
	found := leasedLine.FindStringSubmatch(said)
	if found == nil || found[1] == "0" {
		return 0, 0, fmt.Errorf("%q has no leader", said)
	}
	leader, _ = strconv.Atoi(found[1])
	reads, _ = strconv.Atoi(found[2])
	return leader - 1, reads, nil
}

// withLease returns the node that leads the only group, once a lease has answered reads of it.
func withLease(t *testing.T, cluster *trial.Cluster, key string) (at int) {
	t.Helper()
	ctx := context.Background()
	insist(t, func() (err error) {
		if at, _, err = leasedReads(ctx, cluster, 0); err != nil {
			return err
		}
		node := cluster.Node(at)
		defer node.Close()
		for range 20 {
			if err := node.Get(ctx, key).Err(); err != nil {
				return err
			}
		}
		leader, reads, err := leasedReads(ctx, cluster, at)
		if err == nil && (leader != at || reads == 0) {
			err = fmt.Errorf("node %d leads, and node %d has answered %d reads by a lease", leader+1, at+1, reads)
		}
		return err
	})
	return at
}

func TestLeasesAnswerReadsOfAllNodes(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{Groups: 1, Serve: []string{"--reads", "lease"}}), context.Background()
	first := cluster.Node(0)
	defer first.Close()
	insist(t, func() error { return first.Set(ctx, "key", "value", 0).Err() })
	withLease(t, cluster, "key")
	nodes := make([]*redis.Client, len(cluster.Addresses))
	for at := range nodes {
		nodes[at] = cluster.Node(at)
		defer nodes[at].Close()
	}
	for step := range 100 {
		insist(t, func() error { return nodes[step%3].Set(ctx, "key", step, 0).Err() })
		for at, node := range nodes {
			var found int
			insist(t, func() (err error) {
				found, err = node.Get(ctx, "key").Int()
				return err
			})
			same(t, fmt.Sprintf("step %d at node %d", step, at+1), found, step)
		}
	}
	// A lead that is handed over ends the lease of the leader before.
	for turn := range 4 {
		to := turn % 3
		insist(t, func() error { return nodes[to].Do(ctx, "HOLM.LEADER", 0).Err() })
		for at, node := range nodes {
			value := fmt.Sprint(turn, at)
			insist(t, func() error { return nodes[to].Set(ctx, "key", value, 0).Err() })
			var found string
			insist(t, func() (err error) {
				found, err = node.Get(ctx, "key").Result()
				return err
			})
			same(t, fmt.Sprintf("turn %d at node %d", turn, at+1), found, value)
		}
	}
}

// A former version knows nothing of leases, and leaders take none as long as there is one.
func TestNobodyTakesALeaseBesideAFormerVersion(t *testing.T) {
	settings := trial.Settings{Groups: 1, Serve: []string{"--reads", "lease", "--test-level", "2"}}
	cluster, ctx := start(t, settings), t.Context()
	atLevel(t, cluster, 2)
	for at := range cluster.Addresses {
		node := cluster.Node(at)
		defer node.Close()
		for range 100 {
			insist(t, func() error {
				if err := node.Get(ctx, "key").Err(); !errors.Is(err, redis.Nil) {
					return fmt.Errorf("a key that nobody has written: %w", err)
				}
				return nil
			})
		}
		var reads int
		insist(t, func() (err error) {
			_, reads, err = leasedReads(ctx, cluster, at)
			return err
		})
		same(t, "reads by a lease", reads, 0)
	}
}

// What a leader is asked while it stands still, and another one leads, is answered once it goes on.
func TestALeaderThatStoodStillAnswersNothingOld(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{Groups: 1, Serve: []string{"--reads", "lease"}}), context.Background()
	for round := range 3 {
		node := cluster.Node(0)
		insist(t, func() error { return node.Set(ctx, "key", "old", 0).Err() })
		node.Close()
		former := withLease(t, cluster, "key")
		asks := cluster.Node(former)
		defer asks.Close()
		insist(t, func() error { return asks.Ping(ctx).Err() })
		must(t, cluster.Pause(former))
		other := cluster.Node((former + 1) % 3)
		insist(t, func() error { return other.Set(ctx, "key", "new", 0).Err() })
		other.Close()
		answer := make(chan string, 1)
		go func() {
			found, err := asks.Get(ctx, "key").Result()
			answer <- fmt.Sprint(found, err)
		}()
		// What was asked waits in the connection.
		time.Sleep(20 * time.Millisecond)
		must(t, cluster.Resume(former))
		if found := <-answer; found == fmt.Sprint("old", nil) {
			t.Fatalf("round %d: a leader that is none any more has answered an old value", round)
		}
		must(t, cluster.Ready(ctx))
	}
}

// What is too large to be sent to the leader is carried out by the node's own replica, and the leader confirms it.
func TestLargeCommandsOfNodesThatDoNotLeadAreConfirmed(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{Groups: 1, Serve: []string{"--reads", "lease"}}), context.Background()
	nodes := make([]*redis.Client, len(cluster.Addresses))
	for at := range nodes {
		nodes[at] = cluster.Node(at)
		defer nodes[at].Close()
	}
	const pad = 5 << 20
	var absent []string
	for at := range 5 {
		absent = append(absent, fmt.Sprintf("{a}%d%s", at, strings.Repeat("x", pad/5)))
	}
	for step := range 6 {
		value := fmt.Sprint(step, strings.Repeat("y", pad))
		insist(t, func() error { return nodes[step%3].Set(ctx, "{a}key", value, 0).Err() })
		for _, node := range nodes {
			var found string
			insist(t, func() (err error) {
				found, err = node.Get(ctx, "{a}key").Result()
				return err
			})
			if found != value {
				t.Fatalf("step %d: found %.20s", step, found)
			}
			var count int64
			insist(t, func() (err error) {
				count, err = node.Exists(ctx, append(absent, "{a}key")...).Result()
				return err
			})
			same(t, "present keys", count, 1)
		}
	}
}
