// The mover: it takes the slots of a move from one group to the other, on the node that leads the one that gives. Each
// attempt has a number, which the groups compare: what an earlier one has under way does nothing any more.

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"
)

// While fewer keys than that have changed, the slots are frozen for the rest.
const fewChanges = 200

// How many rounds of changes there are before the slots are frozen all the same.
const mostRounds = 50

// slotMove is a move of slots that is wanted or under way.
type slotMove struct {
	ID     uint64      `json:"id"`
	From   int         `json:"from"`
	To     int         `json:"to"`
	Ranges []slotRange `json:"ranges"`
	// The number of the last attempt, and the node that makes it.
	Attempt uint64 `json:"attempt,omitempty"`
	Mover   uint64 `json:"mover,omitempty"`
}

// owned is a range of slots and its group.
type owned struct {
	Range slotRange `json:"range"`
	Group int       `json:"group"`
}

// nextMove returns the first move from a group that no earlier one keeps waiting; nil if there is none.
func (p *placement) nextMove(from int) *slotMove {
	for at := range p.Moves {
		one := &p.Moves[at]
		if one.From != from {
			continue
		}
		for _, before := range p.Moves[:at] {
			if before.From == one.From || before.From == one.To || before.To == one.From || before.To == one.To {
				return nil
			}
		}
		return one
	}
	return nil
}

// isMoving returns whether a slot is on its way to a group.
func (p *placement) isMoving(slot, to int) bool {
	return slices.ContainsFunc(p.Moves, func(one slotMove) bool { return one.To == to && holdsSlot(one.Ranges, slot) })
}

// move returns a move that is wanted.
func (p *placement) move(id uint64) *slotMove {
	for at := range p.Moves {
		if p.Moves[at].ID == id {
			return &p.Moves[at]
		}
	}
	return nil
}

// mover is one attempt.
type mover struct {
	host     *host
	ctx      context.Context
	move     slotMove
	from, to asker
	// The steps of this attempt have this number; the one before it ends an earlier attempt.
	attempt  uint64
	sequence uint64
	// The time of the group that gives.
	time uint64
}

// moveSlots makes an attempt at the next move of a group that this node leads.
func (h *host) moveSlots(ctx context.Context, group int) error {
	wanted := h.placement.Load().nextMove(group)
	if wanted == nil || !h.leads(group) {
		return nil
	}
	var made *mover
	err := h.change(func(p *placement) (bool, error) {
		made = nil
		one := p.nextMove(group)
		if one == nil || one.ID != wanted.ID {
			return false, nil
		}
		one.Attempt, one.Mover = p.newID(), h.settings.ID
		made = &mover{host: h, ctx: ctx, move: *one, from: h.asker(one.From), to: h.asker(one.To), attempt: p.newID()}
		return true, nil
	})
	if err != nil || made == nil {
		return err
	}
	return made.run()
}

func (m *mover) step(to asker, operation int, ranges []slotRange, rest []byte) ([]byte, error) {
	if err := m.ctx.Err(); err != nil {
		return nil, err
	}
	peer, attempt := m.move.From, m.attempt
	if to == m.from {
		peer = m.move.To
	}
	if operation == slotsRest {
		attempt = m.move.Attempt
	}
	step := &slotStep{operation: operation, attempt: attempt, peer: peer, sequence: m.sequence, ranges: ranges, rest: rest}
	least := uint64(0)
	if operation == slotsOwn {
		least = m.time
	}
	return takeStep(to, step, least)
}

func (m *mover) run() error {
	ranges := m.move.Ranges
	_, err := m.step(m.to, slotsImport, ranges, nil)
	var isRefused errStep
	if errors.As(err, &isRefused) {
		// An earlier attempt has come so far that the slots are there: only the rest is left.
		if _, failed := m.step(m.to, slotsOwn, ranges, nil); failed != nil {
			return errors.Join(err, failed)
		}
		return m.end()
	}
	if err != nil {
		return err
	}
	if _, err := m.step(m.from, slotsRest, ranges, nil); err != nil {
		return err
	}
	if err := m.clean(m.from, m.move.Attempt, nil); err != nil {
		return err
	}
	if err := m.clean(m.to, m.attempt, ranges); err != nil {
		return err
	}
	if _, err := m.step(m.from, slotsSend, ranges, nil); err != nil {
		return err
	}
	if err := m.copy(); err != nil {
		return err
	}
	for range mostRounds {
		count, err := m.catchUp()
		if err != nil {
			return err
		}
		if count < fewChanges {
			break
		}
	}
	if m.host.tests.twoOwners {
		return m.endWithTwoOwners()
	}
	if _, err := m.step(m.from, slotsFreeze, ranges, nil); err != nil {
		return err
	}
	for {
		count, err := m.catchUp()
		if err != nil {
			return err
		}
		if count == 0 {
			break
		}
	}
	if _, err := m.step(m.to, slotsOwn, ranges, nil); err != nil {
		return err
	}
	return m.end()
}

// end gives the slots away, and notes it. The other group owns them.
func (m *mover) end() error {
	if _, err := m.step(m.from, slotsGive, m.move.Ranges, nil); err != nil {
		return err
	}
	if err := m.note(); err != nil {
		return err
	}
	if err := m.clean(m.from, m.attempt, m.move.Ranges); err != nil {
		return err
	}
	return m.host.change(func(p *placement) (bool, error) {
		before := len(p.Moves)
		p.Moves = slices.DeleteFunc(p.Moves, func(one slotMove) bool { return one.ID == m.move.ID })
		return len(p.Moves) != before, nil
	})
}

// note writes into the placement that the other group has the slots.
func (m *mover) note() error {
	return m.host.change(func(p *placement) (bool, error) {
		for _, one := range m.move.Ranges {
			p.own(one, m.move.To)
		}
		return true, nil
	})
}

// endWithTwoOwners is a bug for tests that are to catch it: the slots have two owners for a while.
func (m *mover) endWithTwoOwners() error {
	if _, err := m.step(m.to, slotsOwn, m.move.Ranges, nil); err != nil {
		return err
	}
	if err := m.note(); err != nil {
		return err
	}
	time.Sleep(time.Second)
	if _, err := m.step(m.from, slotsFreeze, m.move.Ranges, nil); err != nil {
		return err
	}
	return m.end()
}

// clean removes what a group has of slots that are not its own.
func (m *mover) clean(from asker, attempt uint64, ranges []slotRange) error {
	var after []byte
	for m.ctx.Err() == nil {
		step := &slotStep{operation: slotsClean, attempt: attempt, ranges: ranges, rest: after}
		answer, err := takeStep(from, step, 0)
		if err != nil {
			return err
		}
		if len(answer) == 0 || answer[0] == 0 {
			return nil
		}
		after = answer[1:]
	}
	return m.ctx.Err()
}

func (m *mover) store(found *exported) error {
	m.time = max(m.time, found.time)
	if len(found.chunk) == 0 {
		return nil
	}
	m.sequence++
	_, err := m.step(m.to, slotsStore, nil, found.chunk)
	return err
}

// copy carries all keys of the slots. What changes meanwhile is noted.
func (m *mover) copy() error {
	var key, row []byte
	for {
		asked := appendRanges([]byte{exportSlots}, m.move.Ranges)
		found, err := m.read(appendSized(appendSized(asked, key), row))
		if err != nil {
			return err
		}
		if err := m.store(found); err != nil || found.isComplete {
			return err
		}
		key, row = found.key, found.row
	}
}

// read asks again while the group has no leader.
func (m *mover) read(asked []byte) (*exported, error) {
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		found, err := export(m.from, asked)
		if err == nil || m.ctx.Err() != nil || time.Since(begun) > 4*patience {
			return found, err
		}
	}
}

// catchUp carries keys that have changed, and returns how many.
func (m *mover) catchUp() (int, error) {
	found, err := m.read(binary.LittleEndian.AppendUint64([]byte{exportChanged}, m.attempt))
	if err != nil {
		return 0, err
	}
	if err := m.store(found); err != nil || found.count == 0 {
		return 0, err
	}
	for more := found; !more.isComplete; {
		more, err = m.read(appendSized(appendSized([]byte{exportMembers}, more.key), more.row))
		if err == nil {
			err = m.store(more)
		}
		if err != nil {
			return 0, err
		}
	}
	_, err = m.step(m.from, slotsForget, nil, found.changed)
	return found.count, err
}
