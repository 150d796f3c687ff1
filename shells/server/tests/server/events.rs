//! Events about keys: what subscribers get, by which channels, and only if the server is asked for it.

use crate::client::{Client, Served, encode};

/// Returns a client, and another one that gets events by their names, in the order in which they happen.
fn subscribed(served: &Served, letters: &str) -> (Client, Client) {
    let (mut client, mut subscriber) = (served.client(), served.client());
    assert_eq!(client.ask(&format!("config set notify-keyspace-events {letters}")), "OK");
    assert_eq!(subscriber.ask("psubscribe __key*"), "[psubscribe __key* 1]");
    (client, subscriber)
}

/// Carries out commands, and returns the events of each as `event:key`.
fn events_of(client: &mut Client, subscriber: &mut Client, line: &str) -> String {
    client.ask(line);
    // Messages come in the order of one connection's commands, so this one is behind all events of the line.
    client.ask("publish __key__ end");
    let mut events = Vec::new();
    loop {
        let message = subscriber.receive();
        let words: Vec<&str> = message.trim_matches(['[', ']']).split(' ').collect();
        if words[3] == "end" {
            return events.join(" ");
        }
        let (_, event) = words[2].split_once("__:").unwrap();
        events.push(format!("{event}:{}", words[3]));
    }
}

#[test]
fn each_command_has_its_events() {
    let served = Served::new(&["--workers", "2"]);
    let (mut client, mut subscriber) = subscribed(&served, "EAn");
    for (line, expected) in [
        ("set s 1", "new:s set:s"),
        ("set s 1 ex 100", "set:s expire:s"),
        ("set s 1 keepttl", "set:s"),
        ("set s 1 exat 9000000000", "set:s expire:s"),
        ("set s 1 exat 9000000000", "set:s expire:s"),
        ("getex s exat 9000000000", "expire:s"),
        ("getex s persist", "persist:s"),
        ("get s", ""),
        ("incr s", "incrby:s"),
        ("incrbyfloat s 1.5", "incrbyfloat:s"),
        ("append s x", "append:s"),
        ("mset s 1 t 2", "set:s new:t set:t"),
        ("expire s 100", "expire:s"),
        ("persist s", "persist:s"),
        ("rename s u", "new:u rename_from:s rename_to:u"),
        ("copy u v", "new:v copy_to:v"),
        ("move v 1", "new:v move_from:v move_to:v"),
        ("getdel u", "del:u"),
        ("del t nothing", "del:t"),
        ("lpush l a b c", "new:l lpush:l"),
        ("rpushx l d", "rpush:l"),
        ("rpushx absent d", ""),
        ("lpop l", "lpop:l"),
        ("linsert l before a x", "linsert:l"),
        ("lset l 0 y", "lset:l"),
        ("lrem l 0 y", "lrem:l"),
        ("ltrim l 0 1", "ltrim:l"),
        ("lmove l m left right", "new:m rpush:m lpop:l"),
        ("rpoplpush m m", "lpush:m rpop:m"),
        ("blpop m 1", "lpop:m del:m"),
        ("lmpop 2 nothing l right", "rpop:l del:l"),
        ("sadd set a b", "new:set sadd:set"),
        ("sadd set a", ""),
        ("srem set nothing", ""),
        ("smove set other a", "srem:set new:other sadd:other"),
        ("sunionstore third set other", "new:third sunionstore:third"),
        ("sinterstore third set other", "del:third"),
        ("spop set", "spop:set del:set"),
        ("hset h f 1", "new:h hset:h"),
        ("hincrby h f 1", "hincrby:h"),
        ("hdel h nothing", ""),
        ("hdel h f", "hdel:h del:h"),
        ("zadd z 1 a 2 b", "new:z zadd:z"),
        ("zadd z incr 1 a", "zincr:z"),
        ("zincrby z 1 a", "zincr:z"),
        ("zrem z a", "zrem:z"),
        ("zunionstore y 1 z", "new:y zunionstore:y"),
        ("zremrangebyscore y 0 9", "zremrangebyscore:y del:y"),
        ("zpopmin z", "zpopmin:z del:z"),
        ("setbit bits 7 1", "new:bits setbit:bits"),
        ("pfadd counted a", "new:counted pfadd:counted"),
        ("expire bits -1", "del:bits"),
        ("incr other", ""),
    ] {
        assert_eq!(events_of(&mut client, &mut subscriber, line), expected, "{line}");
    }
    // Those of a transaction come once it has taken effect, and those of one that has not never.
    client.script(&[("multi", "OK"), ("set one 1", "QUEUED"), ("del one", "QUEUED")]);
    assert_eq!(events_of(&mut client, &mut subscriber, "exec"), "new:one set:one del:one");
    client.script(&[("multi", "OK"), ("set one 1", "QUEUED")]);
    assert_eq!(events_of(&mut client, &mut subscriber, "discard"), "");
}

/// Commands of a pipeline that share a transaction wrote their collection once, and had one event for all.
#[test]
fn each_command_of_a_pipeline_has_its_event() {
    let served = Served::new(&["--notify-keyspace-events", "KA"]);
    let (mut client, mut subscriber) = (served.client(), served.client());
    assert_eq!(subscriber.ask("psubscribe __key*"), "[psubscribe __key* 1]");
    client.send_bytes(&[&b"lpush"[..], b"rpush", b"lpush"].map(|name| encode(&[name, b"l", b"a"])).concat());
    for (reply, event) in [("1", "lpush"), ("2", "rpush"), ("3", "lpush")] {
        assert_eq!(client.receive(), reply);
        assert_eq!(subscriber.receive(), format!("[pmessage __key* __keyspace@0__:l {event}]"));
    }
}

#[test]
fn only_what_is_asked_for_is_sent() {
    let served = Served::new(&["--notify-keyspace-events", "K$"]);
    let (mut client, mut subscriber) = (served.client(), served.client());
    client.script(&[("config get notify-keyspace-events", "[notify-keyspace-events $K]"), ("select 3", "OK")]);
    assert_eq!(subscriber.ask("psubscribe *"), "[psubscribe * 1]");
    client.script(&[
        ("lpush l a", "1"),
        ("set s 1", "OK"),
        ("expire s 100", "1"),
        ("del s", "1"),
        ("publish a end", "1"),
    ]);
    assert_eq!(subscriber.receive(), "[pmessage * __keyspace@3__:s set]");
    assert_eq!(subscriber.receive(), "[pmessage * a end]");
    let refusal = client.ask("config set notify-keyspace-events KQ");
    assert!(refusal.contains("Invalid event class character"), "{refusal}");
    client.script(&[
        ("config set notify-keyspace-events KEA", "OK"),
        ("config get notify-keyspace-events", "[notify-keyspace-events AKE]"),
        ("set s 1", "OK"),
    ]);
    assert_eq!(subscriber.receive(), "[pmessage * __keyspace@3__:s set]");
    assert_eq!(subscriber.receive(), "[pmessage * __keyevent@3__:set s]");
    // The event of a key that has expired comes once the sweep removes it.
    client.ask("psetex t 1 x");
    let mut seen = Vec::new();
    while seen.last().is_none_or(|last: &String| !last.contains("keyevent@3__:expired t")) {
        seen.push(subscriber.receive());
    }
    assert!(seen.iter().any(|message| message.contains("__keyspace@3__:t expired")), "{seen:?}");
    client.script(&[("config set notify-keyspace-events \"\"", "OK"), ("set s 2", "OK"), ("publish a end", "1")]);
    assert_eq!(subscriber.receive(), "[pmessage * a end]");
    assert!(holm_server::Settings::for_folder(std::path::Path::new("x"), &["--notify-keyspace-events", "KQ"]).is_err());
}
