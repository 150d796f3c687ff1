// Histories of clients against a cluster whose nodes are killed, paused, cut off and robbed of power, whose disks are
// full and slow, and whose slots go from group to group: each must be linearizable, and transactions over lists must be
// strictly serializable.
//
// A kill is a loss of power for the database, whose image is private: what was not synced is gone, and the logs bring
// it back. The logs' own files keep what was handed to the kernel. Where nodes have file systems of their own, a loss of
// power takes from the logs too what was not synced.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"holm-cluster/trial"
)

func main() {
	seconds := flag.Int("seconds", 600, "how long clients run")
	clients := flag.Int("clients", 8, "how many clients there are")
	mutant := flag.String("mutant", "", "a bug that is to be caught: stale-reads, long-lease, unconfirmed, "+
		"index-apart, unwatched, two-owners, reads-apart or unsynced")
	reads := flag.String("reads", "index", "how leaders know that they lead when they answer reads: index or lease")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "what the nemesis and the clients draw from")
	only := flag.String("only", "", "do the harm alone whose name has this in it, such as power or disk")
	keep := flag.String("keep", "", "a file for the history that was refused, as a page to look at")
	flag.Parse()
	trial.Quiet()
	// It comes first: the program runs again.
	folder, isAlone, err := trial.Alone("holm-jepsen")
	if err != nil {
		fail(err)
	}
	// Some commands of clients have more bytes: a replica then proposes them itself, and reads beside the leader.
	words := []string{"--test-private-image", "--test-sent-bytes", "256", "--test-lateness", "20ms", "--reads", *reads}
	switch *mutant {
	case "":
	case "long-lease", "unconfirmed":
		words = append(words, "--reads", "lease", "--test-"+*mutant)
	case "stale-reads", "index-apart", "unwatched", "two-owners", "reads-apart":
		words = append(words, "--test-"+*mutant)
	case "unsynced":
		// The power of nodes is taken alone where they have disks of their own.
		if !isAlone {
			fail(errors.New("a mutant without syncs needs disks that lose power, and thus privileges"))
		}
	default:
		fail(fmt.Errorf("no mutant is called %q", *mutant))
	}
	settings := trial.Settings{Init: []string{"--snapshot-entries", "500"}, Serve: words, Skew: 5_000}
	settings.IsUnsynced = *mutant == "unsynced"
	if isAlone {
		settings.IsApart, settings.DiskBytes = true, 1<<30
	} else {
		fmt.Println("no node is cut off, and no disk is full, slow or robbed of what was not synced: " +
			"this machine lets the caller make no namespaces")
	}
	length := time.Duration(*seconds) * time.Second
	one := plan{filepath.Join(folder, "nodes"), settings, *clients, length, *seed, *only, *keep}
	verdict, err := one.run()
	if err != nil {
		fail(fmt.Errorf("seed %d: %w", *seed, err))
	}
	switch {
	case *mutant == "" && verdict != "":
		fail(fmt.Errorf("seed %d: %s", *seed, verdict))
	case *mutant != "" && verdict == "":
		fail(fmt.Errorf("seed %d: the mutant %s was not caught", *seed, *mutant))
	case *mutant != "":
		fmt.Printf("the mutant %s is caught: %s\n", *mutant, verdict)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "jepsen:", err)
	os.Exit(1)
}

// plan is what a history is made with.
type plan struct {
	folder     string
	with       trial.Settings
	clients    int
	length     time.Duration
	seed       uint64
	only, keep string
}

// run returns what is wrong with the history; an empty text if nothing is.
func (p *plan) run() (string, error) {
	if err := os.Mkdir(p.folder, 0o750); err != nil {
		return "", err
	}
	cluster, err := trial.Start(p.folder, p.with)
	if err != nil {
		return "", err
	}
	defer cluster.Close()
	if err := cluster.Ready(context.Background()); err != nil {
		return "", err
	}
	seen := &history{begun: time.Now(), keys: map[string]bool{}}
	harm := &nemesis{cluster: cluster, random: rand.New(rand.NewPCG(p.seed, 0)), only: p.only, done: map[string]int{}}
	ctx, cancel := context.WithTimeout(context.Background(), p.length)
	defer cancel()
	var running sync.WaitGroup
	for client := range p.clients {
		running.Add(1)
		go func() {
			defer running.Done()
			seen.run(ctx, client, cluster, rand.New(rand.NewPCG(p.seed, uint64(client)+1)))
		}()
	}
	harmed := harm.run(ctx)
	running.Wait()
	if errors.Is(harmed, errEnded) {
		return harmed.Error(), nil
	}
	if harmed != nil {
		return "", errors.Join(harmed, errors.New(cluster.Logs()))
	}
	// All nodes run again. With a mutant they may not agree.
	if err := cluster.Ready(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, cluster.Logs())
		return "the cluster does not come back: " + err.Error(), nil
	}
	if err := seen.readAll(context.Background(), cluster); err != nil {
		fmt.Fprintln(os.Stderr, cluster.Logs())
		return "a key cannot be read at the end: " + err.Error(), nil
	}
	fmt.Printf("%d operations on %d keys, %d of them on sets and %d transactions over lists; %d with an unknown outcome, "+
		"%d refused, %d of them by a full disk; %v\n", len(seen.operations)+len(seen.ofSets)+len(seen.ofLists),
		len(seen.keys), len(seen.ofSets), len(seen.ofLists), seen.unknown, seen.refused.Load(), seen.full.Load(), harm.done)
	if verdict, err := judge(seen, p.keep); verdict != "" || err != nil {
		return verdict, err
	}
	if err := cluster.Equal(context.Background()); err != nil {
		return "replicas differ: " + err.Error(), nil
	}
	return "", nil
}
