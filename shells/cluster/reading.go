// Linearizable reads. The node that leads answers them from what it has applied, and others ask it: what it answers has
// all that was acknowledged or read before, and who leads the next term begins with that.

package main

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/lni/dragonboat/v4"
)

// errNotLed is of a read that is to be asked again: this node does not lead, or not for certain.
var errNotLed = errors.New("TRYAGAIN this node does not lead the group")

// ledTerm returns the term of the last leader that this node knows, and whether it is its own replica.
func (l *lane) ledTerm() (term uint64, isOwn bool) {
	leader, term, known, err := l.host.GetLeaderID(l.number)
	if err != nil || !known {
		return 0, false
	}
	l.leaderIs(leader, term)
	return term, leader == l.replica
}

// round asks the leader what is committed, and returns once this replica has applied that.
func (l *lane) round(tries int) (*dragonboat.RequestState, error) {
	change := l.change()
	state, err := l.host.ReadIndex(l.number, requestTimeout)
	if err != nil {
		if dragonboat.IsTempError(err) {
			return nil, errNotLed
		}
		return nil, errTryAgain
	}
	result, isKnown := await(state.ResultC(), change, once(firstRead<<min(tries, 4)))
	if !isKnown || !result.Completed() {
		return nil, errNotLed
	}
	return state, nil
}

// readByRound reads what this replica has after a round.
func (l *lane) readByRound(packed []byte, tries int) ([]byte, error) {
	state, err := l.round(tries)
	if err != nil {
		return nil, err
	}
	found, err := l.host.ReadLocalNode(state, packed)
	state.Release()
	if err != nil {
		return nil, errors.New("ERR " + err.Error())
	}
	return found.([]byte), nil
}

// asLeader reads by a round of this node as the leader. A round extends the lease.
func (l *lane) asLeader(packed []byte, tries int) ([]byte, error) {
	term, isOwn := l.ledTerm()
	if !isOwn {
		return nil, errNotLed
	}
	l.tenure.awaitOpen()
	begun := l.tenure.clock()
	found, err := l.readByRound(packed, tries)
	if err != nil {
		return nil, err
	}
	if l.tenure.clock()-begun >= leaseTime {
		// Another replica may lead by now, and what was read may be of its term, although this node has not heard of it.
		// Once the engine has answered again, it has said so.
		state, err := l.round(tries)
		if err != nil {
			return nil, err
		}
		state.Release()
	}
	if again, isOwn := l.ledTerm(); !isOwn || again != term || !l.tenure.leads(term) {
		return nil, errNotLed
	}
	if l.takesLeases() {
		l.tenure.extend(term, begun)
	}
	return found, nil
}

// leased reads without a round, if this node leads and has a lease.
func (l *lane) leased(packed []byte) ([]byte, bool) {
	if isHeld, _ := l.tenure.holds(); !isHeld {
		return nil, false
	}
	found, err := l.host.StaleRead(l.number, packed)
	isHeld, isOld := l.tenure.holds()
	if isOld && l.isExtending.CompareAndSwap(false, true) {
		go func() {
			defer l.isExtending.Store(false)
			_, _ = l.asLeader(nil, 0)
		}()
	}
	if err != nil || !isHeld {
		return nil, false
	}
	return found.([]byte), true
}

// readLeased answers a part by a lease.
func (l *lane) readLeased(part []byte) (answer, bool) {
	packed, isRead := l.leased(part)
	if !isRead {
		return answer{}, false
	}
	l.counts.reads.Add(1)
	l.counts.leased.Add(1)
	divided, err := divide(packed)
	if err != nil || len(divided) != 1 {
		return answer{err: errors.New("ERR a bug: a part has one answer")}, true
	}
	return answer{replies: divided[0]}, true
}

// read answers parts at this node if it leads, and lets the node that leads answer them otherwise.
func (l *lane) read(parts []*waiting) {
	l.counts.reads.Add(int64(len(parts)))
	var packed []byte
	tries := 0
	for _, part := range parts {
		packed = append(packed, part.part...)
		tries = max(tries, part.tries)
	}
	var found []byte
	var err error
	leader, isElsewhere := l.elsewhere()
	switch {
	case l.staleReads:
		var stale any
		if stale, err = l.host.StaleRead(l.number, packed); err == nil {
			found = stale.([]byte)
		}
	case !isElsewhere:
		l.counts.rounds.Add(1)
		found, err = l.asLeader(packed, tries)
	case len(packed) > l.sentBytes:
		l.counts.rounds.Add(1)
		found, err = l.beside(packed, tries)
	default:
		found, err = l.readThere(leader.Address, parts, packed)
	}
	switch {
	case err == nil:
		distribute(parts, found)
	case errors.Is(err, errNotLed):
		again(l.reads, parts)
	default:
		refuse(parts, err)
	}
}

// readThere lets the node that leads answer parts, until it does not lead any more.
func (l *lane) readThere(address string, parts []*waiting, packed []byte) ([]byte, error) {
	change := l.change()
	type reply struct {
		packed []byte
		err    error
	}
	done := make(chan reply, 1)
	go func() {
		said, err := l.exchange(address, "READ", string(packed))
		if isFormer(err) {
			// A former version answers parts one by one.
			said, err = "", nil
			for _, part := range parts {
				var one string
				if one, err = l.exchange(address, "PART", "read", string(part.part)); err != nil {
					break
				}
				said = string(appendSized([]byte(said), []byte(one)))
			}
		}
		done <- reply{[]byte(said), err}
	}()
	var found reply
	select {
	case found = <-done:
	case <-change:
		return nil, errNotLed
	}
	var said refused
	if errors.As(found.err, &said) && !strings.HasPrefix(string(said), "TRYAGAIN") &&
		!strings.HasPrefix(string(said), "CLUSTERDOWN") {
		return nil, found.err
	}
	if found.err != nil {
		return nil, errNotLed
	}
	return found.packed, nil
}

// beside reads what is too large to be sent, and answers once the leader has applied all that was seen here.
func (l *lane) beside(packed []byte, tries int) ([]byte, error) {
	found, err := l.readByRound(packed, tries)
	if err != nil {
		return nil, err
	}
	if l.confirm() != nil {
		return nil, errNotLed
	}
	return found, nil
}

// exchange asks another node about this group.
func (l *lane) exchange(address, verb string, rest ...string) (string, error) {
	opened, err := l.relays.take(address, l.others)
	if err != nil {
		return "", err
	}
	words := append([]string{verb, strconv.FormatUint(l.number-1, 10)}, rest...)
	return l.relays.exchange(address, opened, requestTimeout+dialTimeout, words...)
}

// isFormer returns whether an error is the answer of a version that does not know what it was asked. Beside such a node
// nobody takes leases.
func isFormer(err error) bool {
	var said refused
	return errors.As(err, &said) && strings.Contains(string(said), "unknown subcommand")
}

// confirm returns nil once a node that leads, and may answer, has applied all that this replica has: then this node may
// show it to clients.
func (l *lane) confirm() error {
	if l.unconfirmed {
		return nil
	}
	for begun := time.Now(); time.Since(begun) < requestTimeout; time.Sleep(5 * time.Millisecond) {
		leader, isElsewhere := l.elsewhere()
		var err error
		if isElsewhere {
			_, err = l.exchange(leader.Address, "CONFIRM")
		} else {
			_, err = l.asLeader(nil, 0)
		}
		if err == nil || isFormer(err) {
			return nil
		}
	}
	return errUnknown
}

// acknowledge returns nil once an entry that is applied here may be shown to clients: it was proposed while this node
// was known to lead a term, or not.
func (l *lane) acknowledge(term uint64, wasOwn bool) error {
	if now, isOwn := l.ledTerm(); wasOwn && isOwn && now == term {
		l.tenure.awaitOpen()
		return nil
	}
	return l.confirm()
}

// succeed asks the leader of the term before, at the beginning of another one, to answer nothing any more.
func (l *lane) succeed(former, term uint64) {
	if one, known := l.holder(former); former != 0 && former != l.replica && known {
		if _, err := l.exchange(one.Address, "YIELD", strconv.FormatUint(term, 10)); err == nil || isFormer(err) {
			l.tenure.clear(term)
		}
	}
}

// inquire asks who leads a term whether it takes leases. If not, the next one has none to wait for.
func (l *lane) inquire(leader, term uint64) {
	if one, known := l.holder(leader); known {
		if _, err := l.exchange(one.Address, "LEASELESS", strconv.FormatUint(term, 10)); err == nil || isFormer(err) {
			l.tenure.hearLeaseless(term)
		}
	}
}

// look returns once the replica has what was acknowledged before.
func (l *lane) look() <-chan answer {
	waits := &waiting{since: time.Now(), done: make(chan answer, 1)}
	l.looks.push(waits)
	return waits.done
}

func (l *lane) lookFor(parts []*waiting) {
	tries := 0
	for _, part := range parts {
		tries = max(tries, part.tries)
	}
	state, err := l.round(tries)
	switch {
	case err == nil:
		state.Release()
		for _, part := range parts {
			part.done <- answer{}
		}
	case errors.Is(err, errNotLed):
		again(l.looks, parts)
	default:
		refuse(parts, err)
	}
}

// asLeader answers a read of another node.
func (h *host) asLeader(given string, packed []byte) ([]byte, error) {
	own, _, err := h.heldLane([]string{given})
	if err != nil {
		return nil, err
	}
	if found, isRead := own.leased(packed); isRead {
		return found, nil
	}
	return own.asLeader(packed, 0)
}

// confirmed answers another node once this one, which leads, has applied all that is committed. A lease is not enough:
// what another replica has applied may be in the log of this one alone.
func (h *host) confirmed(given string) ([]byte, error) {
	own, _, err := h.heldLane([]string{given})
	if err != nil {
		return nil, err
	}
	return own.asLeader(nil, 0)
}

// yielded answers another node that leads a term of a group.
func (h *host) yielded(given []string) error {
	own, term, err := h.heldLane(given)
	if err != nil {
		return err
	}
	if !own.tenure.yield(term) {
		return errors.New("this node has not led the term before, or not for long")
	}
	return nil
}

// leaseless answers another node that asks whether this one takes leases in a term that it leads.
func (h *host) leaseless(given []string) error {
	own, term, err := h.heldLane(given)
	if err != nil {
		return err
	}
	led, isOwn := own.ledTerm()
	if !isOwn || led != term {
		return errNotLed
	}
	own.tenure.awaitOpen()
	if !own.tenure.leads(term) || h.leases {
		return errors.New("this node takes leases, or does not lead the term any more")
	}
	return nil
}

// takesLeases returns whether this node takes leases: all nodes know what that asks of them.
func (h *host) takesLeases() bool { return h.leases && h.level() >= levelOfLeases }

// holder returns a function that returns the node which has a replica of a group.
func (h *host) holder(group int) func(uint64) (member, bool) {
	return func(id uint64) (member, bool) {
		now := h.placement.Load()
		if found := now.Groups[group].replica(id); found != nil {
			return now.member(found.Node)
		}
		return member{}, false
	}
}
