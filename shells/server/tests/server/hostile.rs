//! Clients that send anything, read nothing, or go away.

use crate::client::Served;
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
    let served = Served::new(&["--max-output", "100000"]);
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
