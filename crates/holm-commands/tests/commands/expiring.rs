//! How many keys expire: what is added up is what the index by expiry has.

use crate::store::Tested;
use holm_commands::{Databases, Expiring};
use std::collections::BTreeSet;

/// Counts the index once more.
fn counted(tested: &Tested, number: u32) -> Expiring {
    Databases::open(tested.databases.holm().clone(), 4).unwrap().expiring(number)
}

/// INFO said that no key expires.
#[test]
fn keys_that_expire_are_counted() {
    let mut tested = Tested::new();
    tested.ask("set forever x");
    assert_eq!(tested.databases.expiring(0), Expiring::default());
    tested.ask("set a x px 1000");
    tested.ask("set b x px 3000");
    let expiring = tested.databases.expiring(0);
    assert_eq!((expiring.count(), expiring.mean_life(tested.now)), (2, 2_000));
    assert_eq!(expiring.mean_life(tested.now + 10_000), 0);
    tested.ask("persist b");
    assert_eq!(tested.databases.expiring(0).count(), 1);
    tested.now += 5_000;
    tested.databases.sweep(tested.at()).unwrap();
    assert_eq!(tested.databases.expiring(0), Expiring::default());
}

#[test]
fn counts_are_those_of_the_index_after_any_commands() {
    let mut tested = Tested::new();
    let large: String = (0..300).map(|number| format!(" m{number}")).collect();
    let lines = [
        "set K x px 2500",
        "set K x px 70",
        "set K x",
        "set K x keepttl",
        "getex K px 900",
        "getex K persist",
        "pexpire K 1500",
        "pexpire K 40 gt",
        "persist K",
        "expireat K 1",
        "del K",
        "rename K L",
        "copy K L replace",
        "copy K L db 1 replace",
        "move K 1",
        "incr K",
        "lpush K x",
        "sadd K MANY",
        "rename K L",
        "sort K store L",
        "getdel K",
        "sunionstore K K L",
        "smove K L m1",
        "mset K x L x",
        "msetnx K x L x",
        "sweep",
        "rows",
    ];
    let mut state = 0u64;
    let mut chance = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let keys = ["a", "b", "c", "d"];
    let mut counts = [BTreeSet::new(), BTreeSet::new()];
    for step in 0..1_500 {
        let (key, other) = (keys[chance(4)], keys[chance(4)]);
        match lines[chance(lines.len())] {
            "sweep" => {
                tested.now += 60;
                tested.databases.sweep(tested.at()).unwrap();
            }
            // A collection whose members are rows, which a new name takes along.
            "rows" => {
                for line in ["del K", "sadd K MANY", "pexpire K 5000", "rename K L"] {
                    tested.ask(&line.replace('K', key).replace('L', other).replace(" MANY", &large));
                }
            }
            line => drop(tested.ask(&line.replace('K', key).replace('L', other).replace(" MANY", &large))),
        }
        if step % 50 == 49 {
            for number in 0..2 {
                let expiring = tested.databases.expiring(number);
                assert_eq!(expiring, counted(&tested, number), "{step}");
                counts[number as usize].insert(expiring.count());
            }
        }
    }
    assert!(counts.iter().all(|counts| counts.len() > 2), "{counts:?}");
    for line in ["set a x px 1000", "copy a b db 1 replace", "set b x px 1000"] {
        tested.ask(line);
    }
    // Those that change places take theirs along, and a flush leaves none.
    let [of_0, of_1] = [0, 1].map(|number| tested.databases.expiring(number));
    tested.databases = tested.databases.swap(0, 1).unwrap();
    assert_eq!([0, 1].map(|number| tested.databases.expiring(number)), [of_1, of_0]);
    tested.databases = tested.databases.flush([0]).unwrap();
    assert_eq!([0, 1].map(|number| tested.databases.expiring(number)), [Expiring::default(), of_0]);
}
