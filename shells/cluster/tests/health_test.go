// Probes: whether a node lives, and whether another one may be stopped.

package tests

import (
	"context"
	"fmt"
	"net/http"
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
