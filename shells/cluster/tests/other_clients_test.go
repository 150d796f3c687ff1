package tests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holm-cluster/trial"
)

func TestRedisCliFollowsRedirections(t *testing.T) {
	program, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Skip("redis-cli is not installed")
	}
	cluster := start(t, trial.Settings{})
	_, port, _ := strings.Cut(cluster.Addresses[0], ":")
	ask := func(words ...string) string {
		said, err := exec.Command(program, append([]string{"-c", "-p", port}, words...)...).CombinedOutput()
		must(t, err)
		return strings.TrimSpace(string(said))
	}
	for at := range 20 {
		key := fmt.Sprint("key", at)
		insist(t, func() error {
			if said := ask("SET", key, fmt.Sprint(at)); said != "OK" {
				return errors.New(said)
			}
			return nil
		})
		same(t, "GET", ask("GET", key), at)
	}
	same(t, "a slot", ask("CLUSTER", "KEYSLOT", "foo"), 12182)
	must(t, cluster.Equal(context.Background()))
}

// The client of Python, if HOLM_TEST_PYTHON names a Python that has it.
func TestRedisPy(t *testing.T) {
	python := os.Getenv("HOLM_TEST_PYTHON")
	if python == "" {
		t.Skip("HOLM_TEST_PYTHON names no Python with redis-py")
	}
	cluster := start(t, trial.Settings{})
	process := exec.Command(python, append([]string{"redis_py.py"}, cluster.Addresses...)...)
	said, err := process.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	same(t, "redis_py.py", strings.TrimSpace(string(said)), "all is well")
}

func TestNodesThatOthersCanReachNeedSecrets(t *testing.T) {
	program, err := trial.Program()
	if err != nil {
		t.Skip(err)
	}
	folder := t.TempDir()
	initialize := func(address, raft string, more ...string) error {
		words := []string{"init", "--folder", folder + "/node", "--cluster", "c", "--id", "1", "--members",
			"1=" + address + "/" + raft}
		return exec.Command(program, append(words, more...)...).Run()
	}
	if initialize("192.0.2.1:7001", "127.0.0.1:17001") == nil {
		t.Fatal("a node listens to everybody without a password")
	}
	if initialize("127.0.0.1:7001", "192.0.2.1:17001", "--password", "secret") == nil {
		t.Fatal("a node listens to other nodes without certificates")
	}
	for range 2 {
		must(t, initialize("192.0.2.1:7001", "127.0.0.1:17001", "--password", "secret"))
	}
	if initialize("192.0.2.1:7001", "127.0.0.1:17001", "--password", "other") == nil {
		t.Fatal("another node is made in one folder")
	}
}

func TestAPasswordIsAskedFor(t *testing.T) {
	cluster, ctx := startUnready(t, trial.Settings{Init: []string{"--password", "secret"}}), context.Background()
	must(t, trial.Until(60*time.Second, func() error {
		node := redis.NewClient(&redis.Options{Addr: cluster.Plain[0], Password: "secret", MaxRetries: -1})
		defer node.Close()
		return node.Set(ctx, "key", 1, 0).Err()
	}))
	for _, password := range []string{"", "wrong"} {
		node := redis.NewClient(&redis.Options{Addr: cluster.Plain[0], Password: password, MaxRetries: -1})
		if err := node.Get(ctx, "key").Err(); err == nil {
			t.Fatalf("the password %q opens the cluster", password)
		}
		node.Close()
	}
}
