// Whether a node lives and is ready, for those who start nodes anew and send clients to them. Both are answered without a
// password, and say nothing about keys.

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// Without a round for that long, a node hangs.
	mostBeat = time.Minute
	// How long all groups of a node may take for a read.
	readyTimeout = 2 * time.Second
)

// beat notes that the loop of the node has gone round.
func (h *host) beat() { h.lastBeat.Store(time.Now().UnixNano()) }

// live returns an error if the node hangs: a new start may help.
func (h *host) live() error {
	if since := time.Since(time.Unix(0, h.lastBeat.Load())); since > mostBeat {
		return fmt.Errorf("no round for %v", since.Truncate(time.Second))
	}
	return nil
}

// ready returns an error unless all replicas of the node answer a linearizable read: they have what was acknowledged, and
// another node may be stopped. A node that ends is not ready, so that no new clients are sent to it.
func (h *host) ready(ctx context.Context) error {
	if h.isEnding.Load() {
		return errEnding
	}
	now := h.placement.Load()
	known := now.node(h.settings.ID)
	if known == nil || !known.HasServed {
		return errors.New("the placement does not have the node yet")
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	answers := map[int]<-chan answer{}
	for group := range h.lanes {
		if own := h.lane(group); own != nil {
			answers[group] = own.look()
		} else if now.Groups[group].votesOn(h.settings.ID) {
			return fmt.Errorf("group %d: %w", group, errLostLog)
		}
	}
	for group, one := range answers {
		select {
		case found := <-one:
			if found.err != nil {
				return fmt.Errorf("group %d: %w", group, found.err)
			}
		case <-ctx.Done():
			return fmt.Errorf("group %d does not answer", group)
		}
	}
	return nil
}

// serveHealth adds /live and /ready to a page.
func (h *host) serveHealth(pages *http.ServeMux) {
	answer := func(to http.ResponseWriter, err error) {
		if err != nil {
			http.Error(to, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = to.Write([]byte("yes\n"))
	}
	pages.HandleFunc("GET /live", func(to http.ResponseWriter, _ *http.Request) { answer(to, h.live()) })
	pages.HandleFunc("GET /ready", func(to http.ResponseWriter, from *http.Request) {
		answer(to, h.ready(from.Context()))
	})
}
