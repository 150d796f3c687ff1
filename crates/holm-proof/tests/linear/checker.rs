//! The checker rejects what no order explains, and accepts what one does, however unlikely.

use holm_proof::history::{Action, Call, Fault, MOST_CALLS, check, check_crash};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// A call from one instant to another; the key is 1.
fn call(action: Action, saw: Option<u64>, began: u64, ended: u64) -> Call {
    Call { key: 1, action, saw, began, ended: Some(ended) }
}

fn get(saw: Option<u64>, began: u64, ended: u64) -> Call {
    call(Action::Get, saw, began, ended)
}

fn put(value: u64, saw: Option<u64>, began: u64, ended: u64) -> Call {
    call(Action::Put(value), saw, began, ended)
}

fn remove(saw: Option<u64>, began: u64, ended: u64) -> Call {
    call(Action::Remove, saw, began, ended)
}

fn under_way(action: Action, began: u64) -> Call {
    Call { key: 1, action, saw: None, began, ended: None }
}

/// After a failure, each read fails at once. The search went through all sets of them, for hours and gigabytes.
#[test]
fn reads_without_an_end_are_left_out() {
    let mut history = vec![put(1, None, 0, 1)];
    history.extend((2..2 + 2 * MOST_CALLS as u64).map(|began| under_way(Action::Get, began)));
    history.push(get(Some(1), 1_000, 1_001));
    assert!(check(&history).is_ok());
    history.push(get(Some(9), 1_002, 1_003));
    assert!(matches!(check(&history), Err(Fault::Unexplained { key: 1, .. })));
}

#[test]
fn bad_histories_are_rejected() {
    let bad: &[(&str, &[Call])] = &[
        ("a value that nobody put", &[get(Some(7), 0, 1)]),
        ("a finished put is not seen", &[put(1, None, 0, 1), get(None, 2, 3)]),
        ("a value from the future", &[get(Some(1), 0, 1), put(1, None, 2, 3)]),
        ("an old value after a new one", &[put(1, None, 0, 1), put(2, Some(1), 2, 3), get(Some(1), 4, 5)]),
        ("a removed value comes back", &[put(1, None, 0, 1), remove(Some(1), 2, 3), get(Some(1), 4, 5)]),
        ("two puts replace the same value", &[put(1, None, 0, 1), put(2, Some(1), 2, 9), put(3, Some(1), 3, 8)]),
        ("two removes take the same value", &[put(1, None, 0, 1), remove(Some(1), 2, 9), remove(Some(1), 3, 8)]),
        ("two first puts", &[put(1, None, 0, 9), put(2, None, 1, 8)]),
        ("two readers see a put and then do not", &[put(1, None, 0, 9), get(Some(1), 1, 2), get(None, 3, 4)]),
        (
            "two readers disagree on the order of puts",
            &[put(1, None, 0, 20), put(2, Some(1), 1, 21), get(Some(2), 2, 3), get(Some(1), 4, 5)],
        ),
        ("a remove finds nothing beside a put that was there", &[put(1, None, 0, 1), remove(None, 2, 3)]),
        ("a lost update", &[put(1, None, 0, 5), put(2, None, 1, 6), get(Some(2), 7, 8)]),
        ("a put claims to have replaced its own value", &[put(1, Some(1), 0, 1)]),
        (
            "a call under way is seen, and then is not",
            &[under_way(Action::Put(1), 0), get(Some(1), 1, 2), get(None, 3, 4)],
        ),
        ("a call under way is seen before it began", &[get(Some(1), 0, 1), under_way(Action::Put(1), 2)]),
        (
            "a remove under way explains one loss, not two",
            &[under_way(Action::Remove, 0), put(1, None, 1, 2), get(None, 3, 4), put(2, None, 5, 6), get(None, 7, 8)],
        ),
    ];
    for (name, history) in bad {
        assert!(matches!(check(history), Err(Fault::Unexplained { key: 1, .. })), "accepted: {name}");
    }
}

#[test]
fn good_histories_are_accepted() {
    let good: &[(&str, &[Call])] = &[
        ("nothing at all", &[]),
        ("one after the other", &[put(1, None, 0, 1), get(Some(1), 2, 3), remove(Some(1), 4, 5), get(None, 6, 7)]),
        ("a get beside a put sees it", &[put(1, None, 0, 3), get(Some(1), 1, 2)]),
        ("a get beside a put does not see it", &[put(1, None, 0, 3), get(None, 1, 2)]),
        ("the later call comes first", &[put(1, Some(2), 0, 9), put(2, None, 1, 8), get(Some(1), 10, 11)]),
        ("a call under way has happened", &[under_way(Action::Put(1), 0), get(None, 1, 2), get(Some(1), 3, 4)]),
        ("a call under way has not", &[under_way(Action::Put(1), 0), get(None, 1, 2), put(2, None, 3, 4)]),
        (
            "three at once in a ring",
            &[put(1, Some(3), 0, 9), put(2, Some(1), 1, 8), put(3, None, 2, 7), get(Some(2), 10, 11)],
        ),
        (
            "a remove between two reads",
            &[put(1, None, 0, 1), remove(Some(1), 2, 9), get(Some(1), 3, 4), get(None, 5, 6)],
        ),
    ];
    for (name, history) in good {
        if let Err(fault) = check(history) {
            panic!("rejected: {name}: {fault}");
        }
    }
    let keys = [put(1, None, 0, 1), Call { key: 2, ..get(None, 2, 3) }];
    assert!(check(&keys).is_ok(), "keys do not influence one another");
}

/// A name, the calls that a crash cut off at instant 10, and what was found then.
type Cut<'a> = (&'a str, &'a [Call], &'a [(u64, u64)]);

#[test]
fn bad_crashes_are_rejected() {
    let bad: &[Cut<'_>] = &[
        ("a finished put is lost", &[put(1, None, 0, 1)], &[]),
        ("a finished put is found with another value", &[put(1, None, 0, 1)], &[(1, 2)]),
        ("a finished remove is undone", &[put(1, None, 0, 1), remove(Some(1), 2, 3)], &[(1, 1)]),
        ("a finished put gives way to the one before", &[put(1, None, 0, 1), put(2, Some(1), 2, 3)], &[(1, 1)]),
        ("a put under way takes the value before with it", &[put(1, None, 0, 1), put(2, Some(1), 2, 12)], &[]),
        ("a put under way was seen, and is lost", &[put(1, None, 0, 12), get(Some(1), 1, 2)], &[]),
        (
            "a remove under way was seen, and is undone",
            &[put(1, None, 0, 1), remove(Some(1), 2, 12), get(None, 3, 4)],
            &[(1, 1)],
        ),
        (
            "a put under way was replaced by a finished one, and is found",
            &[put(1, None, 0, 12), put(2, Some(1), 1, 9)],
            &[(1, 1)],
        ),
        (
            "a put that a finished one replaced, whose own value is lost",
            &[put(1, None, 0, 12), put(2, Some(1), 1, 9)],
            &[],
        ),
        ("a put that began after the crash is found", &[put(1, None, 11, 12)], &[(1, 1)]),
        ("a value that nobody put", &[], &[(1, 7)]),
        ("a key that nobody put", &[put(1, None, 0, 1)], &[(1, 1), (2, 1)]),
        (
            "two readers saw puts under way in an order, and the first is found",
            &[put(1, None, 0, 20), put(2, None, 0, 21), get(Some(1), 1, 2), get(Some(2), 3, 4)],
            &[(1, 1)],
        ),
    ];
    for (name, history, found) in bad {
        assert!(matches!(check_crash(history, 10, found), Err(Fault::Unexplained { .. })), "accepted: {name}");
    }
}

#[test]
fn good_crashes_are_accepted() {
    let good: &[Cut<'_>] = &[
        ("nothing at all", &[], &[]),
        ("a finished put is found", &[put(1, None, 0, 1)], &[(1, 1)]),
        ("a put under way is not found", &[put(1, None, 0, 12)], &[]),
        ("a put under way is found", &[put(1, None, 0, 12)], &[(1, 1)]),
        ("a remove under way has happened", &[put(1, None, 0, 1), remove(Some(1), 2, 12)], &[]),
        ("of two puts under way the first one", &[put(1, None, 0, 12), put(2, Some(1), 1, 13)], &[(1, 1)]),
        ("a get under way has seen what is lost", &[put(1, None, 0, 12), get(Some(1), 1, 11)], &[]),
        ("what began after the crash is not there", &[put(1, None, 0, 1), put(2, Some(1), 10, 11)], &[(1, 1)]),
        ("a put seen through the one that replaced it", &[put(1, None, 0, 12), put(2, Some(1), 1, 9)], &[(1, 2)]),
    ];
    for (name, history, found) in good {
        if let Err(fault) = check_crash(history, 10, found) {
            panic!("rejected: {name}: {fault}");
        }
    }
}

/// A history made from its own explanation: calls take effect in some order, and each extends around its instant.
fn explained(random: &mut Pcg64, calls: u64) -> Vec<Call> {
    let (mut value, mut history) = (None, Vec::new());
    for instant in 1..=calls {
        let action = match random.random_range(0..6) {
            0 | 1 => Action::Put(instant),
            2 => Action::Get,
            3 => Action::Add(instant << 32),
            4 => Action::Swap { expected: value.filter(|_| random.random()), new: Some(instant << 16) },
            _ => Action::Remove,
        };
        // Instants are a hundred apart, so calls that extend up to three hundred overlap a few others.
        let (before, after) = (random.random_range(1..300), random.random_range(1..300));
        history.push(call(action, value, (instant * 100 + 300) - before, instant * 100 + 300 + after));
        value = action.after(value);
    }
    history.shuffle(random);
    history
}

#[test]
fn histories_made_from_an_order_are_accepted_and_spoilt_ones_are_not() {
    for seed in 0..300 {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut history = explained(&mut random, 60);
        if let Err(fault) = check(&history) {
            panic!("seed {seed}: {fault}");
        }
        let spoilt = random.random_range(0..history.len());
        history[spoilt].saw = Some(1_000);
        assert!(check(&history).is_err(), "seed {seed}: call {spoilt} saw what nobody put");
    }
}

#[test]
fn a_history_that_is_too_long_is_refused() {
    let long: Vec<_> = (0..=MOST_CALLS as u64).map(|at| get(None, at * 2, at * 2 + 1)).collect();
    assert!(check(&long[1..]).is_ok());
    assert!(matches!(check(&long), Err(Fault::TooLong { key: 1, calls }) if calls == MOST_CALLS + 1));
}
