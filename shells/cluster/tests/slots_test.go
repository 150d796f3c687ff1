// Slots that go from group to group while clients write and read.

package tests

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holm-cluster/trial"
)

// moveAndWait moves slots and waits until `status` says nothing of it any more.
func moveAndWait(t *testing.T, cluster *trial.Cluster, slots, group string) {
	t.Helper()
	operate(t, cluster, "move-slots", "--slots", slots, "--group", group)
	must(t, trial.Until(60*time.Second, func() error {
		said, err := cluster.Operate("status")
		if err == nil && strings.Contains(said, " go from group ") {
			err = errors.New(said)
		}
		return err
	}))
}

// countInOrder adds one to a key until it is to stop. A plain client sees neither redirections nor slots that move:
// each of its commands is done, in their order. Only a leader that nobody has asked to change costs it an answer.
func countInOrder(ctx context.Context, plain *redis.Client, stop <-chan struct{}) error {
	for at := int64(1); ; at++ {
		select {
		case <-stop:
			return nil
		default:
		}
		pipeline := plain.Pipeline()
		sum := pipeline.Incr(ctx, "count")
		read := pipeline.Get(ctx, "count")
		many := pipeline.MGet(ctx, "key1", "key2", "key3", "key4")
		if _, err := pipeline.Exec(ctx); err != nil {
			if !strings.HasPrefix(err.Error(), "UNKNOWN") && !strings.HasPrefix(err.Error(), "CLUSTERDOWN") {
				return err
			}
			err = trial.Until(60*time.Second, func() error {
				found, err := plain.Get(ctx, "count").Int64()
				if errors.Is(err, redis.Nil) {
					found, err = 0, nil
				}
				if err == nil && found != at && found != at-1 {
					return fmt.Errorf("at %d: found %d", at, found)
				}
				at = found
				return err
			})
			if err != nil {
				return err
			}
			continue
		}
		if sum.Val() != at || read.Val() != fmt.Sprint(at) || fmt.Sprint(many.Val()) != "[1 2 3 4]" {
			return fmt.Errorf("at %d: found %v, %v, %v", at, sum.Val(), read.Val(), many.Val())
		}
	}
}

func TestSlotsMoveWhileClientsGoOn(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{}), context.Background()
	client, plain := clusterClient(cluster, 3), cluster.Node(1)
	defer client.Close()
	defer plain.Close()
	for at := range 200 {
		insist(t, func() error { return plain.Set(ctx, fmt.Sprint("key", at), at, 0).Err() })
		insist(t, func() error {
			return plain.HSet(ctx, fmt.Sprint("hash", at%5), fmt.Sprint("field", at), strings.Repeat("v", 200)).Err()
		})
	}
	var elements []any
	for at := range 200 {
		elements = append(elements, strings.Repeat("e", 500), at)
	}
	insist(t, func() error {
		return errors.Join(plain.Del(ctx, "list").Err(), plain.RPush(ctx, "list", elements...).Err())
	})
	insist(t, func() error { return plain.Set(ctx, "long", "x", time.Hour).Err() })
	running := startLoad(ctx, client)
	counted, stop := make(chan error, 1), make(chan struct{})
	go func() { counted <- countInOrder(ctx, plain, stop) }()
	// There and back, halves of groups, one slot, and all of them.
	for _, one := range [][2]string{{"0-2000", "3"}, {"1000-9000", "1"}, {"5061,12182", "0"}, {"0-16383", "2"},
		{"0-4095", "0"}, {"4096-8191", "1"}, {"12288-16383", "3"}} {
		moveAndWait(t, cluster, one[0], one[1])
	}
	close(stop)
	must(t, <-counted)
	running.check(t, cluster)
	for at := range cluster.Addresses {
		node := cluster.Node(at)
		for key := range 200 {
			same(t, "GET", node.Get(ctx, fmt.Sprint("key", key)).Val(), key)
		}
		for hash := range 5 {
			same(t, "HLEN", node.HLen(ctx, fmt.Sprint("hash", hash)).Val(), 40)
		}
		same(t, "LLEN", node.LLen(ctx, "list").Val(), 400)
		same(t, "LINDEX", node.LIndex(ctx, "list", -1).Val(), 199)
		if left := node.PTTL(ctx, "long").Val(); left < 50*time.Minute || left > time.Hour {
			t.Fatal("a key expires in", left)
		}
		node.Close()
	}
	keys, err := plain.Keys(ctx, "*").Result()
	must(t, err)
	size, err := plain.DBSize(ctx).Result()
	must(t, err)
	same(t, "DBSIZE", size, len(keys))
	must(t, cluster.Equal(ctx))
	for _, wrong := range [][2]string{{"0-16384", "1"}, {"9-1", "1"}, {"a", "1"}, {"1", "4"}} {
		if _, err := cluster.Operate("move-slots", "--slots", wrong[0], "--group", wrong[1]); err == nil {
			t.Fatal("slots are moved that are none:", wrong)
		}
	}
}

func TestAMoveGoesOnAfterItsNodeIsKilled(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{}), context.Background()
	node := cluster.Node(1)
	defer node.Close()
	big := strings.Repeat("x", 1000)
	insist(t, func() error {
		writes := node.Pipeline()
		for at := range 2000 {
			writes.Set(ctx, fmt.Sprint("key", at), big, 0)
		}
		_, err := writes.Exec(ctx)
		return err
	})
	for round := range 3 {
		// Node 1 leads group 0 or has led it, and so moves its slots.
		to := fmt.Sprint(1 + round)
		operate(t, cluster, "move-slots", "--slots", "0-4095", "--group", to)
		cluster.Kill(round % 2 * 2)
		must(t, cluster.StartNode(round%2*2))
		must(t, cluster.Ready(ctx))
		must(t, trial.Until(60*time.Second, func() error {
			said, err := cluster.Operate("status")
			if err == nil && strings.Contains(said, " go from group ") {
				err = errors.New(said)
			}
			return err
		}))
	}
	reads := node.Pipeline()
	for at := range 2000 {
		reads.StrLen(ctx, fmt.Sprint("key", at))
	}
	found, err := reads.Exec(ctx)
	must(t, err)
	for _, one := range found {
		same(t, "bytes", one.(*redis.IntCmd).Val(), len(big))
	}
	size, err := node.DBSize(ctx).Result()
	must(t, err)
	same(t, "DBSIZE", size, 2000)
	must(t, cluster.Equal(ctx))
}

func TestAClusterClientFollowsASlot(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{}), context.Background()
	client := clusterClient(cluster, 3)
	defer client.Close()
	insist(t, func() error { return client.Set(ctx, "foo", 0, 0).Err() })
	var added outcomes
	for _, group := range []string{"1", "2", "0", "3"} {
		moveAndWait(t, cluster, "12182", group)
		added.add(client.Incr(ctx, "foo").Err())
		// A redirection has had no effect, and this client gives up after some.
		insist(t, func() error {
			err := client.Watch(ctx, func(tx *redis.Tx) error {
				_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
					pipe.Incr(ctx, "foo")
					return nil
				})
				return err
			}, "foo")
			if err == nil || strings.HasPrefix(err.Error(), "UNKNOWN") {
				added.add(err)
			}
			return err
		})
	}
	found, err := client.Get(ctx, "foo").Int()
	added.check(t, "GET", found, err)
}
