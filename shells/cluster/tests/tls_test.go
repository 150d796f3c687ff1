// TLS at the addresses for clients: clients, nodes that ask each other, and operators.

package tests

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holm-cluster/trial"
)

// secrets are certificates for 127.0.0.1, of one authority.
type secrets struct {
	folder string
	maker  *trial.Authority
}

func newSecrets(t *testing.T) *secrets {
	t.Helper()
	folder, err := os.MkdirTemp("", "holm-tls")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(folder) })
	maker, err := trial.NewAuthority(folder)
	must(t, err)
	made := &secrets{folder: folder, maker: maker}
	made.make(t, "node")
	return made
}

func (s *secrets) make(t *testing.T, name string) {
	t.Helper()
	_, err := s.maker.Words(name, "127.0.0.1:0")
	must(t, err)
}

func (s *secrets) file(name string) string { return filepath.Join(s.folder, name) }

// node returns words for a node.
func (s *secrets) node() []string {
	return []string{"--tls-cert", s.file("node.pem"), "--tls-key", s.file("node.key"), "--tls-ca", s.file("ca.pem")}
}

// client returns what a client trusts, with a certificate of its own if it has a name.
func (s *secrets) client(t *testing.T, name string) *tls.Config {
	t.Helper()
	text, err := os.ReadFile(s.file("ca.pem"))
	must(t, err)
	with := &tls.Config{RootCAs: x509.NewCertPool()}
	with.RootCAs.AppendCertsFromPEM(text)
	if name != "" {
		pair, err := tls.LoadX509KeyPair(s.file(name+".pem"), s.file(name+".key"))
		must(t, err)
		with.Certificates = append(with.Certificates, pair)
	}
	return with
}

func secureNode(address string, with *tls.Config) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: address, TLSConfig: with, MaxRetries: -1, DialerRetries: 1,
		DialTimeout: time.Second, DisableIdentity: true})
}

// awaitSecure waits until all slots have a leader.
func awaitSecure(t *testing.T, ctx context.Context, address string, with *tls.Config) {
	t.Helper()
	node := secureNode(address, with)
	defer node.Close()
	must(t, trial.Until(60*time.Second, func() error {
		said, err := node.ClusterInfo(ctx).Result()
		if err == nil && !strings.Contains(said, "cluster_state:ok") {
			err = fmt.Errorf("%s", said)
		}
		return err
	}))
}

func TestClientsNodesAndOperatorsSpeakTLS(t *testing.T) {
	with, ctx := newSecrets(t), context.Background()
	cluster := startUnready(t, trial.Settings{Init: with.node()})
	trusts := with.client(t, "")
	awaitSecure(t, ctx, cluster.Addresses[0], trusts)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addresses, TLSConfig: trusts})
	defer client.Close()
	for at := range 100 {
		insist(t, func() error { return client.Set(ctx, fmt.Sprint("key", at), at, 0).Err() })
	}
	// Nobody is let in without TLS, at any address, and a node without a certificate that is trusted is not spoken to.
	for _, address := range []string{cluster.Addresses[0], cluster.Plain[0]} {
		open := secureNode(address, nil)
		if err := open.Ping(ctx).Err(); err == nil {
			t.Fatal("a client without TLS is answered at", address)
		}
		open.Close()
		distrusts := secureNode(address, &tls.Config{RootCAs: x509.NewCertPool()})
		if err := distrusts.Ping(ctx).Err(); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Fatal("a certificate of another authority is taken:", err)
		}
		distrusts.Close()
	}
	if _, err := cluster.Operate("status"); err == nil {
		t.Fatal("an operator without TLS is answered")
	}
	if _, err := cluster.Operate("status", "--tls-ca", newSecrets(t).file("ca.pem")); err == nil {
		t.Fatal("an operator asks a node that it has no reason to trust")
	}
	operator := []string{"--tls-ca", with.file("ca.pem")}
	folder := filepath.Join(cluster.Folder, "backup")
	_, err := cluster.Operate("backup", append(operator, "--to", folder)...)
	must(t, err)
	// A node comes that has no replica: whatever it answers, it has asked others for.
	ports, err := trial.FreePorts(3)
	must(t, err)
	joined := filepath.Join(cluster.Folder, "joined")
	_, err = cluster.Operate("join", append(with.node(), "--folder", joined, "--address", ports[0], "--raft", ports[1],
		"--plain", ports[2])...)
	must(t, err)
	program, err := trial.Program()
	must(t, err)
	process := exec.Command(program, "serve", "--folder", joined)
	process.Stderr = os.Stderr
	must(t, process.Start())
	defer func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	}()
	awaitSecure(t, ctx, ports[2], trusts)
	newest := secureNode(ports[2], trusts)
	defer newest.Close()
	for at := range 100 {
		same(t, "GET", newest.Get(ctx, fmt.Sprint("key", at)).Val(), at)
	}
	must(t, trial.Until(60*time.Second, func() error {
		said, err := cluster.Operate("status", operator...)
		if err == nil && (strings.Count(said, ": up, ") != 4 || strings.Contains(said, "does not answer")) {
			err = fmt.Errorf("%s", said)
		}
		return err
	}))
	said, err := exec.Command("redis-cli", "-c", "--tls", "--cacert", with.file("ca.pem"), "-h", "127.0.0.1", "-p",
		strings.TrimPrefix(cluster.Addresses[1], "127.0.0.1:"), "GET", "key7").CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Log("redis-cli is not installed")
	} else if err != nil && strings.Contains(string(said), "Unrecognized option") {
		t.Log("redis-cli has no TLS")
	} else {
		same(t, "redis-cli", strings.TrimSpace(string(said)), "7")
	}
}

func TestClientsNeedCertificatesWhereThatIsWanted(t *testing.T) {
	with, ctx := newSecrets(t), context.Background()
	clients := newSecrets(t)
	clients.make(t, "client")
	words := append(with.node(), "--tls-client-ca", clients.file("ca.pem"))
	cluster := startUnready(t, trial.Settings{Nodes: 3, Groups: 1, Init: words})
	trusts := with.client(t, "")
	pair, err := tls.LoadX509KeyPair(clients.file("client.pem"), clients.file("client.key"))
	must(t, err)
	known := with.client(t, "")
	known.Certificates = append(known.Certificates, pair)
	awaitSecure(t, ctx, cluster.Addresses[0], known)
	foreign := newSecrets(t).client(t, "node")
	foreign.RootCAs = trusts.RootCAs
	for _, each := range []*tls.Config{trusts, foreign} {
		node := secureNode(cluster.Plain[0], each)
		if err := node.Ping(ctx).Err(); err == nil {
			t.Fatal("a client without a right certificate is answered")
		}
		node.Close()
	}
	node := secureNode(cluster.Plain[0], known)
	defer node.Close()
	// The nodes have just begun: a write may be handed to a leader that changes, and there may be no placement yet.
	must(t, trial.Until(60*time.Second, func() error {
		if err := node.Set(ctx, "key", 1, 0).Err(); err != nil {
			return err
		}
		return node.Do(ctx, "HOLM.CLUSTER", "PLACEMENT").Err()
	}))
	_, err = cluster.Operate("status", "--tls-ca", with.file("ca.pem"))
	if err == nil {
		t.Fatal("an operator without a certificate is answered")
	}
	_, err = cluster.Operate("status", "--tls-ca", with.file("ca.pem"), "--tls-cert", clients.file("client.pem"),
		"--tls-key", clients.file("client.key"))
	must(t, err)
}

func TestACertificateIsExchangedWhileTheNodeRuns(t *testing.T) {
	with, ctx := newSecrets(t), context.Background()
	cluster := startUnready(t, trial.Settings{Nodes: 1, Groups: 1, Init: with.node()})
	trusts := with.client(t, "")
	awaitSecure(t, ctx, cluster.Addresses[0], trusts)
	serial := func() string {
		t.Helper()
		connected, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Second}, "tcp", cluster.Addresses[0], trusts)
		must(t, err)
		defer connected.Close()
		return connected.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	before := serial()
	same(t, "the certificate", serial(), before)
	// A key that does not fit yet leaves the one before.
	with.make(t, "other")
	must(t, os.Rename(with.file("other.key"), with.file("node.key")))
	same(t, "the certificate", serial(), before)
	must(t, os.Rename(with.file("other.pem"), with.file("node.pem")))
	if serial() == before {
		t.Fatal("the certificate is the one before")
	}
}

// A backup asked a node that is not to be trusted, or does not let it in, for a minute, and said so then alone. A node
// said nothing of its certificate that others do not trust any more.
func TestCertificatesThatHaveExpiredAreSaidToBeSo(t *testing.T) {
	with, clients, ctx := newSecrets(t), newSecrets(t), context.Background()
	clients.make(t, "client")
	words := append(with.node(), "--tls-client-ca", clients.file("ca.pem"), "--password", "reef")
	cluster := startUnready(t, trial.Settings{Nodes: 1, Groups: 1, Init: words})
	program, err := trial.Program()
	must(t, err)
	says := func(password, expected string) {
		t.Helper()
		limited, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		asks := exec.CommandContext(limited, program, "backup", "--at", cluster.Addresses[0], "--to",
			filepath.Join(cluster.Folder, "backup"), "--tls-ca", with.file("ca.pem"), "--tls-cert", clients.file("client.pem"),
			"--tls-key", clients.file("client.key"))
		asks.Env = append(os.Environ(), "HOLM_CLUSTER_PASSWORD="+password)
		said, err := asks.CombinedOutput()
		if err == nil || !strings.Contains(string(said), expected) {
			t.Fatalf("%v: %q has no %q", err, said, expected)
		}
	}
	must(t, trial.Until(60*time.Second, func() error {
		opened, err := net.Dial("tcp", cluster.Addresses[0])
		if err == nil {
			err = opened.Close()
		}
		return err
	}))
	says("another", "WRONGPASS")
	expired := time.Now().Add(-time.Minute)
	_, err = clients.maker.Sign("client", "127.0.0.1", expired)
	must(t, err)
	says("reef", "remote error: tls: expired certificate")
	_, err = with.maker.Sign("node", "127.0.0.2", time.Now().Add(time.Hour))
	must(t, err)
	says("reef", "certificate is valid for 127.0.0.2, not 127.0.0.1")
	_, err = with.maker.Sign("node", "127.0.0.1", expired)
	must(t, err)
	says("reef", "certificate has expired or is not yet valid")
	if said := cluster.Logs(); !strings.Contains(said, "node.pem has expired at "+expired.UTC().Format(time.RFC3339)) {
		t.Fatal(said)
	}
	// A node begins nevertheless: its clock may be the one that is wrong.
	must(t, cluster.Stop(0))
	must(t, cluster.StartNode(0))
	must(t, trial.Until(60*time.Second, func() error {
		if said := cluster.Logs(); strings.Count(said, "has expired at") < 2 {
			return fmt.Errorf("%s", said)
		}
		return nil
	}))
}
