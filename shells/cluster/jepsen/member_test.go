// Histories of a set made by hand.

package main

import (
	"math"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"
)

// on is an operation on one set, of a client of its own.
func on(call, answered int64, kind memberKind, named uint8, value int) porcupine.Operation {
	return porcupine.Operation{Input: memberInput{kind: kind, key: "set", members: named}, Call: call,
		Output: memberOutput{value: value}, Return: answered}
}

func unanswered(call int64, kind memberKind, named uint8) porcupine.Operation {
	one := on(call, math.MaxInt64, kind, named, 0)
	one.Output = memberOutput{isUnknown: true}
	return one
}

func TestTheModelOfASetAcceptsWhatASetAnswers(t *testing.T) {
	for _, one := range []struct {
		what    string
		isRight bool
		history []porcupine.Operation
	}{
		{"one after the other", true, []porcupine.Operation{
			on(0, 1, smembers, 0, 0),
			on(2, 3, sadd, 0b0011, 2),
			on(4, 5, sadd, 0b0110, 1),
			on(6, 7, srem, 0b1001, 1),
			on(8, 9, sismember, 0b0001, 0),
			on(10, 11, sismember, 0b0100, 1),
			on(12, 13, scard, 0, 2),
			on(14, 15, smembers, 0, 0b0110),
		}},
		{"adds that overlap", true, []porcupine.Operation{
			on(0, 9, sadd, 0b0001, 0),
			on(0, 9, sadd, 0b0001, 1),
			on(5, 6, smembers, 0, 0),
		}},
		{"an add of two that is seen in part", false, []porcupine.Operation{
			on(0, 9, sadd, 0b0011, 2),
			on(0, 9, smembers, 0, 0b0001),
		}},
		{"a member that is lost", false, []porcupine.Operation{
			on(0, 1, sadd, 0b0001, 1),
			on(2, 3, sismember, 0b0001, 0),
		}},
		{"a member that was removed and is there", false, []porcupine.Operation{
			on(0, 1, sadd, 0b0101, 2),
			on(2, 3, srem, 0b0001, 1),
			on(4, 5, smembers, 0, 0b0101),
		}},
		{"a member that two have added", false, []porcupine.Operation{
			on(0, 9, sadd, 0b0001, 1),
			on(0, 9, sadd, 0b0001, 1),
		}},
		{"a count of another time", false, []porcupine.Operation{
			on(0, 1, sadd, 0b0011, 2),
			on(2, 3, srem, 0b0001, 1),
			on(4, 5, scard, 0, 2),
		}},
		{"an unknown outcome that comes late", true, []porcupine.Operation{
			unanswered(0, sadd, 0b0001),
			on(2, 3, smembers, 0, 0),
			on(4, 5, scard, 0, 1),
		}},
		{"an unknown outcome that goes again", false, []porcupine.Operation{
			unanswered(0, sadd, 0b0001),
			on(2, 3, smembers, 0, 1),
			on(4, 5, scard, 0, 0),
		}},
		{"what no set has", false, []porcupine.Operation{on(0, 1, smembers, 0, torn)}},
	} {
		if isRight := porcupine.CheckOperations(members, one.history); isRight != one.isRight {
			t.Errorf("%s: it is right: %v", one.what, isRight)
		}
	}
}

func TestMembersAreReadFromReplies(t *testing.T) {
	for _, one := range []struct {
		reply []any
		value int
	}{
		{nil, 0},
		{[]any{"m3", "m0"}, 0b1001},
		{[]any{"m1", "m1"}, torn},
		{[]any{"m4"}, torn},
		{[]any{"other"}, torn},
	} {
		answered := redis.NewCmdResult(one.reply, nil)
		if value, err := (memberInput{kind: smembers}).value(answered); err != nil || value != one.value {
			t.Errorf("%v is %d and not %d: %v", one.reply, value, one.value, err)
		}
	}
}
