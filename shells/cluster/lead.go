// The lead of a group is handed over while no entry is under way.
//
// A leader that hands its lead over drops what other replicas hand to it until then, and they never hear of that: the
// outcome would not be known. And a replica that is asked to lead gives up if it has a committed entry to apply, which
// might change the members; then the leader refuses writes until the time of an election has passed. So all nodes keep
// entries of the group back first, and the one that is to lead applies what was under way. If entries stay under way
// for long, the lead stays where it is, and whoever wanted it asks again later.

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// How long all may take until no entry is under way and the next leader has applied them. An entry is given up
	// after `requestTimeout`, or later while entries are applied.
	drainTime = 2 * time.Second
	// How long a node waits for that before it says that it has not come yet.
	drainTurn = 100 * time.Millisecond
	// How long a node keeps entries back for a caller that names no token: one of a former version.
	holdTime = time.Second
	// After a lead was not handed over, how long a node leaves it where it is by itself.
	leadRest = 2 * time.Second
	// How long a node that ends tries to hand over its leads, and then waits for commands of clients.
	stopTime   = 4 * time.Second
	finishTime = 2 * time.Second
)

var (
	errBusy   = errors.New("TRYAGAIN entries are under way")
	errEnding = errors.New("this node is ending, and leads nothing")
)

// transferTime is how long a change of the lead may take: a leader gives up after the time of an election.
func (h *host) transferTime() time.Duration {
	return 2 * time.Duration(h.settings.ElectionMilliseconds) * time.Millisecond
}

// hold keeps entries of this node back, and returns an error while some are under way. A token of 0 is that of a caller
// that opens nothing.
func (l *lane) hold(token uint64, most time.Duration) error {
	if leader, term, known, err := l.host.GetLeaderID(l.number); err == nil && known {
		// What is heard of it comes later, and would open the gate.
		l.leaderIs(leader, term)
	}
	select {
	case <-l.gate.hold(l.change(), most, token):
		return nil
	case <-time.After(drainTurn):
		return errBusy
	}
}

// held is the hold that another node asks for, with a token or without.
func (h *host) held(given []string) error {
	own, token, err := h.heldLane(given)
	if err != nil {
		return err
	}
	if token == 0 {
		return own.hold(0, holdTime)
	}
	return own.hold(token, drainTime+h.transferTime()+time.Second)
}

// released is the end of a hold with a token.
func (h *host) released(given []string) error {
	own, token, err := h.heldLane(given)
	if err == nil {
		own.gate.release(token)
	}
	return err
}

func (h *host) heldLane(given []string) (*lane, uint64, error) {
	group, err := strconv.Atoi(given[0])
	if err != nil {
		return nil, 0, err
	}
	token := uint64(0)
	if len(given) == 2 {
		if token, err = strconv.ParseUint(given[1], 10, 64); err != nil {
			return nil, 0, err
		}
	}
	own := h.lane(group)
	if own == nil {
		return nil, 0, errNoReplica
	}
	return own, token, nil
}

// handing is a lead that is being handed over.
type handing struct {
	host  *host
	group int
	token uint64
	begun time.Time
}

// at asks a node about the group. An error that the node answers is of the kind `refused`.
func (o *handing) at(node uint64, most time.Duration, words ...string) error {
	if node == o.host.settings.ID {
		done := make(chan error, 1)
		go func() {
			_, err := o.host.administer(words[0], words[1:])
			done <- err
		}()
		select {
		case err := <-done:
			if err != nil {
				return refused(coded(err))
			}
			return nil
		case <-time.After(most):
			return refused(errBusy.Error())
		}
	}
	other, known := o.host.placement.Load().member(node)
	if !known {
		return errNotAsked
	}
	opened, err := o.host.relays.take(other.Address, o.host.credentials)
	if err != nil {
		return err
	}
	_, err = o.host.relays.exchange(other.Address, opened, most, words...)
	return err
}

// hold keeps entries of a node back until none is under way, and returns an error if some stay. A node that does not
// answer is not waited for.
func (o *handing) hold(node uint64) error {
	group, token := strconv.Itoa(o.group), strconv.FormatUint(o.token, 10)
	words := []string{"HOLD", group, token}
	for time.Since(o.begun) < drainTime {
		var said refused
		err := o.at(node, dialTimeout, words...)
		switch {
		case !errors.As(err, &said), string(said) == errNoReplica.Error():
			return nil
		case strings.HasPrefix(string(said), "TRYAGAIN"):
			// Some nodes have waited before they answer, and others have not.
			time.Sleep(time.Millisecond)
		case len(words) == 3:
			// A former version knows no tokens.
			words = words[:2]
		default:
			return nil
		}
	}
	return errBusy
}

// look returns once a node may lead: it has applied what was acknowledged before. Another try may help if the error is
// `errBusy`.
func (o *handing) look(node uint64, most time.Duration) error {
	group := strconv.Itoa(o.group)
	err := o.at(node, most, "LOOK", group)
	var said refused
	if errors.As(err, &said) && strings.Contains(string(said), "unknown subcommand") {
		// A former version.
		err = o.at(node, most, "PART", group, "read", string(nothing()))
	}
	var waited net.Error
	isLate := errors.As(err, &waited) && waited.Timeout()
	if isLate || errors.As(err, &said) && !strings.HasPrefix(string(said), "ERR") {
		return fmt.Errorf("%w: %w", errBusy, err)
	}
	return err
}

// looked answers another node that asks whether this one may lead a group.
func (h *host) looked(given string) error {
	own, _, err := h.heldLane([]string{given})
	if err != nil {
		return err
	}
	if h.isEnding.Load() {
		return errEnding
	}
	return (<-own.look()).err
}

// all does something at several nodes at a time.
func all(nodes []uint64, one func(uint64) error) error {
	errs := make([]error, len(nodes))
	var done sync.WaitGroup
	for at, node := range nodes {
		done.Go(func() { errs[at] = one(node) })
	}
	done.Wait()
	return errors.Join(errs...)
}

// handOver lets a replica lead a group of which this node has one: its own, or another one if this one leads. It
// returns once another replica leads. The next leader may take so long until it is not behind. After `errBusy` another
// try may help.
func (h *host) handOver(group int, to uint64, most time.Duration) error {
	own, g := h.lane(group), &h.placement.Load().Groups[group]
	target := g.replica(to)
	if own == nil || target == nil {
		return errNoReplica
	}
	if leader, term, known, err := h.raft.GetLeaderID(own.number); err == nil && known {
		if leader == to {
			return nil
		}
		own.leaderIs(leader, term)
	}
	changed := own.change()
	over := &handing{host: h, group: group, token: rand.Uint64() | 1, begun: time.Now()}
	// Entries are not kept back for one that is behind.
	if err := over.look(target.Node, most); err != nil {
		return err
	}
	var nodes []uint64
	for _, one := range g.Replicas {
		if one.State != replicaNew {
			nodes = append(nodes, one.Node)
		}
	}
	over.begun = time.Now()
	err := over.transfer(own, nodes, target, changed)
	if err != nil && !isClosed(changed) {
		go func() {
			_ = all(nodes, func(node uint64) error {
				return over.at(node, dialTimeout, "RELEASE", strconv.Itoa(group), strconv.FormatUint(over.token, 10))
			})
		}()
	}
	return err
}

// transfer keeps entries of all nodes back, and then asks for the change of the lead.
func (o *handing) transfer(own *lane, nodes []uint64, target *replica, changed <-chan struct{}) error {
	if err := all(nodes, o.hold); err != nil {
		return errBusy
	}
	if err := o.look(target.Node, max(drainTurn, drainTime-time.Since(o.begun))); err != nil {
		return err
	}
	switch {
	case isClosed(changed):
		return fmt.Errorf("%w: another replica leads meanwhile", errBusy)
	case time.Since(o.begun) > drainTime:
		return errBusy
	}
	own.counts.leads.Add(1)
	if err := o.host.raft.RequestLeaderTransfer(own.number, target.ID); err != nil {
		return err
	}
	select {
	case <-changed:
		return nil
	case <-time.After(o.host.transferTime()):
		return fmt.Errorf("%w: the lead stays where it is", errBusy)
	}
}

// lead hands a lead over that nobody waits for: after a failure it is left where it is for some time.
func (h *host) lead(group int, to uint64) error {
	own := h.lane(group)
	if own == nil || time.Now().UnixNano() < own.leadFrom.Load() {
		return nil
	}
	err := h.handOver(group, to, patience)
	if err != nil {
		own.leadFrom.Store(time.Now().Add(leadRest).UnixNano())
	}
	return err
}

// giveLeads hands the leads of this node to others before it ends.
func (h *host) giveLeads() {
	h.isEnding.Store(true)
	h.rest()
	late := time.Now().Add(stopTime)
	var done sync.WaitGroup
	for group := range h.lanes {
		done.Go(func() {
			for h.leads(group) && time.Now().Before(late) && h.giveLead(group) {
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	finished := make(chan struct{})
	go func() {
		done.Wait()
		close(finished)
	}()
	select {
	case <-finished:
	case <-time.After(time.Until(late)):
	}
}

// giveLead tries the replicas that may lead one after the other, and returns whether it is worth another try.
func (h *host) giveLead(group int) bool {
	isBusy := false
	for _, one := range h.placement.Load().Groups[group].Replicas {
		if one.Node == h.settings.ID || one.State != replicaVotes {
			continue
		}
		err := h.handOver(group, one.ID, dialTimeout)
		if err == nil {
			return false
		}
		isBusy = isBusy || errors.Is(err, errBusy)
	}
	return isBusy
}
