package tests

import (
	"context"
	"fmt"
	"testing"
	"time"

	"holm-cluster/trial"
)

// The time of a group never goes back, and no lease reads a clock: what a clock that jumps may do is let keys expire
// early or late, on all nodes alike.
func TestAClockThatJumpsMovesExpiryAndNothingElse(t *testing.T) {
	running, ctx := start(t, trial.Settings{Groups: 1, Skew: 1}), context.Background()
	// Node 1 leads, and its clock alone counts while it proposes alone.
	leader := running.Node(0)
	defer leader.Close()
	expiryEverywhere := func(key string) (all []time.Duration) {
		for at := range running.Addresses {
			node := running.Node(at)
			insist(t, func() error {
				found, err := node.PTTL(ctx, key).Result()
				if err == nil {
					all = append(all, found)
				}
				return err
			})
			node.Close()
		}
		return all
	}
	jump := func(by time.Duration) {
		must(t, running.Jump(0, by.Milliseconds()))
		must(t, trial.Until(60*time.Second, func() error {
			shown, err := leader.Time(ctx).Result()
			if err == nil && time.Until(shown).Round(time.Minute) != by {
				err = fmt.Errorf("the node shows %v", shown)
			}
			return err
		}))
		insist(t, func() error { return leader.Set(ctx, "clock", by.String(), 0).Err() })
	}
	insist(t, func() error { return leader.Set(ctx, "kept", "a", 3*time.Hour).Err() })
	insist(t, func() error { return leader.Set(ctx, "gone", "b", 30*time.Minute).Err() })
	jump(time.Hour)
	if expires := expiryEverywhere("kept")[0]; expires > 2*time.Hour {
		t.Fatalf("the group does not go by its leader's clock: the key expires after %v", expires)
	}
	for at := range running.Addresses {
		node := running.Node(at)
		same(t, "a key whose time has come", node.Exists(ctx, "gone").Val(), 0)
		same(t, "a key whose time has not come", node.Get(ctx, "kept").Val(), "a")
		node.Close()
	}
	// Back: what is gone stays gone, and no key gets its time back.
	jump(-time.Hour)
	var added outcomes
	for range 20 {
		added.add(leader.Incr(ctx, "count").Err())
		for at, expires := range expiryEverywhere("kept") {
			if expires > 2*time.Hour {
				t.Fatalf("the time of the group has gone back: on node %d the key expires after %v", at+1, expires)
			}
		}
	}
	for at := range running.Addresses {
		node := running.Node(at)
		found, err := node.Get(ctx, "count").Int()
		added.check(t, "a count", found, err)
		same(t, "a key that has expired", node.Exists(ctx, "gone").Val(), 0)
		node.Close()
	}
	must(t, running.Equal(ctx))
	must(t, running.AllRun())
}
