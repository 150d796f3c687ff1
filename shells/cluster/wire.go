// Replies and requests as bytes.

package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

func appendStatus(out []byte, text string) []byte {
	return append(append(append(out, '+'), text...), "\r\n"...)
}

// The ends of lines within a text, which may be a client's, would end the reply.
var endsOfLines = strings.NewReplacer("\r", " ", "\n", " ")

func appendError(out []byte, text string) []byte {
	return append(append(append(out, '-'), endsOfLines.Replace(text)...), "\r\n"...)
}

func appendHeader(out []byte, kind byte, number int) []byte {
	return append(strconv.AppendInt(append(out, kind), int64(number), 10), "\r\n"...)
}

func appendInteger(out []byte, number int) []byte { return appendHeader(out, ':', number) }

func appendBulk(out []byte, text string) []byte {
	return append(append(appendHeader(out, '$', len(text)), text...), "\r\n"...)
}

func appendBulks(out []byte, texts []string) []byte {
	out = appendArray(out, len(texts))
	for _, text := range texts {
		out = appendBulk(out, text)
	}
	return out
}

func appendArray(out []byte, count int) []byte { return appendHeader(out, '*', count) }

func appendNull(out []byte, protocol int) []byte {
	if protocol == 3 {
		return append(out, "_\r\n"...)
	}
	return append(out, "$-1\r\n"...)
}

// appendMap begins a map of so many pairs; in the older protocol it is an array of twice as many.
func appendMap(out []byte, protocol, pairs int) []byte {
	if protocol == 3 {
		return appendHeader(out, '%', pairs)
	}
	return appendArray(out, 2*pairs)
}

// appendRequest appends a command as clients send it.
func appendRequest(out []byte, words ...string) []byte {
	return appendBulks(out, words)
}

// line returns the text of a line after its first byte, and the number of bytes of the whole line.
func line(input []byte) (string, int, error) {
	end := bytes.Index(input, []byte("\r\n"))
	if end < 1 {
		return "", 0, fmt.Errorf("a line without an end")
	}
	return string(input[1:end]), end + 2, nil
}

// replyLength returns how many bytes the first reply takes.
func replyLength(input []byte) (int, error) {
	text, used, err := line(input)
	if err != nil {
		return 0, err
	}
	switch input[0] {
	case '+', '-', ':', ',', '#', '_', '(':
		return used, nil
	}
	number, err := strconv.Atoi(text)
	if err != nil {
		return 0, err
	}
	switch input[0] {
	case '$', '=', '!':
		if number >= 0 {
			used += number + 2
		}
	case '%', '|':
		number *= 2
		fallthrough
	case '*', '~', '>':
		for range max(0, number) {
			if used >= len(input) {
				return 0, fmt.Errorf("a reply that ends early")
			}
			length, err := replyLength(input[used:])
			if err != nil {
				return 0, err
			}
			used += length
		}
	default:
		return 0, fmt.Errorf("a reply of the kind %q", input[0])
	}
	if used > len(input) {
		return 0, fmt.Errorf("a reply that ends early")
	}
	return used, nil
}

// splitReplies divides replies that follow each other.
func splitReplies(input []byte) ([][]byte, error) {
	var replies [][]byte
	for len(input) > 0 {
		length, err := replyLength(input)
		if err != nil {
			return nil, err
		}
		replies = append(replies, input[:length:length])
		input = input[length:]
	}
	return replies, nil
}

// elements returns the replies of an array.
func elements(reply []byte) ([][]byte, error) {
	_, used, err := line(reply)
	if err != nil {
		return nil, err
	}
	return splitReplies(reply[used:])
}

// text returns what a byte string has.
func text(reply []byte) string {
	first, used, err := line(reply)
	if err != nil || reply[0] != '$' {
		return first
	}
	return string(bytes.TrimSuffix(reply[used:], []byte("\r\n")))
}

// words returns the words of a request that the parser has found whole.
func words(request []byte) []string {
	if len(request) == 0 || request[0] != '*' {
		return strings.Fields(string(request))
	}
	parts, err := elements(request)
	if err != nil {
		return nil
	}
	found := make([]string, 0, len(parts))
	for _, part := range parts {
		found = append(found, text(part))
	}
	return found
}
