"""redis-py against a running server: `redis_py.py HOST PORT`, in both versions of the protocol."""

import sys
import threading

import redis

HOST, PORT = sys.argv[1], int(sys.argv[2])


def values(client):
    assert client.ping()
    assert client.set("a", "1") is True
    assert client.incrby("a", 41) == 42
    assert client.get("a") == "42"
    assert client.set("b", "x", nx=True, px=60_000) is True
    assert client.set("b", "y", nx=True) is None
    assert 0 < client.pttl("b") <= 60_000
    assert client.mget("a", "b", "absent") == ["42", "x", None]
    assert client.hset("h", mapping={"f": "1", "g": "2"}) == 2
    assert client.hgetall("h") == {"f": "1", "g": "2"}
    assert client.sadd("s", "x", "y") == 2 and client.smembers("s") == {"x", "y"}
    assert client.zadd("z", {"m": 1.5, "n": 0.5}) == 2
    pairs = [tuple(pair) for pair in client.zrange("z", 0, -1, withscores=True)]
    assert pairs == [("n", 0.5), ("m", 1.5)], pairs
    assert client.rpush("l", *range(300)) == 300
    assert client.lrange("l", -2, -1) == ["298", "299"]
    assert sorted(client.scan_iter(count=2)) == ["a", "b", "h", "l", "s", "z"]


def errors(client):
    try:
        client.lpush("a", "x")
    except redis.ResponseError as error:
        assert str(error).startswith("WRONGTYPE"), error
    else:
        raise AssertionError("a list was pushed to within a string")


def pipelines(client):
    pipe = client.pipeline(transaction=False)
    for field in range(500):
        pipe.hset("large", f"f{field}", field).lpush("queue", field)
    pipe.lpush("a", "x").get("a").hlen("large")
    replies = pipe.execute(raise_on_error=False)
    assert replies[:1000:2] == [1] * 500 and replies[1:1000:2] == list(range(1, 501))
    assert isinstance(replies[1000], redis.ResponseError) and replies[1001:] == ["42", 500]


def transactions(client, other):
    with client.pipeline() as pipe:
        pipe.watch("a")
        value = int(pipe.get("a"))
        pipe.multi()
        pipe.set("a", value + 1)
        assert pipe.execute() == [True]
        pipe.watch("a")
        other.incr("a")
        pipe.multi()
        pipe.set("a", 0)
        try:
            pipe.execute()
        except redis.WatchError:
            pass
        else:
            raise AssertionError("a watched key has changed")
    assert client.get("a") == "44"


def messages(client):
    subscriber = client.pubsub()
    subscriber.subscribe("news")
    subscriber.psubscribe("n*")
    received = [subscriber.get_message(timeout=10)["type"] for _ in range(2)]
    assert received == ["subscribe", "psubscribe"], received
    assert client.publish("news", "hello") == 2
    received = [subscriber.get_message(timeout=10) for _ in range(2)]
    assert [(message["type"], message["data"]) for message in received] == [("message", "hello"), ("pmessage", "hello")]
    subscriber.close()


def waits(client, other):
    pusher = threading.Timer(0.05, lambda: other.rpush("later", "x"))
    pusher.start()
    assert tuple(client.blpop(["later"], timeout=30)) == ("later", "x")
    pusher.join()


def orders(client):
    client.mset({f"user:{number:02}": number for number in range(20)})
    found = client.execute_command("HOLM.RANGE", "[user:05", "(user:08")
    assert found == ["user:05", "user:06", "user:07"], found


def main():
    for protocol in (2, 3):
        client, other = (
            redis.Redis(HOST, PORT, protocol=protocol, decode_responses=True, socket_timeout=60) for _ in range(2)
        )
        client.flushall()
        values(client)
        errors(client)
        pipelines(client)
        transactions(client, other)
        messages(client)
        waits(client, other)
        orders(client)
    print(f"redis-py {redis.__version__}: all is well")


main()
