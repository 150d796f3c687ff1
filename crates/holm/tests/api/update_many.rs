//! `update_many`: each key as if it were updated alone, in order, also where keys repeat and other threads write.

use crate::tools::{folder, relaxed};
use holm::{Error, Slice, Update};

fn number(value: Option<&Slice>) -> u64 {
    value.and_then(|value| value.first_chunk()).map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

#[test]
fn updates_of_many_keys_are_updates_of_each_in_order() {
    let folder = folder();
    let db = relaxed(folder.path());
    let (together, alone) = (db.keyspace("together").expect("a name"), db.keyspace("alone").expect("a name"));
    // Keys repeat, within a group and beyond it; an update sees what the ones before it have done.
    let keys: Vec<_> = (0..500_u32).map(|at| (at * at % 97).to_be_bytes()).collect();
    let decide = |at: usize, value: Option<&Slice>| match (at % 7, number(value)) {
        (0, _) => Update::Remove,
        (1, 0) => Update::Keep,
        (_, number) => Update::Put([&(number + 1).to_be_bytes()[..], &vec![7; at]].concat()),
    };
    let (updated, outcome) = together.update_many(&keys, |at, value| Some(decide(at, value)));
    outcome.expect("room");
    assert_eq!(updated, keys.len());
    for (at, key) in keys.iter().enumerate() {
        alone.update(key, |value| (decide(at, value), ())).expect("room");
    }
    let pairs = |space: &holm::Keyspace| space.iter().collect::<Result<Vec<_>, _>>().expect("sound");
    assert_eq!(pairs(&together), pairs(&alone));
}

#[test]
fn the_closure_ends_the_call_and_a_refusal_tells_how_many_were_updated() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("reefs").expect("a name");
    let keys: Vec<_> = (0..40_u8).map(|at| [at]).collect();
    let (updated, outcome) = space.update_many(&keys, |at, _| (at < 21).then(|| Update::Put(vec![at as u8])));
    assert!(updated == 21 && outcome.is_ok());
    assert_eq!(space.len().expect("sound"), 21);
    let long = vec![0; holm::MAX_KEY + 1];
    let (updated, outcome) = space.update_many(&[&b"a"[..], &long, b"b"], |_, _| Some(Update::Put(Vec::new())));
    assert!(updated == 1 && matches!(outcome, Err(Error::TooLarge { .. })));
    assert!(space.contains_key("a").expect("sound") && !space.contains_key("b").expect("sound"));
    let gone = space.clone();
    drop(space);
    db.drop_keyspace("reefs").expect("it is there");
    let (updated, outcome) = gone.update_many(&["a"], |_, _| Some(Update::Keep));
    assert!(updated == 0 && matches!(outcome, Err(Error::Dropped { .. })));
    assert_eq!(db.keyspace("reefs").expect("a name").update_many::<&str>(&[], |_, _| None).0, 0);
}

/// A change that took the value of the lookup for the present one would lose a count of the other thread.
#[test]
fn no_count_is_lost_between_threads() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("counts").expect("a name");
    let keys: Vec<_> = (0..64_u8).map(|at| [at % 24]).collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let add = |_, value: Option<&Slice>| Some(Update::Put((number(value) + 1).to_be_bytes().to_vec()));
                    space.update_many(&keys, add).1.expect("room");
                }
            });
        }
    });
    let sum: u64 = space.iter().map(|pair| number(Some(&pair.expect("sound").1))).sum();
    assert_eq!(sum, 2 * 100 * 64);
}
