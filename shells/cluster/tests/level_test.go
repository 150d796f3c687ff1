// The raise of a level, cut short at each of its steps by nodes that die.

package tests

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"holm-cluster/trial"
)

// knownLevel returns the level that a node of a cluster knows the cluster to have.
func knownLevel(cluster *trial.Cluster, at int) (level int, err error) {
	node := cluster.Node(at)
	defer node.Close()
	said, err := node.Do(context.Background(), "HOLM.CLUSTER", "MAP").Text()
	if err == nil {
		_, words, _ := strings.Cut(said, `"level":`)
		_, err = fmt.Sscanf(words, "%d", &level)
	}
	return level, err
}

// statusBegins returns an error unless the first line of the status says a level.
func statusBegins(cluster *trial.Cluster, level int) error {
	said, err := cluster.Operate("status")
	if err == nil && !strings.HasPrefix(said, fmt.Sprintf("level %d\n", level)) {
		err = fmt.Errorf("%s", said)
	}
	return err
}

// driver returns the node that leads the meta group, or -1.
func driver(cluster *trial.Cluster) int {
	said, _ := cluster.Operate("status")
	_, words, _ := strings.Cut(said, "meta group:")
	for _, one := range strings.Split(words, ",") {
		var id int
		if _, err := fmt.Sscanf(one, "%d leads", &id); err == nil {
			return id - 1
		}
	}
	return -1
}

// A raise that is cut short is done by those who are there later: any node, or the one that drives the raise, dies when
// the last node of a new version has just begun, when all know the new level, when the cluster has it, when a node has
// heard of that, or by chance. All nodes then know the same level, write entries of it, and have the same keys. Until
// the cluster has the level, the last node may go back to its former version.
func TestALevelIsRaisedAlthoughNodesDie(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	level := 2
	cluster, ctx := start(t, trial.Settings{Serve: []string{"--test-private-image", "--test-level", "2"}}), t.Context()
	client := clusterClient(cluster, 3)
	defer client.Close()
	running := startLoad(context.Background(), client)
	atLevel(t, cluster, level)
	version := func(at, level int) {
		t.Helper()
		cluster.Kill(at)
		must(t, cluster.StartVersion(at, "--test-level", fmt.Sprint(level)))
	}
	heard := func(at int) error {
		found, err := knownLevel(cluster, at)
		if err == nil && found != level {
			err = fmt.Errorf("node %d knows level %d, and not %d", at+1, found, level)
		}
		return err
	}
	for _, step := range []struct {
		name    string
		reached func() error
	}{
		{"begun", func() error { return nil }},
		{"known", func() error {
			said, err := cluster.Operate("status")
			if err == nil && strings.Contains(said, "knows level") {
				err = fmt.Errorf("%s", said)
			}
			return err
		}},
		{"raised", func() error { return statusBegins(cluster, level) }},
		{"heard", func() error { return heard(random.IntN(3)) }},
		{"chance", func() error {
			time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
			return nil
		}},
	} {
		late := random.IntN(3)
		for _, at := range []int{(late + 1) % 3, (late + 2) % 3} {
			version(at, level+1)
			must(t, cluster.Ready(ctx))
			must(t, trial.Until(60*time.Second, func() error { return statusBegins(cluster, level) }))
		}
		level++
		version(late, level)
		must(t, trial.Until(60*time.Second, step.reached))
		dies := random.IntN(3)
		if led := driver(cluster); led >= 0 && random.IntN(2) == 0 {
			dies = led
		}
		goesBack := random.IntN(2) == 0 && statusBegins(cluster, level) != nil
		t.Logf("level %d: %s, node %d is late, node %d dies, goes back: %v", level, step.name, late+1, dies+1, goesBack)
		if goesBack {
			version(late, level-1)
			must(t, trial.Until(60*time.Second, func() error {
				// The raise may have come before.
				if _, err := knownLevel(cluster, late); err != nil && !cluster.HasEnded(late) {
					return err
				}
				return nil
			}))
			version(late, level)
		}
		version(dies, level)
		atLevel(t, cluster, level)
		for at := range cluster.Addresses {
			must(t, trial.Until(60*time.Second, func() error { return heard(at) }))
		}
		must(t, cluster.AllRun())
	}
	running.check(t, cluster)
	must(t, cluster.Equal(ctx))
}
