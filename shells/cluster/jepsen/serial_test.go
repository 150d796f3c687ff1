// The search for cycles against all orders of small histories.

package main

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// explains returns whether transactions in an order answer as they have, each of them once.
func explains(history []transaction, order []int) bool {
	lists := map[string][]int{}
	for at, number := range order {
		for _, later := range order[at+1:] {
			if history[later].outcome == committed && history[later].ended < history[number].began {
				return false
			}
		}
		one := history[number]
		for _, step := range one.steps {
			if !step.isRead {
				lists[step.key] = append(lists[step.key], step.element)
			} else if one.outcome == committed && !slices.Equal(lists[step.key], step.list) {
				return false
			}
		}
	}
	return true
}

// hasOrder returns whether some order explains a history, which begins with `order`. What has not committed may be left
// out if its outcome is not known, and is left out if it has failed.
func hasOrder(history []transaction, order []int) bool {
	isWhole := true
	for number, one := range history {
		if slices.Contains(order, number) || one.outcome == failed {
			continue
		}
		isWhole = isWhole && one.outcome == unknown
		if hasOrder(history, append(slices.Clone(order), number)) {
			return true
		}
	}
	return isWhole && explains(history, order)
}

// drawn is a history of transactions that were carried out one by one, though a step may have been carried out at
// another place, or not at all. A final read shows all lists.
func drawn(random *rand.Rand) []transaction {
	const count = 4
	keys := []string{"x", "y"}
	type turn struct{ transaction, step int }
	var history []transaction
	var turns []turn
	element := 0
	for number := range count {
		began := int64(number*10 + random.IntN(15))
		one := during(began, began+int64(random.IntN(40)))
		one.outcome = []outcome{committed, committed, committed, unknown, failed}[random.IntN(5)]
		for at := range 1 + random.IntN(3) {
			if element++; random.IntN(2) == 0 {
				one.steps = append(one.steps, push(keys[random.IntN(2)], element))
			} else {
				one.steps = append(one.steps, read(keys[random.IntN(2)]))
			}
			turns = append(turns, turn{number, at})
		}
		history = append(history, one)
	}
	if random.IntN(2) == 0 {
		one, other := random.IntN(len(turns)), random.IntN(len(turns))
		turns[one], turns[other] = turns[other], turns[one]
	}
	lists := map[string][]int{}
	lost, isSkipped := random.IntN(4*len(turns)), random.IntN(2) == 0
	for at, now := range turns {
		one := &history[now.transaction]
		step := &one.steps[now.step]
		switch {
		case step.isRead:
			step.list = slices.Clone(lists[step.key])
		case at != lost && !(one.outcome == failed && random.IntN(8) > 0) && !(one.outcome == unknown && isSkipped):
			lists[step.key] = append(lists[step.key], step.element)
		}
	}
	return append(history, last(1000, read("x", lists["x"]...), read("y", lists["y"]...)))
}

func TestAnomaliesAreFoundWhereNoOrderExplainsAHistory(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	counts := map[bool]int{}
	for range 10_000 {
		history := drawn(random)
		found, isRight := anomalies(history), hasOrder(history, nil)
		if counts[isRight]++; isRight != (len(found) == 0) {
			t.Fatalf("an order explains it: %v, and found is %v in %v", isRight, found, history)
		}
	}
	if counts[true] < 1000 || counts[false] < 1000 {
		t.Errorf("too few of a kind: %v", counts)
	}
}
