// Backups under load, of a cluster whose slots have moved, into clusters of other nodes.

package tests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holm-cluster/trial"
)

const counters = 40

// counting adds to two counters of each tag, one after the other, and remembers what was acknowledged.
type counting struct {
	mutex sync.Mutex
	last  [counters][2]int64
	// Commands whose outcome is not known: then two counters may differ by more.
	failed int
	stop   chan struct{}
	done   chan struct{}
}

func startCounting(ctx context.Context, client *redis.ClusterClient) *counting {
	running := &counting{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(running.done)
		for at := 0; ; at++ {
			select {
			case <-running.stop:
				return
			default:
			}
			for which, name := range []string{"a", "b"} {
				value, err := client.Incr(ctx, fmt.Sprintf("{%d}%s", at%counters, name)).Result()
				running.mutex.Lock()
				if err != nil {
					running.failed++
					running.mutex.Unlock()
					client.ReloadState(ctx)
					break
				}
				running.last[at%counters][which] = value
				running.mutex.Unlock()
			}
		}
	}()
	return running
}

func (c *counting) counts() [counters][2]int64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.last
}

// moveSlots moves slots and waits until that is done.
func moveSlots(t *testing.T, cluster *trial.Cluster, slots, group string) {
	t.Helper()
	operate(t, cluster, "move-slots", "--slots", slots, "--group", group)
	must(t, trial.Until(60*time.Second, func() error {
		said, err := cluster.Operate("status")
		if err == nil && strings.Contains(said, "go from group") {
			err = fmt.Errorf("%s", said)
		}
		return err
	}))
}

// fillAllKinds stores keys of all kinds, some of which expire.
func fillAllKinds(t *testing.T, ctx context.Context, client *redis.ClusterClient) {
	t.Helper()
	for at := range 300 {
		insist(t, func() error { return client.Set(ctx, fmt.Sprint("string", at), strings.Repeat("v", at), 0).Err() })
	}
	fields := []any{}
	for at := range 3_000 {
		fields = append(fields, fmt.Sprint("field", at), fmt.Sprint("value", at))
	}
	insist(t, func() error { return client.HSet(ctx, "hash", fields...).Err() })
	insist(t, func() error { return client.SAdd(ctx, "set", "x", "y", "z").Err() })
	insist(t, func() error {
		_, err := client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Del(ctx, "list")
			pipe.RPush(ctx, "list", "one", "two", "three")
			return nil
		})
		return err
	})
	insist(t, func() error {
		return client.ZAdd(ctx, "sorted", redis.Z{Score: 1, Member: "a"}, redis.Z{Score: 2.5, Member: "b"}).Err()
	})
	insist(t, func() error { return client.SetBit(ctx, "bits", 77, 1).Err() })
	insist(t, func() error { return client.PFAdd(ctx, "about", 1, 2, 3).Err() })
	insist(t, func() error { return client.Set(ctx, "late", "1", time.Hour).Err() })
	insist(t, func() error { return client.PExpire(ctx, "sorted", 2*time.Hour).Err() })
	insist(t, func() error { return client.Set(ctx, "soon", "1", time.Millisecond).Err() })
	insist(t, func() error { return client.HSet(ctx, "removed", "f", 1).Err() })
	insist(t, func() error { return client.Del(ctx, "removed").Err() })
	large := strings.Repeat("l", 3<<20)
	insist(t, func() error { return client.Set(ctx, "large", large, 0).Err() })
}

func hasAllKinds(t *testing.T, ctx context.Context, node *redis.Client) {
	t.Helper()
	for at := range 300 {
		same(t, "GET", node.Get(ctx, fmt.Sprint("string", at)).Val(), strings.Repeat("v", at))
	}
	same(t, "HLEN", node.HLen(ctx, "hash").Val(), 3_000)
	same(t, "HGET", node.HGet(ctx, "hash", "field2999").Val(), "value2999")
	same(t, "SCARD", node.SCard(ctx, "set").Val(), 3)
	same(t, "LRANGE", node.LRange(ctx, "list", 0, -1).Val(), "[one two three]")
	same(t, "ZSCORE", node.ZScore(ctx, "sorted", "b").Val(), 2.5)
	same(t, "GETBIT", node.GetBit(ctx, "bits", 77).Val(), 1)
	same(t, "PFCOUNT", node.PFCount(ctx, "about").Val(), 3)
	same(t, "EXISTS", node.Exists(ctx, "soon", "removed").Val(), 0)
	same(t, "STRLEN", node.StrLen(ctx, "large").Val(), 3<<20)
	for key, most := range map[string]time.Duration{"late": time.Hour, "sorted": 2 * time.Hour} {
		if left := node.PTTL(ctx, key).Val(); left > most || left < most-10*time.Minute {
			t.Fatalf("%s expires in %v", key, left)
		}
	}
	same(t, "PTTL", node.PTTL(ctx, "hash").Val(), time.Duration(-1))
}

func TestABackupUnderLoadBecomesAClusterOfOtherNodes(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{Init: []string{"--snapshot-entries", "200"}}), context.Background()
	client := clusterClient(cluster, 3)
	defer client.Close()
	fillAllKinds(t, ctx, client)
	running := startCounting(ctx, client)
	must(t, trial.Until(60*time.Second, func() error {
		if counts := running.counts(); counts[counters-1][1] < 3 {
			return fmt.Errorf("the counters are %v", counts)
		}
		return nil
	}))
	// The backup waits until the slots have moved.
	operate(t, cluster, "move-slots", "--slots", "0-99,12182", "--group", "2")
	before, folder := running.counts(), filepath.Join(cluster.Folder, "backup")
	said, err := cluster.Operate("backup", "--to", folder)
	must(t, err)
	same(t, "groups", strings.Count(said, "keys at entry"), 4)
	after := running.counts()
	close(running.stop)
	<-running.done
	if _, err := cluster.Operate("backup", "--to", folder); err == nil {
		t.Fatal("a backup is written into a folder that is there")
	}
	if _, err := cluster.Operate("restore", "--from", folder); err == nil || !strings.Contains(err.Error(), "keys") {
		t.Fatal("a cluster with keys is loaded:", err)
	}
	// Other nodes, and more of them.
	slots, err := client.ClusterSlots(ctx).Result()
	must(t, err)
	ranges := func(slots []redis.ClusterSlot) string {
		var found []string
		for _, one := range slots {
			found = append(found, fmt.Sprint(one.Start, "-", one.End))
		}
		return strings.Join(found, " ")
	}
	size := client.DBSize(ctx).Val()
	other := start(t, trial.Settings{Nodes: 4, Init: []string{"--snapshot-entries", "200"}})
	operate(t, other, "restore", "--from", folder)
	check := func(at int) {
		t.Helper()
		node := other.Node(at)
		defer node.Close()
		hasAllKinds(t, ctx, node)
		for tag := range counters {
			var found [2]int64
			for which, name := range []string{"a", "b"} {
				found[which], err = node.Get(ctx, fmt.Sprintf("{%d}%s", tag, name)).Int64()
				must(t, err)
				high := after[tag][which] + 1 + int64(running.failed)
				if low := before[tag][which]; found[which] < low || found[which] > high {
					t.Fatalf("{%d}%s is %d, and %d to %d were acknowledged", tag, name, found[which], low, high)
				}
			}
			if running.failed == 0 && found[0] != found[1] && found[0] != found[1]+1 {
				t.Fatalf("tag %d has %v: not one entry", tag, found)
			}
		}
	}
	for at := range other.Addresses {
		check(at)
	}
	must(t, other.Equal(ctx))
	// The new cluster goes on: slots go back, a node comes and gets replicas, another one drains.
	node := other.Node(0)
	defer node.Close()
	same(t, "DBSIZE", node.DBSize(ctx).Val(), size)
	restored, err := node.ClusterSlots(ctx).Result()
	must(t, err)
	same(t, "slots", ranges(restored), ranges(slots))
	moveSlots(t, other, "12182", "0")
	at, id, err := other.Join()
	must(t, err)
	_, err = other.Settled(60*time.Second, id, 2)
	must(t, err)
	check(at)
	must(t, other.Equal(ctx))
	same(t, "DBSIZE", node.DBSize(ctx).Val(), size)
	// Once more, it does nothing.
	insist(t, func() error { return node.Set(ctx, "string7", "later", 0).Err() })
	said, err = other.Operate("restore", "--from", folder)
	must(t, err)
	same(t, "groups", strings.Count(said, "has the backup"), 4)
	same(t, "GET", node.Get(ctx, "string7").Val(), "later")
	// Another number of groups.
	fewer := start(t, trial.Settings{Nodes: 1, Groups: 2})
	if _, err := fewer.Operate("restore", "--from", folder); err == nil || !strings.Contains(err.Error(), "4 groups and the cluster 2") {
		t.Fatal("a backup of four groups is loaded into two:", err)
	}
}

// begin starts a verb of an operator, and returns when it has written something that is waited for.
func begin(t *testing.T, cluster *trial.Cluster, isReady func() bool, words ...string) *exec.Cmd {
	t.Helper()
	program, err := trial.Program()
	must(t, err)
	command := exec.Command(program, words...)
	must(t, command.Start())
	for begun := time.Now(); !isReady(); time.Sleep(time.Millisecond) {
		if time.Since(begun) > 60*time.Second {
			t.Fatal("it does not begin")
		}
	}
	return command
}

func fillMany(t *testing.T, ctx context.Context, client *redis.ClusterClient) {
	t.Helper()
	for from := 0; from < 30_000; from += 500 {
		insist(t, func() error {
			pipeline := client.Pipeline()
			for at := from; at < from+500; at++ {
				pipeline.Set(ctx, "many"+strconv.Itoa(at), strings.Repeat("m", 1_000), 0)
			}
			_, err := pipeline.Exec(ctx)
			return err
		})
	}
}

func TestBackupsAndRestoresThatAreCutShortAreBegunAnew(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{Init: []string{"--snapshot-entries", "200"}}), context.Background()
	client := clusterClient(cluster, 3)
	defer client.Close()
	fillMany(t, ctx, client)
	folder := filepath.Join(cluster.Folder, "backup")
	exists := func(name string) bool {
		_, err := os.Stat(name)
		return err == nil
	}
	hasPart := func() bool { return exists(filepath.Join(folder+".part", "group-0.holm")) }
	// A backup waits until slots have moved: it has each key once.
	operate(t, cluster, "move-slots", "--slots", "0-8191", "--group", "3")
	one := cluster.Node(0)
	defer one.Close()
	must(t, trial.Until(60*time.Second, func() error {
		if size := one.DBSize(ctx).Val(); size < 30_500 {
			return fmt.Errorf("%d keys: the move has not begun", size)
		}
		return nil
	}))
	said, err := cluster.Operate("backup", "--to", filepath.Join(cluster.Folder, "moved"))
	must(t, err)
	sum := 0
	for _, line := range strings.Split(strings.TrimSpace(said), "\n") {
		var group, keys int
		_, err := fmt.Sscanf(line, "group %d: %d keys", &group, &keys)
		must(t, err)
		sum += keys
	}
	same(t, "keys", sum, 30_000)
	// The operator dies.
	cut := begin(t, cluster, hasPart, "backup", "--at", cluster.Addresses[0], "--to", folder)
	must(t, cut.Process.Kill())
	_ = cut.Wait()
	if exists(folder) {
		t.Fatal("a backup that was cut short has its name")
	}
	other := start(t, trial.Settings{})
	_, err = other.Operate("restore", "--from", folder+".part")
	if err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Fatal("a backup that was cut short is loaded:", err)
	}
	must(t, os.RemoveAll(folder+".part"))
	// A node dies: its groups are streamed from others.
	whole := begin(t, cluster, hasPart, "backup", "--at", cluster.Addresses[0], "--to", folder)
	cluster.Kill(2)
	must(t, whole.Wait())
	must(t, cluster.StartNode(2))
	// A restore whose operator dies, and then all nodes.
	node := other.Node(0)
	isLoading := func() bool { return node.DBSize(ctx).Val() > 3_000 }
	cut = begin(t, other, isLoading, "restore", "--at", other.Addresses[0], "--from", folder)
	must(t, cut.Process.Kill())
	_ = cut.Wait()
	refused := 0
	for at := range 100 {
		if _, err := node.Get(ctx, "many"+strconv.Itoa(at*7)).Result(); err != nil && strings.HasPrefix(err.Error(), "TRYAGAIN") {
			refused++
			break
		}
	}
	if refused == 0 {
		t.Fatal("no key is refused while its group is being loaded")
	}
	for at := range other.Addresses {
		other.Kill(at)
	}
	for at := range other.Addresses {
		must(t, other.StartNode(at))
	}
	must(t, other.Ready(ctx))
	operate(t, other, "restore", "--from", folder)
	node.Close()
	for at := range other.Addresses {
		node := other.Node(at)
		same(t, "DBSIZE", node.DBSize(ctx).Val(), 30_000)
		for key := 0; key < 30_000; key += 97 {
			same(t, "STRLEN", node.StrLen(ctx, "many"+strconv.Itoa(key)).Val(), 1_000)
		}
		node.Close()
	}
	must(t, other.Equal(ctx))
}

// A value that had grown beyond what an argument may have was in the backup, and no cluster took it back.
func TestABackupOfLargeValuesIsRestored(t *testing.T) {
	settings, ctx := trial.Settings{Nodes: 1, Groups: 1}, context.Background()
	from, to := start(t, settings), start(t, settings)
	node, other := from.Node(0), to.Node(0)
	defer node.Close()
	defer other.Close()
	part := strings.Repeat("x", 8<<20)
	for range 3 {
		must(t, node.Append(ctx, "large", part).Err())
	}
	folder := filepath.Join(from.Folder, "backup")
	_, err := from.Operate("backup", "--to", folder)
	must(t, err)
	_, err = to.Operate("restore", "--from", folder)
	must(t, err)
	same(t, "bytes", other.StrLen(ctx, "large").Val(), 3*len(part))
}
