// Operators who ask for what is wrong, or ask twice.

package tests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holm-cluster/trial"
)

// run runs a verb that asks no node, and returns what it says.
func run(t *testing.T, words ...string) (string, error) {
	t.Helper()
	program, err := trial.Program()
	if err != nil {
		t.Skip(err)
	}
	said, err := exec.Command(program, words...).CombinedOutput()
	return string(said), err
}

// refuses runs a verb that is to fail, with words in what it says.
func refuses(t *testing.T, expected string, words ...string) {
	t.Helper()
	said, err := run(t, words...)
	if err == nil || !strings.Contains(said, expected) {
		t.Errorf("%q: %v, %q has no %q", words, err, said, expected)
	}
}

// Options behind a word that is none were not read, so a cluster had another number of groups than was asked for, for
// ever; and addresses that nobody can connect to were taken.
func TestNodesAreMadeWithWhatTheyCanHave(t *testing.T) {
	folder := t.TempDir()
	init := func(name, members string, more ...string) []string {
		return append([]string{"init", "--folder", filepath.Join(folder, name), "--cluster", "x", "--id", "1", "--members",
			members}, more...)
	}
	good := "1=127.0.0.1:27001/127.0.0.1:37001"
	refuses(t, `"and" is no option of init`, init("words", good, "and", "--groups", "32")...)
	refuses(t, `an address is HOST:PORT, and not "127.0.0.1:99999"`, init("port", "1=127.0.0.1:99999/127.0.0.1:37001")...)
	refuses(t, `an address is HOST:PORT, and not ""`, init("empty", "1=/127.0.0.1:37001")...)
	refuses(t, "0.0.0.0:27001 is announced", init("any", "1=0.0.0.0:27001/127.0.0.1:37001")...)
	refuses(t, "need --ca, --cert and --key", init("files", good, "--cert", "node.pem")...)
	made, err := os.ReadDir(folder)
	if err != nil || len(made) > 0 {
		t.Fatal("folders of nodes that were refused:", made, err)
	}
	for range 2 {
		if said, err := run(t, init("node", good)...); err != nil {
			t.Fatal(said, err)
		}
	}
	refuses(t, "has the cluster.json of a node", init("node", good, "--groups", "32")...)
	must(t, os.MkdirAll(filepath.Join(folder, "left", "raft"), 0o750))
	refuses(t, "has the raft of a node", init("left", good)...)
}

// A node whose folder could not be made was one of the cluster all the same, and the cluster waited for it. A verb that
// was repeated failed.
func TestOperatorsMayRepeatWhatTheyAskFor(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{Groups: 2}), context.Background()
	ports, err := trial.FreePorts(3)
	must(t, err)
	join := func(name string, more ...string) []string {
		return append([]string{"join", "--at", cluster.Addresses[0], "--folder", filepath.Join(cluster.Folder, name),
			"--address", ports[0], "--raft", ports[1]}, more...)
	}
	refuses(t, "has the cluster.json of a node", join("node1")...)
	refuses(t, "need --ca, --cert and --key", join("new", "--ca", "ca.pem")...)
	refuses(t, "can be reached by others", join("new", "--plain", "192.0.2.1:27001")...)
	var said string
	// The placement may not be there yet.
	insist(t, func() (err error) {
		said, err = cluster.Operate("status")
		return err
	})
	same(t, "nodes", strings.Count(said, "\nnode "), 3)
	var first string
	for range 2 {
		said, err := run(t, join("new")...)
		if err != nil || first != "" && said != first {
			t.Fatalf("join: %v, %q after %q", err, said, first)
		}
		first = said
	}
	id := strings.TrimSuffix(strings.Fields(first)[1], ":")
	said, err = cluster.Operate("status")
	must(t, err)
	same(t, "nodes", strings.Count(said, "\nnode "), 4)
	for range 2 {
		_, err := cluster.Operate("move-slots", "--slots", "0-99", "--group", "1")
		must(t, err)
		_, err = cluster.Operate("drain", "--node", id)
		must(t, err)
	}
	_, err = cluster.Operate("drain", "--node", id, "again")
	if err == nil {
		t.Fatal("a word that is no option is taken")
	}
	_, err = cluster.Operate("remove", "--node", id)
	must(t, err)
	// It may be forgotten already.
	if _, err = cluster.Operate("remove", "--node", id); err != nil && !strings.Contains(err.Error(), "there is no node") {
		t.Fatal("a node that is gone is not removed again:", err)
	}
	// Its folder stays that of a node which was removed, and a new one takes its addresses.
	refuses(t, "which was removed", join("new")...)
	insist(t, func() error {
		said, err := run(t, join("newer")...)
		if err != nil {
			err = fmt.Errorf("%s: %w", said, err)
		}
		return err
	})
	// A name that ends with a slash is the name without it.
	backup := filepath.Join(cluster.Folder, "backup")
	_, err = cluster.Operate("backup", "--to", backup+"/")
	must(t, err)
	_, err = os.Stat(filepath.Join(backup, "backup.json"))
	must(t, err)
	must(t, cluster.Equal(ctx))
}
