package main

import (
	"bufio"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
)

// server is holm-server, one process whose replies to writes come when these are synced.
type server struct {
	folder, program string
	keys            int
	address         string
	process         *exec.Cmd
}

func newServer(folder, program string, keys int) engine {
	return &server{folder: folder, program: program, keys: keys}
}

func (s *server) name() string { return "holm-server" }

func (s *server) start(context.Context) error {
	s.process = exec.Command(s.program, filepath.Join(s.folder, "bench.holm"), "--listen", "127.0.0.1:0",
		"--acknowledge", "synced")
	out, err := s.process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.process.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return errors.Join(errors.New("it has not started"), err)
	}
	words := strings.Fields(line)
	s.address = words[len(words)-1]
	return nil
}

func (s *server) askers(_ context.Context, connections, depth, length int) ([]asker, error) {
	var all []asker
	for _, share := range sharesOf(upTo(s.keys), connections) {
		one, err := dial(s.address, share, depth, length)
		if err != nil {
			return all, err
		}
		all = append(all, one)
	}
	return all, nil
}

func (s *server) processes() []int { return []int{s.process.Process.Pid} }

func (s *server) stop() error { return end(s.process) }

func (s *server) close() { kill(s.process) }
