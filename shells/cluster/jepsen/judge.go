// Judges of a history: porcupine for keys, pairs and sets, and the search for cycles for transactions over lists. Each
// judges all that it can, so a bug shows which of them see it.

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// The most anomalies that are said in words.
const mostSaid = 3

// judge returns what is wrong with a history, and an error if a checker cannot say.
func judge(seen *history, keep string) (string, error) {
	isOfPair := func(operation porcupine.Operation) bool { return operation.Input.(input).kind >= incrBoth }
	keys := slices.DeleteFunc(slices.Clone(seen.operations), isOfPair)
	pairs := slices.DeleteFunc(slices.Clone(seen.operations),
		func(operation porcupine.Operation) bool { return !isOfPair(operation) })
	var wrong []string
	var failed error
	for _, one := range []struct {
		name       string
		model      porcupine.Model
		operations []porcupine.Operation
	}{{"keys", register, keys}, {"pairs", register, pairs}, {"sets", members, seen.ofSets}} {
		result, info := porcupine.CheckOperationsVerbose(one.model, one.operations, 2*time.Minute)
		switch result {
		case porcupine.Ok:
			continue
		case porcupine.Unknown:
			failed = errors.Join(failed, fmt.Errorf("the checker came to no end with %s", one.name))
			continue
		}
		wrong = append(wrong, one.name+" are not linearizable")
		if keep == "" {
			continue
		}
		if err := porcupine.VisualizePath(one.model, info, keep); err != nil {
			fmt.Fprintln(os.Stderr, "jepsen:", err)
		}
	}
	if text := judgeLists(seen.ofLists); text != "" {
		wrong = append(wrong, text)
	}
	if len(wrong) > 0 {
		return strings.Join(wrong, "; "), nil
	}
	if failed == nil {
		fmt.Println("linearizable; the transactions over lists are strictly serializable, without a cycle")
	}
	return "", failed
}

// judgeLists returns what is wrong with transactions over lists. Those of different tags have no list in common, so
// each tag is judged by itself: strict serializability is local then, as linearizability is.
func judgeLists(history []transaction) string {
	byTag := map[string][]transaction{}
	for _, one := range history {
		byTag[tagOf(one)] = append(byTag[tagOf(one)], one)
	}
	counts := map[string]int{}
	var said []string
	for _, tag := range slices.Sorted(maps.Keys(byTag)) {
		for _, one := range anomalies(byTag[tag]) {
			if counts[one.name]++; counts[one.name] <= mostSaid {
				said = append(said, fmt.Sprintf("%s of %s: %s", one.name, tag, one.text))
			}
		}
	}
	if len(said) == 0 {
		return ""
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		names = append(names, fmt.Sprintf("%d of %s", counts[name], name))
	}
	return fmt.Sprintf("transactions over lists have anomalies: %s\n%s",
		strings.Join(names, ", "), strings.Join(said, "\n"))
}
