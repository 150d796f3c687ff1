// Three nodes as processes, and clients that nobody here wrote.

package tests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holm-cluster/trial"
)

func start(t *testing.T, settings trial.Settings) *trial.Cluster {
	t.Helper()
	cluster := startUnready(t, settings)
	must(t, cluster.Ready(context.Background()))
	must(t, cluster.Spread(context.Background()))
	return cluster
}

func startUnready(t *testing.T, settings trial.Settings) *trial.Cluster {
	t.Helper()
	// On a busy machine a leader may be late, and is not to lose its lead by that.
	settings.Init = append([]string{"--election-ms", "1000"}, settings.Init...)
	if _, err := trial.Program(); err != nil {
		t.Skip(err)
	}
	// Not t.TempDir: its name is too long for some, and it fails while a process still writes.
	folder, err := os.MkdirTemp("", "holm-cluster")
	must(t, err)
	cluster, err := trial.Start(folder, settings)
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(cluster.Logs())
		}
		cluster.Close()
		os.RemoveAll(folder)
	})
	return cluster
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, what string, found, expected any) {
	t.Helper()
	if fmt.Sprint(found) != fmt.Sprint(expected) {
		t.Fatalf("%s: found %v, expected %v", what, found, expected)
	}
}

func clusterClient(cluster *trial.Cluster, protocol int) *redis.ClusterClient {
	return redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: cluster.Addresses, Protocol: protocol, MaxRedirects: 3, ReadTimeout: 8 * time.Second,
		DialerRetries: 1,
	})
}

func TestClusterClientInBothProtocols(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{}), context.Background()
	for _, protocol := range []int{2, 3} {
		client := clusterClient(cluster, protocol)
		defer client.Close()
		var sums []*redis.IntCmd
		insist(t, func() error {
			for at := range 200 {
				insist(t, func() error { return client.Set(ctx, fmt.Sprint("key", at), at, 0).Err() })
			}
			for at := range 200 {
				same(t, "GET", client.Get(ctx, fmt.Sprint("key", at)).Val(), at)
			}
			pipeline := client.Pipeline()
			sums = nil
			for at := range 200 {
				sums = append(sums, pipeline.IncrBy(ctx, fmt.Sprint("key", at), 1))
			}
			_, err := pipeline.Exec(ctx)
			return err
		})
		for at, sum := range sums {
			same(t, "INCRBY", sum.Val(), at+1)
		}
		size, err := client.DBSize(ctx).Result()
		must(t, err)
		same(t, "DBSIZE over all nodes", size, 200)
		insist(t, func() error { return client.HSet(ctx, "{h}ash", "field", "value").Err() })
		insist(t, func() error { return client.ZAdd(ctx, "{h}zset", redis.Z{Score: 1.5, Member: "m"}).Err() })
		same(t, "HGETALL", client.HGetAll(ctx, "{h}ash").Val(), "map[field:value]")
		same(t, "ZSCORE", client.ZScore(ctx, "{h}zset", "m").Val(), 1.5)
		seen := map[string]int{}
		must(t, client.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
			keys := node.Scan(ctx, 0, "key*", 7).Iterator()
			var found []string
			for keys.Next(ctx) {
				found = append(found, keys.Val())
			}
			lock.Lock()
			defer lock.Unlock()
			for _, key := range found {
				seen[key]++
			}
			return keys.Err()
		}))
		same(t, "keys of SCAN", len(seen), 200)
		insist(t, func() error { return client.FlushAll(ctx).Err() })
		same(t, "GET after FLUSHALL", client.Get(ctx, "key1").Err(), redis.Nil)
	}
	must(t, cluster.Equal(ctx))
}

func TestAPlainClientOfAnyNodeReachesEveryKeyInOrder(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{}), context.Background()
	for at := range cluster.Addresses {
		node := cluster.Node(at)
		defer node.Close()
		var found []*redis.StringCmd
		insist(t, func() error {
			pipeline := node.Pipeline()
			found = nil
			for step := range 1000 {
				key := fmt.Sprint("k", step%50)
				pipeline.Set(ctx, key, fmt.Sprint(at, ":", step), 0)
				found = append(found, pipeline.Get(ctx, key))
			}
			_, err := pipeline.Exec(ctx)
			return err
		})
		for step, one := range found {
			same(t, "a GET behind its SET", one.Val(), fmt.Sprint(at, ":", step))
		}
		insist(t, func() error { return node.MSet(ctx, "{m}a", 1, "{m}b", 2).Err() })
		same(t, "MGET over groups", node.MGet(ctx, "k1", "nothing", "{m}a", "k2").Val(),
			fmt.Sprintf("[%d:951 <nil> 1 %d:952]", at, at))
		same(t, "EXISTS over groups", node.Exists(ctx, "k1", "k2", "{m}b", "nothing").Val(), 3)
		if err := node.MSet(ctx, "a", 1, "b", 2).Err(); err == nil || !strings.HasPrefix(err.Error(), "CROSSSLOT") {
			t.Fatal("MSET over slots:", err)
		}
	}
	must(t, cluster.Equal(ctx))
}

func TestLargeValuesAreReplicatedAndTooLargeOnesRefused(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{}), context.Background()
	node, other := cluster.Node(0), cluster.Node(1)
	defer node.Close()
	defer other.Close()
	large := strings.Repeat("x", 8<<20)
	insist(t, func() error {
		return errors.Join(node.Set(ctx, "{l}one", large, 0).Err(), node.Append(ctx, "{l}one", "y").Err())
	})
	found, err := other.Get(ctx, "{l}one").Result()
	must(t, err)
	same(t, "bytes", len(found), len(large)+1)
	if err := node.Set(ctx, "{l}one", large+"x", 0).Err(); err == nil {
		t.Fatal("an argument of more than 8 MiB is taken")
	}
	if err := node.MSet(ctx, "{l}a", large, "{l}b", large).Err(); err == nil {
		t.Fatal("a command of more than 16 MiB is taken")
	}
	half := strings.Repeat("x", 6<<20)
	queued := func(count int) error {
		_, err := node.TxPipelined(ctx, func(tx redis.Pipeliner) error {
			for step := range count {
				tx.Set(ctx, fmt.Sprint("{l}", step), half, 0)
			}
			return nil
		})
		return err
	}
	insist(t, func() error { return queued(2) })
	if err := queued(3); err == nil || !strings.HasPrefix(err.Error(), "EXECABORT") {
		t.Fatal("a transaction of more than 16 MiB:", err)
	}
	same(t, "EXISTS", other.Exists(ctx, "{l}a", "{l}b", "{l}one", "{l}0", "{l}1", "{l}2").Val(), 3)
	must(t, cluster.Equal(ctx))
}

func TestTransactionsWithinASlot(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{}), context.Background()
	client := clusterClient(cluster, 3)
	defer client.Close()
	// Each adds one to both keys, on top of what it has read: only WATCH keeps them equal.
	add := func() error {
		return client.Watch(ctx, func(tx *redis.Tx) error {
			one, _ := tx.Get(ctx, "{t}one").Int()
			other, _ := tx.Get(ctx, "{t}other").Int()
			_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, "{t}one", one+1, 0)
				pipe.Set(ctx, "{t}other", other+1, 0)
				return nil
			})
			return err
		}, "{t}one", "{t}other")
	}
	done := make(chan outcomes)
	for range 4 {
		go func() {
			var added outcomes
			for added.done < 20 {
				if err := add(); err == nil || strings.HasPrefix(err.Error(), "UNKNOWN") {
					added.add(err)
				}
			}
			done <- added
		}()
	}
	var sum outcomes
	for range 4 {
		added := <-done
		sum.done, sum.unknown = sum.done+added.done, sum.unknown+added.unknown
	}
	one, err := client.Get(ctx, "{t}one").Int()
	sum.check(t, "one", one, err)
	same(t, "other", client.Get(ctx, "{t}other").Val(), one)
	node := cluster.Node(0)
	defer node.Close()
	conn := node.Conn()
	defer conn.Close()
	do := func(words ...any) any {
		found, err := conn.Do(ctx, words...).Result()
		if err != nil {
			return err
		}
		return found
	}
	same(t, "MULTI", do("MULTI"), "OK")
	same(t, "a key", do("SET", "{x}a", 1), "QUEUED")
	same(t, "another slot", do("SET", "{y}a", 1), "CROSSSLOT Keys in request don't hash to the same slot")
	same(t, "EXEC", do("EXEC"), "EXECABORT Transaction discarded because of previous errors.")
	same(t, "nothing was done", do("GET", "{x}a"), redis.Nil)
	same(t, "a blocking command", strings.HasPrefix(fmt.Sprint(do("BLPOP", "l", 1)), "ERR"), true)
}

func TestRedirectionsNameTheLeader(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{}), context.Background()
	leaders := map[string]bool{}
	for step := range 50 {
		key := fmt.Sprint("key", step)
		served, moved := 0, map[string]bool{}
		must(t, trial.Until(60*time.Second, func() error {
			served, moved = 0, map[string]bool{}
			for at := range cluster.Addresses {
				node := cluster.Member(at)
				err := node.Set(ctx, key, at, 0).Err()
				node.Close()
				if err == nil {
					served++
					leaders[cluster.Addresses[at]] = true
				} else if words := strings.Fields(err.Error()); words[0] == "MOVED" {
					moved[words[2]] = true
				} else {
					return err
				}
			}
			if served != 1 || len(moved) != 1 {
				return fmt.Errorf("%d nodes serve, and others name %v", served, moved)
			}
			return nil
		}))
	}
	if len(leaders) < 2 {
		t.Fatal("one node leads all groups")
	}
}
