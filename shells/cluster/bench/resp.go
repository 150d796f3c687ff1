package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strconv"
)

// dial connects to a server of the Redis protocol. Requests of one call are a pipeline, and values have one length.
func dial(address string, share []int, depth, length int) (asker, error) {
	socket, err := net.Dial("tcp", address)
	if err != nil {
		return asker{}, err
	}
	reader, out := bufio.NewReaderSize(socket, 64<<10), []byte(nil)
	get := fmt.Appendf(nil, "*2\r\n$3\r\nGET\r\n$%d\r\n", keyBytes)
	set := fmt.Appendf(nil, "*3\r\n$3\r\nSET\r\n$%d\r\n", keyBytes)
	before := fmt.Appendf(nil, "\r\n$%d\r\n", length)
	ask := func(isWrite bool, keys []int, value []byte) (int, error) {
		out = out[:0]
		for _, key := range keys {
			if isWrite {
				out = append(append(appendKey(append(out, set...), key), before...), value...)
			} else {
				out = appendKey(append(out, get...), key)
			}
			out = append(out, "\r\n"...)
		}
		if _, err := socket.Write(out); err != nil {
			return 0, err
		}
		return readReplies(reader, isWrite, len(keys), length)
	}
	return asker{share: share, depth: depth, ask: ask, close: func() { socket.Close() }}, nil
}

// readReplies reads the replies of a pipeline, and returns how many of them refuse. A value of another length is an
// error, as is a key without one: all keys have been written.
func readReplies(reader *bufio.Reader, isWrite bool, count, length int) (int, error) {
	refused := 0
	for range count {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return refused, err
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case len(line) > 0 && line[0] == '-':
			refused++
		case isWrite && string(line) == "+OK":
		case !isWrite && len(line) > 0 && line[0] == '$':
			if found, err := strconv.Atoi(string(line[1:])); err != nil || found != length {
				return refused, fmt.Errorf("a value of %d bytes is answered with %q", length, line)
			}
			if _, err := reader.Discard(length + 2); err != nil {
				return refused, err
			}
		default:
			return refused, fmt.Errorf("the reply is %q", line)
		}
	}
	return refused, nil
}
