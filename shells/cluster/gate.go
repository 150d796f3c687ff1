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
	// While the gate is held: closed when it is to open, when it opens by itself, and who held it last.
	until <-chan struct{}
	ends  time.Time
	token uint64
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

// tryEnter enters if the gate is open, and returns whether it has.
func (g *gate) tryEnter() bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.held != nil {
		return false
	}
	g.under++
	return true
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

// hold closes the gate until a channel is closed, but not for longer than some time, or until who holds it with the
// same token opens it. The last one who holds it counts, for as long as any of them wants. What is returned is closed
// once no entry is under way.
func (g *gate) hold(until <-chan struct{}, most time.Duration, token uint64) <-chan struct{} {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.until, g.token = until, token
	if ends := time.Now().Add(most); ends.After(g.ends) {
		g.ends = ends
	}
	if g.held == nil {
		g.held = make(chan struct{})
		go g.watch(g.held)
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

// release opens the gate, unless somebody else has held it since.
func (g *gate) release(token uint64) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.held != nil && g.token == token {
		g.open()
	}
}

// open is called with the mutex, of a gate that is held.
func (g *gate) open() {
	close(g.held)
	g.held, g.ends = nil, time.Time{}
}

// watch opens the gate when that is due, unless it was opened before.
func (g *gate) watch(held chan struct{}) {
	for {
		g.mutex.Lock()
		until, left := g.until, time.Until(g.ends)
		switch {
		case g.held != held:
			g.mutex.Unlock()
			return
		case left <= 0 || isClosed(until):
			g.open()
			g.mutex.Unlock()
			return
		}
		g.mutex.Unlock()
		select {
		case <-until:
		case <-held:
		case <-time.After(left):
		}
	}
}

func isClosed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}
