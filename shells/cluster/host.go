// A node: its database, its groups under dragonboat, and who leads them.

package main

import (
	"context"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lni/dragonboat/v4"
	"github.com/lni/dragonboat/v4/config"
	"github.com/lni/dragonboat/v4/logger"
	"github.com/lni/dragonboat/v4/raftio"
)

// The part of a disk that stays free for catching up.
const spareShare = 20

// trials are bugs and conditions of tests.
type trials struct {
	privateImage bool
	indexApart   bool
	staleReads   bool
	unwatched    bool
}

// host is a running node.
type host struct {
	settings *settings
	machines *machines
	raft     *dragonboat.NodeHost
	// By group; nil where this node has no replica.
	lanes  []*lane
	isFull atomic.Bool
	// A bug for tests that are to catch it: EXEC forgets what was watched.
	unwatched bool
	stop      context.CancelFunc
	begun     time.Time
}

// leaders hears of the consensus engine who leads.
type leaders struct{ host atomic.Pointer[host] }

func (l *leaders) LeaderUpdated(info raftio.LeaderInfo) {
	if host := l.host.Load(); host != nil {
		if lane := host.lane(int(info.ShardID) - 1); lane != nil {
			lane.leaderIs(info.LeaderID)
		}
	}
}

func quiet() {
	for _, name := range []string{"raft", "rsm", "transport", "grpc", "dragonboat", "logdb", "raftpb", "config",
		"settings", "order", "tan", "utils", "server", "registry", "snapshot", "id", "pebblekv"} {
		logger.GetLogger(name).SetLevel(logger.ERROR)
	}
}

func startHost(folder string, with *settings, tests trials) (*host, error) {
	quiet()
	opened, err := openDatabase(filepath.Join(folder, "node.holm"),
		options{privateImage: tests.privateImage, indexApart: tests.indexApart})
	if err != nil {
		return nil, err
	}
	heard := &leaders{}
	raft, err := dragonboat.NewNodeHost(nodeConfig(folder, with, heard))
	if err != nil {
		opened.close()
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	started := &host{
		settings: with,
		machines: &machines{database: opened, groups: map[uint64]*group{}},
		raft:     raft,
		lanes:    make([]*lane, with.Groups),
		stop:     stop,
		begun:    time.Now(),
	}
	for number := range with.Groups {
		if err := started.startGroup(number); err != nil {
			started.close()
			return nil, fmt.Errorf("group %d: %w", number, err)
		}
	}
	started.unwatched = tests.unwatched
	heard.host.Store(started)
	for number, lane := range started.lanes {
		if lane == nil {
			continue
		}
		lane.staleReads = tests.staleReads
		lane.isFull = started.isFull.Load
		if leader, _, known, err := raft.GetLeaderID(shard(number)); err == nil && known {
			lane.leaderIs(leader)
		}
		lane.run(ctx)
		go lane.tend(ctx, with.ID, started.machines.find)
	}
	go started.watchDisk(ctx, folder)
	go started.spreadLeaders(ctx)
	return started, nil
}

// shard returns the consensus engine's number of a group.
func shard(group int) uint64 { return uint64(group) + 1 }

func nodeConfig(folder string, with *settings, heard raftio.IRaftEventListener) config.NodeHostConfig {
	// One log for all groups: each log has a sync of its own.
	log := config.GetDefaultLogDBConfig()
	log.Shards = 1
	log.KVWriteBufferSize = 32 << 20
	identity := sha1.Sum([]byte(with.Cluster))
	return config.NodeHostConfig{
		DeploymentID:      binary.LittleEndian.Uint64(identity[:8]) | 1,
		NodeHostDir:       filepath.Join(folder, "raft"),
		RTTMillisecond:    max(1, with.ElectionMilliseconds/20),
		RaftAddress:       with.self().Raft,
		MutualTLS:         with.Certificate != "",
		CAFile:            with.Authority,
		CertFile:          with.Certificate,
		KeyFile:           with.Key,
		RaftEventListener: heard,
		Expert:            config.ExpertConfig{LogDB: log, Engine: config.GetDefaultEngineConfig()},
	}
}

func (h *host) startGroup(number int) error {
	members := map[uint64]dragonboat.Target{}
	for _, one := range h.settings.replicas(number) {
		members[one.ID] = one.Raft
	}
	if _, isMember := members[h.settings.ID]; !isMember {
		return nil
	}
	h.lanes[number] = newLane(shard(number), h.raft)
	return h.raft.StartOnDiskReplica(members, false, h.machines.create, config.Config{
		ReplicaID:           h.settings.ID,
		ShardID:             shard(number),
		CheckQuorum:         true,
		PreVote:             true,
		OrderedConfigChange: true,
		ElectionRTT:         20,
		HeartbeatRTT:        2,
		SnapshotEntries:     h.settings.SnapshotEntries,
		CompactionOverhead:  h.settings.SnapshotEntries / 4,
	})
}

// lane returns the lane of a group, if this node has a replica of it.
func (h *host) lane(group int) *lane {
	if group < 0 || group >= len(h.lanes) {
		return nil
	}
	return h.lanes[group]
}

// leader returns the member that leads a group, as far as this node knows.
func (h *host) leader(group int) (member, bool) {
	if h.lane(group) == nil {
		// Without a replica, the first one is asked, and knows.
		return h.settings.replicas(group)[0], true
	}
	id, _, known, err := h.raft.GetLeaderID(shard(group))
	if err == nil && known {
		for _, one := range h.settings.Members {
			if one.ID == id {
				return one, true
			}
		}
	}
	return member{}, false
}

// name returns the name of a member as clients know it: 40 digits.
func (h *host) name(of member) string {
	sum := sha1.Sum(fmt.Appendf(nil, "%s/%d", h.settings.Cluster, of.ID))
	return hex.EncodeToString(sum[:])
}

// watchDisk refuses writes before the disk is full: an entry that cannot be applied would end the process.
func (h *host) watchDisk(ctx context.Context, folder string) {
	for {
		var found syscall.Statfs_t
		if err := syscall.Statfs(folder, &found); err == nil {
			h.isFull.Store(found.Bavail < found.Blocks/spareShare)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

// spreadLeaders takes the lead of the groups whose first replica this node is, at most one group in a second.
func (h *host) spreadLeaders(ctx context.Context) {
	for {
		for number := range h.lanes {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second / time.Duration(len(h.lanes))):
			}
			leader, known := h.leader(number)
			if known && h.lane(number) != nil && leader.ID != h.settings.ID &&
				h.settings.replicas(number)[0].ID == h.settings.ID {
				_ = h.raft.RequestLeaderTransfer(shard(number), h.settings.ID)
			}
		}
	}
}

// close hands the lead to others, as far as that takes no time, and makes everything durable.
func (h *host) close() {
	h.stop()
	for number := range h.lanes {
		if leader, known := h.leader(number); known && h.lane(number) != nil && leader.ID == h.settings.ID {
			for _, one := range h.settings.replicas(number) {
				if one.ID != h.settings.ID {
					_ = h.raft.RequestLeaderTransfer(shard(number), one.ID)
					break
				}
			}
		}
	}
	h.raft.Close()
	if err := h.machines.database.sync(); err != nil {
		fmt.Fprintln(os.Stderr, "holm-cluster:", err)
	}
	h.machines.close()
}
