// Versions that know different levels of entries: one by one under load, and those that are too old.

package tests

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

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

func TestNodesAreUpgradedOneByOneWhileClientsGoOn(t *testing.T) {
	settings := trial.Settings{Serve: []string{"--test-level", "2"}, Init: []string{"--snapshot-entries", "200"}}
	cluster, ctx := start(t, settings), context.Background()
	client := clusterClient(cluster, 3)
	defer client.Close()
	running := startLoad(ctx, client)
	atLevel(t, cluster, 2)
	// The upgrades are to a former version, to what this version knows, and to a level that is made up.
	for _, level := range []int{3, 4, 5} {
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
	}
	running.check(t, cluster)
	// Each group gets entries of the new level, once each node has noticed it.
	for at := range cluster.Addresses {
		node := cluster.Node(at)
		must(t, trial.Until(60*time.Second, func() error {
			said, err := node.Do(ctx, "HOLM.CLUSTER", "MAP").Text()
			if err == nil && !strings.Contains(said, `"level":5,"next"`) {
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
	must(t, cluster.StartVersion(0, "--test-level", "4"))
	refuses(0, "the cluster has level 5, and this version knows levels up to 4")
	ports, err := trial.FreePorts(2)
	must(t, err)
	_, err = cluster.Operate("join", "--folder", cluster.Folder+"/late", "--address", ports[0], "--raft", ports[1],
		"--test-level", "4")
	if err == nil || !strings.Contains(err.Error(), "the cluster has level 5") {
		t.Fatal("a version that is too old may join:", err)
	}
	// Nobody says it, but the groups of the node have entries that it does not know.
	must(t, cluster.Stop(1))
	must(t, cluster.Stop(2))
	must(t, cluster.StartVersion(0, "--test-level", "4"))
	refuses(0, "an entry of level 5, and this version knows levels up to 4")
	for at := range cluster.Addresses {
		must(t, cluster.StartVersion(at, "--test-level", "5"))
	}
	must(t, cluster.Ready(ctx))
	running.check(t, cluster)
	must(t, cluster.Equal(ctx))
}
