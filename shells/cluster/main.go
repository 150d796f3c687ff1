// holm-cluster: nodes that keep Holm's keys equal on several machines, and serve clients of the Redis Cluster protocol.

package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const usage = `holm-cluster: Holm on several machines, for clients of the Redis Cluster protocol

  holm-cluster init --folder F --cluster NAME --id N --members MEMBERS [--groups 16]
      makes the folder of a node. MEMBERS are the same for all nodes: ID=ADDRESS/RAFT-ADDRESS or
      ID=ADDRESS/RAFT-ADDRESS/PLAIN-ADDRESS, separated by commas. Clients of a cluster connect to the first address,
      those that know nothing of clusters to the last one. The cluster begins once all members run.
  holm-cluster serve --folder F [--page ADDRESS] [--reads index|lease]
      runs the node of a folder; with a page of its groups, and /metrics; as a leader with reads by a lease.
  holm-cluster join --at ADDRESS --folder F --address A --raft R [--plain P]
      makes the folder of a node that comes to a cluster, of which ADDRESS is a node. Once it serves, it gets replicas.
  holm-cluster status --at ADDRESS
      shows nodes, groups, and what is under way.
  holm-cluster drain --at ADDRESS --node N [--undo]
      moves the replicas of a node to others.
  holm-cluster remove --at ADDRESS --node N [--gone]
      forgets a node that has none; with --gone, replaces one that does not come back.
  holm-cluster move-leader --at ADDRESS --group G --node N
      lets a node lead a group from now on; node 0 lets the cluster choose.
  holm-cluster move-slots --at ADDRESS --slots 0-99,200 --group G
      moves slots with their keys to a group, while clients go on.
  holm-cluster backup --at ADDRESS --to F
      writes each group, at one entry of its log, into a new folder, while clients go on.
  holm-cluster restore --at ADDRESS --from F
      loads a backup into a new cluster that has as many groups, and no keys.
  holm-cluster local --folder F [--nodes 3] [--port 7001]
      makes and runs nodes on this machine, to try.

Each command lists its options with --help.
`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	verbs := map[string]func([]string) error{
		"init": initialize, "serve": serve, "local": local, "join": join, "status": status, "drain": drain,
		"remove": remove, "move-leader": moveLeader, "move-slots": moveSlots,
		"backup": backup, "restore": restoreBackup,
	}
	verb, ok := verbs[os.Args[1]]
	switch os.Args[1] {
	case "help", "--help", "-h":
		fmt.Print(usage)
		return
	}
	if !ok {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err := verb(os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "holm-cluster:", err)
		os.Exit(1)
	}
}

// parseOptions reads the options of a verb, and refuses other words: an option behind one would not be read.
func parseOptions(flags *flag.FlagSet, arguments []string) error {
	_ = flags.Parse(arguments)
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is no option of %s, and what follows it is not read", flags.Arg(0), flags.Name())
	}
	return nil
}

// parseMembers reads ID=ADDRESS/RAFT-ADDRESS[/PLAIN-ADDRESS], separated by commas.
func parseMembers(given string) ([]member, error) {
	var members []member
	for _, one := range strings.Split(given, ",") {
		id, addresses, hasID := strings.Cut(one, "=")
		address, rest, hasRaft := strings.Cut(addresses, "/")
		raft, plain, _ := strings.Cut(rest, "/")
		number, err := strconv.ParseUint(id, 10, 64)
		if !hasID || !hasRaft || err != nil {
			return nil, fmt.Errorf("a member is ID=ADDRESS/RAFT-ADDRESS[/PLAIN-ADDRESS], and not %q", one)
		}
		members = append(members, member{ID: number, Address: address, Raft: raft, Plain: plain})
	}
	return members, nil
}

func initialize(arguments []string) error {
	var made settings
	flags := flag.NewFlagSet("init", flag.ExitOnError)
	folder := flags.String("folder", "", "the folder, which is made")
	flags.StringVar(&made.Cluster, "cluster", "", "the name of the cluster, which no other cluster has")
	flags.Uint64Var(&made.ID, "id", 0, "the id of this node among the members")
	given := flags.String("members", "", "ID=ADDRESS/RAFT-ADDRESS[/PLAIN-ADDRESS], separated by commas")
	flags.IntVar(&made.Groups, "groups", 16, "the number of groups, for ever")
	flags.StringVar(&made.Password, "password", os.Getenv("HOLM_CLUSTER_PASSWORD"),
		"what clients must say; better in HOLM_CLUSTER_PASSWORD")
	flags.Uint64Var(&made.ElectionMilliseconds, "election-ms", defaultElection, "without a leader for that long, an election")
	flags.Uint64Var(&made.SnapshotEntries, "snapshot-entries", 20_000, "after so many entries a log is shortened")
	flags.StringVar(&made.Authority, "ca", "", "certificate of the authority of the nodes")
	flags.StringVar(&made.Certificate, "cert", "", "certificate of this node")
	flags.StringVar(&made.Key, "key", "", "key of this node's certificate")
	made.TLS.describe(flags)
	flags.StringVar(&made.TLS.Clients, "tls-client-ca", "", "clients must have a certificate of this authority")
	if err := parseOptions(flags, arguments); err != nil {
		return err
	}
	if *folder == "" || made.Cluster == "" {
		return errors.New("--folder and --cluster are needed")
	}
	var err error
	if made.Members, err = parseMembers(*given); err != nil {
		return err
	}
	if made.isMade(*folder) {
		// Who was cut short between the name of the file and its sync asks again.
		return syncFolder(*folder)
	}
	return made.create(*folder)
}

func serve(arguments []string) error {
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	folder := flags.String("folder", "", "the folder of the node")
	var tests trials
	flags.BoolVar(&tests.privateImage, "test-private-image", false, "for tests: a kill is a loss of power")
	flags.BoolVar(&tests.indexApart, "test-index-apart", false, "for tests, a bug: the index is apart from its entries")
	flags.BoolVar(&tests.staleReads, "test-stale-reads", false, "for tests, a bug: reads do not ask the leader")
	flags.BoolVar(&tests.longLease, "test-long-lease", false, "for tests, a bug: leases of leaders do not end")
	flags.BoolVar(&tests.unconfirmed, "test-unconfirmed", false, "for tests, a bug: replicas show what a leader may not have")
	flags.DurationVar(&tests.lateness, "test-lateness", 0, "for tests: one update in eight waits for up to that long")
	flags.IntVar(&tests.sentBytes, "test-sent-bytes", 0, "for tests: the most bytes of an entry that is sent to a leader")
	flags.BoolVar(&tests.unwatched, "test-unwatched", false, "for tests, a bug: EXEC forgets what was watched")
	flags.BoolVar(&tests.twoOwners, "test-two-owners", false, "for tests, a bug: slots that move have two owners")
	flags.BoolVar(&tests.readsApart, "test-reads-apart", false, "for tests, a bug: EXEC reads before it writes")
	level := flags.Uint("test-level", 0, "for tests: the highest level of entries that the node knows; 0: its own")
	page := flags.String("page", "", "the address of a page and of /metrics; empty: nowhere")
	reads := flags.String("reads", "index", "how a leader knows that it leads, to answer reads: by a round to others for "+
		"each (index), or for some time after one, by its clock (lease)")
	refusals := flags.Uint64("acllog-max-len", 128, "how many refusals of users the node keeps for ACL LOG")
	skew := flags.String("test-clock", "", "for tests: a file that says by how many milliseconds the clock is ahead")
	if err := parseOptions(flags, arguments); err != nil {
		return err
	}
	if *reads != "index" && *reads != "lease" {
		return fmt.Errorf("--reads is index or lease, and not %q", *reads)
	}
	tests.level = uint8(*level)
	if *skew != "" {
		skewClock(*skew)
	}
	with, err := readSettings(*folder)
	if err != nil {
		return err
	}
	listener, err := with.listen(with.self().Address)
	if err != nil {
		return err
	}
	var plain net.Listener
	if with.self().Plain != "" {
		if plain, err = with.listen(with.self().Plain); err != nil {
			return err
		}
		defer plain.Close()
	}
	started, err := startHost(*folder, with, *reads == "lease", tests)
	if err != nil {
		return err
	}
	started.denied.setMost(*refusals)
	if *page != "" {
		if err := started.servePage(*page); err != nil {
			started.close()
			return err
		}
	}
	fmt.Printf("node %d serves %d groups on %s\n", with.ID, with.Groups, with.self().Address)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	var failed error
	go func() {
		select {
		case <-stop:
		case failed = <-started.failed:
		}
		// Clients go on until others lead.
		started.giveLeads()
		listener.Close()
	}()
	if plain != nil {
		go started.serve(plain, true)
	}
	err = started.serve(listener, false)
	started.close()
	return errors.Join(err, failed)
}

// newName returns a name for a cluster that no other has.
func newName() string {
	var bytes [8]byte
	_, _ = rand.Read(bytes[:])
	return hex.EncodeToString(bytes[:])
}

// nodeFolder returns the folder of a node of a local cluster.
func nodeFolder(folder string, id int) string { return filepath.Join(folder, fmt.Sprint("node", id)) }
