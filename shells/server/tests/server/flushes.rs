//! Databases that are emptied or change places while others use them, and writes that take long.

use crate::client::{Client, Served, encode};

fn fill(client: &mut Client, count: u32) {
    let sets = (0..count).map(|number| encode(&[b"set", format!("key{number:06}").as_bytes(), b"1"]));
    client.send_bytes(&sets.collect::<Vec<_>>().concat());
    (0..count).for_each(|_| assert_eq!(client.receive(), "OK"));
}

#[test]
fn a_flush_is_one_instant_for_all_databases_and_readers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.holm");
    let served = Served::at(&path, &["--workers", "2"]);
    let (mut client, mut reader) = (served.client(), served.client());
    fill(&mut client, 500);
    client.script(&[("select 1", "OK"), ("set a 1", "OK"), ("hset h f 1", "1")]);
    reader.script(&[("select 1", "OK"), ("holm.snapshot begin", "OK")]);
    client.script(&[("flushall", "OK"), ("dbsize", "0"), ("get a", "nil"), ("set b 2", "OK"), ("swapdb 0 1", "OK")]);
    client.script(&[("dbsize", "0"), ("select 0", "OK"), ("keys *", "[b]")]);
    // A snapshot of before has what the database had then, under the number that it had then.
    reader.script(&[("get a", "1"), ("hgetall h", "[f 1]"), ("select 0", "OK"), ("dbsize", "500")]);
    reader.script(&[("holm.snapshot end", "1"), ("keys *", "[b]"), ("select 1", "OK"), ("get a", "nil")]);
    served.stop();
    // What was flushed is dropped by the next server, if not by that one.
    let served = Served::at(&path, &["--workers", "1", "--databases", "2"]);
    let mut client = served.client();
    client.script(&[("keys *", "[b]"), ("select 1", "OK"), ("dbsize", "0"), ("set c 3", "OK"), ("flushdb", "OK")]);
    while folder_keyspaces(&mut client) > 0 {}
    served.stop();
    let served = Served::at(&path, &["--databases", "20"]);
    let mut client = served.client();
    client.script(&[("keys *", "[b]")]);
    for database in 1..20 {
        client.script(&[(&format!("select {database}"), "OK"), ("dbsize", "0"), ("incr own", "1")]);
    }
}

/// Returns how many keys the keyspaces have that belong to no database any more.
fn folder_keyspaces(client: &mut Client) -> usize {
    let info = client.ask("info persistence");
    let line = info.split("\\r\\n").find_map(|line| line.strip_prefix("flushed_keyspaces:"));
    line.unwrap().parse().unwrap()
}

#[test]
fn watched_keys_fail_exec_if_a_flush_has_removed_them() {
    let served = Served::new(&[]);
    let (mut client, mut other) = (served.client(), served.client());
    client.script(&[("set a 1", "OK"), ("watch a", "OK"), ("multi", "OK"), ("set b 1", "QUEUED")]);
    other.script(&[("flushall", "OK")]);
    client.script(&[("exec", "nil"), ("get b", "nil")]);
    client.script(&[("watch a", "OK"), ("multi", "OK"), ("set b 1", "QUEUED"), ("exec", "[OK]"), ("get b", "1")]);
}

#[test]
fn long_writes_leave_their_worker_to_others_and_keep_their_order() {
    let served = Served::new(&["--workers", "1"]);
    let mut client = served.client();
    fill(&mut client, 30_000);
    let members = (0..30_000).map(|member| encode(&[b"sadd", b"set", format!("{member:06}").as_bytes()]));
    client.send_bytes(&members.collect::<Vec<_>>().concat());
    (0..30_000).for_each(|_| assert_eq!(client.receive(), "1"));
    let names: Vec<_> = (0..30_000).map(|number| format!("key{number:06}")).collect();
    let words: Vec<&[u8]> = std::iter::once("del").chain(names.iter().map(String::as_str)).map(str::as_bytes).collect();
    // One pipeline: whatever is behind a long write sees what it has done.
    let lines: [&[&[u8]]; 8] = [
        &[b"sunionstore", b"copy", b"set"],
        &[b"scard", b"copy"],
        &words,
        &[b"set", b"key000001", b"2"],
        &[b"dbsize"],
        &[b"zunionstore", b"sorted", b"1", b"set"],
        &[b"zremrangebyrank", b"sorted", b"0", b"-2"],
        &[b"zcard", b"sorted"],
    ];
    client.send_bytes(&lines.map(encode).concat());
    for expected in ["30000", "30000", "30000", "OK", "3", "30000", "29999", "1"] {
        assert_eq!(client.receive(), expected);
    }
    let info = client.ask("info stats");
    let long = info.split("\\r\\n").find_map(|line| line.strip_prefix("long_commands:")).unwrap();
    assert_eq!(long, "4");
    // Among writes that would share a transaction, and as one of many keys.
    let lines: [&[&[u8]]; 5] = [
        &[b"sadd", b"copy", b"new"],
        &[b"spop", b"copy", b"29999"],
        &[b"sadd", b"copy", b"newer"],
        &[b"set", b"other", b"1"],
        &[b"scard", b"copy"],
    ];
    client.send_bytes(&lines.map(encode).concat());
    assert_eq!(client.receive(), "1");
    assert_eq!(client.receive().split(' ').count(), 29_999);
    for expected in ["1", "OK", "3"] {
        assert_eq!(client.receive(), expected);
    }
}

#[test]
fn a_long_write_is_synced_before_its_reply_where_that_is_promised() {
    // Replies to the other client wait for no sync, and no epoch ends by itself for a tenth of a second.
    let served = Served::new(&["--workers", "1", "--acknowledge", "none"]);
    let (mut client, mut other) = (served.client(), served.client());
    assert_eq!(client.ask("holm.acknowledge synced"), "OK");
    let mut words: Vec<Vec<u8>> = vec![b"mset".to_vec()];
    words.extend((0..12_000).flat_map(|number| [format!("key{number:06}").into_bytes(), b"1".to_vec()]));
    client.send_words(&words.iter().map(|word| &word[..]).collect::<Vec<_>>());
    assert_eq!(client.receive(), "OK");
    let info = other.ask("info persistence");
    let pending = info.split("\\r\\n").find_map(|line| line.strip_prefix("pending_bytes:")).unwrap();
    assert_eq!(pending, "0");
    assert_eq!(other.ask("dbsize"), "12000");
}

/// What another thread has carried out has effects on others as what a worker does.
#[test]
fn a_long_write_wakes_those_who_wait_and_has_its_events() {
    let served = Served::new(&["--workers", "2", "--notify-keyspace-events", "KA"]);
    let (mut client, mut waiting, mut subscriber) = (served.client(), served.client(), served.client());
    assert_eq!(subscriber.ask("subscribe __keyspace@0__:list"), "[subscribe __keyspace@0__:list 1]");
    waiting.send("blpop list 0");
    // Until it waits.
    while !client.ask("info clients").contains("blocked_clients:1") {}
    let mut words = vec![&b"rpush"[..], b"list"];
    words.resize(12_000, b"element");
    client.send_words(&words);
    assert_eq!(client.receive(), "11998");
    assert_eq!(waiting.receive(), "[list element]");
    // Which of them is published first depends on the threads.
    let mut events = [subscriber.receive(), subscriber.receive()];
    events.sort();
    assert_eq!(events, ["lpop", "rpush"].map(|event| format!("[message __keyspace@0__:list {event}]")));
    assert!(client.ask("info stats").contains("long_commands:1"));
}
