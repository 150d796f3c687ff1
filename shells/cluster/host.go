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
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lni/dragonboat/v4"
	"github.com/lni/dragonboat/v4/config"
	"github.com/lni/dragonboat/v4/logger"
	"github.com/lni/dragonboat/v4/raftio"
)

// What of a disk stays free for catching up: a part of it, and on a small one some times what the logs' buffer takes
// when it is written out and merged.
const (
	spareShare     = 20
	logBufferBytes = 32 << 20
	leastSpare     = 4 * logBufferBytes
)

// trials are bugs and conditions of tests.
type trials struct {
	privateImage bool
	indexApart   bool
	staleReads   bool
	longLease    bool
	unwatched    bool
	twoOwners    bool
	readsApart   bool
	unconfirmed  bool
	lateness     time.Duration
	// The most bytes of an entry that is sent to another node; 0: as many as nodes send.
	sentBytes int
	// The highest level that is known, in place of the library's; 0: the library's.
	level uint8
}

// knows returns the highest level of entries that a node of these trials knows.
func (t *trials) knows() uint8 {
	if t.level > 0 {
		return t.level
	}
	return libraryLevel()
}

// host is a running node.
type host struct {
	settings *settings
	// It takes leases as a leader.
	leases bool
	tests  trials
	// The highest level of entries.
	knows    uint8
	machines *machines
	raft     *dragonboat.NodeHost
	replicas *replicas
	relays   relays
	// What other nodes ask for.
	credentials *credentials
	// Who clients are. They are never older than the placement.
	accounts accounts
	denied   *deniedLog
	// By group, the meta group last; nil where this node has no replica.
	lanes []atomic.Pointer[lane]
	// The newest copy that this node has seen.
	placement  atomic.Pointer[placement]
	complaints sync.Map
	isFull     atomic.Bool
	// It hands its leads over, and takes none.
	isEnding atomic.Bool
	// Nothing until a founder knows the others.
	founders atomic.Pointer[founders]
	context  context.Context
	stop     context.CancelFunc
	// Ends what this node does about leads and placements by itself, before it ends.
	rest    context.CancelFunc
	clients clients
	// Commands of clients that were carried out; those of EXEC each.
	commands atomic.Int64
	failed   chan error
	// When the loop of the node went round last, in nanoseconds.
	lastBeat atomic.Int64
	begun    time.Time
}

// leaders hears of the consensus engine who leads.
type leaders struct{ host atomic.Pointer[host] }

func (l *leaders) LeaderUpdated(info raftio.LeaderInfo) {
	if host := l.host.Load(); host != nil {
		if lane := host.lane(int(info.ShardID) - 1); lane != nil {
			lane.leaderIs(info.LeaderID, info.Term)
		}
	}
}

func quiet() {
	for _, name := range []string{"raft", "rsm", "transport", "grpc", "dragonboat", "logdb", "raftpb", "config",
		"settings", "order", "tan", "utils", "server", "registry", "snapshot", "id", "pebblekv"} {
		logger.GetLogger(name).SetLevel(logger.ERROR)
	}
}

func startHost(folder string, with *settings, leases bool, tests trials) (*host, error) {
	quiet()
	credentials, err := credentialsOf(with.Password, &with.TLS)
	if err != nil {
		return nil, err
	}
	if with.Certificate != "" {
		// The consensus engine reads it later, and says less.
		if _, err := (&certificate{certificate: with.Certificate, key: with.Key}).current(); err != nil {
			return nil, err
		}
	}
	if err := checkIdentity(founding(with), with, credentials, tests.knows()); err != nil {
		return nil, err
	}
	opened, err := openDatabase(filepath.Join(folder, "node.holm"),
		options{privateImage: tests.privateImage, indexApart: tests.indexApart, level: tests.level})
	if err != nil {
		return nil, err
	}
	heard := &leaders{}
	raft, err := dragonboat.NewNodeHost(nodeConfig(folder, with, heard))
	if err != nil {
		opened.close()
		return nil, err
	}
	started := &host{
		settings:    with,
		leases:      leases,
		tests:       tests,
		knows:       tests.knows(),
		credentials: credentials,
		denied:      newDeniedLog(),
		machines:    &machines{database: opened, groups: map[uint64]*group{}, lateness: tests.lateness},
		raft:        raft,
		lanes:       make([]atomic.Pointer[lane], with.Groups+1),
		failed:      make(chan error, 1),
		begun:       time.Now(),
	}
	if err := started.accounts.begin(with.Password); err != nil {
		started.close()
		return nil, err
	}
	started.beat()
	started.context, started.stop = context.WithCancel(context.Background())
	working, rest := context.WithCancel(started.context)
	started.rest = rest
	started.placement.Store(founding(with))
	heard.host.Store(started)
	if err := started.startReplicas(folder); err != nil {
		started.close()
		return nil, err
	}
	go started.watchDisk(started.context, folder)
	go started.spreadLeaders(working)
	go started.reconcile(working)
	return started, nil
}

// startReplicas begins the replicas that have a log here. Those of a cluster that was just made follow.
func (h *host) startReplicas(folder string) error {
	var err error
	if h.replicas, err = openReplicas(h, folder); err != nil {
		return err
	}
	known := h.replicas.known()
	for number := range h.lanes {
		if id, hasLog := known[number]; hasLog {
			if err := h.replicas.begin(number, id, nil); err != nil {
				return err
			}
			// All nodes may have just begun: nobody else would serve clients.
			h.lanes[number].Load().isReady.Store(!h.replicas.isListening(id))
		}
	}
	noted := h.settings.Founders
	if noted == nil && (h.settings.IsJoined || len(known) > 0) {
		// Former versions have noted nothing.
		noted = &founders{HasBegun: true}
	}
	h.founders.Store(noted)
	switch {
	case h.isFounded():
	case len(h.settings.Members) == 1:
		return h.beginFirst(folder, map[uint64]string{h.settings.ID: h.settings.Folder})
	default:
		go h.found(h.context, folder)
	}
	return nil
}

// fail ends the node with an error.
func (h *host) fail(err error) {
	select {
	case h.failed <- err:
	default:
	}
}

// shard returns the consensus engine's number of a group.
func shard(group int) uint64 { return uint64(group) + 1 }

func nodeConfig(folder string, with *settings, heard raftio.IRaftEventListener) config.NodeHostConfig {
	// One log for all groups: each log has a sync of its own.
	log := config.GetDefaultLogDBConfig()
	log.Shards = 1
	log.KVWriteBufferSize = logBufferBytes
	// One thread for the logs of all groups: what they wrote at a time has one sync, and fewer messages to each node.
	engine := config.GetDefaultEngineConfig()
	engine.ExecShards = with.LogWriters
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
		Expert:            config.ExpertConfig{LogDB: log, Engine: engine, TransportFactory: transports{}},
	}
}

// lane returns the lane of a group, if this node has a replica of it.
func (h *host) lane(group int) *lane {
	if group < 0 || group >= len(h.lanes) {
		return nil
	}
	return h.lanes[group].Load()
}

// served returns the lane of a group, if this node serves clients by a replica of its own.
func (h *host) served(group int) *lane {
	if own := h.lane(group); own != nil && own.isReady.Load() {
		return own
	}
	return nil
}

// leader returns the node that leads a group, as far as this node knows.
func (h *host) leader(group int) (member, bool) {
	if !h.isFounded() {
		return member{}, false
	}
	now := h.placement.Load()
	g := &now.Groups[group]
	if h.served(group) == nil {
		// Without a replica, one of the others is asked, and knows.
		if found, known := now.member(g.Leader); known {
			return found, true
		}
		return now.member(g.Replicas[0].Node)
	}
	return h.leading(group)
}

// leading returns the node that leads a group, as far as the replica of this node knows.
func (h *host) leading(group int) (member, bool) {
	id, _, known, err := h.raft.GetLeaderID(shard(group))
	if err != nil || !known {
		return member{}, false
	}
	return h.holder(group)(id)
}

// self returns this node as the others know it.
func (h *host) self() member {
	if found, known := h.placement.Load().member(h.settings.ID); known {
		return found
	}
	return h.settings.self()
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
			h.isFull.Store(found.Bavail < max(found.Blocks/spareShare, leastSpare/uint64(found.Bsize)))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

// spreadLeaders takes the lead of the groups that this node is to lead, at most one group in a second.
func (h *host) spreadLeaders(ctx context.Context) {
	for {
		for number := range h.lanes {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second / time.Duration(len(h.lanes))):
			}
			own, now := h.served(number), h.placement.Load()
			if own == nil || now.Groups[number].Preferred != h.settings.ID {
				continue
			}
			mine := now.Groups[number].replica(own.replica)
			leader, known := h.leader(number)
			if known && leader.ID != h.settings.ID && mine != nil && mine.State == replicaVotes {
				_ = h.lead(number, own.replica)
			}
		}
	}
}

// close lets commands of clients end that were begun, and makes everything durable. `giveLeads` comes before.
func (h *host) close() {
	h.clients.finish(finishTime)
	h.stop()
	h.raft.Close()
	if err := h.machines.database.sync(); err != nil {
		fmt.Fprintln(os.Stderr, "holm-cluster:", err)
	}
	h.machines.close()
}
