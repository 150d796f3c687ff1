// The meta group: a group like the others, whose only key has the placement. Its changes compare what they were made
// from, as WATCH and EXEC of a client do.

package main

import (
	"encoding/binary"
	"errors"
	"time"
)

const placementKey = "placement"

// How often a change is made anew because another one came before it.
const mostChanges = 20

var errMeta = errors.New("CLUSTERDOWN the meta group does not answer")

// meta returns the meta group.
func (h *host) meta() asker { return h.asker(h.settings.Groups) }

// readMeta returns the placement as it is now, and the fingerprint of it; nothing if there is none yet.
func (h *host) readMeta() (*placement, uint64, error) {
	get := appendRequest(nil, "GET", placementKey)
	// The fingerprint comes first: with a placement that is newer, the change fails.
	first := <-h.meta().ask(appendPart(nil, partFingerprints, 2, nil, appendRequest(nil, "WATCH", placementKey)), false)
	if first.err != nil || len(first.replies) != 9 {
		return nil, 0, errors.Join(errMeta, first.err)
	}
	found := <-h.meta().ask(appendPart(nil, partPipeline, 2, nil, get), false)
	if found.err != nil {
		return nil, 0, errors.Join(errMeta, found.err)
	}
	fingerprint := binary.LittleEndian.Uint64(first.replies[1:])
	if string(found.replies) == "$-1\r\n" {
		return nil, fingerprint, nil
	}
	read, err := readPlacement([]byte(text(found.replies)))
	return read, fingerprint, err
}

// change changes the placement by a function that is called perhaps several times, each time with the newest one. The
// function returns whether there is anything to change. An error leaves open whether it is changed.
func (h *host) change(by func(*placement) (bool, error)) error {
	var last error
	for range mostChanges {
		now, fingerprint, err := h.readMeta()
		if err != nil {
			return err
		}
		isFirst := now == nil
		if isFirst {
			now = founding(h.settings)
			if h.settings.IsJoined {
				return errMeta
			}
		}
		isChanged, err := by(now)
		if err != nil || !isChanged && !isFirst {
			h.follow(now)
			return err
		}
		now.Version++
		set := appendRequest(nil, "SET", placementKey, string(now.bytes()))
		watches := []watch{{key: []byte(placementKey), fingerprint: fingerprint}}
		found := <-h.meta().ask(appendPart(nil, partTransaction, 2, watches, set), true)
		last = found.err
		if last == nil && len(found.replies) > 1 && found.replies[1] != '-' {
			h.follow(now)
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return errors.Join(errMeta, last)
}

// follow takes a placement over, with its users, unless this node has a newer one.
func (h *host) follow(found *placement) {
	if found != nil && h.accounts.follow(found) {
		h.clients.endRemoved()
	}
	for found != nil && found.Version > 0 {
		has := h.placement.Load()
		if has.Version >= found.Version || h.placement.CompareAndSwap(has, found) {
			return
		}
	}
}

// refresh asks for the newest placement: the own replica of the meta group, and the other nodes if there is none or it
// has no leader.
func (h *host) refresh() {
	if own := h.lane(h.settings.Groups); own != nil {
		part := appendPart(nil, partPipeline, 2, nil, appendRequest(nil, "GET", placementKey))
		if found, err := own.readHere(part); err == nil && len(found) > 0 && string(found) != "$-1\r\n" {
			if read, err := readPlacement([]byte(text(found))); err == nil {
				h.follow(read)
				return
			}
		}
	}
	h.follow(newer(h.placement.Load(), h.settings.ID, h.credentials))
}

// newer asks the other nodes for a placement that is newer, one after the other until one has it; nil: none has.
func newer(than *placement, self uint64, credentials *credentials) *placement {
	for _, one := range than.Nodes {
		if one.ID == self {
			continue
		}
		said, err := credentials.askOnce(one.Address, dialTimeout, "HOLM.CLUSTER", "MAP")
		if err != nil || said == "" {
			continue
		}
		if read, err := readPlacement([]byte(said)); err == nil && read.Version > than.Version {
			return read
		}
	}
	return nil
}
