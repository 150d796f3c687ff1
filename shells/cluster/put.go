// Entries go into the log at the node that leads. What a replica hands to the leader by the consensus engine may be
// lost without a word: by a leader that hands its lead over, or in a connection to a node that was started anew. So
// another node is asked as a client would ask it, and says whether an entry has had no effect for certain.

package main

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/lni/dragonboat/v4"
)

// The most bytes of an entry that is sent to another node. A larger one is handed over by the consensus engine: an
// argument of a command has a limit.
const mostSentBytes = 4 << 20

var (
	// The entry is in no log, and may be put into one again.
	errNotPut = errors.New("TRYAGAIN the entry was not put into the log")
	// The other node does not know how an entry is sent.
	errFormer = errors.New("the other node has a former version")
)

// put puts an entry into the log and returns what the group answers, once it is applied here.
func (l *lane) put(entry []byte) ([]byte, error) {
	l.gate.enter()
	defer l.gate.leave()
	if leader, isKnown := l.elsewhere(); isKnown && len(entry) <= l.sentBytes {
		if found, err := l.send(leader.Address, entry); !errors.Is(err, errFormer) {
			return found, err
		}
	}
	found, _, err := l.putHere(entry)
	return found, err
}

// putHere proposes an entry at this node, and returns its index too.
func (l *lane) putHere(entry []byte) ([]byte, uint64, error) {
	change := l.change()
	term, isOwn := l.ledTerm()
	next := l.whileApplying(requestTimeout)
	state, err := l.host.Propose(l.session, entry, applyTimeout)
	if err != nil {
		// It was not proposed.
		isClosed := errors.Is(err, dragonboat.ErrClosed) || errors.Is(err, dragonboat.ErrShardClosed)
		if dragonboat.IsTempError(err) && !isClosed {
			return nil, 0, errNotPut
		}
		return nil, 0, errTryAgain
	}
	result, isKnown := await(state.ResultC(), change, next)
	switch {
	case isKnown && result.Completed():
		return result.GetResult().Data, result.GetResult().Value, l.acknowledge(term, isOwn)
	case isKnown && result.Dropped():
		// There was no leader to hand it to, or it hands its lead over: nobody has it.
		return nil, 0, errNotPut
	}
	return nil, 0, errUnknown
}

// whileApplying returns how long an entry is awaited: for a turn, and as long as this replica applies entries.
func (l *lane) whileApplying(turn time.Duration) turns {
	isApplying := func() bool { return false }
	if own := l.group(); own != nil {
		isApplying = own.progress.isGoingOn()
	}
	return whileApplying(turn, applyTimeout, isApplying)
}

// send asks the node that leads to put an entry into the log, and waits as long as for an entry of this node.
func (l *lane) send(address string, entry []byte) ([]byte, error) {
	change := l.change()
	opened, err := l.relays.take(address, l.others)
	if err != nil {
		return nil, errNotPut
	}
	type reply struct {
		said string
		err  error
	}
	done := make(chan reply, 1)
	next := l.whileApplying(requestTimeout + dialTimeout)
	go func() {
		group := strconv.FormatUint(l.number-1, 10)
		said, err := l.relays.exchange(address, opened, applyTimeout+dialTimeout, "ENTRY", group, string(entry))
		done <- reply{said, err}
	}()
	found, isKnown := await(done, change, next)
	var said refused
	switch {
	case !isKnown:
		return nil, errUnknown
	case found.err == nil && len(found.said) >= 8:
		// Its clients see the entry here, and wait with this node when it is behind. If that takes long they do not.
		if own := l.group(); own != nil {
			own.progress.wait(binary.LittleEndian.Uint64([]byte(found.said[:8])), requestTimeout)
		}
		return []byte(found.said[8:]), nil
	case !errors.As(found.err, &said), strings.HasPrefix(string(said), "UNKNOWN"):
		return nil, errUnknown
	case strings.Contains(string(said), "unknown subcommand"):
		return nil, errFormer
	}
	return nil, errNotPut
}

// putHere proposes an entry of another node, if this one leads. The answer is (index 8 | what the group answers).
func (h *host) putHere(group string, entry []byte) ([]byte, error) {
	number, err := strconv.Atoi(group)
	if err != nil {
		return nil, err
	}
	if err := admit(entry, h.knows); err != nil {
		return nil, err
	}
	own := h.lane(number)
	// Who keeps entries back waits for the other node as well: its entry must not wait here.
	if own == nil || !h.leads(number) || !own.gate.tryEnter() {
		return nil, errTryAgain
	}
	defer own.gate.leave()
	found, index, err := own.putHere(entry)
	if err != nil {
		return nil, err
	}
	return append(binary.LittleEndian.AppendUint64(nil, index), found...), nil
}

// elsewhere returns a function that returns the node that leads a group, if it is another one.
func (h *host) elsewhere(group int) func() (member, bool) {
	return func() (member, bool) {
		leader, isKnown := h.leading(group)
		return leader, isKnown && leader.ID != h.settings.ID
	}
}
