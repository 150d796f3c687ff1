// Operators' verbs of which the command dies, and a node with it.

package tests

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"holm-cluster/trial"
)

// Each verb is cut short at a moment by chance, on a node that dies, and given again: the cluster does what was asked
// for, once, and has all that was acknowledged.
func TestVerbsThatAreCutShortAreDoneWhenTheyAreRepeated(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	cluster, ctx := start(t, trial.Settings{Nodes: 4, Init: []string{"--snapshot-entries", "50"}}), context.Background()
	client := clusterClient(cluster, 3)
	defer client.Close()
	running := startLoad(ctx, client)
	program, err := trial.Program()
	must(t, err)
	for _, one := range []struct {
		verb []string
		// What the status says once that is done.
		says string
	}{
		{[]string{"drain", "--node", "1"}, "node 1 at %s: drained, 0 replicas"},
		{[]string{"drain", "--node", "1", "--undo"}, "node 1 at %s: up, "},
		{[]string{"move-slots", "--slots", "2000-9000", "--group", "3"}, "node 1 at %s: up, "},
	} {
		at := random.IntN(4)
		asked := cluster.Addresses[(at+random.IntN(2))%4]
		asks := exec.Command(program, append([]string{one.verb[0], "--at", asked}, one.verb[1:]...)...)
		must(t, asks.Start())
		time.Sleep(time.Duration(random.IntN(600)) * time.Millisecond)
		cluster.Kill(at)
		_ = asks.Process.Kill()
		_ = asks.Wait()
		must(t, cluster.StartNode(at))
		operate(t, cluster, one.verb...)
		must(t, trial.Until(60*time.Second, func() error {
			said, err := cluster.Operate("status")
			isUnderWay := strings.Contains(said, " go from group ") || strings.Contains(said, "(comes)") ||
				strings.Contains(said, "(leaves)") || strings.Contains(said, "does not answer")
			if err == nil && (isUnderWay || !strings.Contains(said, fmt.Sprintf(one.says, cluster.Addresses[0]))) {
				err = errors.New(said)
			}
			return err
		}))
	}
	running.check(t, cluster)
	must(t, cluster.Equal(ctx))
}

// `init` is killed at each of its steps and given again, once more when it was done, and nodes die while the cluster
// begins. An init that was given again was refused, if all that it lacked was its end.
func TestAClusterBeginsWhoseFoldersWereMadeInSteps(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	cluster, ctx := startUnready(t, trial.Settings{IsCutShort: true}), context.Background()
	for range 4 {
		time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
		at := random.IntN(3)
		cluster.Kill(at)
		must(t, cluster.Initialize(at))
		must(t, cluster.StartNode(at))
	}
	must(t, cluster.Ready(ctx))
	client := clusterClient(cluster, 3)
	defer client.Close()
	startLoad(ctx, client).check(t, cluster)
	must(t, cluster.AllRun())
	must(t, cluster.Equal(ctx))
}
