package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/lni/dragonboat/v4/config"
	pb "github.com/lni/dragonboat/v4/raftpb"
)

// batchOf returns a message with an entry.
func batchOf(text string) pb.MessageBatch {
	entry := pb.Entry{Index: 7, Term: 3, Cmd: []byte(text)}
	return pb.MessageBatch{
		SourceAddress: "127.0.0.1:1", DeploymentId: 5, BinVer: 210,
		Requests: []pb.Message{{Type: pb.Replicate, To: 2, From: 1, ShardID: 9, Term: 3, Entries: []pb.Entry{entry}}},
	}
}

func framesOf(sent []byte) *frames { return &frames{from: bufio.NewReader(bytes.NewReader(sent))} }

func TestAFrameIsReadAsItWasSentAndDamageIsFound(t *testing.T) {
	batch := batchOf("coral")
	sent, err := appendFrame([]byte("before"), frameMessages, batch.SizeUpperLimit(), &batch, false)
	if err != nil {
		t.Fatal(err)
	}
	sent = sent[len("before"):]
	kind, content, err := framesOf(sent).next()
	var found pb.MessageBatch
	if err != nil || kind != frameMessages || found.Unmarshal(content) != nil {
		t.Fatal(kind, err)
	}
	if len(found.Requests) != 1 || string(found.Requests[0].Entries[0].Cmd) != "coral" {
		t.Fatal(found)
	}
	for at := range sent {
		damaged := bytes.Clone(sent)
		damaged[at] ^= 1
		if _, _, err := framesOf(damaged).next(); err == nil {
			t.Fatal("byte", at, "may be another one")
		}
		if _, _, err := framesOf(sent[:at]).next(); err == nil {
			t.Fatal("a frame may end at byte", at)
		}
	}
	if _, _, err := framesOf([]byte{0, 0}).next(); !errors.Is(err, errStreamEnd) {
		t.Fatal(err)
	}
	if _, _, err := framesOf(nil).next(); err != io.EOF {
		t.Fatal(err)
	}
}

// Nodes of former versions send and take frames of dragonboat's own transport: its default one is asked for both.
func TestFramesAreThoseOfFormerVersions(t *testing.T) {
	chunk := pb.Chunk{ShardID: 1, ReplicaID: 2, From: 3, Data: []byte("reef")}
	// As dragonboat v4 has sent it.
	const former = "ae7d00c8000000000000003a726b30a67e7dcae60801100218032000280030003a04726565664000" +
		"4800520208006200680070007800800100880100920106120018002000980100a00100a80100"
	sent, err := appendFrame(nil, frameChunk, chunk.Size(), &chunk, false)
	if err != nil || hex.EncodeToString(sent) != former {
		t.Fatalf("found %x, expected %s", sent, former)
	}
	secured, err := appendFrame(nil, frameChunk, chunk.Size(), &chunk, true)
	if err != nil || len(secured) != len(sent) || !bytes.Equal(secured[16:20], make([]byte, 4)) {
		t.Fatalf("with TLS: %x", secured)
	}
}

func TestATransportTakesWhatAnotherOneSends(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	messages, chunks := make(chan string, 100), make(chan uint64, 100)
	with := config.NodeHostConfig{RaftAddress: address}
	served := transports{}.Create(with, func(batch pb.MessageBatch) {
		messages <- string(batch.Requests[0].Entries[0].Cmd)
	}, func(chunk pb.Chunk) bool {
		chunks <- chunk.ChunkId
		return chunk.ChunkId < 3
	})
	if err := served.Start(); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	sending, err := served.GetConnection(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	large := string(bytes.Repeat([]byte("x"), 3<<20))
	texts := []string{"a", large, "b", "c"}
	for _, text := range texts {
		if err := sending.SendMessageBatch(batchOf(text)); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range texts {
		if found := <-messages; found != text {
			t.Fatalf("found %d bytes, expected %d", len(found), len(text))
		}
	}
	sending.Close()
	stream, err := served.GetSnapshotConnection(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	for id := range uint64(3) {
		if err := stream.SendChunk(pb.Chunk{ChunkId: id, ShardID: 1}); err != nil {
			t.Fatal(err)
		}
	}
	stream.Close()
	// The end of a stream is answered after its chunks were taken.
	if len(chunks) != 3 {
		t.Fatal("chunks that were taken:", len(chunks))
	}
	// A chunk that is not wanted ends the connection.
	refused, err := served.GetSnapshotConnection(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); err == nil; {
		if err = refused.SendChunk(pb.Chunk{ChunkId: 3, ShardID: 1}); time.Since(begun) > time.Minute {
			t.Fatal("the connection does not end")
		}
	}
	refused.Close()
	if err := served.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := served.GetConnection(ctx, address); err == nil {
		t.Fatal("it listens after its end")
	}
}

func TestAddressesOfNodesHaveANameAndAPort(t *testing.T) {
	valid := []string{"127.0.0.1:1", "node-0.holm:17001", "[::1]:7001"}
	for _, one := range append(valid, "", "node", ":1", "node:", "node:0", "node:65536", "node:x", "::1") {
		if (transports{}).Validate(one) != slices.Contains(valid, one) {
			t.Fatal(one)
		}
	}
}
