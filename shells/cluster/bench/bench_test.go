package main

import (
	"bufio"
	"strings"
	"testing"
)

func TestKeysHaveTheirLengthAndDiffer(t *testing.T) {
	seen := map[string]bool{}
	for _, number := range []int{0, 1, 10, 99_999, 100_000_000} {
		key := string(appendKey(nil, number))
		if len(key) != keyBytes || seen[key] {
			t.Errorf("%d is %q", number, key)
		}
		seen[key] = true
	}
}

func TestSharesHaveEachKeyOnce(t *testing.T) {
	seen := map[int]int{}
	for _, share := range sharesOf(upTo(100), 7) {
		for _, key := range share {
			seen[key]++
		}
	}
	for key := range 100 {
		if seen[key] != 1 {
			t.Errorf("%d is there %d times", key, seen[key])
		}
	}
}

func TestRepliesAreCountedAndChecked(t *testing.T) {
	for _, one := range []struct {
		isWrite        bool
		said           string
		count, refused int
		isWrong        bool
	}{
		{true, "+OK\r\n-MOVED 1 a\r\n+OK\r\n", 3, 1, false},
		{false, "$3\r\nabc\r\n$3\r\na\r\n\r\n", 2, 0, false},
		{false, "$-1\r\n", 1, 0, true},
		{false, "$4\r\nabcd\r\n", 1, 0, true},
		{false, "+OK\r\n", 1, 0, true},
		{true, "$3\r\nabc\r\n", 1, 0, true},
		{true, "+OK\r\n", 2, 0, true},
	} {
		reader := bufio.NewReader(strings.NewReader(one.said))
		refused, err := readReplies(reader, one.isWrite, one.count, 3)
		if refused != one.refused || (err != nil) != one.isWrong {
			t.Errorf("%q: %d refuse, %v", one.said, refused, err)
		}
		if left := reader.Buffered(); err == nil && left != 0 {
			t.Errorf("%q: %d bytes are left", one.said, left)
		}
	}
}

func TestRatiosAreOfRounds(t *testing.T) {
	engines := []engine{newCluster("", 0, 0), newServer("", "", 0)}
	found := newResults(engines, []cell{{}})
	for _, rates := range [][2]float64{{10, 100}, {30, 60}, {20, 20}} {
		found.add(engines[0], 0, measured{rate: rates[0]})
		found.add(engines[1], 0, measured{rate: rates[1]})
	}
	if ratio := found.ratio(engines[1], 0); ratio != (spread{0.5, 0.1, 1}) {
		t.Errorf("the ratio is %v", ratio)
	}
}
