// Nodes that come, drain and are lost for good, while clients go on.

package tests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holm-cluster/trial"
)

// load writes until it is stopped, and remembers what was acknowledged.
type load struct {
	stop         atomic.Bool
	done         chan struct{}
	acknowledged map[string]int
	kept         atomic.Int64
	failed       int
}

func startLoad(ctx context.Context, client *redis.ClusterClient) *load {
	running := &load{done: make(chan struct{}), acknowledged: map[string]int{}}
	go func() {
		defer close(running.done)
		for at := 0; !running.stop.Load(); at++ {
			key := fmt.Sprint("load", at%500)
			if err := client.Set(ctx, key, at, 0).Err(); err != nil {
				running.failed++
				delete(running.acknowledged, key)
				client.ReloadState(ctx)
				continue
			}
			running.acknowledged[key] = at
			running.kept.Store(int64(len(running.acknowledged)))
		}
	}()
	return running
}

// check ends the load and compares what every node answers with what was acknowledged.
func (l *load) check(t *testing.T, cluster *trial.Cluster) {
	t.Helper()
	if !l.stop.Load() {
		insist(t, func() error {
			if count := l.kept.Load(); count < 100 {
				return fmt.Errorf("only %d keys have a value that was acknowledged", count)
			}
			return nil
		})
	}
	l.stop.Store(true)
	<-l.done
	for _, at := range cluster.Running() {
		node := cluster.Node(at)
		for key, value := range l.acknowledged {
			var found string
			insist(t, func() (err error) {
				found, err = node.Get(context.Background(), key).Result()
				return err
			})
			same(t, key, found, value)
		}
		node.Close()
	}
}

func TestAFourthNodeJoinsAndAFounderDrainsWhileClientsGoOn(t *testing.T) {
	settings := trial.Settings{Init: []string{"--snapshot-entries", "100"}}
	cluster, ctx := start(t, settings), context.Background()
	client := clusterClient(cluster, 3)
	defer client.Close()
	insist(t, func() error { return client.Set(ctx, "before", "1", 0).Err() })
	running := startLoad(ctx, client)
	_, id, err := cluster.Join()
	must(t, err)
	_, err = cluster.Settled(60*time.Second, id, 3)
	must(t, err)
	operate(t, cluster, "drain", "--node", "1")
	if _, err := cluster.Operate("remove", "--node", "1"); err == nil {
		t.Fatal("a node with replicas is removed")
	}
	must(t, trial.Until(60*time.Second, func() error {
		said, err := cluster.Operate("status")
		isDrained := strings.Contains(said, "drained, 0 replicas, leads 0")
		if err != nil || !isDrained || strings.Count(said, "up, 5 replicas") != 3 {
			return fmt.Errorf("%s: %w", said, err)
		}
		return nil
	}))
	operate(t, cluster, "remove", "--node", "1")
	// It ends by itself, and does not come back.
	must(t, cluster.Await(0))
	must(t, cluster.StartNode(0))
	if err := cluster.Await(0); err != nil || !strings.Contains(cluster.Logs(), "was removed from the cluster") {
		t.Fatal("a node that was removed serves:", err, cluster.Logs())
	}
	running.check(t, cluster)
	must(t, cluster.Equal(ctx))
}

// The replicas of a node that drained were removed while another node did not answer: of the two that were left, one
// could not elect. And the lead was offered to the node that was away, again and again.
func TestADrainWaitsForANodeThatIsAwayAndCanBeTakenBack(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{}), context.Background()
	// says waits until the status has words so often, and replicas that leave or none.
	says := func(words string, count int, leaves bool) {
		t.Helper()
		must(t, trial.Until(60*time.Second, func() error {
			said, err := cluster.Operate("status")
			if err == nil && (strings.Count(said, words) != count || strings.Contains(said, "(leaves)") != leaves) {
				err = errors.New(said)
			}
			return err
		}))
	}
	says(": up, 5 replicas", 3, false)
	cluster.Kill(2)
	operate(t, cluster, "drain", "--node", "1")
	says(": draining, 0 replicas, leads 0", 1, true)
	must(t, trial.Until(60*time.Second, func() error {
		if said := cluster.Logs(); strings.Count(said, "no majority answers") < 5 {
			return errors.New(said)
		}
		return nil
	}))
	node := cluster.Node(0)
	defer node.Close()
	for at := range 50 {
		insist(t, func() error { return node.Set(ctx, fmt.Sprint("key", at), at, 0).Err() })
	}
	operate(t, cluster, "drain", "--node", "1", "--undo")
	says(": up", 3, false)
	operate(t, cluster, "drain", "--node", "1")
	says(": draining, 0 replicas, leads 0", 1, true)
	must(t, cluster.StartNode(2))
	says(": drained, 0 replicas, leads 0", 1, false)
	for at := range 50 {
		same(t, "GET", node.Get(ctx, fmt.Sprint("key", at)).Val(), at)
	}
}

func TestMembersAreFoundAgainAfterAllNodesWereKilled(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{}), context.Background()
	at, id, err := cluster.Join()
	must(t, err)
	before, err := cluster.Settled(60*time.Second, id, 3)
	must(t, err)
	node := cluster.Node(at)
	defer node.Close()
	for step := range 50 {
		must(t, trial.Until(60*time.Second, func() error { return node.Set(ctx, fmt.Sprint("key", step), step, 0).Err() }))
	}
	all := cluster.Running()
	for _, one := range all {
		cluster.Kill(one)
	}
	for _, one := range all {
		must(t, cluster.StartNode(one))
	}
	must(t, cluster.Ready(ctx))
	after, err := cluster.Settled(60*time.Second, id, 3)
	must(t, err)
	groups := func(said string) string {
		_, said, _ = strings.Cut(said, "group 0")
		return strings.ReplaceAll(said, " leads", "")
	}
	same(t, "the groups", groups(after), groups(before))
	for step := range 50 {
		for _, one := range all {
			other := cluster.Node(one)
			same(t, "GET", other.Get(ctx, fmt.Sprint("key", step)).Val(), step)
			other.Close()
		}
	}
	must(t, cluster.Equal(ctx))
}

func TestANodeWhoseFolderIsLostIsRefusedAndReplaced(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{}), context.Background()
	client := clusterClient(cluster, 3)
	defer client.Close()
	running := startLoad(ctx, client)
	must(t, trial.Until(60*time.Second, func() error {
		said, err := cluster.Operate("status")
		if err != nil || strings.Count(said, ": up, 5 replicas") != 3 {
			return fmt.Errorf("%s: %w", said, err)
		}
		return nil
	}))
	cluster.Kill(2)
	// Made again under its id, it does not take part: it would not know what it has promised.
	must(t, cluster.Lose(2, false))
	must(t, cluster.Initialize(2))
	must(t, cluster.StartNode(2))
	if err := cluster.Await(2); err != nil || !strings.Contains(cluster.Logs(), "another folder is this node") {
		t.Fatal("a node without its folder takes part:", err, cluster.Logs())
	}
	_, id, err := cluster.Join()
	must(t, err)
	operate(t, cluster, "remove", "--node", "3", "--gone")
	_, err = cluster.Settled(60*time.Second, id, 5)
	must(t, err)
	must(t, trial.Until(60*time.Second, func() error {
		said, err := cluster.Operate("status")
		if err != nil || strings.Count(said, "up, 5 replicas") != 3 || strings.Contains(said, "node 3 at") {
			return fmt.Errorf("%s: %w", said, err)
		}
		return nil
	}))
	must(t, cluster.Ready(ctx))
	running.check(t, cluster)
	must(t, cluster.Equal(ctx))
}

// Two of three founders are enough later, and not at first: they must know the folder of the third one.
func TestAClusterBeginsOnceAllFoundersHaveAnswered(t *testing.T) {
	cluster, ctx := startUnready(t, trial.Settings{}), context.Background()
	for at := range cluster.Addresses {
		cluster.Kill(at)
		must(t, cluster.Lose(at, false))
		must(t, cluster.Initialize(at))
	}
	must(t, cluster.StartNode(0))
	must(t, cluster.StartNode(1))
	waits := "the cluster begins once all its founders have answered"
	must(t, trial.Until(60*time.Second, func() error {
		if said := cluster.Logs(); strings.Count(said, waits) < 2 {
			return errors.New(said)
		}
		return nil
	}))
	time.Sleep(2 * time.Second)
	for at := range 2 {
		node := cluster.Node(at)
		err := node.Set(ctx, "key", "value", 0).Err()
		node.Close()
		if err == nil || !strings.HasPrefix(err.Error(), "CLUSTERDOWN") {
			t.Fatal("two of three founders have begun:", err)
		}
	}
	must(t, cluster.StartNode(2))
	must(t, cluster.Ready(ctx))
	// From then on two are enough.
	cluster.Kill(2)
	node := cluster.Node(0)
	defer node.Close()
	must(t, trial.Until(60*time.Second, func() error { return node.Set(ctx, "key", "value", 0).Err() }))
	cluster.Kill(0)
	cluster.Kill(1)
	must(t, cluster.StartNode(0))
	must(t, cluster.StartNode(1))
	must(t, trial.Until(60*time.Second, func() error {
		found, err := node.Get(ctx, "key").Result()
		if err == nil && found != "value" {
			err = fmt.Errorf("found %q", found)
		}
		return err
	}))
}

// A founder that is made again and a node that missed the last entries are two of three.
func TestALostFounderAndANodeThatIsBehindAreNoMajority(t *testing.T) {
	withoutPromises(t, func(cluster *trial.Cluster) {
		must(t, cluster.Lose(2, false))
		must(t, cluster.Initialize(2))
	}, func(cluster *trial.Cluster) error { return cluster.Await(2) })
}

func TestAFounderThatHasItsSettingsAloneTakesNoPart(t *testing.T) {
	withoutPromises(t, func(cluster *trial.Cluster) {
		must(t, cluster.Lose(2, true))
	}, func(cluster *trial.Cluster) error {
		const gone = "this node's log of it is gone"
		err := trial.Until(60*time.Second, func() error {
			if said := cluster.Logs(); !strings.Contains(said, gone) {
				return errors.New(said)
			}
			return nil
		})
		cluster.Kill(2)
		ports, failed := trial.FreePorts(1)
		if err = errors.Join(err, failed, cluster.StartVersion(2, "--page", ports[0])); err != nil {
			return err
		}
		// Nobody takes it for a node that may stand for another one.
		return trial.Until(60*time.Second, func() error {
			said, err := http.Get("http://" + ports[0] + "/ready")
			if err != nil {
				return err
			}
			defer said.Body.Close()
			text, err := io.ReadAll(said.Body)
			if err == nil && (said.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), gone)) {
				err = fmt.Errorf("%s: %s", said.Status, text)
			}
			return err
		})
	})
}

// withoutPromises lets two nodes of three acknowledge writes, and one of them lose what it has promised, and starts it
// with the third node. Then it starts the other one, which has the writes.
func withoutPromises(t *testing.T, lose func(*trial.Cluster), notices func(*trial.Cluster) error) {
	t.Helper()
	cluster, ctx := start(t, trial.Settings{}), context.Background()
	must(t, trial.Until(60*time.Second, func() error {
		said, err := cluster.Operate("status")
		if err != nil || strings.Count(said, ": up, 5 replicas") != 3 {
			return fmt.Errorf("%s: %w", said, err)
		}
		return nil
	}))
	cluster.Kill(0)
	node := cluster.Node(1)
	for step := range 20 {
		must(t, trial.Until(60*time.Second, func() error { return node.Set(ctx, fmt.Sprint("key", step), step, 0).Err() }))
	}
	node.Close()
	cluster.Kill(1)
	cluster.Kill(2)
	lose(cluster)
	must(t, cluster.StartNode(2))
	time.Sleep(time.Second)
	must(t, cluster.StartNode(0))
	time.Sleep(2 * time.Second)
	must(t, cluster.StartNode(1))
	must(t, notices(cluster))
	must(t, cluster.Ready(ctx))
	node = cluster.Node(0)
	defer node.Close()
	for step := range 20 {
		same(t, "GET", node.Get(ctx, fmt.Sprint("key", step)).Val(), step)
	}
}

func TestALeaderIsMovedAndStays(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{}), context.Background()
	for _, to := range []string{"2", "3", "1"} {
		operate(t, cluster, "move-leader", "--group", "0", "--node", to)
		must(t, trial.Until(60*time.Second, func() error {
			said, err := cluster.Operate("status")
			if err == nil && !strings.Contains(said, "(node "+to+" is to lead)") {
				err = fmt.Errorf("it is not said: %s", said)
			}
			return errors.Join(err, leads(ctx, cluster, int(to[0]-'1')))
		}))
	}
	if _, err := cluster.Operate("move-leader", "--group", "0", "--node", "9"); err == nil {
		t.Fatal("a node that is unknown is to lead")
	}
}
