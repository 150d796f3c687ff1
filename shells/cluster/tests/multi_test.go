package tests

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"holm-cluster/trial"
)

// words divides a line at its spaces.
func words(line string) []any {
	var found []any
	for _, word := range strings.Fields(line) {
		found = append(found, word)
	}
	return found
}

// play asks a connection one command after the other.
func play(t *testing.T, node *redis.Conn, steps ...[2]string) {
	t.Helper()
	for _, one := range steps {
		found, err := node.Do(context.Background(), words(one[0])...).Result()
		said := fmt.Sprint(found)
		if err != nil {
			said = err.Error()
		}
		if !strings.HasPrefix(said, one[1]) {
			t.Fatalf("%s: found %q, expected %q", one[0], said, one[1])
		}
	}
}

// What cannot be carried out was queued, and EXEC carried the other commands out.
func TestWhatCannotBeCarriedOutIsNotQueued(t *testing.T) {
	cluster := start(t, trial.Settings{Groups: 1})
	client := cluster.Node(0)
	defer client.Close()
	node := client.Conn()
	defer node.Close()
	for _, refused := range [][2]string{
		{"OBJECT FOO key", "ERR unknown subcommand 'FOO'. Try OBJECT HELP."},
		{"OBJECT ENCODING", "ERR wrong number of arguments for 'object|encoding' command"},
		{"MEMORY USAGE", "ERR wrong number of arguments for 'memory|usage' command"},
		{"GET", "ERR wrong number of arguments for 'get' command"},
		{"NOSUCH a", "ERR unknown command 'NOSUCH', with args beginning with: 'a'"},
		{"BLPOP key 0", "ERR the command 'blpop' is none of a cluster"},
		{"SORT key BY w_*", "ERR BY and GET of SORT name keys by patterns"},
	} {
		play(t, node, [2]string{"MULTI", "OK"}, [2]string{"INCR key", "QUEUED"}, refused,
			[2]string{"EXEC", "EXECABORT"}, [2]string{"GET key", "redis: nil"})
	}
	play(t, node, [2]string{"MULTI", "OK"}, [2]string{"SET key 1", "QUEUED"},
		[2]string{"OBJECT ENCODING key", "QUEUED"}, [2]string{"EXEC", "[OK int]"})
}

// Commands without keys were refused within MULTI, which clients use to ask for the time of a transaction, or to be sure
// that a connection is there.
func TestCommandsWithoutKeysAreQueued(t *testing.T) {
	cluster := start(t, trial.Settings{Groups: 2})
	client, other := cluster.Node(0), cluster.Node(1)
	defer client.Close()
	defer other.Close()
	node := client.Conn()
	defer node.Close()
	play(t, node,
		[2]string{"MULTI", "OK"},
		[2]string{"PING", "QUEUED"},
		[2]string{"SET key 1", "QUEUED"},
		[2]string{"ECHO reef", "QUEUED"},
		[2]string{"CLIENT SETNAME diver", "QUEUED"},
		[2]string{"OBJECT HELP", "QUEUED"},
		[2]string{"UNWATCH", "QUEUED"},
		[2]string{"INCR key", "QUEUED"},
		[2]string{"CLIENT GETNAME", "QUEUED"},
		[2]string{"SELECT 1", "QUEUED"},
		[2]string{"TIME", "QUEUED"},
		[2]string{"EXEC", "[PONG OK reef OK [OBJECT <subcommand>"},
		[2]string{"GET key", "2"},
		[2]string{"CLIENT GETNAME", "diver"},
		[2]string{"MULTI", "OK"}, [2]string{"PING again", "QUEUED"}, [2]string{"EXEC", "[again]"},
		[2]string{"MULTI", "OK"}, [2]string{"FLUSHALL", "ERR the command 'flushall' cannot be part of a transaction"},
		[2]string{"EXEC", "EXECABORT"})
	// A watched key that changes keeps them back too, and an empty transaction.
	for _, queued := range [][2]string{{"CLIENT SETNAME other", "QUEUED"}, {"", ""}} {
		play(t, node, [2]string{"WATCH key", "OK"})
		must(t, other.Incr(context.Background(), "key").Err())
		play(t, node, [2]string{"MULTI", "OK"})
		if queued[0] != "" {
			play(t, node, queued)
		}
		play(t, node, [2]string{"EXEC", "redis: nil"}, [2]string{"CLIENT GETNAME", "diver"})
	}
	play(t, node, [2]string{"WATCH key", "OK"}, [2]string{"MULTI", "OK"}, [2]string{"PING", "QUEUED"},
		[2]string{"EXEC", "[PONG]"})
}

// The number of watches has two bytes in an entry: with more of them no replica could apply it, and none after it.
func TestTooManyWatchesAreRefused(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{Groups: 1}), context.Background()
	client := cluster.Node(0)
	defer client.Close()
	node := client.Conn()
	defer node.Close()
	watch := func(count int) error {
		request := []any{"WATCH"}
		for at := range count {
			request = append(request, fmt.Sprint("{w}", at))
		}
		return node.Do(ctx, request...).Err()
	}
	play(t, node, [2]string{"SET {w}0 1", "OK"})
	must(t, watch(40_000))
	if err := watch(40_000); err == nil || !strings.HasPrefix(err.Error(), "ERR a connection watches at most 65535 keys") {
		t.Error("80,000 keys are watched:", err)
	}
	play(t, node, [2]string{"MULTI", "OK"}, [2]string{"INCR {w}0", "QUEUED"}, [2]string{"EXEC", "[2]"},
		[2]string{"GET {w}0", "2"})
	must(t, cluster.Equal(ctx))
}
