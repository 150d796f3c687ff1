// Nodes with certificates, replicas that are asked directly, and a disk that is full.

package tests

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holm-cluster/trial"
)

func TestNodesWithoutARightCertificateAreRefused(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{IsSecret: true}), context.Background()
	node := cluster.Node(0)
	defer node.Close()
	insist(t, func() error { return node.Set(ctx, "key", 1, 0).Err() })
	secrets := filepath.Join(cluster.Folder, "secrets")
	other, err := trial.NewAuthority(filepath.Join(cluster.Folder, "other"))
	must(t, err)
	_, err = other.Words("foreign", cluster.Raft[0])
	must(t, err)
	// greet speaks to a node as another node would, and returns an error if it is refused.
	greet := func(folder, name string, patience time.Duration) error {
		var own []tls.Certificate
		if name != "" {
			pair, err := tls.LoadX509KeyPair(filepath.Join(folder, name+".pem"), filepath.Join(folder, name+".key"))
			must(t, err)
			own = append(own, pair)
		}
		authority, err := os.ReadFile(filepath.Join(secrets, "ca.pem"))
		must(t, err)
		trusted := x509.NewCertPool()
		trusted.AppendCertsFromPEM(authority)
		connected, err := tls.Dial("tcp", cluster.Raft[0], &tls.Config{RootCAs: trusted, Certificates: own})
		if err != nil {
			return err
		}
		defer connected.Close()
		// The node reads its client's certificate after the client's greeting has ended: only a read shows a refusal.
		must(t, connected.SetDeadline(time.Now().Add(patience)))
		_, err = connected.Read(make([]byte, 1))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		return err
	}
	must(t, greet(secrets, "node2", 300*time.Millisecond))
	if greet(secrets, "", time.Minute) == nil {
		t.Fatal("a node without a certificate is let in")
	}
	if greet(filepath.Join(cluster.Folder, "other"), "foreign", time.Minute) == nil {
		t.Fatal("a certificate of another authority is let in")
	}
	same(t, "GET", node.Get(ctx, "key").Val(), 1)
}

func TestAReplicaAnswersReadsThatMayBeOld(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{}), context.Background()
	client := clusterClient(cluster, 3)
	defer client.Close()
	insist(t, func() error { return client.Set(ctx, "foo", "old", 0).Err() })
	slots, err := client.ClusterSlots(ctx).Result()
	must(t, err)
	replica := 0
	for _, one := range slots {
		if one.Start <= 12182 && 12182 <= one.End && one.Nodes[0].Addr == cluster.Addresses[0] {
			replica = 1
		}
	}
	node := cluster.Member(replica)
	defer node.Close()
	conn := node.Conn()
	defer conn.Close()
	moved := func(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "MOVED 12182 ") }
	same(t, "MOVED before READONLY", moved(conn.Get(ctx, "foo").Err()), true)
	must(t, conn.Do(ctx, "READONLY").Err())
	must(t, trial.Until(60*time.Second, func() error {
		found, err := conn.Get(ctx, "foo").Result()
		if err == nil && found != "old" {
			err = fmt.Errorf("found %q", found)
		}
		return err
	}))
	same(t, "MOVED for a write", moved(conn.Set(ctx, "foo", "x", 0).Err()), true)
	// Without a leader it answers nothing: what it has may be as old as can be.
	for at := range cluster.Addresses {
		if at != replica {
			cluster.Kill(at)
		}
	}
	must(t, trial.Until(60*time.Second, func() error {
		err := conn.Get(ctx, "foo").Err()
		if err == nil || !strings.HasPrefix(err.Error(), "CLUSTERDOWN") {
			return fmt.Errorf("found %w", err)
		}
		return nil
	}))
	for at := range cluster.Addresses {
		if at != replica {
			must(t, cluster.StartNode(at))
		}
	}
	must(t, cluster.Ready(ctx))
	must(t, trial.Until(60*time.Second, func() error { return conn.Get(ctx, "foo").Err() }))
	must(t, conn.Do(ctx, "READWRITE").Err())
	must(t, trial.Until(60*time.Second, func() error {
		if err := conn.Get(ctx, "foo").Err(); err != nil && !moved(err) {
			return err
		}
		return nil
	}))
}

// A file system of its own, in memory, takes privileges.
func TestAFullDiskRefusesWritesAndNothingElse(t *testing.T) {
	if _, err := trial.Program(); err != nil {
		t.Skip(err)
	}
	folder, err := os.MkdirTemp("", "holm-full")
	must(t, err)
	defer os.RemoveAll(folder)
	if said, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=768m", "none", folder).CombinedOutput(); err != nil {
		t.Skipf("no file system of its own: %v: %s", err, said)
	}
	defer func() { _ = exec.Command("umount", "-l", folder).Run() }()
	cluster, err := trial.Start(filepath.Join(folder, "c"), trial.Settings{Groups: 1})
	must(t, err)
	defer cluster.Close()
	ctx := context.Background()
	must(t, cluster.Ready(ctx))
	node := cluster.Node(0)
	defer node.Close()
	insist(t, func() error { return node.Set(ctx, "key", "value", 0).Err() })
	// Something else takes the disk, but for a little less than what each node keeps free: 128 MiB on a small one.
	const left = 112 << 20
	fill := filepath.Join(folder, "fill")
	var disk syscall.Statfs_t
	must(t, syscall.Statfs(folder, &disk))
	taken := int64(disk.Bavail)*disk.Bsize - left
	if said, err := exec.Command("fallocate", "-l", fmt.Sprint(taken), fill).CombinedOutput(); err != nil {
		t.Fatalf("fallocate of %d bytes: %v: %s", taken, err, said)
	}
	must(t, trial.Until(60*time.Second, func() error {
		err := node.Set(ctx, "key", "other", 0).Err()
		if err == nil || !strings.HasPrefix(err.Error(), "OOM") {
			return fmt.Errorf("found %w", err)
		}
		return nil
	}))
	for at := range cluster.Addresses {
		other := cluster.Node(at)
		// Each node looks at its disk once a second.
		must(t, trial.Until(60*time.Second, func() error {
			if err := other.Set(ctx, "key", "last", 0).Err(); err == nil || !strings.HasPrefix(err.Error(), "OOM") {
				return fmt.Errorf("found %w", err)
			}
			return nil
		}))
		insist(t, func() error { return other.Get(ctx, "key").Err() })
		other.Close()
	}
	must(t, os.Remove(fill))
	must(t, trial.Until(60*time.Second, func() error { return node.Set(ctx, "key", "again", 0).Err() }))
	must(t, cluster.Equal(ctx))
}
