package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"holm-cluster/trial"
)

// How long clients are measured before and after a node catches up.
const quietTime = 8 * time.Second

// caughtUp is what one round has shown: by time (before, meanwhile and after) and kind (writes, reads) the milliseconds
// of clients.
type caughtUp struct {
	seconds       float64
	middles       [3][2]float64
	tails         [3][2]float64
	count, denied [3]int
}

// catchUp lets a node without replicas get all that another one has, while clients go on, in rounds with a cluster each.
func catchUp(with load, rounds, rate int, parent string, groups int) error {
	fmt.Printf("%d rounds; %d keys, values of %d bytes, %d groups; %d connections with %d requests per second\n", rounds,
		with.keys, with.bytes, groups, with.connections, rate)
	var all []caughtUp
	for round := range rounds {
		folder := filepath.Join(parent, fmt.Sprint("round", round+1))
		if err := os.Mkdir(folder, 0o750); err != nil {
			return err
		}
		load := loadAverage()
		found, err := catchUpOnce(with, rate, folder, groups)
		if err = errors.Join(err, os.RemoveAll(folder)); err != nil {
			return err
		}
		fmt.Printf("round %d: %.1f s; load before %s\n", round+1, found.seconds, load)
		all = append(all, found)
	}
	printCaughtUp(all, with)
	return nil
}

func catchUpOnce(with load, rate int, folder string, groups int) (caughtUp, error) {
	ctx := context.Background()
	// Logs are short, as they are after some hours: replicas get their groups as streams.
	started, err := trial.Start(folder, trial.Settings{
		Groups: groups, Init: []string{"--election-ms", "750", "--snapshot-entries", "500"},
	})
	if err != nil {
		return caughtUp{}, err
	}
	defer started.Close()
	whole := &cluster{folder: folder, groups: groups, keys: with.keys, running: started}
	if err := errors.Join(started.Ready(ctx), started.Spread(ctx), whole.findSlots(ctx)); err != nil {
		return caughtUp{}, err
	}
	if err := fill(ctx, whole, with); err != nil {
		return caughtUp{}, err
	}
	leaving := len(started.Addresses)
	at, id, err := started.Join()
	if err != nil {
		return caughtUp{}, err
	}
	askers, err := plainAskers(started.Plain[:leaving-1], with)
	defer closeAll(askers)
	if err != nil {
		return caughtUp{}, err
	}
	clients := startPaced(askers, rate, with.bytes)
	begun := time.Now()
	time.Sleep(quietTime)
	from := time.Now()
	if _, err := started.Operate("drain", "--node", fmt.Sprint(leaving)); err != nil {
		return caughtUp{}, errors.Join(err, clients.end())
	}
	// All that the founder had, and its replica of the meta group.
	if _, err := started.Settled(10*time.Minute, id, groups+1); err != nil {
		return caughtUp{}, errors.Join(err, clients.end())
	}
	until := time.Now()
	time.Sleep(quietTime)
	if err := clients.end(); err != nil {
		return caughtUp{}, err
	}
	if err := hasAll(ctx, started, at, with.keys); err != nil {
		return caughtUp{}, err
	}
	found := caughtUp{seconds: until.Sub(from).Seconds()}
	for when, span := range [][2]time.Time{{begun.Add(quietTime / 4), from}, {from, until}, {until, time.Now()}} {
		for kind, isWrite := range []bool{true, false} {
			middle, tail, count, refused := clients.within(span[0], span[1], isWrite)
			found.middles[when][kind], found.tails[when][kind] = middle, tail
			found.count[when], found.denied[when] = found.count[when]+count, refused
		}
	}
	return found, nil
}

// plainAskers connects clients that know nothing of clusters to nodes.
func plainAskers(addresses []string, with load) ([]asker, error) {
	var all []asker
	for at, share := range sharesOf(upTo(with.keys), with.connections) {
		one, err := dial(addresses[at%len(addresses)], share, 1, with.bytes)
		if err != nil {
			return all, err
		}
		all = append(all, one)
	}
	return all, nil
}

// hasAll returns an error unless a node has all keys, and the same as others.
func hasAll(ctx context.Context, running *trial.Cluster, at, keys int) error {
	node := running.Node(at)
	defer node.Close()
	found := int64(0)
	for group := range running.Groups() {
		state, err := node.Do(ctx, "HOLM.HASH", group).Slice()
		if err != nil {
			return err
		}
		found += state[2].(int64)
	}
	if found != int64(keys) {
		return fmt.Errorf("the node has %d of %d keys", found, keys)
	}
	return running.Equal(ctx)
}

func printCaughtUp(all []caughtUp, with load) {
	over := func(part func(caughtUp) float64) spread {
		var numbers []float64
		for _, one := range all {
			numbers = append(numbers, part(one))
		}
		return medianOf(numbers)
	}
	seconds := over(func(c caughtUp) float64 { return c.seconds })
	bytes := float64(with.keys * (keyBytes + with.bytes))
	fmt.Printf("\nan empty node has %d records, %.0f MB of keys and values, after %.1f s (%.1f to %.1f): %.1f MB/s\n\n",
		with.keys, bytes/1e6, seconds.median, seconds.least, seconds.greatest, bytes/1e6/seconds.median)
	row([]string{"", "SET p50, p99 ms", "GET p50, p99 ms", "requests", "refused"})
	rule(5)
	for when, name := range []string{"before", "meanwhile", "after"} {
		words := []string{name}
		for kind := range 2 {
			middle := over(func(c caughtUp) float64 { return c.middles[when][kind] })
			tail := over(func(c caughtUp) float64 { return c.tails[when][kind] })
			text := fmt.Sprintf("%.2f, %.1f (%.1f to %.1f)", middle.median, tail.median, tail.least, tail.greatest)
			words = append(words, text)
		}
		count := over(func(c caughtUp) float64 { return float64(c.count[when]) })
		denied := over(func(c caughtUp) float64 { return float64(c.denied[when]) })
		row(append(words, fmt.Sprintf("%.0f", count.median), fmt.Sprintf("%.0f", denied.median)))
	}
}
