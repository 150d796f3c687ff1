//! `get_many_with` and `look_ahead`: what they lend and refuse.

use crate::tools::{folder, relaxed};
use holm::{Error, KeyspaceOptions};
use std::time::Duration;

/// Values that are lent are those that `get_many` copies: short and long ones, expired and absent ones.
#[test]
fn lent_values_are_the_values() {
    let folder = folder();
    let db = relaxed(folder.path());
    let plain = db.keyspace("reefs").expect("a name");
    let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true)).expect("a name");
    let value = |number: u32| vec![number as u8; [0, 1, 7, 8, 40, 41, 700, 9000][number as usize % 8]];
    for number in (0..400_u32).filter(|number| number % 3 != 0) {
        plain.insert(number.to_be_bytes(), value(number)).expect("room");
        match number % 2 {
            0 => tides.insert_for(number.to_be_bytes(), value(number), Duration::ZERO),
            _ => tides.insert(number.to_be_bytes(), value(number)),
        }
        .expect("room");
    }
    for space in [&plain, &tides] {
        for count in [0, 1, 15, 16, 17, 100, 400] {
            let keys: Vec<_> = (0..count).map(|at: u32| (at * 149 % 400).to_be_bytes()).collect();
            let mut lent = Vec::new();
            // A value that is lent is a copy: the callback may read and write.
            let read = |value: Option<&[u8]>| {
                let value = value.map(<[u8]>::to_vec);
                let key = keys[lent.len()];
                assert_eq!(space.get(key).expect("sound").as_deref(), value.as_deref());
                space.get_many_with(&[key], |again| assert_eq!(again, value.as_deref())).expect("sound");
                plain.insert("busy", [lent.len() as u8; 90]).expect("room");
                lent.push(value);
            };
            space.get_many_with(&keys, read).expect("sound");
            let copied = space.get_many(&keys).expect("sound");
            assert!(copied.iter().map(|value| value.as_deref()).eq(lent.iter().map(Option::as_deref)));
            space.look_ahead(&keys).expect("a hint");
        }
    }
    drop(tides);
    db.drop_keyspace("tides").expect("it is there");
    let gone = db.keyspace("reefs").and_then(|space| db.drop_keyspace("reefs").map(|_| space)).expect("it is there");
    assert!(matches!(gone.look_ahead(&["north"]), Err(Error::Dropped { .. })));
    let mut given = 0;
    assert!(matches!(gone.get_many_with(&["north"], |_| given += 1), Err(Error::Dropped { .. })));
    assert_eq!(given, 0);
}
