// The clock of a node. Trials give it a wrong one, which jumps.

package main

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// clock is the time of this node.
var clock = time.Now

// How often a node of a trial looks how wrong its clock is to be.
const skewTime = 20 * time.Millisecond

// skewClock sets the clock ahead by the milliseconds that a file has, from now on. A file that cannot be read changes
// nothing.
func skewClock(file string) {
	var ahead atomic.Int64
	look := func() {
		if text, err := os.ReadFile(file); err == nil {
			if number, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
				ahead.Store(number)
			}
		}
	}
	look()
	clock = func() time.Time { return time.Now().Add(time.Duration(ahead.Load()) * time.Millisecond) }
	go func() {
		for range time.Tick(skewTime) {
			look()
		}
	}()
}
