// What operators ask of a cluster: nodes that come and go, and where it is with that.

package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// How long a change of the placement may take.
const operateTimeout = 15 * time.Second

// operator is who asks, and of which node.
type operator struct {
	flags       *flag.FlagSet
	at          *string
	password    string
	secured     secured
	credentials *credentials
}

func newOperator(verb string) *operator {
	made := &operator{flags: flag.NewFlagSet(verb, flag.ExitOnError), password: os.Getenv("HOLM_CLUSTER_PASSWORD")}
	made.at = made.flags.String("at", "", "the address for clients of any node; HOLM_CLUSTER_PASSWORD has the password")
	made.secured.describe(made.flags)
	return made
}

func (o *operator) parse(arguments []string) error {
	if err := parseOptions(o.flags, arguments); err != nil {
		return err
	}
	if *o.at == "" {
		return errors.New("--at is needed: the address of a node")
	}
	var err error
	o.credentials, err = credentialsOf(o.password, &o.secured)
	return err
}

func (o *operator) ask(words ...string) (string, error) {
	return o.credentials.askOnce(*o.at, operateTimeout, append([]string{"HOLM.CLUSTER"}, words...)...)
}

func join(arguments []string) error {
	asks := newOperator("join")
	folder := asks.flags.String("folder", "", "the folder of the new node, which is made")
	var own settings
	address := asks.flags.String("address", "", "where clients of a cluster connect")
	raft := asks.flags.String("raft", "", "where the other nodes connect")
	plain := asks.flags.String("plain", "", "where clients connect that know nothing of clusters; empty: nowhere")
	level := asks.flags.Uint("test-level", uint(libraryLevel()), "for tests: the highest level of entries that is known")
	asks.flags.StringVar(&own.Authority, "ca", "", "certificate of the authority of the nodes")
	asks.flags.StringVar(&own.Certificate, "cert", "", "certificate of this node")
	asks.flags.StringVar(&own.Key, "key", "", "key of this node's certificate")
	clients := asks.flags.String("tls-client-ca", "", "clients must have a certificate of this authority")
	if err := asks.parse(arguments); err != nil {
		return err
	}
	if *folder == "" || *address == "" || *raft == "" {
		return errors.New("--folder, --address and --raft are needed")
	}
	own.ID, own.Groups, own.ElectionMilliseconds, own.SnapshotEntries = 1, 1, defaultElection, 10
	own.Members = []member{{ID: 1, Address: *address, Raft: *raft, Plain: *plain}}
	own.Password, own.TLS = asks.password, asks.secured
	if made := joined(*folder, own.Members[0]); made != nil {
		return asks.joinAgain(made, *folder)
	}
	// The cluster hears of a node only if its folder can be made: it would wait for the node from then on.
	if err := errors.Join(own.checkNew(), checkFolder(*folder)); err != nil {
		return err
	}
	if err := os.MkdirAll(*folder, 0o750); err != nil {
		return err
	}
	// The mark of the folder is there before the cluster knows it: asking again gives the same node.
	markFile := filepath.Join(*folder, "joining")
	mark, err := os.ReadFile(markFile)
	if errors.Is(err, os.ErrNotExist) {
		mark = []byte(newName())
		err = writeWhole(markFile, mark)
	}
	if err != nil {
		return err
	}
	said, err := asks.ask("JOIN", string(mark), *address, *raft, *plain, strconv.Itoa(int(*level)))
	if err != nil {
		return err
	}
	var made settings
	if err := json.Unmarshal([]byte(said), &made); err != nil {
		return err
	}
	made.TLS = asks.secured
	made.TLS.Clients = *clients
	made.Password, made.Authority, made.Certificate, made.Key = asks.password, own.Authority, own.Certificate, own.Key
	if err := made.create(*folder); err != nil {
		return err
	}
	sayJoined(made.ID, *folder)
	return os.Remove(markFile)
}

func sayJoined(id uint64, folder string) {
	fmt.Printf("node %d: `holm-cluster serve --folder %s` runs it\n", id, folder)
}

// joined returns the settings of the node of a folder, if it has joined at these addresses before; nil if not.
func joined(folder string, at member) *settings {
	made, err := readSettings(folder)
	if err != nil || !made.IsJoined {
		return nil
	}
	at.ID = made.ID
	if made.self() != at {
		return nil
	}
	return made
}

// joinAgain says which node a folder is, as it was said before. A node that was removed does not come back.
func (o *operator) joinAgain(made *settings, folder string) error {
	now, err := o.placement()
	if err != nil {
		return err
	}
	if known := now.node(made.ID); known == nil || known.State == nodeGone || isOther(known.Folder, made) {
		return fmt.Errorf("%s is node %d, which was removed, or is of another cluster: a new node needs a new folder",
			folder, made.ID)
	}
	sayJoined(made.ID, folder)
	return nil
}

func drain(arguments []string) error {
	asks := newOperator("drain")
	node := asks.flags.Uint64("node", 0, "the id of the node")
	undo := asks.flags.Bool("undo", false, "let it have replicas again")
	if err := asks.parse(arguments); err != nil {
		return err
	}
	verb := "DRAIN"
	if *undo {
		verb = "RETURN"
	}
	_, err := asks.ask(verb, strconv.FormatUint(*node, 10))
	return err
}

func remove(arguments []string) error {
	asks := newOperator("remove")
	node := asks.flags.Uint64("node", 0, "the id of the node")
	gone := asks.flags.Bool("gone", false, "it does not come back: others get its replicas, and it must not run again")
	if err := asks.parse(arguments); err != nil {
		return err
	}
	words := []string{"REMOVE", strconv.FormatUint(*node, 10)}
	if *gone {
		words = append(words, "GONE")
	}
	_, err := asks.ask(words...)
	return err
}

func moveLeader(arguments []string) error {
	asks := newOperator("move-leader")
	group := asks.flags.Int("group", -1, "the number of the group")
	node := asks.flags.Uint64("node", 0, "the id of the node; 0: the cluster chooses")
	if err := asks.parse(arguments); err != nil {
		return err
	}
	_, err := asks.ask("LEAD", strconv.Itoa(*group), strconv.FormatUint(*node, 10))
	return err
}

func moveSlots(arguments []string) error {
	asks := newOperator("move-slots")
	slots := asks.flags.String("slots", "", "such as 0-99,200")
	group := asks.flags.Int("group", -1, "the number of the group that gets them")
	if err := asks.parse(arguments); err != nil {
		return err
	}
	_, err := asks.ask("MOVE", *slots, strconv.Itoa(*group))
	return err
}

func status(arguments []string) error {
	asks := newOperator("status")
	if err := asks.parse(arguments); err != nil {
		return err
	}
	said, err := asks.ask("PLACEMENT")
	if err != nil {
		return err
	}
	now, err := readPlacement([]byte(said))
	if err != nil {
		return fmt.Errorf("there is no placement yet: %w", err)
	}
	states := map[uint64][]replicaStatus{}
	for _, one := range now.Nodes {
		found, err := asks.credentials.askOnce(one.Address, dialTimeout, "HOLM.CLUSTER", "REPLICAS")
		if err == nil {
			var read []replicaStatus
			if err := json.Unmarshal([]byte(found), &read); err == nil {
				states[one.ID] = read
			}
		}
	}
	fmt.Print(now.describe(states))
	return nil
}

// describe returns the placement as a text, with what the nodes say of their replicas.
func (p *placement) describe(states map[uint64][]replicaStatus) string {
	var out strings.Builder
	fmt.Fprintf(&out, "level %d\n", p.current())
	for _, one := range p.Nodes {
		state := one.State
		said, answers := states[one.ID]
		if one.State == nodeDraining && !p.has(one.ID) {
			state = "drained"
		}
		if !answers {
			state += ", does not answer"
		}
		leads := 0
		for _, each := range said {
			if each.Leads {
				leads++
			}
		}
		fmt.Fprintf(&out, "node %d at %s: %s, %d replicas, leads %d", one.ID, one.Address, state, p.holds(one.ID), leads)
		if one.knows() != p.current() {
			fmt.Fprintf(&out, ", knows level %d", one.knows())
		}
		out.WriteString("\n")
	}
	for number := range p.Groups {
		g := &p.Groups[number]
		name := fmt.Sprint("group ", number)
		if number == p.metaGroup() {
			name = "meta group"
		}
		fmt.Fprintf(&out, "%s:", name)
		most := uint64(0)
		for _, said := range states {
			for _, each := range said {
				if each.Group == number {
					most = max(most, each.Applied)
				}
			}
		}
		for at, one := range g.Replicas {
			if at > 0 {
				out.WriteString(",")
			}
			fmt.Fprintf(&out, " %s", one.describe(number, states[one.Node], most))
		}
		if g.IsPinned {
			fmt.Fprintf(&out, " (node %d is to lead)", g.Preferred)
		}
		out.WriteString("\n")
	}
	for _, one := range p.Moves {
		fmt.Fprintf(&out, "slots %v go from group %d to group %d\n", one.Ranges, one.From, one.To)
	}
	return out.String()
}

func (r *replica) describe(group int, said []replicaStatus, most uint64) string {
	text := fmt.Sprint(r.Node)
	for _, each := range said {
		if each.Group != group || each.Replica != r.ID {
			continue
		}
		if each.Leads {
			text += " leads"
		}
		if r.State != replicaVotes {
			text += fmt.Sprintf(" at entry %d of %d, %d keys", each.Applied, most, each.Keys)
		}
	}
	switch r.State {
	case replicaNew, replicaReady:
		text += " (comes)"
	case replicaLeaves:
		text += " (leaves)"
	}
	return text
}
