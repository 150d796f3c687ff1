// What a client does on a busy machine: leaders change that nobody has asked to, and commands are repeated.

package tests

import (
	"testing"
	"time"

	"holm-cluster/trial"
)

// insist repeats what may be done twice until it succeeds: the outcome of a try may be unknown.
func insist(t *testing.T, try func() error) {
	t.Helper()
	must(t, trial.Until(60*time.Second, try))
}

// operate repeats a verb of an operator until it is done: each of them does nothing twice.
func operate(t *testing.T, cluster *trial.Cluster, words ...string) {
	t.Helper()
	insist(t, func() error {
		_, err := cluster.Operate(words[0], words[1:]...)
		return err
	})
}

// outcomes are commands that add one: those with an answer, and those that may have had an effect.
type outcomes struct{ done, unknown int }

// add counts the outcome of a command that is not repeated.
func (o *outcomes) add(err error) {
	if err == nil {
		o.done++
	} else {
		o.unknown++
	}
}

func (o *outcomes) check(t *testing.T, what string, found int, err error) {
	t.Helper()
	must(t, err)
	if found < o.done || found > o.done+o.unknown {
		t.Fatalf("%s: found %d, and %d had an answer and %d had none", what, found, o.done, o.unknown)
	}
}
