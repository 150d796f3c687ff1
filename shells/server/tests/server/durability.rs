//! What is there after a stop, and after a kill.

use crate::client::{Client, Served};
use crate::process::Process;

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

#[test]
fn what_was_acknowledged_survives_a_kill() {
    for acknowledge in ["applied", "synced", "none"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.holm");
        let mut process = Process::start(&path, &["--acknowledge", acknowledge]);
        let mut client = process.client();
        let mut acknowledged = 0;
        // The replies to the first half are read; the rest is under way when the server dies.
        (0..400).for_each(|number| client.send(&format!("rpush list {number}")));
        while acknowledged < 200 {
            acknowledged = client.receive().parse().unwrap();
        }
        process.kill();
        while let Ok(len) = client.receive().parse() {
            acknowledged = len;
        }
        let process = Process::start(&path, &["--acknowledge", acknowledge]);
        let mut client = process.client();
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

/// What a client of the next test has seen: what it sent last, and what was acknowledged last.
fn write_until_killed(mut client: Client, name: usize, from: u64) -> u64 {
    let mut acknowledged = from;
    for number in from + 1.. {
        // Each write replaces three keys at one instant, and eight of them are under way at a time.
        if client.try_send(&format!("mset a{name} {number} b{name} {number} c{name} {number}")).is_err() {
            break;
        }
        if number > from + 8 {
            match &client.receive()[..] {
                "OK" => acknowledged += 1,
                _ => break,
            }
        }
    }
    while client.receive() == "OK" {
        acknowledged += 1;
    }
    acknowledged
}

#[test]
fn a_kill_under_load_keeps_what_was_acknowledged_to_any_client() {
    for acknowledge in ["applied", "synced", "none"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.holm");
        let mut acknowledged = [0u64; 4];
        for round in 0..3 {
            let mut process = Process::start(&path, &["--acknowledge", acknowledge]);
            let writers: Vec<_> = acknowledged
                .iter()
                .enumerate()
                .map(|(name, from)| {
                    let (client, from) = (process.client(), *from);
                    std::thread::spawn(move || write_until_killed(client, name, from))
                })
                .collect();
            let mut other = process.client();
            let enough = (acknowledged[0] + 50 + 100 * round).to_string();
            let number = |text: &str| text.parse::<u64>().unwrap_or(0);
            while number(&other.ask("get a0")) < number(&enough) {}
            process.kill();
            let told: Vec<_> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
            let process = Process::start(&path, &["--acknowledge", acknowledge]);
            let mut client = process.client();
            for (name, told) in told.into_iter().enumerate() {
                let found = client.ask(&format!("mget a{name} b{name} c{name}"));
                let values: Vec<_> = found.trim_matches(['[', ']']).split(' ').map(number).collect();
                assert!(values[0] >= told, "{acknowledge}: {found}, acknowledged {told}");
                assert!(values.iter().all(|value| *value == values[0]), "{acknowledge}: a part of a command: {found}");
                acknowledged[name] = values[0];
            }
        }
    }
}

#[test]
fn a_full_disk_is_an_error_of_writes_until_there_is_space() {
    // The limit on the size of files stands for the disk. Where the system cannot lift it, there is nothing to test.
    let lift = |process: &Process| {
        let pid = process.id().to_string();
        let lifted = std::process::Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited"]).status();
        lifted.is_ok_and(|status| status.success())
    };
    for acknowledge in ["applied", "synced"] {
        let folder = tempfile::tempdir().unwrap();
        let process =
            Process::start_limited(&folder.path().join("test.holm"), &["--acknowledge", acknowledge], 24 << 20);
        let mut client = process.client();
        let value = "x".repeat(100_000);
        let (mut kept, mut refused) = (0, None);
        for number in 0..2_000 {
            match &client.ask(&format!("set key{number} {value}"))[..] {
                "OK" => kept = number + 1,
                error => {
                    refused = Some(error.to_owned());
                    break;
                }
            }
        }
        let refused = refused.expect("200 MB do not fit into files of 24 MiB");
        assert!(refused.starts_with("-OOM") || refused.starts_with("-MISCONF"), "{acknowledge}: {refused}");
        // What is there can be read.
        let mut client = process.client();
        for number in 0..kept {
            assert_eq!(client.ask(&format!("strlen key{number}")), "100000", "{acknowledge}");
        }
        if !lift(&process) {
            continue;
        }
        let written = (0..1_000).any(|_| {
            let mut client = process.client();
            client.ask(&format!("set again {value}")) == "OK"
        });
        assert!(written, "{acknowledge}: there is space again, and nothing is written");
        assert_eq!(process.client().ask("strlen again"), "100000");
    }
}

#[test]
fn a_feed_of_changes_is_resumed_by_its_epoch_on_any_connection() {
    let served = Served::new(&["--workers", "2"]);
    let mut client = served.client();
    client.script(&[("set before 1", "OK"), ("waitaof 1 0 0", "[1 0]")]);
    let mut epoch: u64 = client.ask("holm.changes open mine").parse().unwrap();
    // The rest of the epoch in which the feed began may come first.
    let next = |client: &mut Client, epoch: &mut u64| loop {
        let found = client.ask(&format!("holm.changes read mine {epoch} count 1"));
        let Some((number, changes)) = found.trim_start_matches('[').split_once(' ') else { continue };
        let changes = changes.trim_end_matches("]]").to_owned() + "]";
        *epoch = number.parse().unwrap();
        if !changes.contains("before") && !changes.starts_with("[]") {
            return changes;
        }
    };
    client.ask("set key value");
    assert_eq!(next(&mut client, &mut epoch), "[[set 0 key string value]");
    // Another connection goes on where the first one was; what is not acknowledged comes again.
    let mut other = served.client();
    client.script(&[("select 3", "OK"), ("rpush list a b", "2")]);
    let mut again = epoch;
    assert_eq!(next(&mut client, &mut again), "[[set 3 list list nil]");
    assert_eq!(next(&mut other, &mut epoch), "[[set 3 list list nil]");
    other.ask("del key");
    assert_eq!(next(&mut other, &mut epoch), "[[del 0 key]");
    client.ask("flushdb");
    assert_eq!(next(&mut other, &mut epoch), "[[flush 3]");
    // A collection of many rows is named by its key.
    client.ask("select 0");
    (0..200).for_each(|field| client.send(&format!("hset hash f{field} {}", "x".repeat(50))));
    (0..200).for_each(|_| assert_eq!(client.receive(), "1"));
    assert_eq!(next(&mut other, &mut epoch), "[[set 0 hash hash nil]");
    assert!(other.ask("holm.changes read mine 0").starts_with("-NOFEED that epoch"));
    assert!(other.ask("holm.changes list").starts_with("[mine "));
    other.script(&[("holm.changes close mine", "1"), ("holm.changes close mine", "0")]);
    assert!(other.ask("holm.changes read mine 0").starts_with("-NOFEED there is no such feed"));
}
