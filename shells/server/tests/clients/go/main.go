// go-redis against a running server: `go run . HOST:PORT`, in both versions of the protocol.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Panic(err)
	}
	return value
}

func same(found, expected any) {
	if fmt.Sprint(found) != fmt.Sprint(expected) {
		log.Panicf("found %v, expected %v", found, expected)
	}
}

func values(ctx context.Context, client *redis.Client) {
	same(must(client.Set(ctx, "a", 1, 0).Result()), "OK")
	same(must(client.IncrBy(ctx, "a", 41).Result()), 42)
	same(must(client.HSet(ctx, "h", "f", "1", "g", "2").Result()), 2)
	same(must(client.HGetAll(ctx, "h").Result()), map[string]string{"f": "1", "g": "2"})
	client.ZAdd(ctx, "z", redis.Z{Score: 1.5, Member: "m"}, redis.Z{Score: 0.5, Member: "n"})
	same(must(client.ZRangeWithScores(ctx, "z", 0, -1).Result()), "[{0.5 n} {1.5 m}]")
	same(must(client.Scan(ctx, 0, "*", 100).Iterator().Next(ctx), nil), true)
	if _, err := client.Get(ctx, "absent").Result(); !errors.Is(err, redis.Nil) {
		log.Panic(err)
	}
	if err := client.LPush(ctx, "a", "x").Err(); err == nil || !strings.HasPrefix(err.Error(), "WRONGTYPE") {
		log.Panic(err)
	}
}

func pipelines(ctx context.Context, client *redis.Client) {
	pipe := client.Pipeline()
	for field := range 500 {
		pipe.HSet(ctx, "large", fmt.Sprint("f", field), field)
		pipe.RPush(ctx, "queue", field)
	}
	must(pipe.Exec(ctx))
	same(must(client.HLen(ctx, "large").Result()), 500)
	same(must(client.LRange(ctx, "queue", -2, -1).Result()), "[498 499]")
}

func transactions(ctx context.Context, client, other *redis.Client) {
	add := func(disturb bool) error {
		return client.Watch(ctx, func(tx *redis.Tx) error {
			value := must(tx.Get(ctx, "a").Int())
			if disturb {
				must(other.Incr(ctx, "a").Result())
			}
			_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				return pipe.Set(ctx, "a", value+1, 0).Err()
			})
			return err
		}, "a")
	}
	same(add(false), nil)
	same(errors.Is(add(true), redis.TxFailedErr), true)
	same(must(client.Get(ctx, "a").Result()), "44")
}

func messages(ctx context.Context, client *redis.Client) {
	news, shard := client.Subscribe(ctx, "news"), client.SSubscribe(ctx, "news")
	defer func() { _, _ = news.Close(), shard.Close() }()
	must(news.Receive(ctx))
	must(shard.Receive(ctx))
	same(must(client.Publish(ctx, "news", "to all").Result()), 1)
	same(must(client.SPublish(ctx, "news", "to the shard").Result()), 1)
	same(must(news.ReceiveMessage(ctx)).Payload, "to all")
	same(must(shard.ReceiveMessage(ctx)).Payload, "to the shard")
}

func waits(ctx context.Context, client, other *redis.Client) {
	time.AfterFunc(50*time.Millisecond, func() { other.RPush(ctx, "later", "x") })
	same(must(client.BLPop(ctx, 30*time.Second, "later").Result()), "[later x]")
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, protocol := range []int{2, 3} {
		options := redis.Options{Addr: os.Args[1], Protocol: protocol, ReadTimeout: time.Minute}
		client, other := redis.NewClient(&options), redis.NewClient(&options)
		must(client.FlushAll(ctx).Result())
		values(ctx, client)
		pipelines(ctx, client)
		transactions(ctx, client, other)
		messages(ctx, client)
		waits(ctx, client, other)
		same(client.Close(), other.Close())
	}
	fmt.Println("go-redis: all is well")
}
