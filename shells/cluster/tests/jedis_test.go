package tests

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holm-cluster/trial"
)

// classPath returns the class path of jedis, which Maven gets, and skips the test where there is none.
func classPath(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("jedis is not tried: there is no %s", program)
		}
	}
	list := filepath.Join(t.TempDir(), "classpath")
	words := []string{"-q", "-B", "-f", "jedis/pom.xml", "dependency:build-classpath", "-Dmdep.outputFile=" + list}
	if version := os.Getenv("HOLM_TEST_JEDIS"); version != "" {
		words = append(words, "-Djedis.version="+version)
	}
	if said, err := exec.Command("mvn", words...).CombinedOutput(); err != nil {
		t.Skipf("jedis is not tried: Maven does not get it: %v: %s", err, said)
	}
	path, err := os.ReadFile(list)
	must(t, err)
	return string(path)
}

// The client of Java: data types, transactions, redirections, and a leader that is gone.
func TestJedis(t *testing.T) {
	path := classPath(t)
	cluster := start(t, trial.Settings{})
	must(t, cluster.Spread(context.Background()))
	process := exec.Command("java", "-cp", path, "jedis/Clients.java", cluster.Addresses[0])
	answers, err := process.StdinPipe()
	must(t, err)
	out, err := process.StdoutPipe()
	must(t, err)
	var errors strings.Builder
	process.Stderr = &errors
	must(t, process.Start())
	last, kills := "", 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		last = lines.Text()
		verb, address, _ := strings.Cut(last, " ")
		at := slices.Index(cluster.Addresses, address)
		switch {
		case verb == "kill" && at >= 0:
			cluster.Kill(at)
			kills++
		case verb == "start" && at >= 0:
			must(t, cluster.StartNode(at))
			must(t, cluster.Ready(context.Background()))
		default:
			continue
		}
		_, err := fmt.Fprintln(answers, "done")
		must(t, err)
	}
	if err := process.Wait(); err != nil {
		t.Fatalf("%v after %q: %s", err, last, errors.String())
	}
	same(t, "the last line", last, "passed")
	same(t, "leaders that were killed", kills, 1)
	must(t, cluster.Equal(context.Background()))
}
