// Histories of clients against a cluster whose nodes are killed, paused and robbed of power, and whose slots go from
// group to group: each must be linearizable.
//
// A kill is a loss of power for the database, whose image is private: what was not synced is gone, and the logs bring
// it back. The logs' own files keep what was handed to the kernel.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"holm-cluster/trial"
)

func main() {
	seconds := flag.Int("seconds", 600, "how long clients run")
	clients := flag.Int("clients", 8, "how many clients there are")
	mutant := flag.String("mutant", "", "a bug that is to be caught: stale-reads, index-apart, unwatched or two-owners")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "what the nemesis and the clients draw from")
	keep := flag.String("keep", "", "a file for the history that was refused, as a page to look at")
	flag.Parse()
	trial.Quiet()
	words := []string{"--test-private-image"}
	switch *mutant {
	case "":
	case "stale-reads", "index-apart", "unwatched", "two-owners":
		words = append(words, "--test-"+*mutant)
	default:
		fail(fmt.Errorf("no mutant is called %q", *mutant))
	}
	verdict, err := try(*clients, time.Duration(*seconds)*time.Second, *seed, words, *keep)
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

// try runs a history and returns what is wrong with it; an empty text if nothing is.
func try(clients int, length time.Duration, seed uint64, words []string, keep string) (string, error) {
	folder, err := os.MkdirTemp("", "holm-jepsen")
	if err != nil {
		return "", err
	}
	cluster, err := trial.Start(folder, trial.Settings{
		Init: []string{"--snapshot-entries", "500"}, Serve: words, IsApart: trial.CanCut(), Skew: 5_000,
	})
	if err == nil && !cluster.CanCut() {
		fmt.Println("no node is cut off: this machine lets the caller make no network namespaces")
	}
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	defer cluster.Close()
	if err := cluster.Ready(context.Background()); err != nil {
		return "", err
	}
	seen := &history{begun: time.Now(), keys: map[string]bool{}}
	harm := &nemesis{cluster: cluster, random: rand.New(rand.NewPCG(seed, 0)), done: map[string]int{}}
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	var running sync.WaitGroup
	for client := range clients {
		running.Add(1)
		go func() {
			defer running.Done()
			seen.run(ctx, client, cluster, rand.New(rand.NewPCG(seed, uint64(client)+1)))
		}()
	}
	harmed := harm.run(ctx)
	running.Wait()
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
	fmt.Printf("%d operations on %d keys, %d with an unknown outcome, %d refused; %v\n",
		len(seen.operations), len(seen.keys), seen.unknown, seen.refused.Load(), harm.done)
	if verdict, err := judge(seen, keep); verdict != "" || err != nil {
		return verdict, err
	}
	if err := cluster.Equal(context.Background()); err != nil {
		return "replicas differ: " + err.Error(), nil
	}
	return "", nil
}

// judge returns what is wrong with a history, and an error if the checker cannot say.
func judge(seen *history, keep string) (string, error) {
	result, info := porcupine.CheckOperationsVerbose(register, seen.operations, 2*time.Minute)
	switch result {
	case porcupine.Ok:
		fmt.Println("linearizable")
		return "", nil
	case porcupine.Unknown:
		return "", errors.New("the checker came to no end")
	}
	if keep != "" {
		if err := porcupine.VisualizePath(register, info, keep); err != nil {
			fmt.Fprintln(os.Stderr, "jepsen:", err)
		}
	}
	return "not linearizable", nil
}
