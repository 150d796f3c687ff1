//! MULTI, EXEC and WATCH; snapshots; channels.

use crate::client::Served;

#[test]
fn queued_commands_take_effect_together() {
    let served = Served::new(&["--workers", "2"]);
    let (mut one, mut other) = (served.client(), served.client());
    one.script(&[
        ("exec", "-ERR EXEC without MULTI"),
        ("multi", "OK"),
        ("multi", "-ERR MULTI calls can not be nested"),
        ("set a 1", "QUEUED"),
        ("incr a", "QUEUED"),
        ("lpush a x", "QUEUED"),
        ("ping", "QUEUED"),
    ]);
    assert_eq!(other.ask("get a"), "nil");
    assert_eq!(one.ask("exec"), "[OK 2 -WRONGTYPE Operation against a key holding the wrong kind of value PONG]");
    assert_eq!(other.ask("get a"), "2");
    one.script(&[
        ("multi", "OK"),
        ("nosuch", "-ERR unknown command 'nosuch', with args beginning with: "),
        ("set a 9", "QUEUED"),
        ("exec", "-EXECABORT Transaction discarded because of previous errors."),
        ("get a", "2"),
        ("multi", "OK"),
        ("set a 9", "QUEUED"),
        ("discard", "OK"),
        ("get a", "2"),
    ]);
}

/// A client whose EXEC was refused was left within MULTI.
#[test]
fn exec_that_is_refused_ends_the_transaction() {
    let served = Served::new(&[]);
    let (mut client, mut admin) = (served.client(), served.client());
    client.script(&[("watch a", "OK"), ("multi", "OK"), ("set a 1", "QUEUED")]);
    let why = "-EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command";
    client.script(&[("exec now", why), ("exec", "-ERR EXEC without MULTI"), ("get a", "nil")]);
    admin.script(&[("acl setuser ann on >secret ~* +@all -exec", "OK")]);
    client.script(&[("auth ann secret", "OK"), ("multi", "OK"), ("set a 1", "QUEUED")]);
    let why = "-EXECABORT Transaction discarded because of: NOPERM this user has no permissions to run the 'exec' \
               command";
    client.script(&[("exec", why), ("get a", "nil")]);
}

#[test]
fn a_transaction_counts_the_keys_that_it_writes() {
    let served = Served::new(&[]);
    let mut client = served.client();
    client.script(&[
        ("mset a 1 b 2", "OK"),
        ("multi", "OK"),
        ("mset b 3 c 4 d 5", "QUEUED"),
        ("del a absent", "QUEUED"),
        ("dbsize", "QUEUED"),
        ("exec", "[OK 1 3]"),
        ("dbsize", "3"),
    ]);
}

#[test]
fn a_watched_key_that_changes_fails_the_transaction() {
    let served = Served::new(&["--workers", "2"]);
    let (mut one, mut other) = (served.client(), served.client());
    let changes: &[(&str, &str)] = &[
        ("set a 1", "set a 2"),
        ("set a 1", "del a"),
        ("del a", "set a 1"),
        ("hset a f 1", "hset a f 2"),
        ("rpush a 1", "rpush a 2"),
        ("set a 1", "flushdb"),
        ("set a 1", "pexpire a 100000"),
    ];
    for (before, change) in changes {
        one.ask("del a");
        one.ask(before);
        one.script(&[("watch a", "OK"), ("multi", "OK"), ("set done 1", "QUEUED")]);
        other.ask(change);
        assert_eq!(one.ask("exec"), "nil", "{change}");
        one.script(&[("exists done", "0"), ("watch a", "OK"), ("multi", "OK"), ("ping", "QUEUED"), ("exec", "[PONG]")]);
    }
    // A large hash, whose fields are rows of their own.
    for field in 0..200 {
        one.ask(&format!("hset large {field} 1"));
    }
    one.script(&[("watch large", "OK"), ("multi", "OK"), ("set done 1", "QUEUED")]);
    other.ask("hset large 7 2");
    assert_eq!(one.ask("exec"), "nil");
    // Nobody has changed anything.
    one.script(&[("watch large", "OK"), ("multi", "OK"), ("hget large 7", "QUEUED"), ("exec", "[2]")]);
}

/// The removal of a key that had expired before it was watched was a change of the key.
#[test]
fn a_watched_key_that_has_expired_before_is_absent_and_stays_so() {
    let served = Served::new(&["--workers", "2"]);
    let (mut one, mut other) = (served.client(), served.client());
    // It stays until somebody removes it.
    other.ask("debug set-active-expire 0");
    for (change, answer) in [("del a", "[PONG]"), ("ping", "[PONG]"), ("set a 2", "nil"), ("set a 2 nx", "nil")] {
        other.ask("set a 1 px 1");
        while other.ask("exists a") == "1" {}
        one.script(&[("watch b a", "OK"), ("multi", "OK"), ("ping", "QUEUED")]);
        other.ask(change);
        assert_eq!(one.ask("exec"), answer, "{change}");
        other.ask("del a");
    }
    other.script(&[("set a 1 px 1", "OK"), ("debug set-active-expire 1", "OK")]);
    while other.ask("exists a") == "1" {}
    one.script(&[("watch a", "OK"), ("multi", "OK"), ("set b 1", "QUEUED")]);
    while other.ask("dbsize") != "0" {}
    assert_eq!(one.ask("exec"), "[OK]", "the sweep has removed it");
}

#[test]
fn transfers_between_two_workers_keep_their_sum() {
    let served = Served::new(&["--workers", "2"]);
    served.client().ask("mset ann 1000 bob 1000");
    let address = served.address;
    let transfer = move |from: &'static str, to: &'static str| {
        let mut client = crate::client::Client::connect(address);
        for _ in 0..300 {
            client.script(&[("multi", "OK")]);
            client.ask(&format!("decr {from}"));
            client.ask(&format!("incr {to}"));
            assert_ne!(client.ask("exec"), "nil");
            let both = client.ask("mget ann bob");
            let sum: i64 = both.trim_matches(['[', ']']).split(' ').map(|text| text.parse::<i64>().unwrap()).sum();
            assert_eq!(sum, 2_000);
        }
    };
    let threads = [("ann", "bob"), ("bob", "ann")].map(|(from, to)| std::thread::spawn(move || transfer(from, to)));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(served.client().ask("mget ann bob"), "[1000 1000]");
}

#[test]
fn a_snapshot_reads_one_instant_over_many_calls() {
    let served = Served::new(&[]);
    let (mut one, mut other) = (served.client(), served.client());
    one.script(&[("set a 1", "OK"), ("rpush l x", "1"), ("holm.snapshot begin", "OK")]);
    other.script(&[("set a 2", "OK"), ("rpush l y", "2"), ("set b 3", "OK")]);
    one.script(&[
        ("mget a b", "[1 nil]"),
        ("lrange l 0 -1", "[x]"),
        ("holm.range - +", "[a l]"),
        ("set a 9", "-READONLY the connection reads at a snapshot: end it before you write"),
        ("flushdb", "-READONLY the connection reads at a snapshot: end it before you write"),
        ("flushall", "-READONLY the connection reads at a snapshot: end it before you write"),
        ("swapdb 0 1", "-READONLY the connection reads at a snapshot: end it before you write"),
        ("holm.snapshot end", "1"),
        ("mget a b", "[2 3]"),
    ]);
}

#[test]
fn messages_reach_subscribers_of_other_workers() {
    let served = Served::new(&["--workers", "2"]);
    let (mut one, mut other) = (served.client(), served.client());
    one.send("subscribe news");
    assert_eq!(one.receive(), "[subscribe news 1]");
    assert_eq!(one.ask("psubscribe n*"), "[psubscribe n* 2]");
    assert!(one.ask("get a").starts_with("-ERR Can't execute 'get'"));
    assert_eq!(other.ask("publish news hello"), "2");
    assert_eq!(one.receive(), "[message news hello]");
    assert_eq!(one.receive(), "[pmessage n* news hello]");
    other.script(&[("pubsub channels", "[news]"), ("pubsub numpat", "1"), ("publish other x", "0")]);
    assert_eq!(one.ask("unsubscribe"), "[unsubscribe news 1]");
    assert_eq!(one.ask("punsubscribe"), "[punsubscribe n* 0]");
    assert_eq!(one.ask("get a"), "nil");
}

#[test]
fn channels_of_shards_are_channels_of_their_own() {
    let served = Served::new(&["--workers", "2"]);
    let (mut one, mut other) = (served.client(), served.client());
    assert_eq!(one.ask("subscribe news"), "[subscribe news 1]");
    assert_eq!(one.ask("psubscribe *"), "[psubscribe * 2]");
    assert_eq!(one.ask("ssubscribe news"), "[ssubscribe news 1]");
    assert!(other.ask("client list type pubsub").contains("sub=1 psub=1 ssub=1"));
    other.script(&[("spublish news hello", "1"), ("spublish other x", "0"), ("publish news all", "2")]);
    let received = [one.receive(), one.receive(), one.receive()];
    assert_eq!(received, ["[smessage news hello]", "[message news all]", "[pmessage * news all]"]);
    other.script(&[
        ("pubsub shardchannels", "[news]"),
        ("pubsub shardchannels x*", "[]"),
        ("pubsub shardnumsub news other", "[news 1 other 0]"),
        ("pubsub numsub news", "[news 1]"),
    ]);
    one.script(&[
        ("unsubscribe", "[unsubscribe news 1]"),
        ("punsubscribe", "[punsubscribe * 0]"),
        ("ping", "[pong ]"),
        ("sunsubscribe news", "[sunsubscribe news 0]"),
        ("sunsubscribe", "[sunsubscribe nil 0]"),
        ("get a", "nil"),
    ]);
    // A connection that ends leaves no subscription behind.
    assert_eq!(one.ask("ssubscribe more"), "[ssubscribe more 1]");
    drop(one);
    while other.ask("pubsub shardchannels") != "[]" {}
    assert_eq!(other.ask("spublish more x"), "0");
}

#[test]
fn a_watched_key_of_a_database_that_changes_places_is_another_one() {
    // The watched key was looked for where it had been, so that EXEC did not notice the other one.
    let served = Served::new(&[]);
    let (mut one, mut other) = (served.client(), served.client());
    other.script(&[
        ("select 1", "OK"),
        ("set only 1", "OK"),
        ("set both 1", "OK"),
        ("select 0", "OK"),
        ("set both 2", "OK"),
    ]);
    for key in ["only", "both"] {
        one.script(&[(&format!("watch {key}"), "OK"), ("multi", "OK"), ("ping", "QUEUED")]);
        other.ask("swapdb 0 1");
        assert_eq!(one.ask("exec"), "nil");
        other.ask("swapdb 0 1");
    }
    one.script(&[("watch neither", "OK"), ("multi", "OK"), ("ping", "QUEUED")]);
    other.ask("swapdb 0 1");
    assert_eq!(one.ask("exec"), "[PONG]");
}

#[test]
fn commands_of_exec_and_those_that_have_waited_are_counted_and_kept_by_their_own_names() {
    let served = Served::new(&["--slowlog-log-slower-than", "0"]);
    let (mut client, mut waiting) = (served.client(), served.client());
    client.script(&[("config resetstat", "OK"), ("multi", "OK"), ("set key x", "QUEUED"), ("incr key", "QUEUED")]);
    client.script(&[("slowlog reset", "QUEUED"), ("set key y", "QUEUED")]);
    assert_eq!(client.ask("exec"), "[OK -ERR value is not an integer or out of range OK OK]");
    let calls = |client: &mut crate::client::Client, name: &str| {
        let info = client.ask("info commandstats");
        let line = info.split("\\r\\n").find_map(|line| line.strip_prefix(&format!("cmdstat_{name}:"))).unwrap();
        let number = |field: &str| {
            let value = line.split(',').find_map(|part| part.strip_prefix(field));
            value.unwrap().parse::<u64>().unwrap()
        };
        (number("calls="), number("failed_calls="))
    };
    assert_eq!([calls(&mut client, "set"), calls(&mut client, "incr")], [(2, 0), (1, 1)]);
    assert_eq!(calls(&mut client, "exec"), (1, 0));
    // What came after the reset, without EXEC.
    let slow = client.ask("slowlog get");
    assert!(slow.contains("[set key y]") && !slow.contains("exec") && !slow.contains("[incr key]"), "{slow}");
    waiting.send("blpop list 0");
    while !client.ask("info clients").contains("blocked_clients:1\\r") {}
    assert_eq!(client.ask("rpush list x"), "1");
    assert_eq!(waiting.receive(), "[list x]");
    assert!(client.ask("slowlog get").contains("[blpop list 0]"));
    let id = waiting.ask("client id");
    waiting.send("blpop list 0");
    while !client.ask("info clients").contains("blocked_clients:1\\r") {}
    assert_eq!(client.ask(&format!("client unblock {id} error")), "1");
    assert!(waiting.receive().starts_with("-UNBLOCKED"));
    assert_eq!(calls(&mut client, "blpop"), (2, 1));
}
