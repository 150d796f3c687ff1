// Versions that know different levels of entries: one by one under load, and those that are too old.

package tests

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holm-cluster/trial"
)

// atLevel waits until the cluster has a level.
func atLevel(t *testing.T, cluster *trial.Cluster, level int) {
	t.Helper()
	must(t, trial.Until(60*time.Second, func() error {
		said, err := cluster.Operate("status")
		if err == nil && !strings.HasPrefix(said, fmt.Sprintf("level %d\n", level)) {
			err = fmt.Errorf("%s", said)
		}
		return err
	}))
}

// The first level whose RESTORE takes payloads of Redis: a former version would apply them in another way.
const levelOfPayloads = 5

// restores tries RESTORE on all nodes, alone and within MULTI. Before the level has it, it is refused.
func restores(t *testing.T, cluster *trial.Cluster, level int) {
	t.Helper()
	ctx := context.Background()
	for at := range cluster.Addresses {
		node := cluster.Node(at)
		from, to := fmt.Sprint("{dump}", level), fmt.Sprint("{dump}to", level, at)
		insist(t, func() error { return node.RPush(ctx, from, "a", "b").Err() })
		payload, err := node.Dump(ctx, from).Result()
		must(t, err)
		if level < levelOfPayloads {
			refused := "LEVEL RESTORE takes its payloads at level 5 of the cluster, which has level "
			err := node.Restore(ctx, to, 0, payload).Err()
			if err == nil || !strings.HasPrefix(err.Error(), refused) {
				t.Fatalf("level %d: %v", level, err)
			}
			_, err = node.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				return pipe.Restore(ctx, to, 0, payload).Err()
			})
			if err == nil || !strings.HasPrefix(err.Error(), "EXECABORT") {
				t.Fatalf("level %d, within MULTI: %v", level, err)
			}
			same(t, "keys", node.Exists(ctx, to).Val(), 0)
			node.Close()
			continue
		}
		// The node may not have heard of the level yet.
		must(t, trial.Until(60*time.Second, func() error {
			err := node.Restore(ctx, to, 0, payload).Err()
			if err != nil && strings.HasPrefix(err.Error(), "BUSYKEY") {
				err = nil
			}
			return err
		}))
		same(t, to, node.LIndex(ctx, to, 1).Val(), "b")
		node.Close()
	}
}

func TestNodesAreUpgradedOneByOneWhileClientsGoOn(t *testing.T) {
	settings := trial.Settings{Serve: []string{"--test-level", "2"}, Init: []string{"--snapshot-entries", "200"}}
	cluster, ctx := start(t, settings), context.Background()
	client := clusterClient(cluster, 3)
	defer client.Close()
	running := startLoad(ctx, client)
	atLevel(t, cluster, 2)
	restores(t, cluster, 2)
	// The upgrades are to former versions, to what this version knows, and to a level that is made up.
	for _, level := range []int{3, 4, 5, 6} {
		for at := range cluster.Addresses {
			atLevel(t, cluster, level-1)
			must(t, cluster.Stop(at))
			must(t, cluster.StartVersion(at, "--test-level", fmt.Sprint(level)))
			must(t, cluster.Ready(ctx))
			var said string
			insist(t, func() (err error) {
				said, err = cluster.Operate("status")
				return err
			})
			if at < 2 && !strings.HasPrefix(said, fmt.Sprintf("level %d\n", level-1)) {
				t.Fatalf("the level is raised before all nodes know it: %s", said)
			}
		}
		atLevel(t, cluster, level)
		restores(t, cluster, level)
	}
	running.check(t, cluster)
	// Each group gets entries of the new level, once each node has noticed it.
	for at := range cluster.Addresses {
		node := cluster.Node(at)
		must(t, trial.Until(60*time.Second, func() error {
			said, err := node.Do(ctx, "HOLM.CLUSTER", "MAP").Text()
			if err == nil && !strings.Contains(said, `"level":6,"next"`) {
				err = fmt.Errorf("%s", said)
			}
			return err
		}))
		for step := range 40 {
			insist(t, func() error { return node.Set(ctx, fmt.Sprint("level", step), step, 0).Err() })
		}
		node.Close()
	}
	must(t, cluster.Equal(ctx))
	// The others say which level the cluster has.
	refuses := func(at int, words string) {
		t.Helper()
		before := strings.Count(cluster.Logs(), words)
		must(t, cluster.Await(at))
		if strings.Count(cluster.Logs(), words) != before+1 || strings.Contains(cluster.Logs(), "goroutine") {
			t.Fatal(cluster.Logs())
		}
	}
	must(t, cluster.Stop(0))
	must(t, cluster.StartVersion(0, "--test-level", "5"))
	refuses(0, "the cluster has level 6, and this version knows levels up to 5")
	ports, err := trial.FreePorts(2)
	must(t, err)
	_, err = cluster.Operate("join", "--folder", cluster.Folder+"/late", "--address", ports[0], "--raft", ports[1],
		"--test-level", "5")
	if err == nil || !strings.Contains(err.Error(), "the cluster has level 6") {
		t.Fatal("a version that is too old may join:", err)
	}
	// Nobody says it, but the groups of the node have entries that it does not know.
	must(t, cluster.Stop(1))
	must(t, cluster.Stop(2))
	must(t, cluster.StartVersion(0, "--test-level", "5"))
	refuses(0, "an entry of level 6, and this version knows levels up to 5")
	for at := range cluster.Addresses {
		must(t, cluster.StartVersion(at, "--test-level", "6"))
	}
	must(t, cluster.Ready(ctx))
	running.check(t, cluster)
	must(t, cluster.Equal(ctx))
}
