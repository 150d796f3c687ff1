//! The buffered tree on real threads: short histories of a few keys, in leaves that fill, split, empty and merge
//! meanwhile, under a clock whose epochs end.

use holm_medium::{FIRST_EPOCH, Storage, StorageOps, Writer};
use holm_proof::history::{Action, Call, Recorder, check};
use holm_proof::subjects;
use holm_proof::{Recorded, Tree};
use holm_tree::TreeRoot;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::thread;

const THREADS: u64 = 3;
const KEYS: u64 = 3;
const CALLS: u64 = 30;

struct TreeFixture {
    writer: Arc<Writer<Recorded>>,
    tree: Arc<dyn Tree>,
    root: TreeRoot,
}

impl TreeFixture {
    fn new() -> Self {
        let medium = Recorded::new([4 << 20, 4 << 10]);
        let writer = Arc::new(Storage::open(medium, FIRST_EPOCH).expect("memory"));
        let tree = subjects::buffered.tree(writer.clone());
        let root = tree.create_tree(&mut writer.clock().pin().expect("sound"), 0).expect("memory");
        TreeFixture { writer, tree, root }
    }

    fn act(&self, key: u64, action: Action) -> Option<u64> {
        if action == Action::Get {
            return self.tree.get(&self.root, key).payload;
        }
        let mut guard = self.writer.clock().pin().expect("sound");
        let old = match action {
            Action::Put(value) => self.tree.put(&self.root, &mut guard, key, value),
            _ => self.tree.remove(&self.root, &mut guard, key),
        };
        old.expect("memory").map(|old| old.payload)
    }

    /// One thread's part: calls for the few recorded keys, among others that make leaves split and merge.
    fn take_part(&self, recorder: &Recorder, base: u64, thread: u64, seed: u64) -> Vec<Call> {
        let mut random = Pcg64::seed_from_u64(seed * THREADS + thread);
        let mut calls = Vec::new();
        for step in 0..CALLS {
            let key = base + random.random_range(0..KEYS) * 20;
            let action = match random.random_range(0..8) {
                0..3 => Action::Put(base + thread * CALLS + step),
                3..6 => Action::Get,
                _ => Action::Remove,
            };
            calls.push(recorder.call(key, action, || self.act(key, action)));
            // Neighbouring keys that no other thread uses: put in the first half of the time, then removed.
            let other = base + 1 + thread + step % (CALLS / 2) * 4;
            self.act(other, if step < CALLS / 2 { Action::Put(0) } else { Action::Remove });
        }
        calls
    }
}

#[test]
fn every_history_has_an_order() {
    let fixture = TreeFixture::new();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                fixture.writer.end_epoch().expect("sound");
                thread::yield_now();
            }
        });
        for seed in 0..300 {
            let (recorder, barrier) = (Recorder::default(), Barrier::new(THREADS as usize));
            let base = seed % 40 * 100;
            for key in 0..KEYS {
                fixture.act(base + key * 20, Action::Remove);
            }
            let history: Vec<_> = thread::scope(|scope| {
                let part = |thread| {
                    let (fixture, recorder, barrier) = (&fixture, &recorder, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        fixture.take_part(recorder, base, thread, seed)
                    })
                };
                let parts: Vec<_> = (0..THREADS).map(part).collect();
                parts.into_iter().flat_map(|part| part.join().expect("no panic")).collect()
            });
            assert_eq!(history.len() as u64, THREADS * CALLS);
            if let Err(fault) = check(&history) {
                done.store(true, Relaxed);
                panic!("seed {seed}: {fault}");
            }
        }
        done.store(true, Relaxed);
    });
    assert_eq!(fixture.tree.audit(&fixture.root).faults, Vec::<String>::new());
}
