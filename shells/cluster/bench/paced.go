package main

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// answered is one request of clients that ask at a pace.
type answered struct {
	isWrite bool
	// When it was due, and how long it took from then on.
	due  time.Time
	wait time.Duration
}

// paced is clients that ask at a pace, whether they are answered soon or late. So a request that has to wait for others
// shows their time too.
type paced struct {
	stop    chan struct{}
	running sync.WaitGroup
	mutex   sync.Mutex
	all     []answered
	refused []time.Time
	err     error
}

// startPaced starts clients with a number of requests per second together: half of them write, half read.
func startPaced(askers []asker, rate, length int) *paced {
	made := &paced{stop: make(chan struct{})}
	every := time.Duration(float64(len(askers)) / float64(rate) * float64(time.Second))
	for at, one := range askers {
		first := time.Now().Add(every * time.Duration(at) / time.Duration(len(askers)))
		made.running.Go(func() { made.drive(one, first, every, length) })
	}
	return made
}

func (p *paced) drive(one asker, due time.Time, every time.Duration, length int) {
	value := valueOf(length)
	for ; ; due = due.Add(every) {
		select {
		case <-p.stop:
			return
		case <-time.After(time.Until(due)):
		}
		isWrite := rand.IntN(2) == 0
		value[rand.IntN(length)]++
		refused, err := one.ask(isWrite, []int{one.share[rand.IntN(len(one.share))]}, value)
		ended := time.Now()
		p.mutex.Lock()
		switch {
		case err != nil:
			p.err = err
		case refused > 0:
			p.refused = append(p.refused, due)
		default:
			p.all = append(p.all, answered{isWrite, due, ended.Sub(due)})
		}
		p.mutex.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *paced) end() error {
	close(p.stop)
	p.running.Wait()
	return p.err
}

// within returns the p50 and the p99, in milliseconds, of writes or reads that were due in a time, and how many of them
// there are. How many requests of both kinds were refused comes last.
func (p *paced) within(from, until time.Time, isWrite bool) (middle, tail float64, count, refused int) {
	isWithin := func(due time.Time) bool { return !due.Before(from) && due.Before(until) }
	var waits []time.Duration
	for _, one := range p.all {
		if one.isWrite == isWrite && isWithin(one.due) {
			waits = append(waits, one.wait)
		}
	}
	for _, due := range p.refused {
		if isWithin(due) {
			refused++
		}
	}
	if len(waits) == 0 {
		return 0, 0, 0, refused
	}
	slices.Sort(waits)
	at := func(share int) float64 { return float64(waits[(len(waits)-1)*share/100]) / 1e6 }
	return at(50), at(99), len(waits), refused
}
