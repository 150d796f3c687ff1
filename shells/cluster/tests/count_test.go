package tests

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"holm-cluster/trial"
)

var commandsLine = regexp.MustCompile(`total_commands_processed:(\d+)`)

// commands returns how many commands a node has carried out for its clients.
func commands(t *testing.T, node *redis.Client) int {
	t.Helper()
	said, err := node.Info(context.Background()).Result()
	must(t, err)
	found := commandsLine.FindStringSubmatch(said)
	if found == nil {
		t.Fatalf("%q has no number of commands", said)
	}
	count, err := strconv.Atoi(found[1])
	must(t, err)
	return count
}

// The commands of EXEC count once each, when they are carried out, beside EXEC itself.
func TestCommandsAreCountedOnceEach(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{Groups: 1}), context.Background()
	client := cluster.Node(0)
	defer client.Close()
	node := client.Conn()
	defer node.Close()
	asks := cluster.Node(0)
	defer asks.Close()
	insist(t, func() error { return node.Set(ctx, "key{a}", 1, 0).Err() })
	// The first question of a connection is HELLO.
	commands(t, asks)
	before := commands(t, asks)
	for _, step := range []struct {
		words    []any
		expected int
	}{
		{[]any{"GET", "key{a}"}, 1},
		{[]any{"MULTI"}, 1},
		{[]any{"SET", "key{a}", 2}, 0},
		{[]any{"INCR", "key{a}"}, 0},
		{[]any{"EXEC"}, 3},
		{[]any{"WATCH", "key{a}"}, 1},
		{[]any{"SET", "key{a}", 9}, 1},
		{[]any{"MULTI"}, 1},
		{[]any{"INCR", "key{a}"}, 0},
		{[]any{"EXEC"}, 1},
		{[]any{"NONSENSE"}, 0},
		{[]any{"MGET", "key{a}", "key{b}"}, 1},
	} {
		answer := node.Do(ctx, step.words...)
		t.Log(step.words, answer.Val(), answer.Err())
		// INFO, which asks, is one too.
		after := commands(t, asks)
		same(t, fmt.Sprint(step.words), after-before-1, step.expected)
		before = after
	}
}
