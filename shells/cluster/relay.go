// The relay: a group of which this node has no replica, reached by a node that has one.

package main

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The most connections to a node that are kept for later.
const mostIdle = 64

// relays keeps connections to other nodes.
type relays struct {
	mutex sync.Mutex
	idle  map[string][]*dialog
}

func (r *relays) take(address string, credentials *credentials) (*dialog, error) {
	for {
		r.mutex.Lock()
		kept := r.idle[address]
		if len(kept) == 0 {
			r.mutex.Unlock()
			return credentials.dial(address)
		}
		last := kept[len(kept)-1]
		r.idle[address] = kept[:len(kept)-1]
		r.mutex.Unlock()
		if !last.isEnded() {
			return last, nil
		}
		last.close()
	}
}

func (r *relays) give(address string, back *dialog) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.idle == nil {
		r.idle = map[string][]*dialog{}
	}
	if len(r.idle[address]) < mostIdle {
		r.idle[address] = append(r.idle[address], back)
		return
	}
	back.close()
}

// forget closes what is kept of a node: the others are as broken as the one that has failed.
func (r *relays) forget(address string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, kept := range r.idle[address] {
		kept.close()
	}
	delete(r.idle, address)
}

// exchange asks the node of an address by what `take` returned for it, and keeps that for later unless it is broken.
func (r *relays) exchange(address string, with *dialog, most time.Duration, words ...string) (string, error) {
	said, err := with.ask(most, append([]string{"HOLM.CLUSTER"}, words...)...)
	var answered refused
	if err != nil && !errors.As(err, &answered) {
		with.close()
		r.forget(address)
		return "", err
	}
	r.give(address, with)
	return said, err
}

// relay is a group elsewhere.
type relay struct {
	host  *host
	group int
}

// targets returns the addresses of the nodes that have the group, the one that leads first.
func (r *relay) targets() []string {
	var found []string
	now := r.host.placement.Load()
	group := &now.Groups[r.group]
	add := func(id uint64) {
		if one, known := now.member(id); known && id != r.host.settings.ID {
			found = append(found, one.Address)
		}
	}
	add(group.Leader)
	for _, one := range group.Replicas {
		if one.Node != group.Leader && one.State != replicaNew {
			add(one.Node)
		}
	}
	return found
}

func (r *relay) ask(part []byte, writes bool) <-chan answer {
	done := make(chan answer, 1)
	kind := "read"
	if writes {
		kind = "write"
	}
	go func() {
		replies, err := r.round(kind, part, writes)
		done <- answer{replies: replies, err: err}
	}()
	return done
}

func (r *relay) entry(kind int, payload []byte) ([]byte, error) {
	return r.round(strconv.Itoa(kind), payload, true)
}

// round asks one node after the other, as long as what was asked has had no effect for certain.
func (r *relay) round(kind string, payload []byte, writes bool) ([]byte, error) {
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(10 * time.Millisecond) {
		for _, address := range r.targets() {
			found, err := r.at(address, kind, payload)
			var said refused
			switch {
			case err == nil:
				return found, nil
			case errors.Is(err, errNotAsked):
				continue
			case errors.As(err, &said) && (strings.HasPrefix(string(said), "TRYAGAIN") ||
				strings.HasPrefix(string(said), "CLUSTERDOWN")):
				continue
			case errors.As(err, &said):
				return nil, err
			case writes:
				return nil, errUnknown
			}
		}
	}
	return nil, errDown
}

var errNotAsked = errors.New("the node does not answer")

func (r *relay) at(address, kind string, payload []byte) ([]byte, error) {
	opened, err := r.host.relays.take(address, r.host.credentials)
	if err != nil {
		return nil, errNotAsked
	}
	group, most := strconv.Itoa(r.group), patience+requestTimeout
	said, err := r.host.relays.exchange(address, opened, most, "PART", group, kind, string(payload))
	return []byte(said), err
}

// asker returns a group, wherever it is.
func (h *host) asker(group int) asker {
	if own := h.served(group); own != nil {
		return own
	}
	return &relay{host: h, group: group}
}
