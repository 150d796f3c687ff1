"""redis-py's client of clusters against three nodes: `python redis_py.py ADDRESS...`."""

import sys
import threading

from redis.cluster import ClusterNode, RedisCluster


def main(addresses):
    nodes = [ClusterNode(*address.split(":")) for address in addresses]
    for protocol in (2, 3):
        client = RedisCluster(startup_nodes=nodes, protocol=protocol, decode_responses=True)
        client.flushall(target_nodes=RedisCluster.PRIMARIES)
        for number in range(200):
            assert client.set(f"key{number}", number)
        assert [client.get(f"key{number}") for number in range(200)] == [str(number) for number in range(200)]
        with client.pipeline() as pipeline:
            for number in range(200):
                pipeline.incrby(f"key{number}", 1)
            assert pipeline.execute() == list(range(1, 201))
        assert client.dbsize(target_nodes=RedisCluster.PRIMARIES) == 200
        assert sorted(client.scan_iter("key*", count=17)) == sorted(f"key{number}" for number in range(200))
        client.hset("{h}ash", mapping={"a": 1, "b": 2})
        assert client.hgetall("{h}ash") == {"a": "1", "b": "2"}
        client.zadd("{h}zset", {"one": 1, "two": 2})
        assert client.zrange("{h}zset", 0, -1, withscores=True)[0][0] == "one"
        assert client.mget_nonatomic(["key1", "key2", "nothing"]) == ["2", "3", None]
        threads = [threading.Thread(target=lambda: [client.incr("count") for _ in range(50)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert client.get("count") == "200"
    print("all is well")


main(sys.argv[1:])
