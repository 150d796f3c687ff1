// Probes: whether a node lives, and whether another one may be stopped.

package tests

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"holm-cluster/trial"
)

func TestProbesSayWhetherANodeLivesAndIsReady(t *testing.T) {
	cluster := start(t, trial.Settings{IsSecret: true})
	ports, err := trial.FreePorts(1)
	must(t, err)
	must(t, cluster.Stop(2))
	must(t, cluster.StartVersion(2, "--page", ports[0]))
	answers := func(path string, expected int) error {
		said, err := http.Get("http://" + ports[0] + path)
		if err != nil {
			return err
		}
		said.Body.Close()
		if said.StatusCode != expected {
			return fmt.Errorf("%s answers %s, and not %d", path, said.Status, expected)
		}
		return nil
	}
	until := func(path string, expected int) {
		t.Helper()
		must(t, trial.Until(60*time.Second, func() error { return answers(path, expected) }))
	}
	until("/ready", http.StatusOK)
	must(t, answers("/live", http.StatusOK))
	// Everything else is behind the password.
	must(t, answers("/metrics", http.StatusUnauthorized))
	must(t, answers("/", http.StatusUnauthorized))
	cluster.Kill(0)
	must(t, cluster.Ready(context.Background()))
	until("/ready", http.StatusOK)
	cluster.Kill(1)
	until("/ready", http.StatusServiceUnavailable)
	must(t, answers("/live", http.StatusOK))
	must(t, cluster.StartNode(0))
	until("/ready", http.StatusOK)
}

// A node that ends hands over its leads first, for longer where another node does not answer.
func TestANodeThatEndsIsNotReady(t *testing.T) {
	ports, err := trial.FreePorts(1)
	must(t, err)
	cluster, ctx := start(t, trial.Settings{Groups: 1}), t.Context()
	must(t, cluster.Stop(0))
	must(t, cluster.StartVersion(0, "--page", ports[0]))
	ready := func() (status int, words string, err error) {
		said, err := http.Get("http://" + ports[0] + "/ready")
		if err != nil {
			return 0, "", err
		}
		defer said.Body.Close()
		text, err := io.ReadAll(said.Body)
		return said.StatusCode, string(text), err
	}
	insist(t, func() error {
		status, words, err := ready()
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%d %s", status, words)
		}
		return err
	})
	first := cluster.Node(0)
	defer first.Close()
	must(t, cluster.Pause(2))
	insist(t, func() error { return first.Do(ctx, "HOLM.LEADER", 0).Err() })
	ended := make(chan error, 1)
	go func() { ended <- cluster.Stop(0) }()
	isSeen := false
	for {
		status, words, err := ready()
		isEnding := status == http.StatusServiceUnavailable && strings.Contains(words, "is ending")
		if err == nil && isSeen && !isEnding {
			t.Fatalf("a node that ends answers %d: %s", status, words)
		}
		isSeen = isSeen || isEnding
		if err != nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	must(t, <-ended)
	if !isSeen {
		t.Fatal("a node that ends has never said so")
	}
	must(t, cluster.Resume(2))
}
