// How long an answer is awaited. An entry of a few bytes may take long to apply: one byte of SETRANGE makes a string of
// 63 MiB. So who waits for an entry goes by what the replica here does, and not by the bytes of a command.

package main

import "time"

// turns gives what ends the next turn of waiting; nil: nothing is awaited any more.
type turns func() <-chan time.Time

// over has no turn.
func over() <-chan time.Time { return nil }

// once returns a single turn.
func once(most time.Duration) turns {
	isOver := false
	return func() <-chan time.Time {
		if isOver {
			return nil
		}
		isOver = true
		return time.After(most)
	}
}

// whileApplying returns turns that go on as long as entries are applied, but not beyond a limit.
func whileApplying(turn, most time.Duration, isApplying func() bool) turns {
	begun, isFirst := time.Now(), true
	return func() <-chan time.Time {
		if !isFirst && (time.Since(begun) >= most || !isApplying()) {
			return nil
		}
		isFirst = false
		return time.After(turn)
	}
}

// await waits for a result, but not for long after the leader has changed, and not beyond its turns.
func await[R any](results <-chan R, change <-chan struct{}, next turns) (found R, isKnown bool) {
	for late := next(); late != nil; {
		select {
		case found = <-results:
			return found, true
		case <-late:
			late = next()
		case <-change:
			change, next, late = nil, over, time.After(changeGrace)
		}
	}
	return found, false
}
