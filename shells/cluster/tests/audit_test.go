package tests

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holm-cluster/trial"
)

// exchange sends bytes to a node, and returns what it answers until it has answered so much or ends the connection.
func exchange(t *testing.T, address, sent string, most int) string {
	t.Helper()
	opened, err := net.Dial("tcp", address)
	must(t, err)
	defer opened.Close()
	must(t, opened.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = io.WriteString(opened, sent)
	must(t, err)
	found, err := io.ReadAll(io.LimitReader(opened, int64(most)))
	if err != nil {
		t.Fatalf("%q: %v after %q", sent, err, found)
	}
	return string(found)
}

// A client's words ended the line of an error, and what followed was taken for another reply.
func TestAnErrorIsOneLine(t *testing.T) {
	cluster := start(t, trial.Settings{Groups: 1})
	const newline, next = "$7\r\nfo\r\n+OK\r\n", "QUIT\r\n"
	for sent, expected := range map[string]string{
		"*3\r\n$5\r\nHELLO\r\n$1\r\n3\r\n" + newline + next: "-ERR Syntax error in HELLO option 'fo  +OK'\r\n+OK\r\n",
		"*1\r\n" + newline + next: "-ERR unknown command 'fo\\r\\n+OK', with args " +
			"beginning with: \r\n+OK\r\n",
	} {
		same(t, fmt.Sprintf("%q", sent), exchange(t, cluster.Plain[0], sent, 1000), expected)
	}
}

// The body of a request that a page of the web makes a browser send was carried out; and what is no request was waited
// for if it came with one.
func TestConnectionsEndAtWhatIsNoRequest(t *testing.T) {
	cluster := start(t, trial.Settings{Groups: 1})
	for sent, expected := range map[string]string{
		"POST / HTTP/1.1\r\nSET reef 1\r\n":          "-ERR Protocol error: this is no server of HTTP\r\n",
		"PING\r\nHost: reef\r\n\r\nSET reef 1\r\n":   "+PONG\r\n-ERR Protocol error: this is no server of HTTP\r\n",
		"PING\r\n*1\r\n:1\r\nSET reef 1\r\n":         "+PONG\r\n-ERR Protocol error: expected '$', got ':'\r\n",
		"ECHO reef\r\n*1\r\n$-5\r\nSET reef 1\r\n\r": "$4\r\nreef\r\n-ERR Protocol error: invalid bulk length\r\n",
	} {
		same(t, fmt.Sprintf("%q", sent), exchange(t, cluster.Plain[0], sent, 1000), expected)
	}
	client := cluster.Node(0)
	defer client.Close()
	same(t, "keys", client.Exists(context.Background(), "reef").Val(), 0)
}

// FLUSHALL with any word removed all keys, and other words that are wrong were taken.
func TestWordsThatAreWrongAreRefused(t *testing.T) {
	cluster := start(t, trial.Settings{Groups: 2})
	client := cluster.Node(0)
	defer client.Close()
	node := client.Conn()
	defer node.Close()
	play(t, node,
		[2]string{"SET key 1", "OK"},
		[2]string{"FLUSHALL now", "ERR syntax error"},
		[2]string{"FLUSHDB ASYNC SYNC", "ERR syntax error"},
		[2]string{"GET key", "1"},
		[2]string{"CLUSTER SLOTS 1", "ERR wrong number of arguments for 'cluster|slots' command"},
		[2]string{"CLUSTER FORGET 1", "ERR unknown subcommand 'FORGET'. Try CLUSTER HELP."},
		[2]string{"CLUSTER KEYSLOT", "ERR wrong number of arguments for 'cluster|keyslot' command"},
		[2]string{"CLUSTER HELP", "[CLUSTER <subcommand> [<arg> [value] [opt] ...]. Subcommands are: COUNTKEYSINSLOT"},
		[2]string{"COMMAND NOSUCH", "ERR unknown subcommand 'NOSUCH'. Try COMMAND HELP."},
		[2]string{"CLIENT NO-EVICT maybe", "ERR syntax error"},
		[2]string{"CLIENT REPLY OFF", "ERR unknown subcommand 'REPLY'. Try CLIENT HELP."},
		[2]string{"CLIENT LIST TYPE nosuch", "ERR Unknown client type 'nosuch'"},
		[2]string{"WAIT x 0", "ERR value is not an integer or out of range"},
		[2]string{"SELECT x", "ERR value is not an integer or out of range"},
		[2]string{"HELLO x", "ERR Protocol version is not an integer or out of range"},
		[2]string{"CONFIG GET", "ERR wrong number of arguments for 'config|get' command"},
		[2]string{"CONFIG SET maxmemory 1", "ERR CONFIG SET failed (possibly related to argument 'maxmemory')"},
		[2]string{"FLUSHALL SYNC", "OK"},
		[2]string{"GET key", "redis: nil"},
	)
	must(t, client.Do(context.Background(), "CLIENT", "SETNAME", "reef").Err())
	if err := client.Do(context.Background(), "CLIENT", "SETNAME", "a\nb").Err(); err == nil ||
		!strings.HasPrefix(err.Error(), "ERR Client names cannot contain") {
		t.Fatal(err)
	}
}

// CLIENT LIST showed the asking connection alone, and INFO all of its sections whatever was asked for.
func TestANodeShowsItsClientsAndTheSectionsThatAreAskedFor(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{Groups: 1}), context.Background()
	client, asking := cluster.Node(0), cluster.Node(0)
	defer client.Close()
	defer asking.Close()
	named := client.Conn()
	defer named.Close()
	must(t, named.ClientSetName(ctx, "reef").Err())
	id := named.ClientID(ctx).Val()
	for _, line := range []string{asking.ClientList(ctx).Val(), asking.Do(ctx, "CLIENT", "LIST", "ID", id).String()} {
		if !strings.Contains(line, fmt.Sprintf("id=%d ", id)) || !strings.Contains(line, " name=reef ") {
			t.Fatal(line)
		}
	}
	must(t, asking.Set(ctx, "key", 1, 0).Err())
	said := asking.Info(ctx, "clients", "STATS").Val()
	if !strings.HasPrefix(said, "# Clients\r\nconnected_clients:") || !strings.Contains(said, "# Stats") ||
		strings.Contains(said, "# Server") {
		t.Fatalf("%q", said)
	}
}

// Commands without a key were sent to the node of slot 0, which another node may lead.
func TestCommandsWithoutAKeyAreAnsweredByEveryNode(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{Groups: 3}), context.Background()
	for at := range cluster.Addresses {
		client := cluster.Member(at)
		same(t, "MEMORY PURGE", client.Do(ctx, "MEMORY", "PURGE").Val(), "OK")
		if lines, err := client.Do(ctx, "OBJECT", "HELP").Slice(); err != nil || len(lines) < 5 {
			t.Fatal(lines, err)
		}
		err := client.Do(ctx, "SINTERCARD", "x", "a").Err()
		same(t, "SINTERCARD", err, "ERR numkeys should be greater than 0")
		client.Close()
	}
}

// The number of refusals that a node keeps is the node's own.
func TestTheLogOfRefusalsHasTheLengthThatIsSet(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{Groups: 1, IsSecret: true}), context.Background()
	client := cluster.Node(0)
	defer client.Close()
	wrong := func(count int) {
		for range count {
			_ = client.Do(ctx, "AUTH", "nobody", fmt.Sprint("word", count)).Err()
		}
	}
	length := func() int {
		entries, err := client.Do(ctx, "ACL", "LOG", "1000").Slice()
		must(t, err)
		return len(entries)
	}
	parameter := func(client interface {
		ConfigGet(context.Context, string) *redis.MapStringStringCmd
	}) string {
		return client.ConfigGet(ctx, "acllog-*").Val()["acllog-max-len"]
	}
	same(t, "at first", parameter(client), "128")
	// Users begin with a level, a moment after the cluster.
	must(t, trial.Until(60*time.Second, func() error {
		return client.Do(ctx, "ACL", "SETUSER", "reader", "on", "nopass", "~*", "+get").Err()
	}))
	reader := client.Conn()
	defer reader.Close()
	must(t, reader.Do(ctx, "AUTH", "reader", "any").Err())
	for _, name := range []string{"set", "sadd", "append", "lpush"} {
		_ = reader.Do(ctx, name, "key", "1").Err()
	}
	wrong(1)
	same(t, "entries", length(), 5)
	must(t, client.ConfigSet(ctx, "acllog-max-len", "2").Err())
	same(t, "entries", length(), 2)
	same(t, "now", parameter(client), "2")
	other := cluster.Node(1)
	defer other.Close()
	same(t, "of another node", parameter(other), "128")
	for _, value := range []string{"-1", "many", "99999999999"} {
		if err := client.ConfigSet(ctx, "acllog-max-len", value).Err(); err == nil {
			t.Fatal(value, "was taken")
		}
	}
	if err := client.Do(ctx, "CONFIG", "SET", "acllog-max-len", "7", "port", "1").Err(); err == nil {
		t.Fatal("the port was changed")
	}
	same(t, "after refusals", parameter(client), "2")
}

// send sends a SET with a value of so many bytes and a PING after it, and returns the replies until there are two or the
// connection ends.
func send(t *testing.T, opened net.Conn, size int) string {
	t.Helper()
	defer opened.Close()
	must(t, opened.SetDeadline(time.Now().Add(60*time.Second)))
	_, err := fmt.Fprintf(opened, "*3\r\n$3\r\nSET\r\n$4\r\nreef\r\n$%d\r\n", size)
	must(t, err)
	part := strings.Repeat("x", 1<<20)
	for left := size; left > 0 && err == nil; left -= len(part) {
		_, err = io.WriteString(opened, part[:min(left, len(part))])
	}
	if err == nil {
		_, err = io.WriteString(opened, "\r\nPING\r\n")
	}
	if err != nil {
		t.Fatalf("%d bytes: %v", size, err)
	}
	said, err := io.ReadAll(io.LimitReader(opened, int64(len("-ERR an argument has more than 8 MiB\r\n+PONG\r\n"))))
	if err != nil {
		t.Fatalf("%d bytes: %v after %q", size, err, said)
	}
	return string(said)
}

// The connection was reset while the client still sent what was too large, and the client did not read why.
func TestClientsReadWhyAValueIsTooLarge(t *testing.T) {
	cluster := start(t, trial.Settings{Groups: 1})
	for size, expected := range map[int]string{
		8<<20 + 1: "-ERR an argument has more than 8 MiB\r\n+PONG\r\n",
		30 << 20:  "-ERR an argument has more than 8 MiB\r\n+PONG\r\n",
		200 << 20: "-ERR Protocol error: invalid bulk length\r\n",
	} {
		opened, err := net.Dial("tcp", cluster.Plain[0])
		must(t, err)
		same(t, fmt.Sprint(size, " bytes"), send(t, opened, size), expected)
	}
}

// A node ended by the replies of a pipeline: more than 2 GiB of them were one piece. And what a client had queued that
// writes was in the log with that, so all replicas ended, again and again.
func TestRepliesOfAPipelineMayBeLargerThanMemory(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{Nodes: 1, Groups: 1}), context.Background()
	node := cluster.Node(0)
	defer node.Close()
	const size, count = 8 << 20, 270
	must(t, node.Set(ctx, "{p}large", strings.Repeat("x", size), 0).Err())
	must(t, node.Set(ctx, "{p}count", 0, 0).Err())
	for _, first := range []string{"EXISTS {p}large", "INCR {p}count"} {
		opened, err := net.Dial("tcp", cluster.Addresses[0])
		must(t, err)
		defer opened.Close()
		must(t, opened.SetDeadline(time.Now().Add(5*time.Minute)))
		_, err = io.WriteString(opened, first+"\r\n"+strings.Repeat("GET {p}large\r\n", count)+"QUIT\r\n")
		must(t, err)
		whole, hidden, other := 0, 0, 0
		for read := bufio.NewReader(opened); ; {
			head, err := read.ReadString('\n')
			if err == io.EOF {
				break
			}
			must(t, err)
			switch {
			case head == fmt.Sprintf("$%d\r\n", size):
				_, err = read.Discard(size + 2)
				must(t, err)
				whole++
			case strings.HasPrefix(head, "-ERR the command was carried out, and its reply is not shown"),
				strings.HasPrefix(head, "-UNKNOWN"):
				// On a slow machine it takes long to apply.
				hidden++
			case head == ":1\r\n" || head == "+OK\r\n":
				other++
			default:
				t.Fatalf("%q", head)
			}
		}
		same(t, first, whole+hidden+other, count+2)
		if strings.HasPrefix(first, "EXISTS") != (hidden == 0) {
			t.Errorf("%s: %d values are whole, %d are not shown", first, whole, hidden)
		}
	}
	insist(t, func() error {
		found, err := node.Get(ctx, "{p}count").Result()
		if err == nil && found != "1" {
			err = fmt.Errorf("the count is %s", found)
		}
		return err
	})
}

// What an operator had put into a log by hand, and nobody could read, ended all nodes, and again whenever they began.
func TestWhatIsNoEntryIsNotPutIntoALog(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{Groups: 1}), context.Background()
	var nodes []*redis.Client
	for at := range cluster.Addresses {
		nodes = append(nodes, cluster.Node(at))
		defer nodes[at].Close()
	}
	header := "\x01\x00" + strings.Repeat("\x00", 16)
	// A step in a move of slots: an operation, at most one range, and what the operation takes.
	slots := func(operation byte, ranges, rest string) string {
		count := string(rune(len(ranges)/4)) + "\x00\x00\x00"
		return string(rune(operation)) + strings.Repeat("\x00", 24) + count + ranges + rest
	}
	for _, one := range [][]any{
		{"ENTRY", "0", "x"},
		{"ENTRY", "0", "\xff" + header[1:]},
		{"ENTRY", "0", "\x01\x09" + header[2:]},
		{"ENTRY", "0", header + "part"},
		{"ENTRY", "0", header + "\x00\x02\x01\x00\x01\x00\x00\x00k"},
		{"ENTRY", "0", header + "\x00\x02\x00\x00\x05\x00\x00\x00*1\r\n\x00"},
		{"ENTRY", "0", "\x01\x04" + header[2:] + "slots"},
		{"ENTRY", "0", "\x01\x05" + header[2:] + strings.Repeat("\x00", 17)},
		{"ENTRY", "0", "\x01\x04" + header[2:] + slots(0, "\x05\x00\x03\x00", "")},
		{"PART", "0", "4", header[:8] + slots(0, "\x05\x00\x03\x00", "")},
		{"PART", "0", "4", header[:8] + slots(9, "", "key")},
		{"PART", "0", "4", header[:8] + slots(2, "", "\x05\x00\x00\x00\x00")},
		{"PART", "0", "4", header[:8] + slots(2, "", "\x01\x01\x00\x00\x00k\x02\x00\x00\x00\x01\x09")},
		{"PART", "0", "write", "part"},
		{"PART", "0", "300", "part"},
		{"PART", "0", "3", "mark"},
		{"PART", "0", "3", strings.Repeat("\x00", 16)},
		{"ENTRY", "0", "\x01\x03" + header[2:] + strings.Repeat("\x00", 16)},
		{"LOAD", "0", "\x00"},
	} {
		for _, node := range nodes {
			// Backups are not loaded before the cluster has its level.
			insist(t, func() error {
				err := node.Do(ctx, append([]any{"HOLM.CLUSTER"}, one...)...).Err()
				if err == nil || !strings.HasPrefix(err.Error(), "ERR ") {
					return fmt.Errorf("%q: %w", one, err)
				}
				return nil
			})
		}
	}
	insist(t, func() error { return nodes[0].Incr(ctx, "key").Err() })
	must(t, cluster.Equal(ctx))
}
