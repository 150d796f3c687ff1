package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"holm-cluster/trial"
)

// etcd is three members of etcd with the default settings, which sync their logs. It has no pipelines: requests of a
// connection that are under way at once are calls of their own. Reads are linearizable.
type etcd struct {
	folder     string
	keys       int
	everywhere bool
	// Where clients connect, and where members do.
	clients, peers []string
	members        []*exec.Cmd
	// The members that clients ask.
	asked []string
}

func newEtcd(folder string, keys int, everywhere bool) engine {
	return &etcd{folder: folder, keys: keys, everywhere: everywhere}
}

func (e *etcd) name() string { return "etcd" }

const members = 3

func (e *etcd) start(ctx context.Context) error {
	if e.clients == nil {
		ports, err := trial.FreePorts(2 * members)
		if err != nil {
			return err
		}
		for at := range ports {
			ports[at] = "http://" + ports[at]
		}
		e.clients, e.peers = ports[:members], ports[members:]
	}
	var all []string
	for at, peer := range e.peers {
		all = append(all, fmt.Sprintf("member%d=%s", at, peer))
	}
	e.members = nil
	for at := range members {
		folder := filepath.Join(e.folder, fmt.Sprint("member", at))
		process, err := begin(folder+".log", "etcd", "--name", fmt.Sprint("member", at), "--data-dir", folder,
			"--listen-client-urls", e.clients[at], "--advertise-client-urls", e.clients[at],
			"--listen-peer-urls", e.peers[at], "--initial-advertise-peer-urls", e.peers[at],
			"--initial-cluster", strings.Join(all, ","))
		if err != nil {
			return err
		}
		e.members = append(e.members, process)
	}
	return trial.Until(30*time.Second, func() error { return e.find(ctx) })
}

// connect returns a client of one member. The client has one connection.
func connect(address string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{address}, Logger: zap.NewNop()})
}

// find finds the members to ask, and returns an error unless all of them answer and agree on the leader.
func (e *etcd) find(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	leaders, asked := map[uint64]bool{}, []string(nil)
	for _, address := range e.clients {
		client, err := connect(address)
		if err != nil {
			return err
		}
		defer client.Close()
		state, err := client.Status(ctx, address)
		if err != nil {
			return err
		}
		leaders[state.Leader] = true
		if e.everywhere || state.Header.MemberId == state.Leader {
			asked = append(asked, address)
		}
	}
	if len(leaders) != 1 || len(asked) == 0 {
		return errors.New("the members of etcd have no leader yet")
	}
	e.asked = asked
	return nil
}

func (e *etcd) askers(ctx context.Context, connections, depth, _ int) ([]asker, error) {
	var all []asker
	shares := sharesOf(upTo(e.keys), connections*depth)
	for at := range connections {
		client, err := connect(e.asked[at%len(e.asked)])
		if err != nil {
			return all, err
		}
		for lane := range depth {
			one := asker{share: shares[at*depth+lane], depth: 1, ask: asking(ctx, client), close: func() {}}
			if lane == 0 {
				one.close = func() { client.Close() }
			}
			all = append(all, one)
		}
	}
	return all, nil
}

// asking returns what writes or reads one key.
func asking(ctx context.Context, client *clientv3.Client) func(bool, []int, []byte) (int, error) {
	return func(isWrite bool, keys []int, value []byte) (int, error) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		key := string(appendKey(nil, keys[0]))
		if isWrite {
			if _, err := client.Put(ctx, key, string(value)); err != nil {
				return 1, nil
			}
			return 0, nil
		}
		found, err := client.Get(ctx, key)
		if err != nil {
			return 1, nil
		}
		if len(found.Kvs) != 1 || len(found.Kvs[0].Value) != len(value) {
			return 0, fmt.Errorf("%s has %v", key, found.Kvs)
		}
		return 0, nil
	}
}

func (e *etcd) processes() []int {
	var numbers []int
	for _, process := range e.members {
		numbers = append(numbers, process.Process.Pid)
	}
	return numbers
}

func (e *etcd) stop() error {
	var failed error
	for _, process := range e.members {
		// It ends itself by the signal, once it has closed its files.
		var status *exec.ExitError
		if err := end(process); err != nil && !errors.As(err, &status) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

func (e *etcd) close() {
	for _, process := range e.members {
		kill(process)
	}
}
