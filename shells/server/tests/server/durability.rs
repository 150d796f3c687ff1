//! What is there after a stop, and after a kill.

use crate::client::{Client, Served};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

#[test]
fn everything_is_there_after_a_stop() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.holm");
    let served = Served::at(&path, &[]);
    let mut client = served.client();
    client.script(&[("set a 1", "OK"), ("select 2", "OK"), ("rpush l x y", "2"), ("swapdb 2 3", "OK")]);
    served.stop();
    assert_eq!(client.receive(), "closed");
    let served = Served::at(&path, &[]);
    served.client().script(&[("get a", "1"), ("select 3", "OK"), ("lrange l 0 -1", "[x y]")]);
}

#[test]
fn versions_are_never_given_twice() {
    // A collection that is made after a restart must not find the rows of one that was removed before.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.holm");
    for round in 0..3 {
        let served = Served::at(&path, &[]);
        let mut client = served.client();
        assert_eq!(client.ask("del h"), if round == 0 { "0" } else { "1" });
        for field in 0..150 {
            client.ask(&format!("hset h {round}:{field} 1"));
        }
        assert_eq!(client.ask("hlen h"), "150");
        assert_eq!(client.ask("hkeys h").split(' ').count(), 150);
        served.stop();
    }
}

/// A server in a process of its own.
struct Process(Child);

impl Process {
    fn start(path: &std::path::Path, acknowledge: &str) -> (Self, Client) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holm-server"));
        command.arg(path).args(["--listen", "127.0.0.1:0", "--workers", "2", "--acknowledge", acknowledge]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap().parse().unwrap();
        (Process(child), Client::connect(address))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    for acknowledge in ["applied", "synced", "none"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.holm");
        let (mut process, mut client) = Process::start(&path, acknowledge);
        let mut acknowledged = 0;
        // The replies to the first half are read; the rest is under way when the server dies.
        (0..400).for_each(|number| client.send(&format!("rpush list {number}")));
        while acknowledged < 200 {
            acknowledged = client.receive().parse().unwrap();
        }
        process.0.kill().unwrap();
        process.0.wait().unwrap();
        while let Ok(len) = client.receive().parse() {
            acknowledged = len;
        }
        let (_process, mut client) = Process::start(&path, acknowledge);
        let found = client.ask("lrange list 0 -1");
        let expected: Vec<_> = (0..400).map(|number| number.to_string()).collect();
        let found: Vec<_> = found.trim_matches(['[', ']']).split(' ').collect();
        assert!(found.len() >= acknowledged, "{acknowledge}: {} of {acknowledged}", found.len());
        assert_eq!(found, expected[..found.len()]);
    }
}

#[test]
fn a_synced_reply_comes_after_its_epoch_is_durable() {
    let served = Served::new(&["--acknowledge", "synced", "--workers", "2"]);
    let (mut one, mut other) = (served.client(), served.client());
    let syncs = |client: &mut Client| -> u64 {
        let info = client.ask("info stats");
        info.split("\\r\\n").find_map(|line| line.strip_prefix("syncs:")).unwrap().parse().unwrap()
    };
    let before = syncs(&mut other);
    for number in 0..5 {
        assert_eq!(one.ask(&format!("set a {number}")), "OK");
    }
    assert!(syncs(&mut other) >= before + 5, "each of five writes, one after the other, waits for a sync of its own");
    // Reads of settled data wait for nothing.
    let before = syncs(&mut other);
    (0..5).for_each(|_| assert_eq!(one.ask("get a"), "4"));
    assert_eq!(syncs(&mut other), before);
}

#[test]
fn one_connection_can_ask_for_more() {
    let served = Served::new(&[]);
    let mut client = served.client();
    let syncs = |client: &mut Client| client.ask("info stats").split("syncs:").nth(1).unwrap()[..1].to_owned();
    client.script(&[("set a 1", "OK"), ("holm.acknowledge", "applied")]);
    assert_eq!(syncs(&mut client), "0");
    client.script(&[("holm.acknowledge synced", "OK"), ("set a 2", "OK"), ("holm.acknowledge", "synced")]);
    assert_eq!(syncs(&mut client), "1");
    client.script(&[
        ("holm.acknowledge none", "-ERR syntax error"),
        ("holm.acknowledge default", "OK"),
        ("set a 3", "OK"),
    ]);
    assert_eq!(syncs(&mut client), "1");
}

#[test]
fn a_held_reply_is_behind_its_own_epoch_and_in_its_place() {
    // A reply that was sent before its sync was done, or that overtook an earlier one.
    let served = Served::new(&["--acknowledge", "synced", "--workers", "2"]);
    let epoch = |client: &mut Client, at: usize| -> u64 {
        client.ask("holm.epoch").trim_matches(['[', ']']).split(' ').nth(at).unwrap().parse().unwrap()
    };
    let threads: Vec<_> = (0..4)
        .map(|name| {
            let mut client = served.client();
            std::thread::spawn(move || {
                for round in 0..50 {
                    let before = epoch(&mut client, 1);
                    assert_eq!(client.ask(&format!("set {name} {round}")), "OK");
                    assert!(epoch(&mut client, 3) >= before, "the reply came before the epoch was durable");
                    (0..20).for_each(|_| client.send(&format!("incr sum{name}")));
                    client.send(&format!("get {name}"));
                    (1..=20).for_each(|step| assert_eq!(client.receive(), (20 * round + step).to_string()));
                    assert_eq!(client.receive(), round.to_string());
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
