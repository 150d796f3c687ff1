// What the driver decides, on the node that leads the meta group: which replicas come and go, and who is to lead. Each
// call is one step on the whole placement, and depends on nothing but it and which nodes answer: the next driver goes on
// where one has ended. A replica that came to a node which does not answer would keep others waiting.

package main

import "slices"

// Groups that get a new replica at the same time: each sends all that it has.
const mostMoves = 2

// plan changes the placement by a step, and returns whether there was one.
func (p *placement) plan() bool {
	isChanged := p.dropNodes()
	isChanged = p.raise() || isChanged
	for at := range p.Groups {
		g := &p.Groups[at]
		isChanged = g.leaveGone(p) || g.goneFirst(p) || g.stay(p) || isChanged
	}
	for at := range p.Groups {
		isChanged = p.fill(&p.Groups[at]) || isChanged
	}
	isChanged = p.balance() || isChanged
	return p.choose() || isChanged
}

// moving returns how many groups get a replica.
func (p *placement) moving() int {
	count := 0
	for at := range p.Groups {
		if p.Groups[at].count(replicaNew, replicaReady) > 0 {
			count++
		}
	}
	return count
}

// isUp returns whether a node is to keep its replicas.
func (p *placement) isUp(id uint64) bool {
	found := p.node(id)
	return found != nil && found.State == nodeUp
}

// leaveGone gives up a replica that has not come to vote, on a node that is not to have it any more. One that was to
// leave for it stays: nothing is removed while another replica comes.
func (g *grouped) leaveGone(p *placement) bool {
	for at := range g.Replicas {
		one := &g.Replicas[at]
		if p.isUp(one.Node) || one.State != replicaNew && one.State != replicaReady {
			continue
		}
		for other := range g.Replicas {
			if g.Replicas[other].State == replicaLeaves && p.isUp(g.Replicas[other].Node) {
				g.Replicas[other].State = replicaVotes
			}
		}
		one.State = replicaLeaves
		return true
	}
	return false
}

// isGone returns whether a node does not come back.
func (p *placement) isGone(id uint64) bool {
	found := p.node(id)
	return found == nil || found.State == nodeGone
}

// goneFirst lets a replica leave that is gone for good before one that drains. The other way round the group might have
// to do without both.
func (g *grouped) goneFirst(p *placement) bool {
	for at := range g.Replicas {
		one := &g.Replicas[at]
		if one.State != replicaVotes || !p.isGone(one.Node) {
			continue
		}
		for other := range g.Replicas {
			if drains := &g.Replicas[other]; drains.State == replicaLeaves && !p.isGone(drains.Node) {
				one.State, drains.State = replicaLeaves, replicaVotes
				return true
			}
		}
	}
	return false
}

// stay keeps a replica that was to leave without another one in its place, if its node is to keep its replicas after
// all. The log may have removed it meanwhile; then it is forgotten.
func (g *grouped) stay(p *placement) bool {
	if g.count(replicaNew, replicaReady) > 0 || g.staying() >= min(mostReplicas, len(p.upNodes())) {
		return false
	}
	for at := range g.Replicas {
		one := &g.Replicas[at]
		if one.State == replicaLeaves && p.isUp(one.Node) && g.on(one.Node) == nil {
			one.State = replicaVotes
			return true
		}
	}
	return false
}

// fill gives a group the replicas that it needs, and lets one leave that is where it should not be.
func (p *placement) fill(g *grouped) bool {
	usable := p.usable()
	if len(usable) == 0 || !g.isSettled() {
		return false
	}
	misplaced := -1
	for at, one := range g.Replicas {
		if !p.isUp(one.Node) && (misplaced < 0 || p.isGone(one.Node)) {
			misplaced = at
		}
	}
	wanted := min(mostReplicas, len(p.upNodes()))
	switch {
	case misplaced >= 0 || len(g.Replicas) < wanted:
		target := p.emptiest(g, p.present(usable))
		switch {
		case target != 0 && p.moving() < mostMoves:
			if misplaced >= 0 {
				g.Replicas[misplaced].State = replicaLeaves
			}
			g.Replicas = append(g.Replicas, replica{ID: p.newID(), Node: target, State: replicaNew})
			return true
		case p.emptiest(g, usable) == 0 && misplaced >= 0 && len(g.Replicas) > 1:
			g.Replicas[misplaced].State = replicaLeaves
			return true
		}
	case len(g.Replicas) > wanted:
		fullest := 0
		for at, one := range g.Replicas {
			if p.holds(one.Node) > p.holds(g.Replicas[fullest].Node) {
				fullest = at
			}
		}
		g.Replicas[fullest].State = replicaLeaves
		return true
	}
	return false
}

// emptiest returns the node with the fewest replicas that has none of a group; 0 if there is none.
func (p *placement) emptiest(g *grouped, among []uint64) uint64 {
	found := uint64(0)
	for _, id := range among {
		if g.on(id) == nil && (found == 0 || p.holds(id) < p.holds(found)) {
			found = id
		}
	}
	return found
}

// balance moves a replica from the node with the most to one with two fewer.
func (p *placement) balance() bool {
	usable := p.present(p.usable())
	if p.moving() >= mostMoves {
		return false
	}
	slices.SortStableFunc(usable, func(one, other uint64) int { return p.holds(other) - p.holds(one) })
	for _, from := range usable {
		for _, to := range slices.Backward(usable) {
			if p.holds(from)-p.holds(to) < 2 {
				break
			}
			for at := range p.Groups {
				g := &p.Groups[at]
				if leaving := g.on(from); g.isSettled() && leaving != nil && g.on(to) == nil {
					leaving.State = replicaLeaves
					g.Replicas = append(g.Replicas, replica{ID: p.newID(), Node: to, State: replicaNew})
					return true
				}
			}
		}
	}
	return false
}

// leads returns how many groups a node is to lead.
func (p *placement) leads(node uint64) int {
	count := 0
	for at := range p.Groups {
		if p.Groups[at].Preferred == node {
			count++
		}
	}
	return count
}

// mayLead returns the nodes that may lead a group.
func (g *grouped) mayLead(p *placement) []uint64 {
	var found []uint64
	for _, one := range g.Replicas {
		if host := p.node(one.Node); one.State == replicaVotes && host != nil && host.State == nodeUp {
			found = append(found, one.Node)
		}
	}
	return found
}

// choose gives each group a node that is to lead it, so that all lead about as many.
func (p *placement) choose() bool {
	isChanged := false
	for at := range p.Groups {
		g := &p.Groups[at]
		among := g.mayLead(p)
		if len(among) == 0 {
			continue
		}
		least := among[0]
		for _, id := range among {
			if p.leads(id) < p.leads(least) {
				least = id
			}
		}
		isThere := slices.Contains(among, g.Preferred)
		if !isThere || !g.IsPinned && p.leads(g.Preferred)-p.leads(least) >= 2 {
			g.Preferred, g.IsPinned = least, g.IsPinned && isThere
			isChanged = true
		}
	}
	return isChanged
}

// dropNodes forgets nodes that are gone and have no replica.
func (p *placement) dropNodes() bool {
	before := len(p.Nodes)
	p.Nodes = slices.DeleteFunc(p.Nodes, func(one placed) bool {
		return one.State == nodeGone && !p.has(one.ID)
	})
	return len(p.Nodes) != before
}

// has returns whether a node has any replica, one that leaves included.
func (p *placement) has(node uint64) bool {
	for at := range p.Groups {
		for _, one := range p.Groups[at].Replicas {
			if one.Node == node {
				return true
			}
		}
	}
	return false
}
