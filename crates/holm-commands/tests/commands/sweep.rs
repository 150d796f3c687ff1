//! Nothing is left of keys that have expired, nor of the members of collections that were removed.

use crate::store::Tested;

#[test]
fn the_sweep_removes_what_is_due_and_nothing_else() {
    let mut tested = Tested::new();
    for number in 0..20 {
        tested.ask(&format!("set key:{number} x px {}", 100 * (number + 1)));
    }
    tested.ask("set stays x");
    tested.ask("persist key:3");
    tested.ask("set key:4 anew");
    tested.ask("pexpire key:5 100000");
    tested.now += 1_000;
    // Absent before the sweep, and counted until then.
    assert_eq!((tested.ask("exists key:0"), tested.ask("dbsize")), (":0".into(), ":21".into()));
    let swept = tested.databases.sweep(tested.at()).unwrap();
    assert_eq!((swept.expired, swept.more), (7, false));
    assert_eq!(tested.ask("dbsize"), ":14");
    // What is left of the index: ten that expire later, and the one with another time.
    assert_eq!(tested.row_count(), 11);
    assert_eq!(tested.ask("get key:4"), "$4 anew");
    assert_eq!(tested.databases.sweep(tested.at()).unwrap().expired, 0);
}

#[test]
fn members_of_removed_collections_go_and_others_stay() {
    let mut tested = Tested::new();
    for number in 0..300 {
        tested.ask(&format!("hset h f{number} v"));
        tested.ask(&format!("zadd z {number} m{number}"));
        tested.ask(&format!("rpush l e{number}"));
        tested.ask(&format!("sadd kept m{number}"));
    }
    let kept = 300;
    // A row of a list has 16 elements.
    assert_eq!(tested.row_count(), 300 + 600 + 300u64.div_ceil(16) + kept);
    tested.ask("rename kept renamed");
    tested.ask("set h string");
    tested.ask("del z");
    tested.ask("pexpire l 1");
    tested.now += 10;
    tested.databases.sweep(tested.at()).unwrap();
    tested.databases.sweep(tested.at()).unwrap();
    assert_eq!(tested.row_count(), kept);
    assert_eq!(tested.ask("scard renamed"), ":300");
    assert_eq!(tested.ask("sismember renamed m299"), ":1");
    assert_eq!(tested.ask("copy renamed copied"), ":1");
    tested.ask("del renamed");
    tested.databases.sweep(tested.at()).unwrap();
    assert_eq!((tested.row_count(), tested.ask("scard copied")), (kept, ":300".into()));
    // An empty collection is no key.
    for number in 0..300 {
        tested.ask(&format!("srem copied m{number}"));
    }
    assert_eq!(tested.ask("exists copied"), ":0");
    tested.databases.sweep(tested.at()).unwrap();
    assert_eq!(tested.row_count(), 0);
}
