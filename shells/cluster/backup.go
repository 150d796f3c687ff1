// Backup: each group at one entry of its log, streamed from one of its replicas while clients go on.

package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

const (
	// How long the views of all groups are tried to be taken while slots are moved.
	settleTimeout = time.Minute
	// Groups that are carried at the same time.
	mostCarried = 4
	// How often a group is asked for, of one replica after the other.
	mostStreams = 4
	// How long a node may take for a frame.
	frameTimeout = 30 * time.Second
)

var errSlotsMove = errors.New("slots are being moved: a backup would have some keys twice or not at all")

// saver makes a backup.
type saver struct {
	asks   *operator
	folder string
	// The placement before the views were taken.
	before *placement
	made   manifest
	views  []*opened
}

// opened is a view of a group that a node keeps for a connection.
type opened struct {
	dialog *dialog
	status viewStatus
}

func backup(arguments []string) error {
	asks := newOperator("backup")
	to := asks.flags.String("to", "", "the folder of the backup, which is made")
	if err := asks.parse(arguments); err != nil {
		return err
	}
	if *to == "" {
		return errors.New("--to is needed: the folder of the backup")
	}
	// A name that ends with a slash has no neighbour.
	*to = filepath.Clean(*to)
	if _, err := os.Lstat(*to); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(fmt.Errorf("%s: %w", *to, errBackupExists), err)
	}
	one := &saver{asks: asks, folder: *to + ".part"}
	defer one.close()
	if err := one.take(); err != nil {
		return err
	}
	// What an earlier one has left that was cut short.
	if err := errors.Join(os.RemoveAll(one.folder), os.MkdirAll(one.folder, 0o750)); err != nil {
		return err
	}
	if err := one.streamAll(); err != nil {
		return err
	}
	return one.complete(*to)
}

// placement asks for the placement as it is now.
func (o *operator) placement() (*placement, error) {
	said, err := o.ask("PLACEMENT")
	if err != nil {
		return nil, err
	}
	if said == "" {
		return nil, errors.New("there is no placement yet")
	}
	return readPlacement([]byte(said))
}

// take takes views of all groups, between which no slot has moved: each of them has its slots, and together all.
func (s *saver) take() error {
	var last error
	for begun := time.Now(); time.Since(begun) < settleTimeout; time.Sleep(200 * time.Millisecond) {
		s.close()
		if last = s.takeOnce(); last == nil || s.before == nil && isDistrust(last) {
			return last
		}
	}
	return last
}

func (s *saver) takeOnce() error {
	var err error
	if s.before, err = s.asks.placement(); err != nil {
		return err
	}
	if len(s.before.Moves) > 0 {
		return errSlotsMove
	}
	for group := range s.before.metaGroup() {
		view, err := s.open(group, 0)
		if err != nil {
			return fmt.Errorf("group %d: %w", group, err)
		}
		s.views = append(s.views, view)
	}
	s.made = manifest{
		Format: manifestFormat, Cluster: s.views[0].status.Cluster, Taken: time.Now().UTC().Truncate(time.Second),
		Next: s.before.Next, Slots: s.before.Slots, Groups: make([]saved, len(s.views)),
	}
	s.made.Level, err = s.unmoved()
	return err
}

// unmoved returns an error if a slot may have moved since the placement was looked at first, and the cluster's level.
// Each move takes an id.
func (s *saver) unmoved() (uint8, error) {
	now, err := s.asks.placement()
	if err != nil {
		return 0, err
	}
	if len(now.Moves) > 0 || now.Next != s.before.Next {
		return 0, errSlotsMove
	}
	return now.current(), nil
}

// open takes a view of a group: of a replica that does not lead, if there is one. Further attempts begin with the next.
func (s *saver) open(group, attempt int) (*opened, error) {
	g := &s.before.Groups[group]
	var nodes []uint64
	for _, one := range g.Replicas {
		if one.State == replicaVotes && one.Node != g.Leader {
			nodes = append(nodes, one.Node)
		}
	}
	nodes = append(nodes, g.Leader)
	var last error
	for at := range nodes {
		one, known := s.before.member(nodes[(group+attempt+at)%len(nodes)])
		if !known {
			continue
		}
		view, err := s.openAt(one.Address, group)
		if err == nil {
			return view, nil
		}
		last = errors.Join(last, fmt.Errorf("node %d: %w", one.ID, err))
	}
	return nil, last
}

func (s *saver) openAt(address string, group int) (*opened, error) {
	view, err := s.asks.view(address, group)
	if err == nil && !view.status.IsSettled {
		view.dialog.close()
		return nil, errSlotsMove
	}
	return view, err
}

// view takes a view of a group on a node.
func (o *operator) view(address string, group int) (*opened, error) {
	made, err := o.credentials.dial(address)
	if err != nil {
		return nil, err
	}
	view := &opened{dialog: made}
	said, err := made.ask(operateTimeout, "HOLM.CLUSTER", "VIEW", strconv.Itoa(group))
	if err == nil {
		err = json.Unmarshal([]byte(said), &view.status)
	}
	if err != nil {
		made.close()
		return nil, err
	}
	return view, nil
}

func (s *saver) close() {
	for _, view := range s.views {
		if view != nil {
			view.dialog.close()
		}
	}
	s.views = nil
}

// inTurn calls a function for each group, for some at a time, and returns the first error.
func inTurn(count int, work func(group int) error) error {
	var wait sync.WaitGroup
	failed, free := make(chan error, count), make(chan struct{}, mostCarried)
	for group := range count {
		free <- struct{}{}
		if len(failed) > 0 {
			break
		}
		wait.Add(1)
		go func() {
			defer wait.Done()
			if err := work(group); err != nil {
				failed <- fmt.Errorf("group %d: %w", group, err)
			}
			<-free
		}()
	}
	wait.Wait()
	close(failed)
	return <-failed
}

func (s *saver) streamAll() error {
	return inTurn(len(s.views), func(group int) error {
		for attempt := 1; ; attempt++ {
			err := s.stream(group)
			if err == nil || errors.Is(err, errLocal) || attempt == mostStreams {
				return err
			}
			// The node is gone, or its view has ended. Another replica has the group too, at a later entry.
			s.views[group].dialog.close()
			fmt.Fprintf(os.Stderr, "group %d is asked for again: %v\n", group, err)
			view, failed := s.open(group, attempt)
			if failed != nil {
				return errors.Join(err, failed)
			}
			s.views[group] = view
			if _, failed := s.unmoved(); failed != nil {
				return errors.Join(err, failed)
			}
		}
	})
}

// errLocal is wrapped by errors of files here, which another replica does not help.
var errLocal = errors.New("the file of the backup")

// stream carries a view into the file of its group.
func (s *saver) stream(group int) error {
	view := s.views[group]
	file, err := os.Create(groupFile(s.folder, group))
	if err != nil {
		return fmt.Errorf("%w: %w", errLocal, err)
	}
	defer file.Close()
	sum, count := sha256.New(), int64(0)
	to := bufio.NewWriterSize(io.MultiWriter(file, sum), 1<<20)
	for {
		frame, err := view.dialog.ask(frameTimeout, "HOLM.CLUSTER", "FRAME")
		if err != nil {
			return err
		}
		if frame == "" {
			break
		}
		if _, err := to.WriteString(frame); err != nil {
			return fmt.Errorf("%w: %w", errLocal, err)
		}
		count += int64(len(frame))
	}
	if err := errors.Join(to.Flush(), file.Sync()); err != nil {
		return fmt.Errorf("%w: %w", errLocal, err)
	}
	view.dialog.close()
	status := &view.status
	s.made.Groups[group] = saved{Group: group, Entry: status.Entry, Keys: status.Keys, Bytes: count,
		Sum: hex.EncodeToString(sum.Sum(nil))}
	fmt.Printf("group %d: %d keys at entry %d, %d bytes\n", group, status.Keys, status.Entry, count)
	return nil
}

// complete writes the manifest, and gives the folder its name.
func (s *saver) complete(to string) error {
	text, err := s.made.bytes()
	if err != nil {
		return err
	}
	if err := writeWhole(filepath.Join(s.folder, manifestFile), text); err != nil {
		return err
	}
	return rename(s.folder, to)
}
