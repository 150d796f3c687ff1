// The nemesis: kills, pauses, cuts, full and slow disks, moves of leaders and of slots, one after the other.

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"holm-cluster/trial"
)

// nemesis does harm until the context ends, and heals at last. It counts what it did.
type nemesis struct {
	cluster *trial.Cluster
	random  *rand.Rand
	// Harm is done alone whose name has this in it.
	only string
	done map[string]int
}

func (n *nemesis) wait(ctx context.Context, least, most time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(least + time.Duration(n.random.Int64N(int64(most-least)))):
	}
}

// any returns a node by chance, and all returns all of them.
func (n *nemesis) any() int { return n.random.IntN(len(n.cluster.Addresses)) }

func (n *nemesis) all() []int {
	all := make([]int, len(n.cluster.Addresses))
	for at := range all {
		all[at] = at
	}
	return all
}

// errEnded is of a node that has ended though nothing was done to it.
var errEnded = errors.New("a node has ended")

// deed is one harm.
type deed struct {
	name string
	do   func(context.Context) error
}

// deeds returns all harm that this machine allows and that is wanted.
func (n *nemesis) deeds() []deed {
	deeds := []deed{
		{"kill one", func(ctx context.Context) error { return n.kill(ctx, n.any()) }},
		{"kill the leader", func(ctx context.Context) error { return n.kill(ctx, n.leader(ctx)) }},
		{"pause the leader", n.pause},
		{"kill all", func(ctx context.Context) error {
			return n.kill(ctx, n.all()...)
		}},
		{"kill one and pause another", n.killAndPause},
		{"move leaders", n.move},
		{"let a clock jump", n.jump},
		{"move slots", n.moveSlots},
		{"move slots and kill", func(ctx context.Context) error {
			if err := n.moveSlots(ctx); err != nil {
				return err
			}
			n.wait(ctx, time.Millisecond, 300*time.Millisecond)
			return n.kill(ctx, n.any())
		}},
	}
	if n.cluster.CanCut() {
		deeds = append(deeds, []deed{
			{"cut the leader off", func(ctx context.Context) error { return n.cut(ctx, n.leader(ctx)) }},
			{"cut one off", func(ctx context.Context) error { return n.cut(ctx, n.any()) }},
		}...)
	}
	if n.cluster.HasDisks() {
		deeds = append(deeds, n.diskDeeds()...)
	}
	return slices.DeleteFunc(deeds, func(one deed) bool { return !strings.Contains(one.name, n.only) })
}

func (n *nemesis) run(ctx context.Context) error {
	deeds, last := n.deeds(), "the start"
	if len(deeds) == 0 {
		return fmt.Errorf("no harm that this machine allows is called %q", n.only)
	}
	for at := 0; ctx.Err() == nil; at++ {
		n.wait(ctx, 1500*time.Millisecond, 3500*time.Millisecond)
		// Harm that was repaired leaves all nodes at work.
		if err := n.cluster.AllRun(); err != nil {
			return fmt.Errorf("%w after %q: %w", errEnded, last, err)
		}
		if ctx.Err() != nil {
			break
		}
		// Each once, then by chance.
		deed := deeds[at%len(deeds)]
		if at >= len(deeds) {
			deed = deeds[n.random.IntN(len(deeds))]
		}
		n.done[deed.name]++
		if err := deed.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", deed.name, err)
		}
		last = deed.name
	}
	return nil
}

// leader returns the node that leads a group, or any node if nobody knows.
func (n *nemesis) leader(ctx context.Context) int {
	group := n.random.IntN(n.cluster.Groups())
	for at := range n.cluster.Addresses {
		node := n.cluster.Member(at)
		slots, err := node.ClusterSlots(ctx).Result()
		node.Close()
		if err == nil && group < len(slots) {
			for led, address := range n.cluster.Addresses {
				if slots[group].Nodes[0].Addr == address {
					return led
				}
			}
		}
	}
	return n.any()
}

func (n *nemesis) kill(ctx context.Context, nodes ...int) error {
	for _, at := range nodes {
		n.cluster.Kill(at)
	}
	n.wait(ctx, 50*time.Millisecond, 1500*time.Millisecond)
	for _, at := range nodes {
		if err := n.cluster.StartNode(at); err != nil {
			return err
		}
	}
	return nil
}

// jump sets the clock of a node that runs to another time, up to an hour away; or right.
func (n *nemesis) jump(ctx context.Context) error {
	at := n.leader(ctx)
	if n.random.IntN(3) == 0 {
		return n.cluster.Jump(at, 0)
	}
	return n.cluster.Jump(at, n.random.Int64N(7_200_000)-3_600_000)
}

func (n *nemesis) pause(ctx context.Context) error {
	at := n.leader(ctx)
	if err := n.cluster.Pause(at); err != nil {
		return err
	}
	n.wait(ctx, 200*time.Millisecond, 2500*time.Millisecond)
	return n.cluster.Resume(at)
}

func (n *nemesis) killAndPause(ctx context.Context) error {
	one := n.any()
	other := (one + 1) % len(n.cluster.Addresses)
	if err := n.cluster.Pause(other); err != nil {
		return err
	}
	err := n.kill(ctx, one)
	n.wait(ctx, 100*time.Millisecond, time.Second)
	if resumed := n.cluster.Resume(other); err == nil {
		err = resumed
	}
	return err
}

func (n *nemesis) move(ctx context.Context) error {
	node := n.cluster.Member(n.any())
	defer node.Close()
	for group := range n.cluster.Groups() {
		// One that was just killed does not answer.
		_ = node.Do(ctx, "HOLM.LEADER", group).Err()
	}
	return nil
}

// moveSlots asks for a move of slots to a group. One that is under way keeps it waiting, or refuses it.
func (n *nemesis) moveSlots(ctx context.Context) error {
	first := n.random.IntN(16384)
	last := min(16383, first+n.random.IntN(6000))
	for range 3 {
		node := n.cluster.Node(n.any())
		slots, group := fmt.Sprintf("%d-%d", first, last), n.random.IntN(n.cluster.Groups())
		err := node.Do(ctx, "HOLM.CLUSTER", "MOVE", slots, group).Err()
		node.Close()
		if err == nil || errors.Is(err, redis.Nil) {
			n.done["slots wanted"]++
			break
		}
	}
	return nil
}

// cut cuts a node off from the others, for longer than an election takes. Clients reach it all the while.
func (n *nemesis) cut(ctx context.Context, at int) error {
	if err := n.cluster.Cut(at); err != nil {
		return err
	}
	n.wait(ctx, 500*time.Millisecond, 4*time.Second)
	return n.cluster.Heal(at)
}
