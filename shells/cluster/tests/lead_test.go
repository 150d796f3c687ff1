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

var groupLine = regexp.MustCompile(`group0:leader=(\d+),.*lead_requests=(\d+)`)

// leadOf returns who leads the only group, and how often the nodes have asked that another one does.
func leadOf(ctx context.Context, running *trial.Cluster) (leader, requests int, err error) {
	for at := range running.Addresses {
		node := running.Node(at)
		said, err := node.Info(ctx).Result()
		node.Close()
		if err != nil {
			return 0, 0, err
		}
		found := groupLine.FindStringSubmatch(said)
		if found == nil {
			return 0, 0, fmt.Errorf("%q has no group", said)
		}
		count, _ := strconv.Atoi(found[2])
		leader, _ = strconv.Atoi(found[1])
		requests += count
	}
	return leader, requests, nil
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
	_, before, err := leadOf(ctx, running)
	must(t, err)
	const turns = 5
	for turn := range turns {
		to := 1 + (turn+1)%3
		operate(t, running, "move-leader", "--group", "0", "--node", fmt.Sprint(to))
		must(t, trial.Until(60*time.Second, func() error {
			if leader, _, err := leadOf(ctx, running); err != nil || leader != to {
				return fmt.Errorf("%d leads, and not %d: %w", leader, to, err)
			}
			return nil
		}))
	}
	_, after, err := leadOf(ctx, running)
	must(t, err)
	t.Logf("%d requests", after-before)
	if after-before >= 2*turns {
		t.Fatalf("a lead that changed %d times was asked for %d times", turns, after-before)
	}
}
