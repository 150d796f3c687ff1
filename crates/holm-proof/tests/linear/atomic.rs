//! Atomic operations of a keyspace on real threads: short histories of a few keys of one leaf, which fills, splits and
//! empties meanwhile. The checker's put and removal say what was there before, so every operation is one of them.

use holm::{Database, Durability, Keyspace, Slice};
use holm_proof::history::{Action, Call, Recorder, check};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use std::sync::Barrier;
use std::thread;

const THREADS: u64 = 3;
const KEYS: u64 = 3;
const CALLS: u64 = 30;

fn number(value: Option<&[u8]>) -> Option<u64> {
    value.map(|value| u64::from_le_bytes(value.try_into().expect("eight bytes")))
}

fn slice(value: Option<Slice>) -> Option<u64> {
    number(value.as_deref())
}

/// One call of a random operation; `new` is a value that no other call puts.
fn act(space: &Keyspace, recorder: &Recorder, key: u64, new: u64, random: &mut Pcg64) -> Call {
    let (name, value) = (key.to_be_bytes(), new.to_le_bytes());
    // An operation that may change nothing is a get then: which one it is, is known once it has returned.
    let conditional = |call: &dyn Fn() -> (Action, Option<u64>)| {
        let mut action = Action::Get;
        let call = recorder.call(key, action, || {
            let (done, saw) = call();
            action = done;
            saw
        });
        Call { action, ..call }
    };
    match random.random_range(0..8) {
        0 => recorder.call(key, Action::Put(new), || slice(space.swap(name, value).expect("room"))),
        1 => recorder.call(key, Action::Remove, || slice(space.take(name).expect("sound"))),
        2 => conditional(&|| match slice(space.insert_if_absent(name, value).expect("room")) {
            None => (Action::Put(new), None),
            found => (Action::Get, found),
        }),
        3 => {
            let update = |_: Option<&[u8]>| Some(value.to_vec());
            recorder.call(key, Action::Put(new), || slice(space.fetch_update(name, update).expect("room")))
        }
        4 => conditional(&|| {
            // Of what is there, so that about half of them succeed.
            let expected = space.get(name).expect("sound");
            match space.compare_and_swap(name, expected.as_deref(), Some(&value)).expect("room") {
                Ok(()) => (Action::Put(new), slice(expected)),
                Err(error) => (Action::Get, slice(error.current)),
            }
        }),
        5 => conditional(&|| {
            let mut before = None;
            let removed = |value: Option<&[u8]>| {
                before = number(value);
                None
            };
            space.update_fetch(name, removed).expect("sound");
            (Action::Remove, before)
        }),
        _ => recorder.call(key, Action::Get, || slice(space.get(name).expect("sound"))),
    }
}

/// One thread's part: calls for the few recorded keys, among others that make the leaf split and merge.
fn take_part(space: &Keyspace, recorder: &Recorder, base: u64, thread: u64, seed: u64) -> Vec<Call> {
    let mut random = Pcg64::seed_from_u64(seed * THREADS + thread);
    let mut calls = Vec::new();
    for step in 0..CALLS {
        let key = base + random.random_range(0..KEYS) * 20;
        calls.push(act(space, recorder, key, base + thread * CALLS + step + 1, &mut random));
        // Neighbouring keys that no other thread uses: put in the first half of the time, then removed.
        let other = (base + 1 + thread + step % (CALLS / 2) * 4).to_be_bytes();
        if step < CALLS / 2 {
            space.insert(other, "x").expect("room");
        } else {
            space.remove(other).expect("sound");
        }
    }
    calls
}

#[test]
fn every_history_of_atomic_operations_has_an_order() {
    for design in ["buffered", "holm"] {
        let folder = tempfile::tempdir().expect("a folder");
        let options = Database::builder().design(design).durability(Durability::OnSync);
        let db = options.open(folder.path().join("linear.holm")).expect("new");
        let space = db.keyspace("s").expect("a name");
        for seed in 0..150 {
            let (recorder, barrier) = (Recorder::default(), Barrier::new(THREADS as usize));
            let base = seed % 40 * 100;
            (0..KEYS).for_each(|key| drop(space.remove((base + key * 20).to_be_bytes())));
            let history: Vec<_> = thread::scope(|scope| {
                let part = |thread| {
                    let (space, recorder, barrier) = (&space, &recorder, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        take_part(space, recorder, base, thread, seed)
                    })
                };
                let parts: Vec<_> = (0..THREADS).map(part).collect();
                parts.into_iter().flat_map(|part| part.join().expect("no panic")).collect()
            });
            if let Err(fault) = check(&history) {
                panic!("{design}, seed {seed}: {fault}");
            }
            if seed % 8 == 0 {
                db.sync().expect("sound");
            }
        }
        assert_eq!(db.check().expect("readable").faults, Vec::<String>::new());
    }
}
