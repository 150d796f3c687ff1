package main

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// engine is what is measured.
type engine interface {
	name() string
	// start starts the engine's processes, with what they had, and waits until it answers.
	start(ctx context.Context) error
	// askers connects clients, which have so many requests under way on each connection. Values have one length.
	askers(ctx context.Context, connections, depth, length int) ([]asker, error)
	// processes returns the numbers of the engine's processes.
	processes() []int
	// stop lets the engine's processes end as an operator would.
	stop() error
	// close ends what still runs.
	close()
}

// asker is a part of a client that does one thing at a time.
type asker struct {
	// Keys that this asker has to itself. All askers together have all keys.
	share []int
	// The number of keys that ask takes.
	depth int
	// ask writes or reads keys and waits for all replies. It returns how many of them refuse.
	ask   func(isWrite bool, keys []int, value []byte) (int, error)
	close func()
}

// The bytes of a key: "key" and thirteen digits.
const keyBytes = 16

// appendKey appends a key.
func appendKey(out []byte, number int) []byte {
	return strconv.AppendInt(append(out, "key"...), 1_000_000_000_000+int64(number), 10)
}

// sharesOf divides keys among so many askers.
func sharesOf(keys []int, count int) [][]int {
	shares := make([][]int, count)
	for at, key := range keys {
		shares[at%count] = append(shares[at%count], key)
	}
	return shares
}

// upTo returns the numbers below another one.
func upTo(count int) []int {
	all := make([]int, count)
	for at := range all {
		all[at] = at
	}
	return all
}

// begin starts a program whose messages go to a file.
func begin(log string, words ...string) (*exec.Cmd, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	process := exec.Command(words[0], words[1:]...)
	process.Stdout, process.Stderr = file, file
	return process, process.Start()
}

// end lets a program end, and waits for that.
func end(process *exec.Cmd) error {
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return process.Wait()
}

// kill ends a program at once, if it runs.
func kill(process *exec.Cmd) {
	if process != nil && process.ProcessState == nil {
		_ = process.Process.Kill()
		_ = process.Wait()
	}
}
