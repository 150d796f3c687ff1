package trial

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// process is a node that was started, and perhaps has ended.
type process struct {
	command *exec.Cmd
	// Closed once the process has ended, with an error or without.
	ended chan struct{}
	err   error
}

func startProcess(log *os.File, words ...string) (*process, error) {
	command := exec.Command(words[0], words[1:]...)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		return nil, err
	}
	started := &process{command: command, ended: make(chan struct{})}
	go func() {
		started.err = command.Wait()
		close(started.ended)
	}()
	return started, nil
}

// Processes returns the numbers of the processes of the nodes that run.
func (c *Cluster) Processes() []int {
	var numbers []int
	for _, at := range c.Running() {
		numbers = append(numbers, c.processes[at].command.Process.Pid)
	}
	return numbers
}

// Kill kills a node and waits for its end. What it had not handed to the kernel is lost.
func (c *Cluster) Kill(at int) {
	if one := c.processes[at]; one != nil {
		_ = one.command.Process.Kill()
		<-one.ended
		c.processes[at] = nil
	}
}

// Stop lets a node end as an operator would.
func (c *Cluster) Stop(at int) error {
	one := c.processes[at]
	if one == nil {
		return nil
	}
	c.processes[at] = nil
	_ = one.command.Process.Signal(syscall.SIGTERM)
	<-one.ended
	return one.err
}

// Pause stops a node in its tracks, and Resume lets it go on.
func (c *Cluster) Pause(at int) error { return c.processes[at].command.Process.Signal(syscall.SIGSTOP) }

// halt pauses a node, and returns when no thread of it runs code of its own: some may be within the kernel, and stop
// before they hear what it answers.
func (c *Cluster) halt(at int) error {
	one := c.processes[at]
	if one == nil {
		return nil
	}
	if err := c.Pause(at); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return until(time.Minute, time.Millisecond, func() error {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", one.command.Process.Pid))
		for _, thread := range threads {
			// The state comes behind the name, which is in brackets. A thread that has ended has no file.
			said, _ := os.ReadFile(thread)
			_, state, _ := bytes.Cut(said[bytes.LastIndexByte(said, ')')+1:], []byte(" "))
			if len(state) > 0 && !strings.ContainsRune("TDZX", rune(state[0])) {
				return fmt.Errorf("%s runs on: %s", thread, said)
			}
		}
		return nil
	})
}

// Resume lets a node go on that was paused.
func (c *Cluster) Resume(at int) error {
	return c.processes[at].command.Process.Signal(syscall.SIGCONT)
}

// HasEnded returns whether a node that was started has ended by itself.
func (c *Cluster) HasEnded(at int) bool {
	if c.processes[at] == nil {
		return false
	}
	select {
	case <-c.processes[at].ended:
		return true
	default:
		return false
	}
}

// Await waits for a node to end by itself with an error, and says if it does not.
func (c *Cluster) Await(at int) error {
	one := c.processes[at]
	select {
	case <-one.ended:
		c.processes[at] = nil
		if one.err == nil {
			return errors.New("it ends as if all were well")
		}
		return nil
	case <-time.After(60 * time.Second):
		return errors.New("it still runs")
	}
}

// said returns the end of what a node has said: from its last panic on, if there is one.
func (c *Cluster) said(at int) string {
	const most = 2000
	text, err := os.ReadFile(c.node(at) + ".log")
	if err != nil {
		return err.Error()
	}
	if from := max(bytes.LastIndex(text, []byte("panic: ")), bytes.LastIndex(text, []byte(" C | "))); from >= 0 {
		return string(text[from:min(len(text), from+most)])
	}
	return string(text[max(0, len(text)-most):])
}

// AllRun returns an error if a node that was started has ended by itself.
func (c *Cluster) AllRun() error {
	for at := range c.processes {
		if c.HasEnded(at) {
			return fmt.Errorf("node %d has ended by itself: %w: ... %s", at+1, c.processes[at].err, c.said(at))
		}
	}
	return nil
}
