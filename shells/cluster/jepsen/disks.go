// Harm to disks: full ones, slow ones, and those that lose what was not synced.

package main

import (
	"context"
	"errors"
	"time"
)

func (n *nemesis) diskDeeds() []deed {
	return []deed{
		// They leave less than nodes want to keep, and enough for the logs: nodes refuse writes, and go on.
		{"fill one disk to 90 %", func(ctx context.Context) error { return n.fill(ctx, 100, n.any()) }},
		{"fill all disks to 90 %", func(ctx context.Context) error { return n.fill(ctx, 100, n.all()...) }},
		{"kill one and fill its disk to 90 %", n.fillAndKill},
		{"fill the leader's disk", func(ctx context.Context) error { return n.fill(ctx, 0, n.leader(ctx)) }},
		{"fill all disks", func(ctx context.Context) error { return n.fill(ctx, 0, n.all()...) }},
		{"slow the leader's disk", func(ctx context.Context) error { return n.slow(ctx, n.leader(ctx)) }},
		{"slow all disks", func(ctx context.Context) error { return n.slow(ctx, n.all()...) }},
		{"take the leader's power", func(ctx context.Context) error { return n.losePower(ctx, n.leader(ctx)) }},
		{"take all power", func(ctx context.Context) error { return n.losePower(ctx, n.all()...) }},
	}
}

// fill takes the disks of nodes but for a share in thousands, and gives them back. A node may end when no byte is left,
// and then starts again with room; with a share it must go on.
func (n *nemesis) fill(ctx context.Context, left int64, nodes ...int) error {
	for _, at := range nodes {
		if err := n.cluster.Fill(at, left); err != nil {
			return err
		}
	}
	n.wait(ctx, 500*time.Millisecond, 4*time.Second)
	var failed error
	for _, at := range nodes {
		failed = errors.Join(failed, n.cluster.Empty(at))
	}
	if left == 0 {
		// A node that has found no byte prints where before it ends.
		n.wait(ctx, 3*time.Second, 4*time.Second)
	}
	for _, at := range nodes {
		if left == 0 && n.cluster.HasEnded(at) {
			n.done["ended on a full disk"]++
			n.cluster.Kill(at)
			failed = errors.Join(failed, n.cluster.StartNode(at))
		}
	}
	return failed
}

// fillAndKill lets a node catch up on a disk that is nearly full.
func (n *nemesis) fillAndKill(ctx context.Context) error {
	one := n.any()
	n.cluster.Kill(one)
	n.wait(ctx, 500*time.Millisecond, 4*time.Second)
	if err := n.cluster.Fill(one, 100); err != nil {
		return err
	}
	if err := n.cluster.StartNode(one); err != nil {
		return err
	}
	n.wait(ctx, 500*time.Millisecond, 4*time.Second)
	return n.cluster.Empty(one)
}

// slow lets each write to the disks of nodes wait for up to 0.4 s, for some seconds.
func (n *nemesis) slow(ctx context.Context, nodes ...int) error {
	end := time.Now().Add(time.Duration(1+n.random.IntN(3)) * time.Second)
	for ctx.Err() == nil && time.Now().Before(end) {
		var failed error
		frozen := 0
		for _, at := range nodes {
			if failed = n.cluster.Freeze(at); failed != nil {
				break
			}
			frozen++
		}
		n.wait(ctx, 10*time.Millisecond, 400*time.Millisecond)
		for _, at := range nodes[:frozen] {
			failed = errors.Join(failed, n.cluster.Thaw(at))
		}
		if failed != nil {
			return failed
		}
		n.wait(ctx, time.Millisecond, 20*time.Millisecond)
	}
	return nil
}

// losePower takes the power of nodes: their logs lose what was not synced.
func (n *nemesis) losePower(ctx context.Context, nodes ...int) error {
	if err := n.cluster.LosePower(nodes...); err != nil {
		return err
	}
	n.wait(ctx, 50*time.Millisecond, 1500*time.Millisecond)
	for _, at := range nodes {
		if err := n.cluster.StartNode(at); err != nil {
			return err
		}
	}
	return nil
}
