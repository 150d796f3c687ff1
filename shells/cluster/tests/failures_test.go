package tests

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"holm-cluster/trial"
)

var lock sync.Mutex

func TestNoAcknowledgedWriteIsLostWhenNodesAreKilled(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{}), context.Background()
	client := clusterClient(cluster, 3)
	defer client.Close()
	acknowledged := map[string]int{}
	write := func(from, to int) {
		for at := from; at < to; at++ {
			key := fmt.Sprint("key", at)
			if err := client.Set(ctx, key, at, 0).Err(); err == nil {
				acknowledged[key] = at
			} else {
				// By itself, this client asks for the slots again after ten seconds.
				client.ReloadState(ctx)
			}
		}
	}
	write(0, 200)
	for at := range cluster.Addresses {
		cluster.Kill(at)
		write(200*(at+1), 200*(at+2))
		must(t, cluster.StartNode(at))
		must(t, cluster.Ready(ctx))
	}
	if len(acknowledged) < 600 {
		t.Fatalf("only %d of 800 writes were acknowledged", len(acknowledged))
	}
	for at := range cluster.Addresses {
		cluster.Kill(at)
	}
	for at := range cluster.Addresses {
		must(t, cluster.StartNode(at))
	}
	must(t, cluster.Ready(ctx))
	for key, value := range acknowledged {
		same(t, key, client.Get(ctx, key).Val(), value)
	}
	must(t, cluster.Equal(ctx))
}

func TestANodeThatWasAwayForLongIsFilledFromAStream(t *testing.T) {
	settings := trial.Settings{Groups: 1, Init: []string{"--snapshot-entries", "40"}}
	cluster, ctx := start(t, settings), context.Background()
	node := cluster.Node(0)
	defer node.Close()
	insist(t, func() error { return node.Set(ctx, "before", 1, 0).Err() })
	cluster.Kill(2)
	big := strings.Repeat("x", 2000)
	for at := range 400 {
		// The node that was killed may have led: then the outcome of the first write is not known.
		must(t, trial.Until(60*time.Second, func() error { return node.Set(ctx, fmt.Sprint("key", at), big, 0).Err() }))
	}
	insist(t, func() error { return node.Del(ctx, "before").Err() })
	must(t, cluster.StartNode(2))
	must(t, cluster.Ready(ctx))
	must(t, cluster.Equal(ctx))
	other := cluster.Node(2)
	defer other.Close()
	same(t, "GET", other.Get(ctx, "key399").Val(), big)
	same(t, "EXISTS", other.Exists(ctx, "before", "key0").Val(), 1)
	// It was a stream: entries that far back are in no log.
	if logs := cluster.Logs(); strings.Contains(logs, "panic") {
		t.Fatal(logs)
	}
}

func TestAWriteFindsANewLeaderSoonAfterTheOldOneIsGone(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{}), context.Background()
	cluster.Kill(0)
	node := cluster.Node(1)
	defer node.Close()
	for at := range 20 {
		must(t, trial.Until(60*time.Second, func() error { return node.Set(ctx, fmt.Sprint("key", at), at, 0).Err() }))
	}
	cluster.Kill(2)
	// Without a majority nothing is answered, old or new.
	if err := node.Set(ctx, "key1", "x", 0).Err(); err == nil {
		t.Fatal("a node alone acknowledges a write")
	}
	if err := node.Get(ctx, "key2").Err(); err == nil {
		t.Fatal("a node alone answers a read")
	}
	must(t, cluster.StartNode(2))
	must(t, trial.Until(60*time.Second, func() error { return node.Get(ctx, "key2").Err() }))
}

func TestKeysExpireOnAllNodesWithoutAnyWrite(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{}), context.Background()
	for at := range cluster.Addresses {
		node := cluster.Node(at)
		defer node.Close()
		insist(t, func() error { return node.Set(ctx, "short", 1, 300*time.Millisecond).Err() })
		must(t, trial.Until(60*time.Second, func() error {
			if count := node.Exists(ctx, "short").Val(); count != 0 {
				return fmt.Errorf("%d keys are there", count)
			}
			return nil
		}))
	}
	must(t, cluster.Equal(ctx))
}
