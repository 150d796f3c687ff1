//! Limits of what waits for a client, by its class.

use crate::client::{Client, Served};
use std::io::Read;

/// A number of the line that CLIENT LIST has for the client of a name; `None` if there is no such client.
fn of_client(asking: &mut Client, name: &str, field: &str) -> Option<usize> {
    let list = asking.ask("client list");
    let line = list.split("\\n").find(|line| line.contains(&format!(" name={name} ")))?;
    let value = line.split(' ').find_map(|part| part.strip_prefix(&format!("{field}=")));
    Some(value.unwrap().parse().unwrap())
}

fn disconnections(asking: &mut Client) -> usize {
    let info = asking.ask("info stats");
    let value = info.split("\\r\\n").find_map(|line| line.strip_prefix("client_output_buffer_limit_disconnections:"));
    value.unwrap().parse().unwrap()
}

/// Subscribes to a channel, and never reads again.
fn deaf(served: &Served) -> Client {
    let mut deaf = served.client();
    deaf.script(&[("client setname deaf", "OK"), ("subscribe news", "[subscribe news 1]")]);
    deaf
}

/// Publishes until more than some bytes wait for the deaf client, or until it is gone. Returns the most that waited.
fn publish_until(asking: &mut Client, enough: usize) -> usize {
    let mut most = 0;
    loop {
        asking.send_words(&[b"publish", b"news", &[b'x'; 50_000]]);
        asking.receive();
        match of_client(asking, "deaf", "omem") {
            Some(waiting) if waiting <= enough => most = most.max(waiting),
            Some(waiting) => return waiting,
            None => return most,
        }
    }
}

#[test]
fn a_reply_beyond_the_hard_limit_ends_the_connection_before_its_first_byte() {
    let served = Served::new(&["--client-output-buffer-limit", "normal 100000 0 0"]);
    let mut other = served.client();
    other.send_words(&[b"set", b"large", &vec![b'x'; 60_000]]);
    assert_eq!(other.receive(), "OK");
    let mut taken = Vec::new();
    let mut greedy = served.client();
    greedy.send_bytes(b"get large\r\nget large\r\nincr sum\r\nquit\r\n");
    greedy.stream.read_to_end(&mut taken).unwrap_or_default();
    assert_eq!((taken.len(), disconnections(&mut other)), (0, 1));
    // What EXEC has begun is carried out.
    let mut greedy = served.client();
    greedy.script(&[("multi", "OK"), ("get large", "QUEUED"), ("get large", "QUEUED"), ("set done 1", "QUEUED")]);
    assert_eq!(greedy.ask("exec"), "closed");
    other.script(&[("get done", "1"), ("hset hash a b", "1")]);
    // Nothing of a reply is made that would be larger than the limit.
    assert_eq!(served.client().ask("hrandfield hash -999999999"), "closed");
    assert_eq!(disconnections(&mut other), 3);
    other.script(&[
        ("config set client-output-buffer-limit \"\"", "OK"),
        ("hrandfield hash -99999999 withvalues", "closed"),
    ]);
    let mut other = served.client();
    assert_eq!(other.ask("config set maxclients 100"), "OK");
    other.send_words(&[b"config", b"set", b"client-output-buffer-limit", b"normal 0 0 0"]);
    assert_eq!(other.receive(), "OK");
    other.script(&[("hrandfield hash -99999999", "-ERR value is out of range"), ("config resetstat", "OK")]);
    assert_eq!(disconnections(&mut other), 0);
}

#[test]
fn classes_have_limits_of_their_own() {
    let served = Served::new(&["--client-output-buffer-limit", "pubsub 200kb 0 0"]);
    let mut other = served.client();
    let mut deaf = deaf(&served);
    let most = publish_until(&mut other, usize::MAX);
    assert!((1..=200 << 10).contains(&most), "{most}");
    assert_eq!(disconnections(&mut other), 1);
    // It gets what was sent before.
    let mut taken = Vec::new();
    deaf.stream.read_to_end(&mut taken).unwrap_or_default();
    assert!(taken.starts_with(b"*3\r\n$7\r\nmessage"));
    // A reply of twice that size is no message.
    other.send_words(&[b"set", b"large", &vec![b'x'; 400_000]]);
    assert_eq!(other.receive(), "OK");
    assert_eq!(other.ask("get large").len(), 400_000);
}

#[test]
fn a_soft_limit_ends_the_connection_after_its_seconds_without_further_traffic() {
    let served = Served::new(&["--client-output-buffer-limit", "pubsub 0 100000 1000000"]);
    let mut other = served.client();
    let _deaf = deaf(&served);
    // More than the buffers of its socket can grow by afterwards.
    let waiting = publish_until(&mut other, 8 << 20);
    assert!(waiting > 8 << 20);
    assert_eq!(of_client(&mut other, "deaf", "oll"), Some(1));
    assert!(of_client(&mut other, "deaf", "tot-mem").unwrap() > waiting);
    other.send_words(&[b"config", b"set", b"client-output-buffer-limit", b"pubsub 0 100000 1"]);
    assert_eq!(other.receive(), "OK");
    assert_eq!(other.ask("publish news x"), "1");
    while of_client(&mut other, "deaf", "omem").is_some() {}
    assert_eq!(disconnections(&mut other), 1);
}

#[test]
fn a_client_that_takes_what_waits_in_time_stays() {
    let served = Served::new(&["--client-output-buffer-limit", "pubsub 0 100000 1000000"]);
    let mut other = served.client();
    let mut deaf = deaf(&served);
    publish_until(&mut other, 100_000);
    while of_client(&mut other, "deaf", "omem") != Some(0) {
        assert!(deaf.receive().starts_with("[message news"));
    }
    // Its time begins anew, and there is none.
    other.send_words(&[b"config", b"set", b"client-output-buffer-limit", b"pubsub 0 100000 0"]);
    assert_eq!(other.receive(), "OK");
    assert_eq!(other.ask("publish news x"), "1");
    while !deaf.receive().ends_with(" x]") {}
    assert!(publish_until(&mut other, usize::MAX) <= 100_000);
    assert_eq!(disconnections(&mut other), 1);
}

#[test]
fn limits_are_parameters_and_lines_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("holm.conf");
    let lines = "client-output-buffer-limit normal 1mb 2mb 3\nworkers 1\nclient-output-buffer-limit pubsub 4k 5k 6\n";
    std::fs::write(&file, lines).unwrap();
    let config = format!("--config={}", file.display());
    let path = folder.path().join("test.holm");
    let options = [&config[..], "--client-output-buffer-limit", "replica 7 8 9"];
    let served = Served::at(&path, &options);
    let mut client = served.client();
    let name = "client-output-buffer-limit";
    let get = format!("config get {name}");
    let begun = "normal 1048576 2097152 3 slave 7 8 9 pubsub 4000 5000 6";
    assert_eq!(client.ask(&get), format!("[{name} {begun}]"));
    let set = |client: &mut Client, value: &str| {
        client.send_words(&[b"config", b"set", name.as_bytes(), value.as_bytes()]);
        client.receive()
    };
    assert!(set(&mut client, "normal 1 1 1 nobody 1 1 1").contains("Invalid client class"));
    assert_eq!(client.ask(&get), format!("[{name} {begun}]"));
    assert_eq!(set(&mut client, "normal 1gb 0 0"), "OK");
    assert_eq!(client.ask("config rewrite"), "OK");
    served.stop();
    let served = Served::at(&path, &[&config]);
    let changed = "normal 1073741824 0 0 slave 7 8 9 pubsub 4000 5000 6";
    assert_eq!(served.client().ask(&get), format!("[{name} {changed}]"));
    let wrong = holm_server::Settings::for_folder(&path, &["--client-output-buffer-limit", "normal 1 2"]);
    assert!(wrong.unwrap_err().to_string().contains("Wrong number of arguments"));
}

#[test]
fn buffers_of_a_client_shrink_once_less_is_asked_for() {
    let served = Served::new(&[]);
    let mut other = served.client();
    let mut client = served.client();
    assert_eq!(client.ask("client setname one"), "OK");
    client.send_words(&[b"set", b"key", &vec![b'x'; 400_000]]);
    assert_eq!(client.receive(), "OK");
    let room = |other: &mut Client| of_client(other, "one", "qbuf-free").unwrap();
    let large = room(&mut other);
    for _ in 0..10 {
        assert_eq!(client.ask("set key x"), "OK");
    }
    let small = room(&mut other);
    // How much the large request leaves depends on the pieces in which it has come.
    assert!(small > 0 && small <= 64 << 10 && large >= small, "{small} of {large}");
    client.script(&[("multi", "OK"), ("set key yyyyyyyyyy", "QUEUED")]);
    assert!(of_client(&mut other, "one", "multi-mem").unwrap() >= 16);
}
