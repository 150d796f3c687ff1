// The transport: how messages and streams of the consensus engine go from node to node. It takes the place of
// dragonboat's own, and has its bytes.

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/lni/dragonboat/v4/config"
	"github.com/lni/dragonboat/v4/raftio"
	pb "github.com/lni/dragonboat/v4/raftpb"
)

// The bytes that are read at a time of what another node sends.
const receiveBytes = 64 << 10

// transports makes the transport of a node.
type transports struct{}

func (transports) Create(with config.NodeHostConfig, messages raftio.MessageHandler,
	chunks raftio.ChunkHandler) raftio.ITransport {
	return &transport{settings: with, messages: messages, chunks: chunks, open: map[net.Conn]bool{}}
}

// Validate returns whether an address may be that of a node.
func (transports) Validate(address string) bool {
	host, port, err := net.SplitHostPort(address)
	number, invalid := strconv.ParseUint(port, 10, 16)
	return err == nil && invalid == nil && host != "" && number > 0
}

// transport is that of a node.
type transport struct {
	settings config.NodeHostConfig
	messages raftio.MessageHandler
	chunks   raftio.ChunkHandler
	mutex    sync.Mutex
	listener []net.Listener
	open     map[net.Conn]bool
	isClosed bool
	running  sync.WaitGroup
}

func (t *transport) Name() string { return "holm" }

// Start listens on each address that the node's name has.
func (t *transport) Start() error {
	with, err := t.settings.GetServerTLSConfig()
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(t.settings.GetListenAddress())
	if err != nil {
		return err
	}
	// The names of this machine often have an address of IPv6 that others do not reach.
	found, err := net.DefaultResolver.LookupNetIP(context.Background(), "ip4", host)
	if err != nil {
		if found, err = net.DefaultResolver.LookupNetIP(context.Background(), "ip6", host); err != nil {
			return err
		}
	}
	for _, one := range found {
		listener, err := net.Listen("tcp", net.JoinHostPort(one.Unmap().String(), port))
		if err != nil {
			return errors.Join(err, t.Close())
		}
		t.listener = append(t.listener, listener)
		t.running.Go(func() { t.accept(listener, with) })
	}
	return nil
}

func (t *transport) accept(listener net.Listener, with *tls.Config) {
	for {
		accepted, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Such as no free file descriptor.
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if with != nil {
			accepted = tls.Server(accepted, with)
		}
		if !t.add(accepted) {
			accepted.Close()
			return
		}
		t.running.Go(func() {
			t.receive(accepted)
			accepted.Close()
			t.mutex.Lock()
			defer t.mutex.Unlock()
			delete(t.open, accepted)
		})
	}
}

// add returns whether a connection is taken.
func (t *transport) add(one net.Conn) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if !t.isClosed {
		t.open[one] = true
	}
	return !t.isClosed
}

// receive takes what another node sends, until the connection ends or sends what it should not.
func (t *transport) receive(from net.Conn) {
	secured, isEncrypted := from.(*tls.Conn)
	if isEncrypted {
		limited, cancel := context.WithTimeout(context.Background(), connectTimeout)
		err := secured.HandshakeContext(limited)
		cancel()
		if err != nil {
			return
		}
	}
	sent := frames{from: bufio.NewReaderSize(from, receiveBytes), isEncrypted: isEncrypted}
	for {
		kind, content, err := sent.next()
		switch {
		case errors.Is(err, errStreamEnd):
			var end [magicBytes]byte
			_ = from.SetWriteDeadline(time.Now().Add(sendTimeout))
			_, _ = from.Write(end[:])
			return
		case err != nil || !t.take(kind, content):
			return
		}
	}
}

// take hands the content of a frame over, and returns whether it was taken.
func (t *transport) take(kind uint16, content []byte) bool {
	if kind == frameMessages {
		var batch pb.MessageBatch
		if batch.Unmarshal(content) != nil {
			return false
		}
		t.messages(batch)
		return true
	}
	var chunk pb.Chunk
	return chunk.Unmarshal(content) == nil && t.chunks(chunk)
}

// Close ends all connections of others to this node, and returns once nothing of them is taken any more.
func (t *transport) Close() error {
	t.mutex.Lock()
	t.isClosed = true
	var err error
	for _, one := range t.listener {
		err = errors.Join(err, one.Close())
	}
	for one := range t.open {
		_ = one.Close()
	}
	t.mutex.Unlock()
	t.running.Wait()
	return err
}

func (t *transport) connect(ctx context.Context, target string) (sender, error) {
	with, err := t.settings.GetClientTLSConfig(target)
	if err != nil {
		return sender{}, err
	}
	return connect(ctx, target, with)
}

// GetConnection opens a connection for messages.
func (t *transport) GetConnection(ctx context.Context, target string) (raftio.IConnection, error) {
	opened, err := t.connect(ctx, target)
	if err != nil {
		return nil, err
	}
	return &messageSender{opened}, nil
}

// GetSnapshotConnection opens a connection for a stream.
func (t *transport) GetSnapshotConnection(ctx context.Context, target string) (raftio.ISnapshotConnection, error) {
	opened, err := t.connect(ctx, target)
	if err != nil {
		return nil, err
	}
	return &chunkSender{opened}, nil
}
