// What a node is: written to its folder once, and the same at each start.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
)

// member is a node of the cluster, as all nodes know it.
type member struct {
	ID uint64 `json:"id"`
	// Where clients connect. It is announced to them as it stands here.
	Address string `json:"address"`
	// Where the other nodes connect.
	Raft string `json:"raft"`
	// Where clients connect that know nothing of clusters; empty: nowhere.
	Plain string `json:"plain,omitempty"`
}

// settings are what the file cluster.json of a node's folder has.
type settings struct {
	// The same for all nodes of a cluster, and for no other.
	Cluster string   `json:"cluster"`
	ID      uint64   `json:"id"`
	Groups  int      `json:"groups"`
	Members []member `json:"members"`
	// Nothing until the cluster has begun, and of nodes that have joined.
	Founders *founders `json:"founders,omitempty"`
	// Made with the folder: another folder is another node.
	Folder string `json:"folder"`
	// The node came to a cluster that was there: it begins without replicas.
	IsJoined bool `json:"joined,omitempty"`
	// Clients must say it, if it is not empty.
	Password string `json:"password,omitempty"`
	// Milliseconds without a leader before the others elect one: at least that, and at most twice.
	ElectionMilliseconds uint64 `json:"election_ms"`
	// After so many entries of a group its log is shortened.
	SnapshotEntries uint64 `json:"snapshot_entries"`
	// How many threads of the consensus engine write logs, for ever: each has a sync of its own.
	LogWriters uint64 `json:"log_writers,omitempty"`
	// Certificates with which nodes trust each other: files of the authority, the certificate and its key.
	Authority   string `json:"ca,omitempty"`
	Certificate string `json:"cert,omitempty"`
	Key         string `json:"key,omitempty"`
	// TLS for clients.
	TLS secured `json:"clients,omitzero"`
}

const settingsFile = "cluster.json"

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

func (s *settings) self() member {
	for _, one := range s.Members {
		if one.ID == s.ID {
			return one
		}
	}
	return member{}
}

// others returns the members without this node.
func (s *settings) others() []member {
	return slices.DeleteFunc(slices.Clone(s.Members), func(one member) bool { return one.ID == s.ID })
}

// replicas returns the members that have a group: at most three, in the order in which they are to lead it.
func (s *settings) replicas(group int) []member {
	count := min(3, len(s.Members))
	chosen := make([]member, 0, count)
	for at := range count {
		chosen = append(chosen, s.Members[(group+at)%len(s.Members)])
	}
	return chosen
}

// check refuses what cannot work, and what would let strangers in.
func (s *settings) check() error {
	seen := map[string]bool{}
	for _, one := range s.Members {
		for _, name := range []string{fmt.Sprint("id ", one.ID), one.Address, one.Raft, one.Plain} {
			if name != "" && seen[name] {
				return fmt.Errorf("two members have %s", name)
			}
			seen[name] = true
		}
		if one.ID == 0 {
			return errors.New("the id of a member is 1 or more")
		}
		isOpen := !isLoopback(one.Address) || one.Plain != "" && !isLoopback(one.Plain)
		if isOpen && s.Password == "" {
			return fmt.Errorf("%s can be reached by others: set a password", one.Address)
		}
		if !isLoopback(one.Raft) && s.Certificate == "" {
			return fmt.Errorf("%s can be reached by others: nodes need certificates", one.Raft)
		}
	}
	if err := s.TLS.checkNode(); err != nil {
		return err
	}
	if s.self().ID == 0 {
		return fmt.Errorf("node %d is none of the %d members", s.ID, len(s.Members))
	}
	if s.Groups < 1 || s.Groups > 256 {
		return fmt.Errorf("a cluster has 1 to 256 groups, and not %d", s.Groups)
	}
	if s.ElectionMilliseconds < 100 {
		return fmt.Errorf("an election takes at least 100 ms, and not %d", s.ElectionMilliseconds)
	}
	if s.SnapshotEntries < 10 {
		return fmt.Errorf("a log is shortened after at least 10 entries, and not %d", s.SnapshotEntries)
	}
	return nil
}

// checkNew refuses what a node is not to be made with. Folders that were made before may have it.
func (s *settings) checkNew() error {
	for _, one := range s.Members {
		addresses := []string{one.Address, one.Raft}
		if one.Plain != "" {
			addresses = append(addresses, one.Plain)
		}
		for _, address := range addresses {
			if err := checkAddress(address); err != nil {
				return fmt.Errorf("node %d: %w", one.ID, err)
			}
		}
	}
	given := 0
	for _, file := range []string{s.Authority, s.Certificate, s.Key} {
		if file != "" {
			given++
		}
	}
	if given != 0 && given != 3 {
		return errors.New("certificates for the other nodes need --ca, --cert and --key")
	}
	return s.check()
}

// checkAddress refuses what others cannot connect to.
func checkAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	number, invalid := strconv.ParseUint(port, 10, 16)
	if err != nil || invalid != nil || host == "" || number == 0 {
		return fmt.Errorf("an address is HOST:PORT, and not %q", address)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("%s is announced to clients and to other nodes, which cannot connect to it", address)
	}
	return nil
}

// checkFolder refuses a folder that is a node, or has what another one has left: its logs are no new node's.
func checkFolder(folder string) error {
	for _, name := range []string{settingsFile, "raft", "node.holm"} {
		if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
			return fmt.Errorf("%s has the %s of a node that was made there before", folder, name)
		} else if !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// create writes the settings to a folder that has none. A node whose folder was lost must not come back as the same:
// it would not know what it has promised to others.
func (s *settings) create(folder string) error {
	if err := errors.Join(s.checkNew(), checkFolder(folder)); err != nil {
		return err
	}
	if s.Folder == "" {
		s.Folder = newName()
	}
	s.LogWriters = 1
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	// Whole or not at all: a part of a file would be neither a node nor a folder for one.
	return writeWhole(filepath.Join(folder, settingsFile), append(text, '\n'))
}

// isMade returns whether a folder is the node that these settings, of `init`, ask for: to make it again does nothing.
func (s *settings) isMade(folder string) bool {
	made, err := readSettings(folder)
	if err != nil {
		return false
	}
	made.Folder, made.Founders, made.LogWriters = s.Folder, s.Founders, s.LogWriters
	return reflect.DeepEqual(made, s)
}

// readSettings reads those of a folder.
func readSettings(folder string) (*settings, error) {
	text, err := os.ReadFile(filepath.Join(folder, settingsFile))
	if err != nil {
		return nil, fmt.Errorf("no node was made in this folder, `holm-cluster init` makes one: %w", err)
	}
	var read settings
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("%s: %w", settingsFile, err)
	}
	if read.LogWriters == 0 {
		read.LogWriters = formerLogWriters
	}
	return &read, read.check()
}

// With this time without a leader an election ends within twice that, and a little: clients wait for less than 2 s. It is
// ten times what a heartbeat of a busy node may be late by.
const defaultElection = 750

// What folders have whose settings do not say it.
const formerLogWriters = 16

const slotCount = 16384

// slotsOf returns the first and the last slot that a group has at first.
func (s *settings) slotsOf(group int) (int, int) {
	first := (group*slotCount + s.Groups - 1) / s.Groups
	last := ((group+1)*slotCount+s.Groups-1)/s.Groups - 1
	return first, last
}
