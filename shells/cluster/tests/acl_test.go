// Users: what they may do on every node, how changes of them reach the others, and that nodes go on whatever they are.

package tests

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holm-cluster/trial"
)

const (
	noKey      = "NOPERM this user has no permissions to access one of the keys used as arguments"
	wrongWords = "WRONGPASS invalid username-password pair or user is disabled."
)

// noCommand is the answer to a command that a user may not use.
func noCommand(name string) string {
	return "NOPERM this user has no permissions to run the '" + name + "' command"
}

// as returns a client of an address that signs in, and repeats nothing by itself.
func as(t *testing.T, address, name, password string) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{
		Addr: address, Username: name, Password: password, MaxRetries: -1, DialTimeout: time.Second,
		ReadTimeout: 8 * time.Second, DialerRetries: 1, DisableIdentity: true, PoolSize: 1,
	})
	t.Cleanup(func() { client.Close() })
	return client
}

// answers waits until a command has an answer.
func answers(t *testing.T, client *redis.Client, expected any, words ...any) {
	t.Helper()
	must(t, trial.Until(60*time.Second, func() error {
		found, err := client.Do(context.Background(), words...).Result()
		if err != nil {
			found = err
		}
		if fmt.Sprint(found) != fmt.Sprint(expected) {
			return fmt.Errorf("%v: found %v, expected %v", words, found, expected)
		}
		return nil
	}))
}

// conversation returns a function that says something in one connection.
func conversation(t *testing.T, client *redis.Client) func(words ...any) any {
	conn := client.Conn()
	t.Cleanup(func() { conn.Close() })
	return func(words ...any) any {
		found, err := conn.Do(context.Background(), words...).Result()
		if err != nil {
			return err
		}
		return found
	}
}

// Of four nodes each is without a replica of some group, and relays what is about that one.
func TestAUserReachesItsKeysAloneOnEveryNode(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{Nodes: 4, IsSecret: true}), context.Background()
	root := cluster.Node(0)
	defer root.Close()
	for at := range 8 {
		insist(t, func() error { return root.Set(ctx, fmt.Sprint("other:", at), at, 0).Err() })
	}
	answers(t, root, "OK", "ACL", "SETUSER", "app", "on", ">word", "~app:*", "+@all", "-@dangerous", "-append",
		"+cluster|slots")
	for at := range cluster.Addresses {
		app := as(t, cluster.Plain[at], "app", "word")
		answers(t, app, "app", "ACL", "WHOAMI")
		for step := range 8 {
			key, other := fmt.Sprint("app:", step), fmt.Sprint("other:", step)
			answers(t, app, "OK", "SET", key, at)
			answers(t, app, at, "GET", key)
			same(t, "GET", app.Get(ctx, other).Err(), noKey)
			same(t, "SET", app.Set(ctx, other, "x", 0).Err(), noKey)
		}
		say := conversation(t, app)
		for _, one := range []struct {
			expected any
			words    []any
		}{
			{noKey, []any{"MGET", "app:1", "other:2"}},
			{noCommand("append"), []any{"APPEND", "app:1", "x"}},
			{noCommand("flushall"), []any{"FLUSHALL"}},
			{noCommand("acl|setuser"), []any{"ACL", "SETUSER", "app", "+@all"}},
			{noCommand("holm.cluster"), []any{"HOLM.CLUSTER", "MAP"}},
			{noKey, []any{"WATCH", "app:1", "other:1"}},
			{"OK", []any{"MULTI"}},
			{"QUEUED", []any{"SET", "app:1", "multi"}},
			{noKey, []any{"GET", "other:1"}},
			{"EXECABORT Transaction discarded because of previous errors.", []any{"EXEC"}},
			{at, []any{"GET", "app:1"}},
			{"OK", []any{"MULTI"}},
			{"QUEUED", []any{"GET", "app:1"}},
			{fmt.Sprint([]any{at}), []any{"EXEC"}},
		} {
			same(t, fmt.Sprint(one.words), say(one.words...), one.expected)
		}
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: cluster.Addresses, Username: "app", Password: "word", MaxRedirects: 3, ReadTimeout: 8 * time.Second,
		DialerRetries: 1,
	})
	defer client.Close()
	for step := range 20 {
		insist(t, func() error { return client.Set(ctx, fmt.Sprint("app:", step), step, 0).Err() })
		same(t, "a key of the user", client.Get(ctx, fmt.Sprint("app:", step)).Val(), step)
		same(t, "another key", client.Get(ctx, fmt.Sprint("other:", step)).Err(), noKey)
	}
	// A user with all commands and some keys may not ask as nodes do: they ask for any key.
	answers(t, root, "OK", "ACL", "SETUSER", "most", "on", ">word", "~app:*", "+@all")
	most := as(t, cluster.Plain[0], "most", "word")
	same(t, "what nodes ask", most.Do(ctx, "HOLM.CLUSTER", "PLACEMENT").Err(), noKey)
	// What EXEC runs is checked again. The client takes an error among replies for that of the whole.
	connected, err := net.Dial("tcp", cluster.Plain[0])
	must(t, err)
	defer connected.Close()
	say := func(words, expected string) {
		t.Helper()
		must(t, connected.SetDeadline(time.Now().Add(60*time.Second)))
		_, err := io.WriteString(connected, words)
		must(t, err)
		found := make([]byte, len(expected))
		_, err = io.ReadFull(connected, found)
		must(t, err)
		same(t, words, string(found), expected)
	}
	say("AUTH app word\r\nSET app:x 1\r\n", "+OK\r\n+OK\r\n")
	say("MULTI\r\nGET app:x\r\nSET app:x 2\r\nSTRLEN app:x\r\n", "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n")
	answers(t, root, "OK", "ACL", "SETUSER", "app", "-set")
	say("EXEC\r\n", "*3\r\n$1\r\n1\r\n-"+noCommand("set")+"\r\n:1\r\n")
	// A pipeline that takes a right away goes on without it, and so does one that has queued no more than that.
	answers(t, root, "OK", "ACL", "SETUSER", "app", "+set", "+acl")
	say("GET app:x\r\nACL SETUSER app -get\r\nGET app:x\r\nECHO end\r\n",
		"$1\r\n1\r\n+OK\r\n-"+noCommand("get")+"\r\n$3\r\nend\r\n")
	say("MULTI\r\nSET app:x 3\r\n", "+OK\r\n+QUEUED\r\n")
	answers(t, root, "OK", "ACL", "SETUSER", "app", "-set")
	say("EXEC\r\n", "*1\r\n-"+noCommand("set")+"\r\n")
}

func TestUsersAreThoseOfAllNodesAndNodesGoOn(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{Nodes: 4, IsSecret: true}), context.Background()
	node := cluster.Node(0)
	defer node.Close()
	answers(t, node, "OK", "ACL", "SETUSER", "root", "on", ">r00t", "~*", "&*", "+@all")
	answers(t, node, "OK", "ACL", "SETUSER", "app", "on", ">word", "~app:*", "+@all")
	var roots, apps []*redis.Client
	for at := range cluster.Addresses {
		roots = append(roots, as(t, cluster.Plain[at], "root", "r00t"))
		apps = append(apps, as(t, cluster.Plain[at], "app", "word"))
		answers(t, roots[at], "root", "ACL", "WHOAMI")
		answers(t, apps[at], "app", "ACL", "WHOAMI")
		answers(t, roots[at], fmt.Sprint([]string{"app", "default", "root"}), "ACL", "USERS")
	}
	for _, one := range []struct {
		expected any
		words    []any
	}{
		{"This user has no permissions to access the 'other' key", []any{"DRYRUN", "app", "GET", "other"}},
		{"ERR User 'nobody' not found", []any{"DRYRUN", "nobody", "GET", "other"}},
		{redis.Nil, []any{"GETUSER", "nobody"}},
		{"[discard exec multi unwatch watch]", []any{"CAT", "transaction"}},
		{"ERR Unknown category 'nothing'", []any{"CAT", "nothing"}},
		{"ERR Usernames can't contain spaces or null characters", []any{"SETUSER", "holm node", "off"}},
		{"ERR Error in ACL SETUSER modifier '+nothing': Unknown command or category name in ACL",
			[]any{"SETUSER", "app", "+nothing", "reset"}},
		{"ERR unknown subcommand or wrong number of arguments for 'LOG'. Try ACL HELP.", []any{"LOG", 1, 2}},
	} {
		answers(t, roots[1], one.expected, append([]any{"ACL"}, one.words...)...)
	}
	same(t, "a password", len(roots[1].Do(ctx, "ACL", "GENPASS", 5).Val().(string)), 2)
	described := fmt.Sprint(roots[1].Do(ctx, "ACL", "GETUSER", "app").Val())
	for _, part := range []string{"keys:~app:*", "commands:+@all", "flags:[on]"} {
		if !strings.Contains(described, part) {
			t.Fatalf("%s is not in %s", part, described)
		}
	}
	// A session goes on with another password, and with fewer commands.
	answers(t, roots[1], "OK", "ACL", "SETUSER", "app", "resetpass", ">other", "-get")
	for at := range cluster.Addresses {
		answers(t, apps[at], noCommand("get"), "GET", "app:1")
		same(t, "the former password", as(t, cluster.Plain[at], "app", "word").Ping(ctx).Err(), wrongWords)
		answers(t, as(t, cluster.Plain[at], "app", "other"), "PONG", "PING")
	}
	// The sessions of a user end that is removed, although another one has its name before the other nodes see it.
	var sessions []func(words ...any) any
	for at := range cluster.Addresses {
		sessions = append(sessions, conversation(t, as(t, cluster.Plain[at], "app", "other")))
		same(t, "PING", sessions[at]("PING"), "PONG")
	}
	answers(t, roots[2], 1, "ACL", "DELUSER", "app", "nobody")
	answers(t, roots[2], "OK", "ACL", "SETUSER", "app", "on", ">other", "~*", "+@all")
	for at := range cluster.Addresses {
		must(t, trial.Until(60*time.Second, func() error {
			if found, failed := sessions[at]("PING").(error); !failed || strings.HasPrefix(found.Error(), "NOPERM") {
				return errors.New("the session of a user goes on that is removed")
			}
			return nil
		}))
		answers(t, as(t, cluster.Plain[at], "app", "other"), "PONG", "PING")
	}
	same(t, "the last user", roots[0].Do(ctx, "ACL", "DELUSER", "default").Err(), "ERR The 'default' user cannot be removed")
	// Nodes have the password of their settings, whatever that of clients is.
	answers(t, roots[3], "OK", "ACL", "SETUSER", "default", "off")
	lines := roots[3].Do(ctx, "ACL", "LIST").String()
	for at := range cluster.Addresses {
		must(t, cluster.Stop(at))
	}
	for at := range cluster.Addresses {
		must(t, cluster.StartNode(at))
	}
	for at := range cluster.Addresses {
		root := as(t, cluster.Plain[at], "root", "r00t")
		answers(t, root, "root", "ACL", "WHOAMI")
		same(t, "the users", root.Do(ctx, "ACL", "LIST").String(), lines)
		same(t, "the password of the settings", as(t, cluster.Plain[at], "", "trial").Ping(ctx).Err(), wrongWords)
		for step := range 8 {
			answers(t, root, "OK", "SET", fmt.Sprint("key", step), at)
		}
	}
	must(t, trial.Until(60*time.Second, func() error {
		said, err := cluster.Operate("status")
		if err == nil && strings.Count(said, " leads") < 4 {
			err = errors.New(said)
		}
		return err
	}))
}

func TestUsersNeedASecretOfTheNodesAndALevel(t *testing.T) {
	early := start(t, trial.Settings{Nodes: 1, IsSecret: true, Serve: []string{"--test-level", "3"}})
	node := early.Node(0)
	defer node.Close()
	words := []any{"ACL", "SETUSER", "app", "on"}
	answers(t, node, "ERR users begin at level 4 of the cluster: all nodes must have this version first", words...)
	answers(t, node, "[default]", "ACL", "USERS")
	open := start(t, trial.Settings{Nodes: 1}).Node(0)
	defer open.Close()
	answers(t, open, "ERR users need nodes that have a password: it is what the nodes know each other by", words...)
	answers(t, open, "[user default on nopass ~* &* +@all]", "ACL", "LIST")
	answers(t, open, "default", "ACL", "WHOAMI")
}

// logged returns what ACL LOG of a node has, the oldest first: each as count, reason, context, object and user.
func logged(t *testing.T, node *redis.Client) (found []string) {
	t.Helper()
	entries, err := node.ACLLog(context.Background(), 100).Result()
	must(t, err)
	for _, one := range slices.Backward(entries) {
		if one.AgeSeconds < 0 || one.AgeSeconds > 600 || one.ClientInfo == nil || one.ClientInfo.Addr == "" {
			t.Fatalf("a refusal of %v s by %v", one.AgeSeconds, one.ClientInfo)
		}
		found = append(found, fmt.Sprint(one.Count, " ", one.Reason, " ", one.Context, " ", one.Object, " ", one.Username))
	}
	return found
}

func TestEachNodeLogsWhatItHasRefused(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{Nodes: 2, IsSecret: true}), context.Background()
	root, other := cluster.Node(0), cluster.Node(1)
	defer root.Close()
	defer other.Close()
	answers(t, root, "OK", "ACL", "SETUSER", "app", "on", ">word", "~app:*", "+@all", "-append")
	answers(t, as(t, cluster.Plain[1], "app", "word"), "app", "ACL", "WHOAMI")
	answers(t, root, "OK", "ACL", "LOG", "RESET")
	before := logged(t, other)
	connected, err := net.Dial("tcp", cluster.Plain[0])
	must(t, err)
	defer connected.Close()
	secret := "a-wrong-password"
	replies := bufio.NewReader(connected)
	for _, one := range [][2]string{
		{"AUTH app " + secret, "-WRONGPASS"}, {"AUTH nobody " + secret, "-WRONGPASS"},
		{"HELLO 3 AUTH app " + secret, "-WRONGPASS"}, {"AUTH app word", "+OK"},
		{"GET other", "-NOPERM"}, {"GET other", "-NOPERM"}, {"MGET app:1 elsewhere", "-NOPERM"},
		{"APPEND app:1 x", "-NOPERM"}, {"PUBLISH news x", "-ERR unknown"}, {"MULTI", "+OK"},
		{"SET other x", "-NOPERM"}, {"DISCARD", "+OK"}, {"MULTI", "+OK"}, {"SET app:1 x", "+QUEUED"},
	} {
		must(t, connected.SetDeadline(time.Now().Add(60*time.Second)))
		_, err := io.WriteString(connected, one[0]+"\r\n")
		must(t, err)
		said, err := replies.ReadString('\n')
		must(t, err)
		if !strings.HasPrefix(said, one[1]) {
			t.Fatalf("%s: %s", one[0], said)
		}
	}
	// What EXEC runs is refused when it is run.
	answers(t, root, "OK", "ACL", "SETUSER", "app", "-set")
	_, err = io.WriteString(connected, "EXEC\r\n")
	must(t, err)
	_, err = replies.ReadString('\n')
	must(t, err)
	expected := []string{
		"1 auth toplevel AUTH app", "1 auth toplevel AUTH nobody", "1 auth toplevel HELLO app",
		"2 key toplevel other app", "1 key toplevel elsewhere app", "1 command toplevel append app",
		"1 key multi other app", "1 command multi set app",
	}
	same(t, "ACL LOG", strings.Join(logged(t, root), "\n"), strings.Join(expected, "\n"))
	if said := fmt.Sprint(root.Do(ctx, "ACL", "LOG", 100).Val()); strings.Contains(said, secret) {
		t.Fatal("a password is in the log: ", said)
	}
	same(t, "ACL LOG 3", len(root.ACLLog(ctx, 3).Val()), 3)
	same(t, "the other node", fmt.Sprint(logged(t, other)), fmt.Sprint(before))
	answers(t, root, "OK", "ACL", "LOG", "RESET")
	same(t, "after RESET", len(logged(t, root)), 0)
	answers(t, other, "OK", "ACL", "LOG", "RESET")
	same(t, "GET", as(t, cluster.Plain[1], "app", "word").Get(ctx, "other").Err(), noKey)
	same(t, "the other node", fmt.Sprint(logged(t, other)), "[1 key toplevel other app]")
	same(t, "the first node", len(logged(t, root)), 0)
}
