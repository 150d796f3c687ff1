package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holm-cluster/trial"
)

// lessened is the same cluster while the last of its nodes is gone: what a machine less costs.
type lessened struct{ *cluster }

func (l lessened) name() string { return "without one" }

// start starts all nodes, kills the last one, and waits until the others lead all slots.
func (l lessened) start(ctx context.Context) error {
	if err := l.cluster.start(ctx); err != nil {
		return err
	}
	last := len(l.running.Addresses) - 1
	l.running.Kill(last)
	return trial.Until(30*time.Second, func() error {
		leaders, err := l.leaders(ctx)
		for slot := range slotCount {
			if leaders[slot] == l.running.Addresses[last] || leaders[slot] == "" {
				return errors.Join(err, fmt.Errorf("slot %d has no leader", slot))
			}
		}
		return err
	})
}

// stop lets the node that was gone catch up before all nodes end.
func (l lessened) stop() error {
	ctx := context.Background()
	err := l.running.StartNode(len(l.running.Addresses) - 1)
	return errors.Join(err, l.running.Ready(ctx), l.running.Equal(ctx), l.cluster.stop())
}

// close does nothing: the cluster is closed once.
func (l lessened) close() {}

// oneLess measures a cluster with all of its nodes and with one less.
func oneLess(with load, rounds int, cells []cell, folder string, groups int) error {
	whole := &cluster{title: "holm-cluster", folder: folder, groups: groups, keys: with.keys}
	return compare(with, rounds, cells, folder, []engine{whole, lessened{whole}})
}
