//! Clients that send anything, read nothing, or go away.

use crate::client::{Served, encode};
use crate::process::Process;
use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Write};
use std::net::TcpStream;

#[test]
fn any_bytes_leave_the_server_alive() {
    let served = Served::new(&[]);
    let seed = RandomState::new().hash_one(0);
    println!("seed {seed}");
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let parts: &[&[u8]] =
        &[b"*", b"$", b"\r\n", b"1", b"-1", b"3", b"GET", b"\"", b"'", b"\\x", b"\0", b" ", b"set a 1", b"999999999"];
    for _ in 0..200 {
        let mut stream = TcpStream::connect(served.address).unwrap();
        let mut bytes = Vec::new();
        for _ in 0..next() % 40 {
            bytes.extend_from_slice(parts[(next() % parts.len() as u64) as usize]);
        }
        // The server may have closed the connection by now.
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
    assert_eq!(served.client().ask("ping"), "PONG");
}

#[test]
fn a_client_that_reads_nothing_is_disconnected() {
    let served = Served::new(&["--client-output-buffer-limit", "normal 100000 0 0"]);
    let mut client = served.client();
    client.send_words(&[b"set", b"large", &vec![b'x'; 8 << 20]]);
    assert_eq!(client.receive(), "OK");
    let mut greedy = TcpStream::connect(served.address).unwrap();
    greedy.write_all(&b"get large\r\n".repeat(4)).unwrap();
    // More than the socket's buffers take, so the rest waits, and is too much.
    let mut taken = Vec::new();
    let _ = greedy.read_to_end(&mut taken);
    assert!(taken.len() < 4 * (8 << 20));
    assert_eq!(client.ask("ping"), "PONG");
}

#[test]
fn a_client_that_leaves_while_it_waits_takes_nothing() {
    let served = Served::new(&[]);
    let mut other = served.client();
    let mut one = served.client();
    one.send("blpop queue 0");
    while !other.ask("info clients").contains("blocked_clients:1\\r") {}
    drop(one);
    while !other.ask("info clients").contains("connected_clients:1\\r") {}
    other.script(&[("rpush queue x", "1"), ("lrange queue 0 -1", "[x]")]);
}

/// The memory of a server that is not that of its files.
fn memory(client: &mut crate::client::Client) -> u64 {
    let info = client.ask("info memory");
    info.split("\\r\\n").find_map(|line| line.strip_prefix("used_memory:")).unwrap().parse().unwrap()
}

/// Sends a pipeline of many bytes before a reply is read, and then reads them all.
fn pipeline(bytes: usize) {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(&folder.path().join("test.holm"), &[]);
    let mut other = process.client();
    let before = memory(&mut other);
    let value = vec![b'x'; 10_000];
    let command = [encode(&[b"set", b"key", &value]), encode(&[b"get", b"key"])].concat();
    let count = bytes / command.len();
    let mut client = process.client();
    let mut writing = client.stream.get_ref().try_clone().unwrap();
    let writer = std::thread::spawn(move || (0..count).for_each(|_| writing.write_all(&command).unwrap()));
    // The writer stands still soon, because nobody reads. The server holds what its limits allow, and serves others.
    let held = (0..2_000).map(|_| memory(&mut other)).max().unwrap();
    assert!(held < before + (64 << 20), "{before} bytes before, {held} meanwhile");
    for _ in 0..count {
        assert_eq!(client.receive(), "OK");
        assert_eq!(client.receive().len(), value.len());
    }
    writer.join().unwrap();
}

#[test]
fn a_pipeline_that_nobody_reads_takes_bounded_memory() {
    pipeline(64 << 20);
}

/// `cargo test -p holm-server --test server -- --ignored a_pipeline_of_a_gibibyte`
#[test]
#[ignore = "takes some seconds"]
fn a_pipeline_of_a_gibibyte_takes_bounded_memory() {
    pipeline(1 << 30);
}

fn idle(count: usize) {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(&folder.path().join("test.holm"), &["--maxclients", "20000"]);
    let mut other = process.client();
    let before = memory(&mut other);
    let mut idle: Vec<_> = (0..count).map(|_| TcpStream::connect(process.address()).unwrap()).collect();
    while !other.ask("info clients").contains(&format!("connected_clients:{}\\r", count + 1)) {}
    let each = (memory(&mut other).saturating_sub(before)) / count as u64;
    assert!(each < 16 << 10, "{each} bytes for each connection");
    // Any of them is served.
    for stream in idle.iter_mut().step_by(count / 50) {
        stream.write_all(b"PING\r\n").unwrap();
        let mut reply = [0; 7];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!(&reply, b"+PONG\r\n");
    }
    drop(idle);
    while !other.ask("info clients").contains("connected_clients:1\\r") {}
}

#[test]
fn idle_connections_take_little_and_are_served() {
    idle(400);
}

/// `cargo test -p holm-server --test server -- --ignored ten_thousand`; needs as many open files.
#[test]
#[ignore = "needs 10,000 open files"]
fn ten_thousand_idle_connections_take_little_and_are_served() {
    idle(10_000);
}

#[test]
fn a_slow_reader_gets_everything() {
    let served = Served::new(&["--workers", "1"]);
    let mut other = served.client();
    other.send_words(&[b"set", b"large", &vec![b'x'; 4 << 20]]);
    assert_eq!(other.receive(), "OK");
    let mut slow = TcpStream::connect(served.address).unwrap();
    slow.write_all(&b"get large\r\n".repeat(6)).unwrap();
    let (mut taken, mut part) = (0, vec![0; 100_000]);
    while taken < 6 * ((4 << 20) + 12) {
        taken += slow.read(&mut part).unwrap();
        // The only worker serves others between the parts.
        assert_eq!(other.ask("ping"), "PONG");
    }
    assert_eq!(taken, 6 * ((4 << 20) + 12));
}

#[test]
fn a_client_that_ends_its_side_gets_the_replies_to_what_it_has_sent() {
    let served = Served::new(&[]);
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.write_all(&b"incr sum\r\n".repeat(1_000)).unwrap();
    // And half of a command.
    stream.write_all(b"*2\r\n$4\r\nincr\r\n$3\r\nsu").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut replies = String::new();
    stream.read_to_string(&mut replies).unwrap();
    assert_eq!(replies.lines().count(), 1_000);
    assert_eq!(replies.lines().last(), Some(":1000"));
    let mut other = served.client();
    other.script(&[("get sum", "1000")]);
    while !other.ask("info clients").contains("connected_clients:1\\r") {}
}

#[test]
fn long_commands_leave_their_worker_to_others() {
    let served = Served::new(&["--workers", "1"]);
    let mut client = served.client();
    let mut many = Vec::new();
    for number in 0..30_000u32 {
        let name = format!("{number:05}");
        many.extend(encode(&[b"set", format!("key{name}").as_bytes(), b"1"]));
        many.extend(encode(&[b"hset", b"hash", name.as_bytes(), b"1"]));
    }
    client.send_bytes(&many);
    (0..60_000).for_each(|_| drop(client.receive()));
    let long = |client: &mut crate::client::Client| {
        let info = client.ask("info stats");
        info.split("\\r\\n").find_map(|line| line.strip_prefix("long_commands:")).unwrap().to_owned()
    };
    assert_eq!(long(&mut client), "0");
    // Replies keep their order, and those to short commands are the same as ever.
    client.send("keys *");
    client.send("ping");
    client.send("hgetall hash");
    client.send("hkeys hash");
    client.send("get key00007");
    assert_eq!(client.receive().split(' ').count(), 30_001);
    assert_eq!(client.receive(), "PONG");
    assert_eq!(client.receive().split(' ').count(), 60_000);
    assert_eq!(client.receive().split(' ').count(), 30_000);
    assert_eq!(client.receive(), "1");
    assert_eq!(long(&mut client), "3");
    // In a transaction, and for a client that wants no replies.
    client.script(&[("multi", "OK"), ("hlen hash", "QUEUED"), ("exec", "[30000]")]);
    client.send("client reply skip");
    client.send("hvals hash");
    assert_eq!(client.ask("ping"), "PONG");
    // One that leaves meanwhile leaves nothing behind.
    let mut other = served.client();
    other.send("keys *");
    drop(other);
    while !client.ask("info clients").contains("connected_clients:1\\r") {}
}
