// A node whose disk is slow: each of its syncs takes a second, by the hand of strace.

package tests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holm-cluster/trial"
)

// slowable lets nodes that are started while a file is there have slow syncs, and returns the file.
func slowable(t *testing.T) string {
	t.Helper()
	program, err := trial.Program()
	if err != nil {
		t.Skip(err)
	}
	inject := "--inject=fsync,fdatasync,sync_file_range:delay_enter=1000000"
	trace := []string{"strace", "-D", "-f", "-qq", "-o", "/dev/null", "--seccomp-bpf",
		"--trace=fsync,fdatasync,sync_file_range"}
	if said, err := exec.Command(trace[0], append(trace[1:], inject, "true")...).CombinedOutput(); err != nil {
		t.Skipf("no strace that delays syncs: %v: %s", err, said)
	}
	folder, err := os.MkdirTemp("", "holm-slow")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(folder) })
	mark, wrapper := filepath.Join(folder, "slow"), filepath.Join(folder, "holm-cluster")
	script := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = serve ] && [ -e %s ]; then exec %s %s %s \"$@\"; fi\nexec %s \"$@\"\n",
		mark, strings.Join(trace, " "), inject, program, program)
	must(t, os.WriteFile(wrapper, []byte(script), 0o700))
	t.Setenv("HOLM_CLUSTER", wrapper)
	return mark
}

func TestNobodyWaitsForASlowDiskThatLeadsNothing(t *testing.T) {
	mark := slowable(t)
	cluster, ctx := start(t, trial.Settings{}), context.Background()
	for group := range cluster.Groups() {
		operate(t, cluster, "move-leader", "--group", fmt.Sprint(group), "--node", fmt.Sprint(1+group%2))
	}
	must(t, cluster.Stop(2))
	must(t, os.WriteFile(mark, nil, 0o600))
	must(t, cluster.StartNode(2))
	slow := cluster.Node(2)
	defer slow.Close()
	// It has what the others have had when nothing is written.
	must(t, cluster.Ready(ctx))
	must(t, os.Remove(mark))
	node := cluster.Node(0)
	defer node.Close()
	entries := func(of *redis.Client) int64 {
		t.Helper()
		sum := int64(0)
		for group := range cluster.Groups() {
			state, err := of.Do(ctx, "HOLM.HASH", group).Slice()
			must(t, err)
			sum += state[0].(int64)
		}
		return sum
	}
	most := int64(0)
	for at := range 300 {
		must(t, trial.Until(60*time.Second, func() error { return node.Set(ctx, fmt.Sprint("key", at), at, 0).Err() }))
		if at%50 == 49 {
			most = max(most, entries(node)-entries(slow))
		}
	}
	if most < 5 {
		t.Fatalf("the slow node lags by %d entries at most: the others wait for it", most)
	}
	// Its state is that of the others in the end.
	must(t, cluster.Equal(ctx))
}
