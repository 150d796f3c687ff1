// The gate of a lane: entries go through it into the log, and none does while it is held.

package main

import (
	"sync"
	"time"
)

// gate counts the entries that are under way, and keeps others back.
type gate struct {
	mutex sync.Mutex
	under int
	// Closed when the gate opens again; nil: it is open.
	held chan struct{}
	// Closed once no entry is under way; nil: nobody waits for that.
	idle chan struct{}
}

// enter waits until the gate is open. The caller leaves once its entry is applied, or given up.
func (g *gate) enter() {
	for {
		g.mutex.Lock()
		held := g.held
		if held == nil {
			g.under++
			g.mutex.Unlock()
			return
		}
		g.mutex.Unlock()
		<-held
	}
}

func (g *gate) leave() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.under--
	if g.under == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// hold closes the gate until a channel is closed, but not for longer than some time. Who holds a gate that is held
// already prolongs nothing. What is returned is closed once no entry is under way.
func (g *gate) hold(until <-chan struct{}, most time.Duration) <-chan struct{} {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.held == nil {
		g.held = make(chan struct{})
		go g.open(until, time.After(most))
	}
	if g.idle != nil {
		return g.idle
	}
	idle := make(chan struct{})
	if g.under == 0 {
		close(idle)
	} else {
		g.idle = idle
	}
	return idle
}

func (g *gate) open(until <-chan struct{}, late <-chan time.Time) {
	select {
	case <-until:
	case <-late:
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	close(g.held)
	g.held = nil
}
