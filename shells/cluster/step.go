// The next step of a group from the members that its log has to those of the placement: taken by the node that leads
// the group, and begun anew from what the log says. Each is idempotent.

package main

import "github.com/lni/dragonboat/v4"

// What is done next with a replica.
const (
	stepNone = iota
	// Add it to the log, without a vote.
	stepAdd
	// Let it vote.
	stepPromote
	// Note in the placement that it votes.
	stepVotes
	// Hand the lead to another one, for this one leaves.
	stepYield
	// Remove it from the log.
	stepRemove
	// Note in the placement that it is gone.
	stepForget
)

// nextStep returns what a group needs next, and for which replica. `self` is the replica that leads.
func nextStep(g *grouped, has *dragonboat.Membership, self uint64) (int, replica) {
	isComing := false
	for _, one := range g.Replicas {
		if _, isRemoved := has.Removed[one.ID]; isRemoved {
			return stepForget, one
		}
		_, votes := has.Nodes[one.ID]
		_, listens := has.NonVotings[one.ID]
		switch one.State {
		case replicaNew, replicaReady:
			isComing = true
			switch {
			case votes:
				return stepVotes, one
			case !listens:
				return stepAdd, one
			case one.State == replicaReady:
				return stepPromote, one
			}
		}
	}
	if isComing {
		return stepNone, replica{}
	}
	for _, one := range g.Replicas {
		if one.State != replicaLeaves {
			continue
		}
		_, votes := has.Nodes[one.ID]
		_, listens := has.NonVotings[one.ID]
		switch {
		case !votes && !listens:
			return stepForget, one
		case one.ID == self:
			return stepYield, one
		case votes && len(has.Nodes) == 1:
			// A group without a member is lost.
			continue
		}
		return stepRemove, one
	}
	return stepNone, replica{}
}

// isSafe returns whether a step leaves a group that can elect: of the replicas that vote after it, a majority answers.
// A replica that does not answer now counts against it, for it may stay away.
func isSafe(kind int, one replica, has *dragonboat.Membership, answers func(id uint64) bool) bool {
	_, votes := has.Nodes[one.ID]
	if kind != stepPromote && (kind != stepRemove || !votes) {
		return true
	}
	voting, answering := 0, 0
	count := func(id uint64) {
		voting++
		if answers(id) {
			answering++
		}
	}
	for id := range has.Nodes {
		if id != one.ID {
			count(id)
		}
	}
	if kind == stepPromote {
		count(one.ID)
	}
	return answering > voting/2
}
