// What a node does about the placement: it begins and ends its replicas, says which are complete, takes the steps of
// the groups that it leads, and drives the placement while it leads the meta group. Everything is begun anew from what
// is, several times a second: whatever is cut short is done by the next round, or by the next node.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lni/dragonboat/v4"
)

const (
	roundTime = 200 * time.Millisecond
	// The driver looks that often.
	driveTime = 500 * time.Millisecond
	// How long a step may take.
	stepTimeout = 5 * time.Second
)

var (
	errLostLog = errors.New("this node's log of it is gone, and with that what it has promised: " +
		"`holm-cluster remove --gone` replaces the node")
	errFewAnswer   = errors.New("of the replicas that would vote, no majority answers")
	errNoSuccessor = errors.New("no replica can take the lead")
)

// reconcile runs until the node ends.
func (h *host) reconcile(ctx context.Context) {
	busy := make([]atomic.Bool, len(h.lanes))
	moving := make([]atomic.Bool, len(h.lanes))
	var isHinting, isDriving, isRegistering atomic.Bool
	var driven time.Time
	// round lets one of a kind run at a time, beside the others.
	round := func(flag *atomic.Bool, work func()) {
		if flag.CompareAndSwap(false, true) {
			go func() {
				defer flag.Store(false)
				work()
			}()
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(roundTime):
		}
		h.beat()
		h.refresh()
		if now := h.placement.Load(); now.Version > 0 && now.node(h.settings.ID) == nil {
			h.fail(errRemoved)
			return
		}
		if err := h.placement.Load().checkLevel(h.knows); err != nil {
			h.fail(err)
			return
		}
		round(&isRegistering, h.register)
		for group := range h.lanes {
			round(&busy[group], func() {
				err := h.reconcileGroup(ctx, group)
				if err != nil && !errors.Is(err, errBusy) && ctx.Err() == nil {
					h.complain(group, err)
				}
			})
			round(&moving[group], func() {
				if err := h.moveSlots(ctx, group); err != nil && ctx.Err() == nil {
					h.complain(group, err)
				}
			})
		}
		round(&isHinting, h.hint)
		if h.leads(h.settings.Groups) && time.Since(driven) > driveTime {
			driven = time.Now()
			round(&isDriving, h.drive)
		}
	}
}

// drive takes a step of the placement, if there is one. Nodes are asked then alone.
func (h *host) drive() {
	now, _, err := h.readMeta()
	if err != nil || now != nil && !now.plan() {
		return
	}
	away := map[uint64]bool{}
	if now != nil {
		others := slices.DeleteFunc(now.members(), func(one member) bool { return one.ID == h.settings.ID })
		_, failed := askAll(others, h.credentials, dialTimeout, "FOLDERS", h.settings.Cluster)
		for at, one := range others {
			away[one.ID] = failed[at] != nil
		}
	}
	_ = h.change(func(p *placement) (bool, error) {
		p.away = away
		return p.plan(), nil
	})
}

// complain says once what keeps a group from its next step.
func (h *host) complain(group int, err error) {
	if said, had := h.complaints.Swap(group, err.Error()); !had || said != err.Error() {
		fmt.Fprintf(os.Stderr, "holm-cluster: group %d: %v\n", group, err)
	}
}

// leads returns whether this node leads a group.
func (h *host) leads(group int) bool {
	own := h.lane(group)
	if own == nil {
		return false
	}
	leader, _, known, err := h.raft.GetLeaderID(shard(group))
	return err == nil && known && leader == own.replica
}

// reconcileGroup takes the next step of this node for a group.
func (h *host) reconcileGroup(ctx context.Context, group int) error {
	now := h.placement.Load()
	if now.Version == 0 || !h.isFounded() {
		return nil
	}
	g := &now.Groups[group]
	var mine *replica
	for at := range g.Replicas {
		if g.Replicas[at].Node == h.settings.ID {
			mine = &g.Replicas[at]
		}
	}
	own := h.lane(group)
	if own != nil && (mine == nil || mine.ID != own.replica) {
		// A copy of the placement that is older than the replica says nothing about it.
		if own.replica < now.Next {
			return h.replicas.remove(group, own.replica)
		}
		return nil
	}
	if mine == nil {
		return nil
	}
	if own == nil {
		if mine.State == replicaNew || h.raft.HasNodeInfo(shard(group), mine.ID) {
			return h.replicas.begin(group, mine.ID, nil)
		}
		return errLostLog
	}
	switch {
	case mine.State == replicaNew:
		h.reportComplete(group, mine.ID)
	case mine.State == replicaVotes && h.replicas.isListening(mine.ID):
		return h.replicas.vote(group, mine.ID)
	}
	if group < h.settings.Groups && h.leads(group) && !own.isAssigned.Load() {
		// The first leader says which slots the group has at first. Later ones change nothing by it.
		low, high := h.settings.slotsOf(group)
		step := &slotStep{operation: slotsAssign, ranges: []slotRange{{low, high}}}
		if _, err := own.entry(entrySlots, appendLeast(0, step.bytes())); err == nil {
			own.isAssigned.Store(true)
		}
	}
	if !g.isSettled() && h.leads(group) {
		return h.step(ctx, group, own.replica)
	}
	return nil
}

// reportComplete notes that a replica has what the others have: it has just answered a linearizable read.
func (h *host) reportComplete(group int, id uint64) {
	found := <-h.lane(group).look()
	if found.err != nil {
		return
	}
	_ = h.changeReplica(group, id, func(g *grouped, one *replica) bool {
		isNew := one.State == replicaNew
		if isNew {
			one.State = replicaReady
		}
		return isNew
	})
}

// changeReplica changes what the placement says of a replica, if it is there.
func (h *host) changeReplica(group int, id uint64, by func(*grouped, *replica) bool) error {
	return h.change(func(p *placement) (bool, error) {
		g := &p.Groups[group]
		if found := g.replica(id); found != nil {
			return by(g, found), nil
		}
		return false, nil
	})
}

// step takes the next step of a group that this node leads.
func (h *host) step(ctx context.Context, group int, self uint64) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	has, err := h.raft.SyncGetShardMembership(ctx, shard(group))
	if err != nil {
		return err
	}
	// The newest placement, not a copy: a replica must not be added again that has left.
	now, _, err := h.readMeta()
	if err != nil || now == nil {
		return err
	}
	g := &now.Groups[group]
	kind, one := nextStep(g, has, self)
	host, known := now.member(one.Node)
	if !isSafe(kind, one, has, h.answering(group, g, has)) {
		return fmt.Errorf("%w: replica %d on node %d waits", errFewAnswer, one.ID, one.Node)
	}
	switch kind {
	case stepAdd, stepPromote:
		if !known {
			return fmt.Errorf("replica %d is for node %d, which is unknown", one.ID, one.Node)
		}
		if kind == stepAdd {
			return h.raft.SyncRequestAddNonVoting(ctx, shard(group), one.ID, host.Raft, has.ConfigChangeID)
		}
		return h.raft.SyncRequestAddReplica(ctx, shard(group), one.ID, host.Raft, has.ConfigChangeID)
	case stepRemove:
		return h.raft.SyncRequestDeleteReplica(ctx, shard(group), one.ID, has.ConfigChangeID)
	case stepYield:
		return h.yield(g, group, has)
	case stepVotes:
		return h.changeReplica(group, one.ID, func(_ *grouped, one *replica) bool {
			isComing := one.State == replicaNew || one.State == replicaReady
			if isComing {
				one.State = replicaVotes
			}
			return isComing
		})
	case stepForget:
		return h.changeReplica(group, one.ID, func(g *grouped, one *replica) bool {
			id := one.ID
			g.Replicas = slices.DeleteFunc(g.Replicas, func(other replica) bool { return other.ID == id })
			return true
		})
	}
	return nil
}

// answering returns a function that returns whether a replica of a group answers: it has what was acknowledged before,
// and reaches the leader. Each is asked once, and all at the same time.
func (h *host) answering(group int, g *grouped, has *dragonboat.Membership) func(uint64) bool {
	ask := sync.OnceValue(func() map[uint64]bool {
		var mutex sync.Mutex
		found, asks := map[uint64]bool{}, &handing{host: h, group: group}
		var done sync.WaitGroup
		for _, one := range g.Replicas {
			_, votes := has.Nodes[one.ID]
			if _, listens := has.NonVotings[one.ID]; !votes && !listens {
				continue
			}
			done.Go(func() {
				err := asks.look(one.Node, dialTimeout)
				mutex.Lock()
				defer mutex.Unlock()
				found[one.ID] = err == nil
			})
		}
		done.Wait()
		return found
	})
	return func(id uint64) bool { return ask()[id] }
}

// yield hands the lead to a replica that stays: the preferred one if it can be, or another one.
func (h *host) yield(g *grouped, group int, has *dragonboat.Membership) error {
	var to []uint64
	for _, one := range g.Replicas {
		if _, votes := has.Nodes[one.ID]; !votes || one.State != replicaVotes {
			continue
		}
		to = append(to, one.ID)
		if one.Node == g.Preferred {
			to[0], to[len(to)-1] = one.ID, to[0]
		}
	}
	own, err := h.lane(group), errNoSuccessor
	if own == nil || time.Now().UnixNano() < own.leadFrom.Load() {
		return nil
	}
	for _, id := range to {
		if err = h.handOver(group, id, dialTimeout); err == nil {
			return nil
		}
	}
	own.leadFrom.Store(time.Now().Add(leadRest).UnixNano())
	return err
}

// hint notes in the placement which groups this node leads.
func (h *host) hint() {
	now := h.placement.Load()
	var led []int
	for group := range h.lanes {
		if now.Version > 0 && h.leads(group) && now.Groups[group].Leader != h.settings.ID {
			led = append(led, group)
		}
	}
	if len(led) == 0 && (now.Version > 0 || !h.leads(h.settings.Groups)) {
		return
	}
	_ = h.change(func(p *placement) (bool, error) {
		isChanged := false
		for _, group := range led {
			if p.Groups[group].Leader != h.settings.ID && h.leads(group) {
				p.Groups[group].Leader = h.settings.ID
				isChanged = true
			}
		}
		return isChanged, nil
	})
}

// register notes which folder this node has, and which level it knows, once its own copy of the placement is there. An
// older version that changes the placement forgets levels: so each round looks again.
func (h *host) register() {
	now := h.placement.Load()
	if now.Version == 0 {
		return
	}
	isNoted := func(known *placed) bool {
		return known.Folder == h.settings.Folder && known.HasServed && known.knows() == h.knows
	}
	switch known, err := now.identity(h.settings); {
	case errors.Is(err, errOtherFolder):
		h.fail(err)
		return
	case err != nil, isNoted(known), !h.isFounded():
		return
	}
	_ = h.change(func(p *placement) (bool, error) {
		known, err := p.identity(h.settings)
		if err != nil || isNoted(known) {
			return false, nil
		}
		if err := p.checkLevel(h.knows); err != nil {
			return false, err
		}
		known.Folder, known.HasServed, known.Level = h.settings.Folder, true, h.knows
		return true, nil
	})
}
