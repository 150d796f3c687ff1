package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lni/dragonboat/v4"
)

// model is a cluster without a network: the placement, and the members that each log has.
type model struct {
	*placement
	logs []*dragonboat.Membership
	// Nodes that do not answer, for now or any more.
	dead map[uint64]bool
}

func newModel(nodes, groups int) *model {
	with := &settings{Groups: groups}
	for at := range nodes {
		with.Members = append(with.Members, member{ID: uint64(at + 1), Address: fmt.Sprint(at)})
	}
	made := &model{placement: founding(with), dead: map[uint64]bool{}}
	for at := range made.Nodes {
		made.Nodes[at].HasServed = true
	}
	made.away = made.dead
	for _, g := range made.Groups {
		log := &dragonboat.Membership{Nodes: map[uint64]string{}, NonVotings: map[uint64]string{},
			Removed: map[uint64]struct{}{}}
		for _, one := range g.Replicas {
			log.Nodes[one.ID] = ""
		}
		made.logs = append(made.logs, log)
	}
	return made
}

func (m *model) join() {
	m.Nodes = append(m.Nodes, placed{member: member{ID: m.newID()}, State: nodeUp, HasServed: true})
}

// leader returns a replica that can lead a group: it votes, and so does a majority that lives.
func (m *model) leader(group int, random *rand.Rand) uint64 {
	g, log := &m.Groups[group], m.logs[group]
	var living []uint64
	for id := range log.Nodes {
		if one := g.replica(id); one != nil && !m.dead[one.Node] {
			living = append(living, id)
		}
	}
	if len(living) <= len(log.Nodes)/2 {
		return 0
	}
	slices.Sort(living)
	return living[random.IntN(len(living))]
}

// step lets the leader of a group, by chance another one each time, take its next step, and a replica that comes say
// that it is complete.
func (m *model) step(t *testing.T, group int, random *rand.Rand) bool {
	g, log := &m.Groups[group], m.logs[group]
	self := m.leader(group, random)
	if self == 0 {
		t.Fatalf("group %d has lost its majority: %+v, log %+v", group, *g, *log)
	}
	for at := range g.Replicas {
		one := &g.Replicas[at]
		if _, listens := log.NonVotings[one.ID]; one.State == replicaNew && listens && !m.dead[one.Node] {
			one.State = replicaReady
			return true
		}
	}
	kind, one := nextStep(g, log, self)
	if !isSafe(kind, one, log, func(id uint64) bool { return !m.dead[g.replica(id).Node] }) {
		return false
	}
	switch kind {
	case stepNone:
		return false
	case stepAdd:
		if _, isRemoved := log.Removed[one.ID]; isRemoved {
			t.Fatalf("replica %d of group %d is added again", one.ID, group)
		}
		log.NonVotings[one.ID] = ""
	case stepPromote:
		delete(log.NonVotings, one.ID)
		log.Nodes[one.ID] = ""
	case stepVotes:
		g.replica(one.ID).State = replicaVotes
	case stepRemove:
		if one.ID == self {
			t.Fatalf("the leader of group %d removes itself", group)
		}
		delete(log.Nodes, one.ID)
		delete(log.NonVotings, one.ID)
		log.Removed[one.ID] = struct{}{}
	case stepForget:
		g.Replicas = slices.DeleteFunc(g.Replicas, func(other replica) bool { return other.ID == one.ID })
	}
	return true
}

// settle takes steps in an order by chance until there are none.
func (m *model) settle(t *testing.T, random *rand.Rand) {
	for range 5000 {
		isChanged := false
		if random.IntN(3) == 0 {
			isChanged = m.plan()
		}
		for _, group := range random.Perm(len(m.Groups))[:1+random.IntN(len(m.Groups))] {
			isChanged = m.step(t, group, random) || isChanged
		}
		if !isChanged && !m.plan() && !slices.ContainsFunc(random.Perm(len(m.Groups)),
			func(group int) bool { return m.step(t, group, random) }) {
			return
		}
	}
	t.Fatalf("the placement does not settle: %s", m.describe(nil))
}

// stepAtMost takes steps in an order by chance, as many as there are or fewer.
func (m *model) stepAtMost(t *testing.T, most int, random *rand.Rand) {
	for range random.IntN(most) {
		if random.IntN(3) == 0 {
			m.plan()
		}
		m.step(t, random.IntN(len(m.Groups)), random)
	}
}

// check checks what a placement is for.
func (m *model) check(t *testing.T) {
	t.Helper()
	up := m.upNodes()
	for number := range m.Groups {
		g := &m.Groups[number]
		if len(g.Replicas) != min(mostReplicas, len(up)) || !g.isSettled() || len(m.logs[number].Nodes) != len(g.Replicas) {
			t.Fatalf("group %d is not as it should be:\n%s", number, m.describe(nil))
		}
		seen := map[uint64]bool{}
		for _, one := range g.Replicas {
			if seen[one.Node] || !slices.Contains(up, one.Node) {
				t.Fatalf("group %d has a replica on node %d:\n%s", number, one.Node, m.describe(nil))
			}
			seen[one.Node] = true
		}
	}
	holds := func(id uint64) int { return m.holds(id) }
	leads := func(id uint64) int { return m.leads(id) }
	for what, count := range map[string]func(uint64) int{"holds": holds, "leads": leads} {
		least, most := count(up[0]), count(up[0])
		for _, id := range up {
			least, most = min(least, count(id)), max(most, count(id))
		}
		// Who leads depends on who holds, so a node may have one more than is even.
		if most-least > 2 || what == "holds" && most-least > 1 {
			t.Fatalf("a node %s %d groups, and another one %d:\n%s", what, most, least, m.describe(nil))
		}
	}
}

// Whatever comes, drains, is away or is lost, one after the other and at once: every group keeps its majority
// throughout, no id comes back, and all groups have their replicas in the end, evenly.
func TestPlacementsSettleAndNoGroupLosesItsMajority(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		m := newModel(1+random.IntN(5), 1+random.IntN(20))
		m.settle(t, random)
		m.check(t)
		for range 6 {
			up := m.upNodes()
			some := m.node(up[random.IntN(len(up))])
			switch chance := random.IntN(6); {
			case chance == 0 && len(up) > 1:
				some.State = nodeDraining
			case chance == 1 && len(up) > 2:
				// A minority is lost for good, and no other node before all is well again.
				m.settle(t, random)
				m.dead[some.ID] = true
				some.State = nodeGone
				m.settle(t, random)
			case chance >= 2 && chance <= 3 && len(up) > 2:
				// A node is away, and meanwhile another one drains or comes; perhaps it does not leave after all.
				m.settle(t, random)
				m.dead[some.ID] = true
				other := m.node(up[random.IntN(len(up))])
				if random.IntN(3) == 0 {
					m.join()
				} else if other.ID != some.ID {
					other.State = nodeDraining
				}
				m.stepAtMost(t, 200, random)
				if other = m.node(other.ID); random.IntN(2) == 0 && other != nil {
					other.State = nodeUp
					m.stepAtMost(t, 200, random)
				}
				// It comes back, or it is gone for good.
				if random.IntN(2) == 0 || len(m.upNodes()) < 2 {
					delete(m.dead, some.ID)
				} else {
					some = m.node(some.ID)
					some.State = nodeGone
					m.settle(t, random)
				}
			default:
				m.join()
			}
			if random.IntN(2) == 0 {
				// The next change comes while this one is under way.
				continue
			}
			m.settle(t, random)
			m.check(t)
		}
	}
}

func TestALeaderThatLeavesYieldsAndALoneMemberStays(t *testing.T) {
	g := &grouped{Replicas: []replica{{ID: 1, Node: 1, State: replicaLeaves}, {ID: 2, Node: 2, State: replicaVotes}}}
	has := &dragonboat.Membership{Nodes: map[uint64]string{1: "", 2: ""}}
	if kind, one := nextStep(g, has, 1); kind != stepYield || one.ID != 1 {
		t.Fatal("found", kind, one)
	}
	if kind, one := nextStep(g, has, 2); kind != stepRemove || one.ID != 1 {
		t.Fatal("found", kind, one)
	}
	g.Replicas = append(g.Replicas, replica{ID: 3, Node: 3, State: replicaNew})
	has.NonVotings = map[uint64]string{3: ""}
	if kind, _ := nextStep(g, has, 2); kind != stepNone {
		t.Fatal("something is done before the new replica is complete:", kind)
	}
	alone := &grouped{Replicas: []replica{{ID: 1, Node: 1, State: replicaLeaves}}}
	if kind, _ := nextStep(alone, &dragonboat.Membership{Nodes: map[uint64]string{1: ""}}, 9); kind != stepNone {
		t.Fatal("the last member is removed:", kind)
	}
}

func TestAReplicaThatWasToLeaveStaysIfItsSuccessorIsLost(t *testing.T) {
	m := newModel(4, 1)
	m.Groups = m.Groups[:1]
	m.Groups[0].Replicas = []replica{{ID: 1, Node: 1, State: replicaVotes}, {ID: 2, Node: 2, State: replicaVotes},
		{ID: 3, Node: 3, State: replicaLeaves}, {ID: 9, Node: 4, State: replicaReady}}
	m.node(4).State = nodeGone
	m.plan()
	g := &m.Groups[0]
	if g.replica(3).State != replicaVotes || g.replica(9).State != replicaLeaves {
		t.Fatalf("found %+v", *g)
	}
	if m.node(4) == nil {
		t.Fatal("a node is forgotten that has a replica")
	}
	// What the log has removed is forgotten, whatever the placement says of it.
	has := &dragonboat.Membership{Nodes: map[uint64]string{1: "", 2: ""}, Removed: map[uint64]struct{}{3: {}}}
	if kind, one := nextStep(g, has, 1); kind != stepForget || one.ID != 3 {
		t.Fatal("found", kind, one)
	}
}

// Replicas of a node that drains were to come to one that was away. They held the places of all that come, and nothing
// went on, the replacement of a node that was lost included.
func TestReplicasComeToNodesThatAnswer(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 0))
	m := newModel(3, 6)
	m.join()
	away := m.Nodes[3].ID
	m.dead[away] = true
	for m.plan() {
	}
	m.stepAtMost(t, 100, random)
	if count := m.holds(away); count > 0 {
		t.Fatalf("%d replicas come to a node that does not answer", count)
	}
	m.node(1).State = nodeDraining
	m.settle(t, random)
	if count := m.holds(1); count != 7 {
		t.Fatalf("the node that drains has given up replicas without others in their place: it has %d", count)
	}
	m.join()
	m.settle(t, random)
	if m.holds(1) > 0 || m.holds(away) > 0 {
		t.Fatalf("the drain is not done:\n%s", m.describe(nil))
	}
}
