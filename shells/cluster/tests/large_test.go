package tests

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holm-cluster/trial"
)

// A byte at the end of a long string is a short command that takes each replica long: on a busy machine its outcome was
// not known after 3 s, whichever node was asked.
func TestAShortCommandThatMakesALongStringHasAnOutcome(t *testing.T) {
	cluster, ctx := start(t, trial.Settings{Groups: 1}), context.Background()
	const offset = 62 << 20
	for at := range cluster.Addresses {
		node := redis.NewClient(&redis.Options{Addr: cluster.Plain[at], MaxRetries: -1, ReadTimeout: time.Minute,
			DialerRetries: 1, DisableIdentity: true})
		defer node.Close()
		length, err := node.SetRange(ctx, fmt.Sprint("long", at), offset, "x").Result()
		must(t, err)
		same(t, "length", length, offset+1)
		_, err = node.SetRange(ctx, "longer", 63<<20, "x").Result()
		if err == nil || err.Error() != "ERR string exceeds maximum allowed size (63 MiB)" {
			t.Fatal("a string that is too long:", err)
		}
	}
	must(t, cluster.Equal(ctx))
}
