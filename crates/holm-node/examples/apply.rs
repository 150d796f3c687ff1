//! What an operation of an entry costs: SETs of keys that are there, and INCRs that read what the entry wrote before.
//! Entries have one command, 16 and 256. Prints nanoseconds of processor time of the applying thread for an operation,
//! which other programs disturb less than time: median (least to greatest) of rounds.
//!
//! ```console
//! $ cargo run --release -p holm-node --example apply -- --rounds 5
//! ```

use holm_commands::Protocol;
use holm_node::{Entry, EntryKind, Node, NodeOptions, Part, PartKind};
use std::error::Error;
use std::fmt::Write as _;

const KEYS: u64 = 100_000;
const OPERATIONS: u64 = 51_200;

/// The nanoseconds that this thread has run for.
fn run_time() -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split(' ').next().unwrap_or_default().parse()?)
}

/// What an entry's commands are.
#[derive(Clone, Copy)]
enum Kind {
    Set,
    /// Half of the commands read what another one of the same entry has written.
    Increment,
}

fn entry(kind: Kind, operations: u64, chance: &mut u64) -> Vec<u8> {
    let mut requests = String::new();
    for number in 0..operations {
        if number % 2 == 0 || matches!(kind, Kind::Set) {
            *chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        }
        let key = (*chance >> 32) % KEYS;
        let _ = match kind {
            Kind::Set => write!(requests, "*3\r\n$3\r\nSET\r\n$16\r\nkey:{key:012}\r\n$100\r\n{number:0100}\r\n"),
            Kind::Increment => write!(requests, "*2\r\n$4\r\nINCR\r\n$16\r\ncount:{key:010}\r\n"),
        };
    }
    let part =
        Part { kind: PartKind::Pipeline, protocol: Protocol::Resp2, watches: vec![], requests: requests.as_bytes() };
    let mut parts = Vec::new();
    part.append_to(&mut parts);
    Entry { level: 1, kind: EntryKind::Commands, time: 1, seed: 1, parts: &parts }.to_bytes()
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let rounds = match &words[..] {
        [] => 5,
        [name, count] if name == "--rounds" => count.parse()?,
        _ => return Err("the only option is --rounds COUNT".into()),
    };
    let folder = tempfile::tempdir()?;
    let node = Node::open(folder.path().join("node.holm"), NodeOptions::default())?;
    let group = node.group(1)?;
    let (mut index, mut chance) = (0, 1);
    for from in (0..KEYS).step_by(1000) {
        let mut requests = String::new();
        for key in from..from + 1000 {
            write!(requests, "SET key:{key:012} {key:0100}\r\nSET count:{key:010} 0\r\n")?;
        }
        let mut parts = Vec::new();
        let (kind, protocol) = (PartKind::Pipeline, Protocol::Resp2);
        Part { kind, protocol, watches: vec![], requests: requests.as_bytes() }.append_to(&mut parts);
        index += 1;
        let filled = Entry { level: 1, kind: EntryKind::Commands, time: 1, seed: 1, parts: &parts }.to_bytes();
        group.apply(&[(index, &filled)])?;
    }
    println!("{:>10} {:>10}  ns an operation", "command", "of an entry");
    for (name, kind) in [("SET", Kind::Set), ("INCR", Kind::Increment)] {
        for size in [1, 16, 256] {
            let mut found = Vec::new();
            for _ in 0..rounds {
                let entries: Vec<_> = (0..OPERATIONS / size).map(|_| entry(kind, size, &mut chance)).collect();
                let begun = run_time()?;
                for bytes in &entries {
                    index += 1;
                    group.apply(&[(index, bytes)])?;
                }
                found.push((run_time()? - begun) / OPERATIONS);
                node.sync()?;
            }
            found.sort_unstable();
            let (median, least) = (found[found.len() / 2], found[0]);
            println!("{name:>10} {size:>10}  {median} ({least} to {})", found[found.len() - 1]);
        }
    }
    Ok(())
}
