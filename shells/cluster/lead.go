// The lead of a group is handed over while no entry is under way.
//
// A replica that is asked to lead gives up if it has a committed entry to apply, which might change the members. The one
// that leads refuses writes then until the time of an election has passed, and whoever wanted the lead asks again. Under
// load a replica nearly always has such an entry. So all nodes keep entries of the group back first, and the one that is
// to lead applies what was under way.

package main

import (
	"errors"
	"strconv"
	"sync"
	"time"
)

const (
	// How long a node keeps entries back, unless another replica leads before.
	holdTime = time.Second
	// How long those under way may take to be applied on a node.
	drainTime = 200 * time.Millisecond
)

var errBusy = errors.New("TRYAGAIN entries are under way")

// hold keeps entries of this node back, and returns once those under way are applied here.
func (l *lane) hold() error {
	late := time.After(drainTime)
	select {
	case <-l.gate.hold(l.change(), holdTime):
	case <-late:
		return errBusy
	}
	select {
	case found := <-l.look():
		return found.err
	case <-late:
		return errBusy
	}
}

// held is the hold that another node asks for.
func (h *host) held(given string) error {
	group, err := strconv.Atoi(given)
	if err != nil {
		return err
	}
	own := h.lane(group)
	if own == nil {
		return errNoReplica
	}
	return own.hold()
}

// holdAt keeps entries of a node back. A node that does not answer, or of a version without this, is not waited for:
// then the lead may have to be asked for again.
func (h *host) holdAt(node uint64, group int) {
	if node == h.settings.ID {
		_ = h.held(strconv.Itoa(group))
		return
	}
	other, known := h.placement.Load().member(node)
	if !known {
		return
	}
	opened, err := h.relays.take(other.Address, h.credentials)
	if err != nil {
		return
	}
	var answered refused
	_, err = opened.ask(2*drainTime, "HOLM.CLUSTER", "HOLD", strconv.Itoa(group))
	if err != nil && !errors.As(err, &answered) {
		opened.close()
		return
	}
	h.relays.give(other.Address, opened)
}

// handOver lets a replica lead a group of which this node has one: its own, or another one if this one leads.
func (h *host) handOver(group int, to uint64) error {
	now := h.placement.Load()
	var all sync.WaitGroup
	target := uint64(0)
	for _, one := range now.Groups[group].Replicas {
		if one.ID == to {
			target = one.Node
		}
		if one.State != replicaNew {
			all.Go(func() { h.holdAt(one.Node, group) })
		}
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	select {
	case <-done:
		// It may have answered before the others had nothing under way.
		h.holdAt(target, group)
	case <-time.After(2 * drainTime):
	}
	if own := h.lane(group); own != nil {
		own.counts.leads.Add(1)
	}
	return h.raft.RequestLeaderTransfer(shard(group), to)
}
