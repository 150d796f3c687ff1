//! Commands that wait for elements.

use crate::client::Served;

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
