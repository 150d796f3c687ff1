// What a node does to load a backup: it gives the cluster the slots that the backup had, and puts steps into logs.
// crates/holm-node/src/load.rs has their bytes.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// restoreWish is what the placement must be for a backup.
type restoreWish struct {
	Groups int     `json:"groups"`
	Slots  []owned `json:"slots"`
	Next   uint64  `json:"next"`
}

// wantRestore gives groups the slots of a backup, and returns the number of the attempt. Ids that the backup knows are
// not used again: groups compare the attempts of moves.
func (h *host) wantRestore(given string) ([]byte, error) {
	var wish restoreWish
	if err := json.Unmarshal([]byte(given), &wish); err != nil {
		return nil, err
	}
	attempt := uint64(0)
	err := h.change(func(p *placement) (bool, error) {
		if p.metaGroup() != wish.Groups {
			return false, &errGroupCount{backup: wish.Groups, cluster: p.metaGroup()}
		}
		if len(p.Moves) > 0 {
			return false, errSlotsMove
		}
		for _, one := range wish.Slots {
			if one.Group < 0 || one.Group >= wish.Groups || one.Range[0] < 0 || one.Range[1] >= slotCount {
				return false, fmt.Errorf("slots %v of group %d", one.Range, one.Group)
			}
		}
		for _, one := range wish.Slots {
			p.own(one.Range, one.Group)
		}
		p.Next = max(p.Next, wish.Next)
		attempt = p.newID()
		return true, nil
	})
	return strconv.AppendUint(nil, attempt, 10), err
}

// loadStep puts a step into the log of a group.
func (h *host) loadStep(given, payload string) ([]byte, error) {
	group, err := h.group(given)
	if err != nil {
		return nil, err
	}
	return h.asker(group).entry(entryLoad, []byte(payload))
}

// mayLoad refuses a step that not all nodes would know, and one that would fill the disk.
func (l *lane) mayLoad() error {
	switch {
	case l.level() < levelOfLoads:
		return errors.New("TRYAGAIN the cluster is at a level without backups")
	case l.isFull():
		return errFull
	}
	return nil
}
