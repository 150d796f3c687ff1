//! Numbers of INFO and MEMORY that operators watch.

use crate::client::{Client, Served, encode};

/// Returns a number of INFO.
fn number(client: &mut Client, name: &str) -> u64 {
    let info = client.ask("info everything");
    let found = info.split("\\r\\n").find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    found.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{name} in {info}"))
}

/// Returns how often keys were found, and how often not.
fn lookups(client: &mut Client) -> (u64, u64) {
    (number(client, "keyspace_hits"), number(client, "keyspace_misses"))
}

/// It said that no key expires.
#[test]
fn the_keyspace_tells_how_many_keys_expire() {
    let served = Served::new(&["--workers", "2"]);
    let mut client = served.client();
    let keyspaces = |client: &mut Client| {
        let info = client.ask("info keyspace");
        let lines: Vec<_> = info.split("\\r\\n").filter(|line| line.starts_with("db")).collect();
        lines.iter().map(|line| line.rsplit_once('=').map(|(counts, _)| counts.to_owned()).unwrap()).collect::<Vec<_>>()
    };
    client.script(&[("set a 1 ex 1000", "OK"), ("set b 1", "OK"), ("rpush l x", "1"), ("expire l 2000", "1")]);
    assert_eq!(keyspaces(&mut client), ["db0:keys=3,expires=2,avg_ttl"]);
    client.script(&[("multi", "OK"), ("persist a", "QUEUED"), ("move l 3", "QUEUED"), ("exec", "[1 1]")]);
    assert_eq!(keyspaces(&mut client), ["db0:keys=2,expires=0,avg_ttl", "db3:keys=1,expires=1,avg_ttl"]);
    let info = client.ask("info keyspace");
    let life = info.rsplit_once("avg_ttl=").and_then(|(_, life)| life.trim_end_matches(['\\', 'r', 'n']).parse().ok());
    assert!(life.is_some_and(|life: u64| (1_000_000..=2_000_000).contains(&life)), "{info}");
    client.script(&[("flushall", "OK"), ("set a 1 ex 100", "OK")]);
    assert_eq!(keyspaces(&mut client), ["db0:keys=1,expires=1,avg_ttl"]);
}

#[test]
fn keys_that_are_read_count_as_hits_and_misses() {
    let served = Served::new(&["--workers", "2"]);
    let mut client = served.client();
    for line in ["set s 1", "rpush l a b", "hset h f v", "sadd t a", "zadd z 1 a", "geoadd g 1 1 a 2 2 b"] {
        client.ask(line);
    }
    assert_eq!(lookups(&mut client), (0, 0));
    for (line, hits, misses) in [
        ("get s", 1, 0),
        ("get no", 0, 1),
        ("mget s no l", 2, 1),
        ("exists s s no", 2, 1),
        ("ttl s", 1, 0),
        ("memory usage s", 0, 0),
        ("getset s 2", 1, 0),
        ("getdel no", 0, 1),
        ("getex s", 1, 0),
        ("set s 3 get", 1, 0),
        ("set s 3", 0, 0),
        ("incr s", 0, 0),
        ("lrange l 0 -1", 1, 0),
        ("lpop l", 0, 0),
        ("hgetall no", 0, 1),
        ("hset h f 2", 0, 0),
        ("sunion t no", 1, 1),
        ("sinterstore d t no", 1, 1),
        ("smove t d a", 0, 0),
        ("zunionstore d 2 z no", 1, 1),
        ("zrangestore d z 0 -1", 1, 0),
        ("geodist g a b", 1, 0),
        ("georadiusbymember g a 10 km", 1, 0),
        ("bitop not d s", 1, 0),
        ("sort l alpha store d", 1, 0),
        ("dump l", 1, 0),
        ("copy l e", 1, 0),
        ("rename e d", 0, 0),
        ("keys *", 0, 0),
    ] {
        let before = lookups(&mut client);
        client.ask(line);
        let after = lookups(&mut client);
        assert_eq!((after.0 - before.0, after.1 - before.1), (hits, misses), "{line}");
    }
    // Those of a pipeline, of a transaction and of an expired key.
    assert_eq!(client.ask("config resetstat"), "OK");
    let words: [&[&[u8]]; 9] = [
        &[b"get", b"s"],
        &[b"get", b"no"],
        &[b"get", b"s"],
        &[b"zrange", b"z", b"0", b"-1"],
        &[b"zcard", b"z"],
        &[b"multi"],
        &[b"get", b"s"],
        &[b"get", b"no"],
        &[b"exec"],
    ];
    client.send_bytes(&words.map(encode).concat());
    words.iter().for_each(|_| drop(client.receive()));
    assert_eq!(lookups(&mut client), (5, 2));
    client.script(&[("config resetstat", "OK"), ("set s 1 px 1", "OK")]);
    while client.ask("exists s") == "1" {}
    let (_, misses) = lookups(&mut client);
    assert_eq!((misses, client.ask("config resetstat"), lookups(&mut client)), (1, "OK".to_owned(), (0, 0)));
}

#[test]
fn rates_rise_with_commands() {
    let served = Served::new(&[]);
    let mut client = served.client();
    let pings = encode(&[b"ping"]).repeat(100);
    let mut rate = 0;
    while rate == 0 {
        client.send_bytes(&pings);
        (0..100).for_each(|_| drop(client.receive()));
        rate = number(&mut client, "instantaneous_ops_per_sec");
    }
    let info = client.ask("info stats");
    for name in ["instantaneous_input_kbps:", "instantaneous_output_kbps:"] {
        let value = info.split("\\r\\n").find_map(|line| line.strip_prefix(name)).unwrap();
        assert!(value.parse::<f64>().unwrap() > 0.0, "{name}{value}");
    }
}

#[test]
fn memory_is_shown_by_what_it_is_for() {
    let served = Served::new(&["--workers", "2"]);
    let (mut client, mut subscriber) = (served.client(), served.client());
    subscriber.ask("subscribe c");
    client.ask("mset a 1 b 2 c 3");
    let stats = client.ask("memory stats");
    let words: Vec<&str> = stats.trim_matches(['[', ']']).split(' ').collect();
    let of = |name: &str| {
        let at = words.iter().position(|word| *word == name).unwrap_or_else(|| panic!("{name} in {stats}"));
        words[at + 1].parse::<u64>().unwrap()
    };
    assert_eq!(of("keys.count"), 3);
    assert_eq!(of("total.resident"), of("total.allocated") + of("files.resident"));
    assert!(of("peak.resident") >= of("total.resident") / 2 && of("startup.allocated") > 0, "{stats}");
    assert!(of("clients.pubsub") > 0 && of("clients.normal") > 0, "{stats}");
    assert!(of("dataset.bytes") >= of("records.bytes") && of("records.bytes") > 0, "{stats}");
    assert_eq!(of("keys.bytes-per-key"), of("dataset.bytes") / 3);
    client.script(&[
        ("memory malloc-stats", "Stats not supported for the current allocator"),
        ("memory stats any", "-ERR wrong number of arguments for 'memory|stats' command"),
        ("multi", "OK"),
        ("memory malloc-stats", "QUEUED"),
        ("memory usage a", "QUEUED"),
    ]);
    assert!(client.ask("exec").starts_with("[Stats not supported for the current allocator "));
    assert!(client.ask("memory doctor").starts_with("Nothing stands out"));
}
