//! Commands that wait for elements.

use crate::client::{Served, encode};
use std::io::Read;

#[test]
fn a_pop_waits_for_an_element_of_any_worker() {
    let served = Served::new(&["--workers", "2"]);
    let (mut one, mut other) = (served.client(), served.client());
    for _ in 0..50 {
        one.send("blpop first second 0");
        other.ask("rpush second x");
        assert_eq!(one.receive(), "[second x]");
        one.send("bzpopmin scores 0");
        other.ask("zadd scores 1 m");
        assert_eq!(one.receive(), "[scores m 1]");
    }
    assert_eq!(other.ask("exists second scores"), "0");
    // What a transaction pushes counts once it has committed.
    one.send("blmove from to left right 0");
    other.script(&[("multi", "OK"), ("rpush from y", "QUEUED"), ("exec", "[1]")]);
    assert_eq!(one.receive(), "y");
    assert_eq!(other.ask("lrange to 0 -1"), "[y]");
}

#[test]
fn elements_that_are_gone_by_then_wake_nobody() {
    // A pop that was woken by a transaction found a string in place of the list, and answered an error.
    let served = Served::new(&[]);
    let (mut one, mut other) = (served.client(), served.client());
    one.send("blpop list 0");
    while !other.ask("info clients").contains("blocked_clients:1\\r") {}
    other.script(&[("multi", "OK"), ("lpush list a", "QUEUED"), ("del list", "QUEUED"), ("set list x", "QUEUED")]);
    assert_eq!(other.ask("exec"), "[1 1 OK]");
    other.script(&[("del list", "1"), ("lpush list b", "1")]);
    assert_eq!(one.receive(), "[list b]");
}

#[test]
fn a_wait_ends_in_time_and_keeps_the_pipeline_in_order() {
    let served = Served::new(&[]);
    let mut client = served.client();
    client.send("blpop absent 0.01");
    client.send("ping");
    assert_eq!([client.receive(), client.receive()], ["nil", "PONG"]);
    client.script(&[("blpop absent -1", "-ERR timeout is negative"), ("multi", "OK"), ("blpop absent 0", "QUEUED")]);
    assert_eq!(client.ask("exec"), "[nil]");
    // What moves one element answers it alone, and so does its absence.
    client.script(&[("multi", "OK"), ("blmove absent b left left 0", "QUEUED"), ("blpop absent 0", "QUEUED")]);
    client.send("exec");
    let lines = [client.line(), client.line(), client.line()].map(Option::unwrap);
    assert_eq!(lines, ["*2", "$-1", "*-1"]);
}

#[test]
fn the_first_that_waits_is_served_first() {
    let served = Served::new(&[]);
    let (mut one, mut two, mut other) = (served.client(), served.client(), served.client());
    let blocked = |client: &mut crate::client::Client, count: &str| {
        while !client.ask("info clients").contains(&format!("blocked_clients:{count}\\r")) {}
    };
    one.send("blpop queue 0");
    blocked(&mut other, "1");
    two.send("blpop queue 0");
    blocked(&mut other, "2");
    assert_eq!(other.ask("rpush queue a b"), "2");
    assert_eq!([one.receive(), two.receive()], ["[queue a]", "[queue b]"]);
}

#[test]
fn the_first_that_waits_is_served_first_on_any_worker() {
    // Each worker tried its own clients as soon as it could, so one that came later could be the first.
    let served = Served::new(&["--workers", "2"]);
    let mut other = served.client();
    for _ in 0..20 {
        let mut waiting: Vec<_> = (0..5).map(|_| served.client()).collect();
        for (index, client) in waiting.iter_mut().enumerate() {
            client.send("blpop queue 0");
            while !other.ask("info clients").contains(&format!("blocked_clients:{}\\r", index + 1)) {}
        }
        // One that has left does not keep the elements from the others.
        drop(waiting.remove(2));
        while !other.ask("info clients").contains("blocked_clients:4\\r") {}
        other.ask("rpush queue a b c d e");
        for (client, element) in waiting.iter_mut().zip(["a", "b", "c", "d"]) {
            assert_eq!(client.receive(), format!("[queue {element}]"));
        }
        assert_eq!(other.ask("lpop queue"), "e");
    }
}

/// Only pushes, renames and stores woke those who wait.
#[test]
fn keys_of_other_databases_and_payloads_wake_those_who_wait() {
    let served = Served::new(&["--workers", "2"]);
    let (mut one, mut other) = (served.client(), served.client());
    other.script(&[("select 1", "OK"), ("rpush queue a", "1"), ("rpush kept b", "1"), ("zadd scores 1 m", "1")]);
    for (wait, wake, served) in [
        ("blpop queue 0", "move queue 0", "[queue a]"),
        ("blpop queue 0", "copy kept queue db 0", "[queue b]"),
        ("bzpopmin scores 0", "move scores 0", "[scores m 1]"),
    ] {
        one.send(wait);
        while !other.ask("info clients").contains("blocked_clients:1\\r") {}
        assert_eq!(other.ask(wake), "1");
        assert_eq!(one.receive(), served, "{wake}");
    }
    other.send("dump kept");
    let len: usize = other.line().and_then(|line| line[1..].parse().ok()).unwrap();
    let mut payload = vec![0; len + 2];
    other.stream.read_exact(&mut payload).unwrap();
    one.send("blpop queue 0");
    while !other.ask("info clients").contains("blocked_clients:1\\r") {}
    other.ask("select 0");
    other.send_bytes(&encode(&[b"restore", b"queue", b"0", &payload[..len]]));
    assert_eq!(other.receive(), "OK");
    assert_eq!(one.receive(), "[queue b]");
}

#[test]
fn a_target_of_another_type_ends_the_wait_with_an_error() {
    // The client waited for ever, because an error about the source was meant to be none of its own.
    let served = Served::new(&[]);
    let (mut one, mut two, mut other) = (served.client(), served.client(), served.client());
    other.ask("set target text");
    one.send("blmove source target left left 0");
    while !other.ask("info clients").contains("blocked_clients:1\\r") {}
    two.send("blpop source 0");
    while !other.ask("info clients").contains("blocked_clients:2\\r") {}
    other.ask("rpush source x");
    assert_eq!(one.receive(), "-WRONGTYPE Operation against a key holding the wrong kind of value");
    assert_eq!(two.receive(), "[source x]");
    // Nobody waits for the target of a move, so its elements are for those who do.
    one.send("blmove source queue left left 0");
    while !other.ask("info clients").contains("blocked_clients:1\\r") {}
    two.send("blpop queue 0");
    while !other.ask("info clients").contains("blocked_clients:2\\r") {}
    other.ask("rpush queue y");
    assert_eq!(two.receive(), "[queue y]");
}
