package tests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holm-cluster/trial"
)

// traffic is what writers have got.
type traffic struct {
	done, unknown atomic.Int64
	// The first answer that a client cannot just repeat.
	odd atomic.Pointer[string]
}

// count takes an answer, and returns whether the command is to be repeated: it has had no effect, or the connection
// is gone.
func (l *traffic) count(err error) bool {
	var broken net.Error
	switch {
	case err == nil:
		l.done.Add(1)
		return false
	case strings.HasPrefix(err.Error(), "UNKNOWN"):
		l.unknown.Add(1)
		return false
	case errors.Is(err, io.EOF), errors.As(err, &broken), strings.HasPrefix(err.Error(), "TRYAGAIN"),
		strings.HasPrefix(err.Error(), "CLUSTERDOWN"), strings.HasPrefix(err.Error(), "MOVED"):
		return true
	}
	words := err.Error()
	l.odd.CompareAndSwap(nil, &words)
	return false
}

// startTraffic lets plain clients of each node and clients of the cluster write until the context ends.
func startTraffic(ctx context.Context, cluster *trial.Cluster) (*traffic, *sync.WaitGroup) {
	running, writers := &traffic{}, &sync.WaitGroup{}
	write := func(set func(key string, value int) error) {
		for at := 0; ctx.Err() == nil; at++ {
			for running.count(set(fmt.Sprint("key", at%200), at)) && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
		}
	}
	for writer := range 9 {
		writers.Go(func() {
			if writer < 3 {
				client := clusterClient(cluster, 3)
				defer client.Close()
				write(func(key string, value int) error {
					err := client.Set(context.Background(), key, value, 0).Err()
					if err != nil {
						client.ReloadState(ctx)
					}
					return err
				})
				return
			}
			node := cluster.Node(writer % 3)
			defer node.Close()
			write(func(key string, value int) error { return node.Set(context.Background(), key, value, 0).Err() })
		})
	}
	return running, writers
}

// A node that ends as an operator wants it, and comes back, costs no client an outcome. On a busy machine leaders may
// change that nobody has asked to: so one round of some is enough. Without a hold before a node ends, none has been
// without an outcome that is not known.
func TestNodesAreStartedAnewWithoutALostOutcome(t *testing.T) {
	settings := trial.Settings{Init: []string{"--election-ms", "2000"}}
	cluster := start(t, settings)
	ctx, stop := context.WithCancel(t.Context())
	running, writers := startTraffic(ctx, cluster)
	defer writers.Wait()
	defer stop()
	const rounds = 5
	for round := range rounds {
		done, unknown := running.done.Load(), running.unknown.Load()
		for at := range cluster.Addresses {
			must(t, cluster.Stop(at))
			must(t, cluster.StartNode(at))
			must(t, cluster.Ready(ctx))
			must(t, cluster.Spread(ctx))
		}
		done, unknown = running.done.Load()-done, running.unknown.Load()-unknown
		t.Logf("round %d: %d writes, %d with an outcome that is not known", round, done, unknown)
		if odd := running.odd.Load(); odd != nil {
			t.Fatal("an answer that a client cannot repeat:", *odd)
		}
		if done > 100 && unknown == 0 {
			return
		}
	}
	t.Fatalf("no round of %d was without an outcome that is not known", rounds)
}
