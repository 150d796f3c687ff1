// An unmodified client of Java against a cluster: jedis's JedisCluster. The first argument is the address of a node. The
// caller kills the node whose address a line says, and starts it again, and answers each with a line.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.Response;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisMovedDataException;
import redis.clients.jedis.util.JedisClusterCRC16;

public class Clients {
    static final BufferedReader ANSWERS = new BufferedReader(new InputStreamReader(System.in));

    static void same(String what, Object found, Object expected) {
        if (!Objects.equals(found, expected)) {
            throw new AssertionError(what + ": found " + found + ", expected " + expected);
        }
    }

    static void say(String line) throws Exception {
        System.out.println(line);
        System.out.flush();
        same(line, ANSWERS.readLine(), "done");
    }

    static JedisCluster connect(HostAndPort node) {
        return new JedisCluster(Set.of(node), 8000, 8000, 20, new ConnectionPoolConfig());
    }

    /** The address of the node that a client asks for a key. */
    static HostAndPort leaderOf(JedisCluster client, String key) {
        try (Jedis one = new Jedis(client.getConnectionFromSlot(JedisClusterCRC16.getSlot(key)))) {
            return one.getConnection().getHostAndPort();
        }
    }

    static void commands(JedisCluster client) {
        for (int at = 0; at < 300; at++) {
            same("SET", client.set("key" + at, "value" + at), "OK");
        }
        for (int at = 0; at < 300; at++) {
            same("GET", client.get("key" + at), "value" + at);
        }
        same("INCR", client.incr("counter"), 1L);
        same("HSET", client.hset("hash", Map.of("one", "1", "two", "2")), 2L);
        same("HGETALL", client.hgetAll("hash"), Map.of("one", "1", "two", "2"));
        same("RPUSH", client.rpush("list", "a", "b", "c"), 3L);
        same("LRANGE", client.lrange("list", 0, -1), List.of("a", "b", "c"));
        same("SADD", client.sadd("set", "a", "b"), 2L);
        same("SMEMBERS", client.smembers("set"), Set.of("a", "b"));
        same("ZADD", client.zadd("sorted", Map.of("a", 2.0, "b", 1.0)), 2L);
        same("ZRANGE", client.zrange("sorted", 0, -1), List.of("b", "a"));
        same("DEL", client.del("key0"), 1L);
        same("GET", client.get("key0"), null);
        same("PEXPIRE", client.pexpire("key1", 100_000), 1L);
        same("MSET", client.mset("{tag}one", "1", "{tag}two", "2"), "OK");
        same("MGET", client.mget("{tag}one", "{tag}two"), List.of("1", "2"));
        same("nodes", client.getClusterNodes().size() >= 3, true);
    }

    /** A transaction goes to the node that has a key: JedisCluster itself has none. */
    static Transaction transaction(JedisCluster client, String key, boolean begins) {
        return new Transaction(client.getConnectionFromSlot(JedisClusterCRC16.getSlot(key)), begins, true);
    }

    static void transactions(JedisCluster client) {
        try (Transaction part = transaction(client, "{slot}", true)) {
            Response<Long> sum = part.incrBy("{slot}sum", 5);
            part.set("{slot}name", "reef");
            Response<String> name = part.get("{slot}name");
            same("EXEC", part.exec(), List.of(5L, "OK", "reef"));
            same("INCRBY", sum.get(), 5L);
            same("GET", name.get(), "reef");
        }
        try (Transaction part = transaction(client, "{slot}", false)) {
            part.watch("{slot}sum");
            client.incr("{slot}sum");
            part.multi();
            part.set("{slot}sum", "0");
            same("EXEC of what was watched", part.exec(), null);
        }
        same("what was watched", client.get("{slot}sum"), "6");
    }

    /** A node sends a client to another one, which has the key; over several slots it refuses. */
    static void redirections(JedisCluster client) {
        HostAndPort right = leaderOf(client, "key5");
        int count = 0;
        for (String name : client.getClusterNodes().keySet()) {
            HostAndPort node = HostAndPort.from(name);
            try (Jedis direct = new Jedis(node)) {
                same("GET of the leader", direct.get("key5"), "value5");
                same("the leader", node.getPort(), right.getPort());
            } catch (JedisMovedDataException moved) {
                count++;
                same("MOVED", moved.getTargetNode().getPort(), right.getPort());
                same("the slot", moved.getSlot(), JedisClusterCRC16.getSlot("key5"));
            }
        }
        same("the number of nodes that redirect", count, client.getClusterNodes().size() - 1);
        try (Jedis direct = new Jedis(right)) {
            direct.mset("key5", "x", "key6", "y");
            throw new AssertionError("MSET over several slots is answered");
        } catch (JedisDataException refused) {
            same(refused.getMessage(), refused.getMessage().startsWith("CROSSSLOT"), true);
        }
    }

    /** A client that has learned where keys are follows them as leaders go. */
    static void failover(JedisCluster client) throws Exception {
        HostAndPort gone = leaderOf(client, "key7");
        Map<String, String> acknowledged = new HashMap<>();
        say("kill " + gone.getHost() + ":" + gone.getPort());
        List<String> keys = new ArrayList<>();
        for (int at = 0; at < 100; at++) {
            keys.add("after" + at);
        }
        keys.add("key7");
        for (String key : keys) {
            while (true) {
                try {
                    client.set(key, "new " + key);
                    acknowledged.put(key, "new " + key);
                    break;
                } catch (JedisConnectionException | JedisDataException unknown) {
                    // The outcome of a write is not known if the node that it was asked of is gone. This one may be
                    // repeated. Any other refusal is an error.
                    String text = String.valueOf(unknown.getMessage());
                    boolean isExpected = unknown instanceof JedisConnectionException
                        || text.startsWith("UNKNOWN") || text.startsWith("CLUSTERDOWN") || text.startsWith("TRYAGAIN");
                    same(text, isExpected, true);
                }
            }
        }
        same("the node that is gone leads", leaderOf(client, "key7").equals(gone), false);
        say("start " + gone.getHost() + ":" + gone.getPort());
        for (Map.Entry<String, String> one : acknowledged.entrySet()) {
            same(one.getKey(), client.get(one.getKey()), one.getValue());
        }
    }

    public static void main(String[] arguments) throws Exception {
        try (JedisCluster client = connect(HostAndPort.from(arguments[0]))) {
            commands(client);
            transactions(client);
            redirections(client);
            failover(client);
        }
        System.out.println("passed");
    }
}
