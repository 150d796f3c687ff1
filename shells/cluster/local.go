// A cluster on one machine, to try and to test: its nodes are processes of this program.

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
)

// localSettings returns the settings of all nodes of a cluster on this machine. The nodes listen for plain clients 100
// ports above those for clients of a cluster, and for each other 10,000 ports above.
func localSettings(count, port, groups int, election uint64) []settings {
	name, members := newName(), []member{}
	for at := range count {
		members = append(members, member{
			ID:      uint64(at + 1),
			Address: fmt.Sprintf("127.0.0.1:%d", port+at),
			Raft:    fmt.Sprintf("127.0.0.1:%d", port+at+10_000),
			Plain:   fmt.Sprintf("127.0.0.1:%d", port+at+100),
		})
	}
	all := make([]settings, count)
	for at := range all {
		all[at] = settings{
			Cluster: name, ID: uint64(at + 1), Groups: groups, Members: members, ElectionMilliseconds: election,
			SnapshotEntries: 20_000,
		}
	}
	return all
}

// makeLocal makes the folders of nodes, unless the first one has begun. If another call was cut short between two of
// them, the others are those that it would have made.
func makeLocal(folder string, all []settings) error {
	if first, err := readSettings(nodeFolder(folder, 1)); err == nil {
		if first.Founders != nil {
			return nil
		}
		all = make([]settings, len(first.Members))
		for at, one := range first.Members {
			all[at] = *first
			all[at].ID, all[at].Folder = one.ID, ""
		}
	}
	for at := range all {
		made := nodeFolder(folder, at+1)
		if all[at].isMade(made) {
			continue
		}
		if err := all[at].create(made); err != nil {
			return err
		}
	}
	return nil
}

func local(arguments []string) error {
	flags := flag.NewFlagSet("local", flag.ExitOnError)
	folder := flags.String("folder", "", "the folder with those of the nodes, made if it is absent")
	count := flags.Int("nodes", 3, "the number of nodes")
	port := flags.Int("port", 7001, "the port of the first node for clients; those of the others follow")
	groups := flags.Int("groups", 16, "the number of groups")
	election := flags.Uint64("election-ms", defaultElection, "without a leader for that long, an election")
	if err := parseOptions(flags, arguments); err != nil {
		return err
	}
	if *folder == "" {
		return errors.New("--folder is needed")
	}
	if err := makeLocal(*folder, localSettings(*count, *port, *groups, *election)); err != nil {
		return err
	}
	// The nodes end with the thread that has started them.
	runtime.LockOSThread()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	// The nodes get the signal too, for they are of the same process group.
	signal.Ignore(syscall.SIGINT)
	var nodes sync.WaitGroup
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	var running []*exec.Cmd
	for id := 1; ; id++ {
		if _, err := os.Stat(nodeFolder(*folder, id)); err != nil {
			break
		}
		node := exec.Command(program, "serve", "--folder", nodeFolder(*folder, id))
		node.Stdout, node.Stderr = os.Stdout, os.Stderr
		node.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
		if err := node.Start(); err != nil {
			return err
		}
		running = append(running, node)
		nodes.Add(1)
		go func() {
			defer nodes.Done()
			if err := node.Wait(); err != nil {
				fmt.Fprintf(os.Stderr, "node %d: %v\n", id, err)
			}
		}()
	}
	go func() {
		<-stop
		for _, node := range running {
			_ = node.Process.Signal(syscall.SIGTERM)
		}
	}()
	nodes.Wait()
	return nil
}
