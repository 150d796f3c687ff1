// Founding: a founder begins its first replicas once all founders have said which folder is which node, and once it has
// noted that. From then on each of them knows a folder that is made again under an old id: it does not know what the
// former one has promised, and with a node that missed the last entries it would be a majority without them.

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
)

const (
	// How often a founder asks the others again.
	foundingTime = 50 * time.Millisecond
	// How long a node that begins waits for what others know of it.
	identityTimeout = 300 * time.Millisecond
)

var (
	errOtherFolder = errors.New("another folder is this node: the one with this id was lost, and must not be made " +
		"again; `holm-cluster join` makes a new node")
	errRemoved = errors.New("this node was removed from the cluster")
)

// founders are what a founder has noted of all of them, with its settings: where these are left alone of all that a node
// had, it begins nothing anew.
type founders struct {
	// By id.
	Folders map[uint64]string `json:"folders"`
	// The first replicas have logs.
	HasBegun bool `json:"begun"`
}

// note keeps what a founder knows, durably and in memory.
func (h *host) note(folder string, known *founders) error {
	with := *h.settings
	with.Founders = known
	text, err := json.MarshalIndent(&with, "", "  ")
	if err != nil {
		return err
	}
	if err := writeWhole(filepath.Join(folder, settingsFile), append(text, '\n')); err != nil {
		return err
	}
	h.founders.Store(known)
	return nil
}

// isOther returns whether another folder is a node.
func isOther(known string, with *settings) bool { return known != "" && known != with.Folder }

// identity returns what the placement says of this node, unless it speaks of another one.
func (p *placement) identity(with *settings) (*placed, error) {
	switch known := p.node(with.ID); {
	case known == nil:
		return nil, errRemoved
	case isOther(known.Folder, with):
		return nil, errOtherFolder
	default:
		return known, nil
	}
}

// checkIdentity refuses a folder that the placement does not know, before it takes part, and a version that is too old
// for the cluster. Nodes that begin at the same time answer each other later, when each looks again.
func checkIdentity(first *placement, with *settings, credentials *credentials, knows uint8) error {
	said, _ := askAll(with.others(), credentials, identityTimeout, "MAP")
	found := first
	for _, text := range said {
		if read, err := readPlacement([]byte(text)); text != "" && err == nil && read.Version > found.Version {
			found = read
		}
	}
	if found == first {
		return nil
	}
	if _, err := found.identity(with); err != nil {
		return err
	}
	return found.checkLevel(knows)
}

// askAll asks nodes one thing at a time about the cluster.
func askAll(nodes []member, with *credentials, most time.Duration, words ...string) ([]string, []error) {
	said, failed := make([]string, len(nodes)), make([]error, len(nodes))
	var asking sync.WaitGroup
	for at, one := range nodes {
		asking.Go(func() {
			said[at], failed[at] = with.askOnce(one.Address, most, append([]string{"HOLM.CLUSTER"}, words...)...)
		})
	}
	asking.Wait()
	return said, failed
}

// folders returns which folder is which node, as far as this node knows.
func (h *host) folders() map[uint64]string {
	known := map[uint64]string{h.settings.ID: h.settings.Folder}
	for _, one := range h.placement.Load().Nodes {
		if one.Folder != "" {
			known[one.ID] = one.Folder
		}
	}
	if noted := h.founders.Load(); noted != nil {
		for id, folder := range noted.Folders {
			known[id] = folder
		}
	}
	return known
}

// isFounded returns whether this node's first replicas were begun. A node that has joined has none.
func (h *host) isFounded() bool {
	noted := h.founders.Load()
	return noted != nil && noted.HasBegun
}

// found asks the founders until all have answered, and begins the first replicas.
func (h *host) found(ctx context.Context, folder string) {
	noted, last := h.founders.Load(), ""
	for noted == nil {
		all, err := h.askFounders()
		switch {
		case errors.Is(err, errOtherFolder):
			h.fail(err)
			return
		case err == nil:
			noted = &founders{Folders: all}
			continue
		case err.Error() != last:
			last = err.Error()
			fmt.Fprintln(os.Stderr, "holm-cluster: the cluster begins once all its founders have answered:", last)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(foundingTime):
		}
	}
	if err := h.beginFirst(folder, noted.Folders); err != nil && ctx.Err() == nil {
		h.fail(err)
	}
}

// askFounders asks the other founders which folder is which node.
func (h *host) askFounders() (map[uint64]string, error) {
	others := h.settings.others()
	said, failed := askAll(others, h.credentials, dialTimeout, "FOLDERS", h.settings.Cluster)
	all := map[uint64]string{h.settings.ID: h.settings.Folder}
	for at, one := range others {
		var known map[uint64]string
		if failed[at] == nil {
			failed[at] = json.Unmarshal([]byte(said[at]), &known)
		}
		if isOther(known[h.settings.ID], h.settings) {
			return nil, errOtherFolder
		}
		all[one.ID] = known[one.ID]
	}
	return all, errors.Join(failed...)
}

// beginFirst begins the first replicas that have no log yet: a founder may have ended between two of them. What it knows
// of the others is durable before it promises them anything.
func (h *host) beginFirst(folder string, all map[uint64]string) error {
	if err := h.note(folder, &founders{Folders: all}); err != nil {
		return err
	}
	for number := range h.lanes {
		members := map[uint64]dragonboat.Target{}
		for _, one := range h.settings.replicas(number) {
			members[one.ID] = one.Raft
		}
		if _, isMember := members[h.settings.ID]; !isMember || h.lane(number) != nil {
			continue
		}
		if err := h.replicas.begin(number, h.settings.ID, members); err != nil {
			return err
		}
		h.lanes[number].Load().isReady.Store(true)
	}
	return h.note(folder, &founders{Folders: all, HasBegun: true})
}
