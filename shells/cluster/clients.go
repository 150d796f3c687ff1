// The connections of clients, which end once their commands have when the node ends.

package main

import (
	"net"
	"sync"
	"time"
)

// clients are the connections that are open, each with what is shown of it.
type clients struct {
	mutex    sync.Mutex
	open     map[net.Conn]*shown
	isClosed bool
	// Closed once the last one has ended, after no more are taken.
	ended chan struct{}
}

// add returns whether the connection is taken.
func (c *clients) add(one net.Conn, seen *shown) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.isClosed {
		return false
	}
	if c.open == nil {
		c.open = map[net.Conn]*shown{}
	}
	c.open[one] = seen
	return true
}

// become notes that a connection has another account.
func (c *clients) become(one net.Conn, seen *shown, user *account) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	seen.account = user
	if user.isRemoved.Load() {
		// It was removed since the password was right, and perhaps looked for before.
		_ = one.SetReadDeadline(time.Now())
	}
}

// change changes what is shown of a connection.
func (c *clients) change(seen *shown, how func(*shown)) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	how(seen)
}

// endRemoved lets connections end whose users are removed: each before its next command.
func (c *clients) endRemoved() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for one, seen := range c.open {
		if seen.account.isRemoved.Load() {
			_ = one.SetReadDeadline(time.Now())
		}
	}
}

func (c *clients) count() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return len(c.open)
}

func (c *clients) remove(one net.Conn) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.open, one)
	if c.isClosed && len(c.open) == 0 {
		close(c.ended)
	}
}

// finish lets each connection end before its next command, and waits for that, but not for longer than some time.
func (c *clients) finish(most time.Duration) {
	c.mutex.Lock()
	c.isClosed, c.ended = true, make(chan struct{})
	if len(c.open) == 0 {
		close(c.ended)
	}
	for one := range c.open {
		_ = one.SetReadDeadline(time.Now())
	}
	c.mutex.Unlock()
	select {
	case <-c.ended:
	case <-time.After(most):
	}
}
