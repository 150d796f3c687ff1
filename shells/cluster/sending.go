// Sending to another node: a frame is one write, and dragonboat's own transport has three of each. With small frames
// the writes are what sending costs.

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"time"

	pb "github.com/lni/dragonboat/v4/raftpb"
)

const (
	// How long a node is waited for that does not take what is sent, or does not answer.
	sendTimeout    = 5 * time.Second
	connectTimeout = 5 * time.Second
	endTimeout     = 10 * time.Second
	// The most bytes of a buffer that is kept for what comes later.
	mostKeptBytes = 1 << 20
)

// sender is a connection that sends frames.
type sender struct {
	net         net.Conn
	isEncrypted bool
	buffer      []byte
}

func (s *sender) send(kind uint16, most int, carried content) error {
	frame, err := appendFrame(s.buffer[:0], kind, most, carried, s.isEncrypted)
	if cap(frame) <= mostKeptBytes {
		s.buffer = frame
	} else {
		s.buffer = nil
	}
	if err != nil {
		return err
	}
	if err := s.net.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	_, err = s.net.Write(frame)
	return err
}

// messageSender sends messages of groups.
type messageSender struct{ sender }

func (s *messageSender) SendMessageBatch(batch pb.MessageBatch) error {
	return s.send(frameMessages, batch.SizeUpperLimit(), &batch)
}

func (s *messageSender) Close() { _ = s.net.Close() }

// chunkSender sends a stream of a group, in chunks.
type chunkSender struct{ sender }

func (s *chunkSender) SendChunk(chunk pb.Chunk) error {
	return s.send(frameChunk, chunk.Size(), &chunk)
}

// Close returns once the other node has taken the chunks, but waits not for long.
func (s *chunkSender) Close() {
	defer s.net.Close()
	var end [magicBytes]byte
	if err := s.net.SetDeadline(time.Now().Add(endTimeout)); err != nil {
		return
	}
	if _, err := s.net.Write(end[:]); err == nil {
		_, _ = io.ReadFull(bufio.NewReaderSize(s.net, magicBytes), end[:])
	}
}

// connect opens a connection to another node.
func connect(ctx context.Context, address string, with *tls.Config) (sender, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var dialer net.Dialer
	opened, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil || with == nil {
		return sender{net: opened}, err
	}
	secured := tls.Client(opened, with)
	if err := secured.HandshakeContext(ctx); err != nil {
		opened.Close()
		return sender{}, err
	}
	return sender{net: secured, isEncrypted: true}, nil
}
