// Restore: the groups of a backup into a new cluster, which has as many groups and no keys. The frames go through the
// logs of the groups, so that all replicas have them, on whatever nodes. It can be repeated: a group that has the backup
// is left as it is.

package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// How long a step is tried, and how long the cluster may take for the level that the backup needs.
const loadTimeout = 30 * time.Second

// errHasKeys is a cluster that is not empty.
type errHasKeys struct {
	group int
	keys  uint64
}

func (e *errHasKeys) Error() string {
	return fmt.Sprintf("group %d has %d keys: a backup goes into a cluster without keys", e.group, e.keys)
}

// loader loads a backup.
type loader struct {
	asks    *operator
	folder  string
	from    *manifest
	now     *placement
	attempt uint64
}

func restoreBackup(arguments []string) error {
	asks := newOperator("restore")
	folder := asks.flags.String("from", "", "the folder of the backup")
	if err := asks.parse(arguments); err != nil {
		return err
	}
	if *folder == "" {
		return errors.New("--from is needed: the folder of the backup")
	}
	from, err := readManifest(*folder)
	if err != nil {
		return err
	}
	if err := from.verify(*folder); err != nil {
		return err
	}
	one := &loader{asks: asks, folder: *folder, from: from}
	if err := one.prepare(); err != nil {
		return err
	}
	if err := inTurn(len(from.Groups), one.load); err != nil {
		return err
	}
	keys := uint64(0)
	for _, each := range from.Groups {
		keys += each.Keys
	}
	fmt.Printf("%d groups with %d keys are those of cluster %s at %s\n", len(from.Groups), keys, from.Cluster,
		from.Taken.Format(time.RFC3339))
	return nil
}

// prepare looks whether the cluster can have the backup, and gives it the slots of the backup.
func (l *loader) prepare() error {
	needs := max(levelOfLoads, l.from.Level)
	for begun := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		var err error
		if l.now, err = l.asks.placement(); err == nil {
			if count := l.now.metaGroup(); count != len(l.from.Groups) {
				return &errGroupCount{backup: len(l.from.Groups), cluster: count}
			}
			if l.now.current() < needs {
				err = fmt.Errorf("%w: the backup needs level %d, and the cluster has %d", errLevel, needs, l.now.current())
			} else {
				err = l.look()
			}
		}
		var isRefused *errHasKeys
		if err == nil {
			break
		}
		if errors.As(err, &isRefused) || l.now == nil && isDistrust(err) || time.Since(begun) > loadTimeout {
			return err
		}
	}
	wanted, err := json.Marshal(restoreWish{Groups: len(l.from.Groups), Slots: l.from.Slots, Next: l.from.Next})
	if err != nil {
		return err
	}
	said, err := l.asks.ask("RESTORE", string(wanted))
	if err != nil {
		return err
	}
	l.attempt, err = strconv.ParseUint(said, 10, 64)
	return err
}

// look returns an error if a group has keys that are not the backup's.
func (l *loader) look() error {
	for group := range l.from.Groups {
		g := &l.now.Groups[group]
		node := g.Leader
		if node == 0 {
			node = g.Preferred
		}
		one, _ := l.now.member(node)
		view, err := l.asks.view(one.Address, group)
		if err != nil {
			return fmt.Errorf("group %d: %w", group, err)
		}
		view.dialog.close()
		status := &view.status
		if status.Keys > 0 && status.Backup != l.from.number() && status.IsSettled {
			return &errHasKeys{group: group, keys: status.Keys}
		}
	}
	return nil
}

// load loads a group.
func (l *loader) load(group int) error {
	through := &loading{loader: l, group: group}
	defer through.close()
	begin := binary.LittleEndian.AppendUint64([]byte{0}, l.attempt)
	isThere, err := through.step(binary.LittleEndian.AppendUint64(begin, l.from.number()))
	if err != nil || isThere {
		if isThere {
			fmt.Printf("group %d has the backup\n", group)
		}
		return err
	}
	file, err := os.Open(groupFile(l.folder, group))
	if err != nil {
		return err
	}
	defer file.Close()
	from := bufio.NewReaderSize(file, 1<<20)
	for sequence := uint64(1); ; sequence++ {
		frame, err := readFrame(from)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		step := binary.LittleEndian.AppendUint64([]byte{1}, l.attempt)
		step = append(binary.LittleEndian.AppendUint64(step, sequence), frame...)
		if _, err := through.step(step); err != nil {
			return err
		}
	}
	fmt.Printf("group %d: %d keys\n", group, l.from.Groups[group].Keys)
	return nil
}

// loading takes the steps of a group over a connection to any node.
type loading struct {
	*loader
	group int
	next  int
	to    *dialog
}

func (l *loading) close() {
	if l.to != nil {
		l.to.close()
		l.to = nil
	}
}

// step puts a step into the log of the group, and returns whether the group had the backup before. A step whose outcome
// is not known is taken again: it does nothing twice.
func (l *loading) step(payload []byte) (bool, error) {
	var last error
	for begun := time.Now(); time.Since(begun) < loadTimeout; time.Sleep(20 * time.Millisecond) {
		said, err := l.ask(payload)
		if err != nil {
			last = err
			if !isPassing(err) {
				return false, err
			}
			continue
		}
		switch {
		case said == "":
			last = errors.New("a step without an answer")
		case said[0] == 0 || said[0] == 2:
			return said[0] == 2, nil
		default:
			return false, errStep(said[1:])
		}
	}
	return false, last
}

// isPassing returns whether a step may be taken later.
func isPassing(err error) bool {
	var said refused
	if !errors.As(err, &said) {
		return true
	}
	word, _, _ := strings.Cut(string(said), " ")
	return word == "TRYAGAIN" || word == "CLUSTERDOWN" || word == "UNKNOWN"
}

func (l *loading) ask(payload []byte) (string, error) {
	if l.to == nil {
		// The nodes one after the other, beginning with another one for each group.
		one := l.now.Nodes[(l.group+l.next)%len(l.now.Nodes)]
		l.next++
		made, err := l.asks.credentials.dial(one.Address)
		if err != nil {
			return "", err
		}
		l.to = made
	}
	said, err := l.to.ask(frameTimeout, "HOLM.CLUSTER", "LOAD", strconv.Itoa(l.group), string(payload))
	if err != nil && isPassing(err) {
		l.close()
	}
	return said, err
}
