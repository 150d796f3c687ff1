// The replicas of a node under the consensus engine: begun, ended, and removed with all that they have.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/lni/dragonboat/v4"
	"github.com/lni/dragonboat/v4/config"
)

// replicas are those of this node.
type replicas struct {
	host  *host
	mutex sync.Mutex
	// The ids of those that listen only: the consensus engine wants to know it before it reads their log.
	listening map[uint64]bool
	file      string
}

const replicasFile = "listening.json"

func openReplicas(h *host, folder string) (*replicas, error) {
	opened := &replicas{host: h, listening: map[uint64]bool{}, file: filepath.Join(folder, replicasFile)}
	text, err := os.ReadFile(opened.file)
	if errors.Is(err, os.ErrNotExist) {
		return opened, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &opened.listening)
	}
	return opened, err
}

// isListening returns whether a replica is begun as one that does not vote.
func (r *replicas) isListening(id uint64) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.listening[id]
}

// listen notes, durably, whether a replica is to be begun as one that does not vote.
func (r *replicas) listen(id uint64, isListening bool) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.listening[id] == isListening {
		return nil
	}
	if isListening {
		r.listening[id] = true
	} else {
		delete(r.listening, id)
	}
	text, err := json.Marshal(r.listening)
	if err != nil {
		return err
	}
	return writeWhole(r.file, text)
}

// writeWhole writes a file so that a crash leaves the old one or the new one.
func writeWhole(name string, text []byte) error {
	file, err := os.OpenFile(name+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = file.Write(text); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return rename(name+".new", name)
}

// rename gives a file or a folder its name, durably.
func rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(to))
}

// syncFolder makes the names in a folder durable.
func syncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// known returns the replicas that have a log on this node, by group.
func (r *replicas) known() map[int]uint64 {
	found := map[int]uint64{}
	for _, one := range r.host.raft.GetNodeHostInfo(dragonboat.DefaultNodeHostInfoOption).LogInfo {
		// Of two, the older one was being removed.
		if group := int(one.ShardID) - 1; group <= r.host.settings.Groups {
			found[group] = max(found[group], one.ReplicaID)
		}
	}
	return found
}

// begin begins a replica: with the members of a new group, or, without, as one that has a log or is to get it.
func (r *replicas) begin(group int, id uint64, members map[uint64]dragonboat.Target) error {
	h := r.host
	joins := members == nil && !h.raft.HasNodeInfo(shard(group), id)
	if joins {
		// A former replica of this node may have left something, which an index in no log must not speak of.
		if err := h.machines.remove(shard(group)); err != nil {
			return err
		}
		if err := r.listen(id, true); err != nil {
			return err
		}
	}
	err := h.raft.StartOnDiskReplica(members, joins, h.machines.create, config.Config{
		ReplicaID:           id,
		ShardID:             shard(group),
		CheckQuorum:         true,
		PreVote:             true,
		OrderedConfigChange: true,
		ElectionRTT:         20,
		HeartbeatRTT:        2,
		SnapshotEntries:     h.settings.SnapshotEntries,
		CompactionOverhead:  h.settings.SnapshotEntries / 4,
		IsNonVoting:         r.isListening(id),
	})
	if err != nil {
		return fmt.Errorf("group %d: %w", group, err)
	}
	ctx, stop := context.WithCancel(h.context)
	begun := newLane(shard(group), id, h.raft)
	begun.stop, begun.staleReads, begun.isFull, begun.level = stop, h.tests.staleReads, h.isFull.Load, h.level
	begun.unconfirmed, begun.sentBytes = h.tests.unconfirmed, mostSentBytes
	if h.tests.sentBytes > 0 {
		begun.sentBytes = h.tests.sentBytes
	}
	begun.elsewhere, begun.relays, begun.others = h.elsewhere(group), &h.relays, h.credentials
	begun.group = h.machines.finder(shard(group))
	begun.holder, begun.takesLeases, begun.tenure.isEndless = h.holder(group), h.takesLeases, h.tests.longLease
	begun.run(ctx)
	go begun.tend(ctx, h.machines.find)
	go begun.settle(ctx)
	h.lanes[group].Store(begun)
	if leader, term, known, err := h.raft.GetLeaderID(shard(group)); err == nil && known {
		begun.leaderIs(leader, term)
	}
	return nil
}

// end ends the replica of a group.
func (r *replicas) end(group int, id uint64) error {
	if has := r.host.lanes[group].Swap(nil); has != nil {
		has.stop()
		// Entries that are under way are not known to be lost.
		select {
		case <-has.gate.hold(nil, drainTime, 0):
		case <-time.After(drainTime):
		}
	}
	err := r.host.raft.StopReplica(shard(group), id)
	if errors.Is(err, dragonboat.ErrShardNotFound) {
		return nil
	}
	return err
}

// remove removes a replica that is no member any more, with its log and its keys.
func (r *replicas) remove(group int, id uint64) error {
	if err := r.end(group, id); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.host.context, 10*time.Second)
	defer cancel()
	if err := r.host.raft.SyncRemoveData(ctx, shard(group), id); err != nil {
		return fmt.Errorf("group %d: %w", group, err)
	}
	if err := r.host.machines.remove(shard(group)); err != nil {
		return err
	}
	return r.listen(id, false)
}

// vote begins a replica anew that has got a vote. The consensus engine reads a log as a listener or as a voter: so a
// snapshot with the vote in it comes first.
func (r *replicas) vote(group int, id uint64) error {
	ctx, cancel := context.WithTimeout(r.host.context, 10*time.Second)
	defer cancel()
	has, err := r.host.raft.SyncGetShardMembership(ctx, shard(group))
	if err != nil {
		return err
	}
	if _, votes := has.Nodes[id]; !votes {
		return nil
	}
	// An entry more, for there is no second snapshot at the same entry.
	own := r.host.lane(group)
	if _, err := own.entry(entrySweep, nil); err != nil {
		return err
	}
	if found := <-own.look(); found.err != nil {
		return found.err
	}
	if _, err := r.host.raft.SyncRequestSnapshot(ctx, shard(group), dragonboat.SnapshotOption{}); err != nil {
		return err
	}
	if err := r.listen(id, false); err != nil {
		return err
	}
	if err := r.end(group, id); err != nil {
		return err
	}
	for {
		err := r.begin(group, id, nil)
		if !errors.Is(err, dragonboat.ErrShardAlreadyExist) || ctx.Err() != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}
