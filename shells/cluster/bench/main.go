// Cluster-bench: holm-cluster beside holm-server and etcd, under the same load on the same disk.
//
// An engine runs only while it is measured, for a cluster that is idle takes time of processors too. In a round each
// engine is started with what it had, gets all cells, and is stopped; who is first changes from round to round. A ratio
// is that of one round.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"holm-cluster/trial"
)

// load is what clients do.
type load struct {
	connections, keys, bytes int
	warmUp, length           time.Duration
}

func main() {
	var with load
	rounds := flag.Int("rounds", 5, "rounds of each cell")
	seconds := flag.Float64("seconds", 3, "seconds of a cell in a round; a sixth more comes before it")
	flag.IntVar(&with.connections, "connections", 50, "connections")
	flag.IntVar(&with.keys, "keys", 100_000, "keys, of 16 bytes, that are drawn from")
	flag.IntVar(&with.bytes, "bytes", 100, "bytes of a value")
	pipelines := flag.String("pipelines", "1,16", "requests that a connection has under way")
	groups := flag.Int("groups", 16, "groups of holm-cluster")
	folder := flag.String("folder", os.TempDir(), "a folder on the disk that is measured")
	server := flag.String("server", "", "the path of holm-server; HOLM_CLUSTER is that of holm-cluster")
	everywhere := flag.Bool("etcd-everywhere", false, "clients ask all members of etcd, and not its leader alone")
	isLess := flag.Bool("one-less", false, "holm-cluster alone, with all of its nodes and with one less")
	isCatchUp := flag.Bool("catch-up", false, "holm-cluster alone: a node without replicas gets all that another one has")
	isBackup := flag.Bool("backup", false, "holm-cluster alone: a backup of all keys, and its restore into another cluster")
	rate := flag.Int("rate", 1000, "with --catch-up: requests per second of the clients that go on meanwhile")
	beside := flag.String("beside", "", "these builds of holm-cluster, separated by commas, in place of the server; "+
		"lease: the build itself, with reads by leases")
	flag.Parse()
	trial.Quiet()
	with.length = time.Duration(*seconds * float64(time.Second))
	with.warmUp = with.length / 6
	err := inFolder(*folder, func(folder string) error {
		cells, err := cellsOf(*pipelines)
		switch {
		case err != nil:
			return err
		case *isLess:
			return oneLess(with, *rounds, cells, folder, *groups)
		case *beside != "":
			return compareBuilds(with, *rounds, cells, folder, strings.Split(*beside, ","), *groups, *everywhere)
		case *isBackup:
			return backups(with, *rounds, folder, *groups)
		case *isCatchUp:
			return catchUp(with, *rounds, *rate, folder, *groups)
		}
		engines, err := enginesOf(folder, *server, *groups, with.keys, *everywhere)
		if err != nil {
			return err
		}
		return compare(with, *rounds, cells, folder, engines)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster-bench:", err)
		os.Exit(1)
	}
}

// inFolder calls a function with a folder that is there meanwhile.
func inFolder(parent string, call func(string) error) error {
	folder, err := os.MkdirTemp(parent, "holm-cluster-bench")
	if err != nil {
		return err
	}
	return errors.Join(call(folder), os.RemoveAll(folder))
}

// compare measures engines in rounds, and prints the results.
func compare(with load, rounds int, cells []cell, folder string, engines []engine) error {
	if with.connections < 3 || rounds < 1 || with.keys < 100*with.connections || with.length <= 0 || with.bytes < 1 {
		return errors.New("at least 3 connections, 100 keys for each of them, a byte, a round and some time are needed")
	}
	for _, one := range engines {
		defer one.close()
	}
	fmt.Printf("%d rounds of %v; %d connections, %d keys, values of %d bytes\n", rounds, with.length, with.connections,
		with.keys, with.bytes)
	found := newResults(engines, cells)
	for round := range rounds {
		sync, err := syncTime(folder)
		if err != nil {
			return err
		}
		fmt.Printf("round %d: a write and its sync take the disk %v; load %s\n", round+1, sync, loadAverage())
		for turn := range engines {
			one := engines[(round+turn)%len(engines)]
			if err := found.turn(one, with, cells, round == 0); err != nil {
				return fmt.Errorf("%s: %w", one.name(), err)
			}
		}
	}
	fmt.Printf("load after: %s\n\n", loadAverage())
	found.print()
	return nil
}

// enginesOf returns what is measured, holm-cluster first. Engines have folders of their own.
func enginesOf(folder, server string, groups, keys int, everywhere bool) ([]engine, error) {
	if server == "" {
		return nil, errors.New("--server names no program: `cargo xtask cluster-bench` builds it")
	}
	folders := make([]string, 3)
	for at, name := range []string{"cluster", "server", "etcd"} {
		folders[at] = folder + "/" + name
		if err := os.Mkdir(folders[at], 0o750); err != nil {
			return nil, err
		}
	}
	engines := []engine{newCluster(folders[0], groups, keys), newServer(folders[1], server, keys)}
	return withEtcd(engines, folders[2], keys, everywhere), nil
}

// withEtcd appends etcd to engines, if it is installed.
func withEtcd(engines []engine, folder string, keys int, everywhere bool) []engine {
	said, err := exec.Command("etcd", "--version").Output()
	if err != nil {
		fmt.Println("etcd is not installed: its columns are left out")
		return engines
	}
	version, _, _ := strings.Cut(string(said), "\n")
	fmt.Println(version)
	return append(engines, newEtcd(folder, keys, everywhere))
}

// cellsOf returns SET and GET for each number of requests under way.
func cellsOf(pipelines string) ([]cell, error) {
	var cells []cell
	for _, isWrite := range []bool{true, false} {
		for _, one := range strings.Split(pipelines, ",") {
			depth, err := strconv.Atoi(one)
			if err != nil || depth < 1 {
				return nil, fmt.Errorf("--pipelines: %q is no number of requests", one)
			}
			cells = append(cells, cell{isWrite: isWrite, depth: depth})
		}
	}
	return cells, nil
}

// syncTime returns how long a small write takes to be on the disk, as the median of many.
func syncTime(folder string) (time.Duration, error) {
	file, err := os.CreateTemp(folder, "sync")
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	var times []float64
	for range 200 {
		begun := time.Now()
		if _, err := file.Write(make([]byte, 512)); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
		times = append(times, float64(time.Since(begun)))
	}
	return time.Duration(medianOf(times).median).Round(time.Microsecond), nil
}

func loadAverage() string {
	said, _ := os.ReadFile("/proc/loadavg")
	return strings.TrimSpace(string(said))
}

// turn starts an engine, measures all cells and stops it. The first turn of an engine writes all keys.
func (r *results) turn(one engine, with load, cells []cell, isFirst bool) error {
	ctx := context.Background()
	if err := one.start(ctx); err != nil {
		return err
	}
	if isFirst {
		if err := fill(ctx, one, with); err != nil {
			return err
		}
	}
	said := "  " + one.name() + ":"
	for at, cell := range cells {
		found, err := measure(ctx, one, with, cell)
		if err != nil {
			return err
		}
		r.add(one, at, found)
		said += fmt.Sprintf(" %.1f", found.rate/1e3)
	}
	fmt.Println(said)
	return one.stop()
}
