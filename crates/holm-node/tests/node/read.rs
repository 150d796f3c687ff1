//! Reads, beside entries that are applied.

use crate::support::{Replica, part, replies};
use holm_node::PartKind;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn reads_write_nothing_and_answer_in_their_order() {
    let replica = Replica::new();
    replica.run("SET a 1; RPUSH l x y z");
    assert_eq!(replica.read("GET a; LRANGE l 0 -1; MGET a b; DBSIZE"), "$1 1 *3 $1 x $1 y $1 z *2 $1 1 $-1 :2");
    assert!(replica.read("SET a 2").starts_with("-ERR"));
    assert_eq!(replica.read("GET a"), "$1 1");
}

#[test]
fn a_transaction_of_reads_is_of_one_instant() {
    let replica = Replica::new();
    replica.run("MSET a 0 b 0");
    let (stop, reads) = (AtomicBool::new(false), part(PartKind::Transaction, "GET a; GET b", &[]));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..2_000 {
                replica.run("INCR a; INCR b");
            }
            stop.store(true, Ordering::Release);
        });
        while !stop.load(Ordering::Acquire) {
            let found = replies(&replica.group.read(&reads).unwrap());
            let words: Vec<_> = found.split(' ').collect();
            assert_eq!(words[2], words[4], "{found}");
        }
    });
}
