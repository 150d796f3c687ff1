// Frames: what nodes send each other for the consensus engine, as bytes. They are those of dragonboat's own transport,
// so nodes of former versions understand them:
//
//	magic 2 | kind 2 | length 8 | checksum of the header 4 | checksum of the content 4 | content
//
// Numbers are big-endian, and the header begins after the magic. With TLS the content has no checksum. Two bytes of
// zero in place of the magic end a stream of chunks, and are answered by the same two.

package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

const (
	frameMagic = 0xAE7D
	streamEnd  = 0

	frameMessages = 100
	frameChunk    = 200

	magicBytes  = 2
	headerBytes = 18
	prefixBytes = magicBytes + headerBytes
	// A frame has at most a batch of messages with entries, or a chunk of a stream.
	mostFrameBytes = 1 << 30
)

var (
	errStreamEnd = errors.New("the stream has ended")
	errFrame     = errors.New("what another node sends is no frame")
)

// content is what a frame carries: a batch of messages, or a chunk.
type content interface {
	MarshalTo([]byte) (int, error)
}

// appendFrame appends a frame. The content takes no more bytes than `most`.
func appendFrame(to []byte, kind uint16, most int, carried content, isEncrypted bool) ([]byte, error) {
	begin := len(to)
	to = append(to, make([]byte, prefixBytes+most)...)
	frame := to[begin:]
	length, err := carried.MarshalTo(frame[prefixBytes:])
	if err != nil {
		return to[:begin], err
	}
	frame = frame[:prefixBytes+length]
	binary.BigEndian.PutUint16(frame, frameMagic)
	header := frame[magicBytes:prefixBytes]
	binary.BigEndian.PutUint16(header, kind)
	binary.BigEndian.PutUint64(header[2:], uint64(length))
	if !isEncrypted {
		binary.BigEndian.PutUint32(header[14:], crc32.ChecksumIEEE(frame[prefixBytes:]))
	}
	// The header's own checksum is of the header with zeros in its place.
	binary.BigEndian.PutUint32(header[10:], crc32.ChecksumIEEE(header))
	return to[:begin+len(frame)], nil
}

// frames reads frames of a connection.
type frames struct {
	from        *bufio.Reader
	isEncrypted bool
	// The content of the last frame, which the next one takes unless it is larger.
	buffer []byte
}

// next returns the kind and the content of the next frame. The content is there until the next call.
func (f *frames) next() (uint16, []byte, error) {
	var prefix [prefixBytes]byte
	if _, err := io.ReadFull(f.from, prefix[:magicBytes]); err != nil {
		return 0, nil, err
	}
	switch binary.BigEndian.Uint16(prefix[:]) {
	case frameMagic:
	case streamEnd:
		return 0, nil, errStreamEnd
	default:
		return 0, nil, errFrame
	}
	header := prefix[magicBytes:]
	if _, err := io.ReadFull(f.from, header); err != nil {
		return 0, nil, err
	}
	kind, length := binary.BigEndian.Uint16(header), binary.BigEndian.Uint64(header[2:])
	ofHeader, ofContent := binary.BigEndian.Uint32(header[10:]), binary.BigEndian.Uint32(header[14:])
	binary.BigEndian.PutUint32(header[10:], 0)
	if crc32.ChecksumIEEE(header) != ofHeader || kind != frameMessages && kind != frameChunk ||
		length == 0 || length > mostFrameBytes {
		return 0, nil, errFrame
	}
	if uint64(cap(f.buffer)) < length || cap(f.buffer) > mostKeptBytes && length < mostKeptBytes {
		f.buffer = make([]byte, length)
	}
	f.buffer = f.buffer[:length]
	if _, err := io.ReadFull(f.from, f.buffer); err != nil {
		return 0, nil, err
	}
	if !f.isEncrypted && crc32.ChecksumIEEE(f.buffer) != ofContent {
		return 0, nil, fmt.Errorf("%w: its checksum is another one", errFrame)
	}
	return kind, f.buffer, nil
}
