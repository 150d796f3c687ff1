//! The slab: a number has one owner at a time, and a node's address never changes, however many threads allocate it.

use crate::explore::{caught, explore};
use holm_tree::Slab;
use shuttle::sync::atomic::{AtomicU64, Ordering::Relaxed};
use shuttle::thread;
use std::collections::BTreeMap;
use std::sync::Mutex;

#[derive(Default)]
struct Node {
    owner: AtomicU64,
}

/// Takes three nodes, owns each for a while, and gives the first one back; the seeded fault gives it back twice.
fn own(slab: &Slab<Node>, places: &Mutex<BTreeMap<u32, usize>>, own: u64, twice: bool) {
    let mut taken = Vec::new();
    for round in 0..3 {
        let (number, node) = slab.take();
        assert_eq!(node.owner.swap(own, Relaxed), 0, "node {number} has two owners");
        let place = std::ptr::from_ref(node) as usize;
        let known = *places.lock().expect("no panic").entry(number).or_insert(place);
        assert_eq!(known, place, "node {number} has moved");
        taken.push(number);
        if round == 0 {
            assert_eq!(node.owner.swap(0, Relaxed), own, "node {number} has two owners");
            slab.give(number);
            if twice {
                slab.give(number);
            }
            taken.clear();
        }
    }
    for number in taken {
        let node = slab.get(number).expect("it was taken");
        assert_eq!(node.owner.load(Relaxed), own, "node {number} has two owners");
    }
}

fn owners(twice: bool) {
    let (slab, places) = (Slab::<Node>::default(), Mutex::default());
    thread::scope(|scope| {
        for thread in 1..=3 {
            let (slab, places) = (&slab, &places);
            scope.spawn(move || own(slab, places, thread, twice));
        }
        scope.spawn(|| {
            for number in 0..8 {
                let reached = slab.get_or_allocate(number).expect("a place") as *const Node as usize;
                let got = slab.get(number).expect("it was reached") as *const Node as usize;
                let known = *places.lock().expect("no panic").entry(number).or_insert(reached);
                assert_eq!((reached, got), (known, known), "node {number} has moved");
            }
        });
    });
}

#[test]
fn a_number_has_one_owner_and_one_place() {
    explore(2_000, || owners(false));
}

#[test]
fn a_number_given_back_twice_is_caught() {
    caught(2_000, "two owners", || owners(true));
}
