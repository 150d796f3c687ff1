package tests

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"holm-cluster/trial"
)

var groupLine = regexp.MustCompile(`group0:.*lead_requests=(\d+)`)

// leadRequests returns how often the nodes have asked that another one leads the only group. INFO waits for entries
// that are being applied, and under load for long.
func leadRequests(ctx context.Context, running *trial.Cluster) (requests int, err error) {
	for at := range running.Addresses {
		node := running.Node(at)
		said, err := node.Info(ctx).Result()
		node.Close()
		if err != nil {
			return 0, err
		}
		found := groupLine.FindStringSubmatch(said)
		if found == nil {
			return 0, fmt.Errorf("%q has no group", said)
		}
		count, _ := strconv.Atoi(found[1])
		requests += count
	}
	return requests, nil
}

// leads returns an error if a node does not lead the first group, as the first node knows it.
func leads(ctx context.Context, running *trial.Cluster, at int) error {
	node := running.Member(0)
	defer node.Close()
	slots, err := node.ClusterSlots(ctx).Result()
	if err == nil && (len(slots) == 0 || slots[0].Nodes[0].Addr != running.Addresses[at]) {
		err = fmt.Errorf("%v, and node %d is to lead the first group", slots, at+1)
	}
	return err
}

// A replica that has an entry to apply when it is asked to lead gives up, and writes are refused for the time of an
// election. Under load most attempts failed.
func TestALeadIsHandedOverUnderWrites(t *testing.T) {
	running := start(t, trial.Settings{Groups: 1, Init: []string{"--election-ms", "2000"}})
	ctx, stop := context.WithCancel(t.Context())
	first := running.Node(0)
	defer first.Close()
	var members []any
	for member := range 2000 {
		members = append(members, member)
	}
	insist(t, func() error { return first.SAdd(ctx, "from{a}", members...).Err() })
	before, err := leadRequests(ctx, running)
	must(t, err)
	var writers sync.WaitGroup
	defer writers.Wait()
	defer stop()
	for writer := range 9 {
		writers.Go(func() {
			node := running.Node(writer % 3)
			defer node.Close()
			for ctx.Err() == nil {
				// It takes long to apply.
				_ = node.SUnionStore(ctx, fmt.Sprint("to", writer, "{a}"), "from{a}").Err()
			}
		})
	}
	const turns = 5
	for turn := range turns {
		to := 1 + (turn+1)%3
		operate(t, running, "move-leader", "--group", "0", "--node", fmt.Sprint(to))
		must(t, trial.Until(60*time.Second, func() error {
			return leads(ctx, running, to-1)
		}))
	}
	stop()
	writers.Wait()
	after, err := leadRequests(t.Context(), running)
	must(t, err)
	t.Logf("%d requests", after-before)
	if after-before >= 2*turns {
		t.Fatalf("a lead that changed %d times was asked for %d times", turns, after-before)
	}
}
