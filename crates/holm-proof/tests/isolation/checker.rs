//! The checker: a history for each anomaly that it must name, and histories that it must accept.

use Outcome::{Aborted, Committed, Unknown};
use holm_proof::cycles::{Anomaly, Lists, Loss, Outcome, Step, Transaction, check, check_left};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use std::ops::Range;

/// Transactions that all overlap.
fn during(outcome: Outcome, steps: &[Step]) -> Transaction {
    Transaction { began: 0, outcome, label: None, steps: steps.to_vec() }
}

fn ran(steps: &[Step]) -> Transaction {
    during(Committed(1_000), steps)
}

fn ran_at(began: u64, ended: u64, steps: &[Step]) -> Transaction {
    Transaction { began, outcome: Committed(ended), label: None, steps: steps.to_vec() }
}

fn append(key: u64, element: u64) -> Step {
    Step::Append { key, element }
}

fn read(key: u64, list: &[u64]) -> Step {
    Step::Read { key, list: list.to_vec() }
}

fn lists(found: &[(u64, &[u64])]) -> Lists {
    found.iter().map(|(key, list)| (*key, list.to_vec())).collect()
}

fn scan(keys: Range<u64>, found: &[(u64, &[u64])]) -> Step {
    Step::Scan { keys, found: lists(found) }
}

/// Keys in these histories.
const X: u64 = 1;
const Y: u64 = 2;

/// A name, the anomaly to be found, and a history that has it.
type Bad<'a> = (&'a str, Anomaly, Vec<Transaction>);

fn assert_named(bad: Vec<Bad<'_>>) {
    for (name, anomaly, history) in bad {
        let wrong = check(&history).expect_err(name);
        assert!(wrong.iter().any(|violation| violation.anomaly == anomaly), "{name}: {wrong:?}");
        assert!(!wrong[0].needs_real_time() && !wrong[0].to_string().is_empty(), "{name}: {}", wrong[0]);
    }
}

/// The writes of one transaction to both keys.
const BOTH: [Step; 2] = [Step::Append { key: X, element: 1 }, Step::Append { key: Y, element: 2 }];

#[test]
fn dirty_writes_and_reads_are_named() {
    assert_named(vec![
        (
            "two writers, whose writes are interleaved",
            Anomaly::G0,
            vec![ran(&BOTH), ran(&[append(X, 3), append(Y, 4)]), ran(&[read(X, &[1, 3])]), ran(&[read(Y, &[4, 2])])],
        ),
        ("an aborted write is read", Anomaly::G1a, vec![during(Aborted(9), &BOTH), ran(&[read(X, &[1])])]),
        (
            "an intermediate write is read",
            Anomaly::G1b,
            vec![ran(&[append(X, 1), append(X, 2)]), ran(&[read(X, &[1])]), ran(&[read(X, &[1, 2])])],
        ),
        (
            "two transactions read from each other",
            Anomaly::G1c,
            vec![ran(&[append(X, 1), read(Y, &[2])]), ran(&[append(Y, 2), read(X, &[1])])],
        ),
    ]);
}

#[test]
fn read_skew_and_lost_updates_are_named() {
    assert_named(vec![
        ("half of a transaction is read", Anomaly::GSingle, vec![ran(&BOTH), ran(&[read(X, &[]), read(Y, &[2])])]),
        (
            "a key changes between two reads",
            Anomaly::GSingle,
            vec![ran(&[append(X, 1)]), ran(&[read(X, &[]), read(X, &[1])])],
        ),
        (
            "an update is lost",
            Anomaly::GSingle,
            vec![ran(&[read(X, &[]), append(X, 1)]), ran(&[read(X, &[]), append(X, 2)]), ran(&[read(X, &[2])])],
        ),
        (
            "a phantom between two scans",
            Anomaly::GSingle,
            vec![ran(&[append(X, 1)]), ran(&[scan(0..9, &[]), scan(0..9, &[(X, &[1])])])],
        ),
        (
            "a transaction that was observed vanishes",
            Anomaly::GSingle,
            vec![
                ran(&BOTH),
                ran(&[append(X, 3), append(Y, 4)]),
                ran(&[read(X, &[1, 3]), read(Y, &[2])]),
                ran(&[read(Y, &[2, 4])]),
            ],
        ),
        (
            "what is refused has seen half of a transaction",
            Anomaly::GSingle,
            vec![ran(&BOTH), during(Aborted(9), &[read(X, &[]), read(Y, &[2])])],
        ),
        (
            "what has no end is seen in part",
            Anomaly::GSingle,
            vec![during(Unknown, &BOTH), ran(&[read(X, &[1]), read(Y, &[])])],
        ),
    ]);
}

#[test]
fn write_skew_and_phantoms_are_named() {
    assert_named(vec![
        (
            "write skew",
            Anomaly::G2Item,
            vec![ran(&[read(X, &[]), read(Y, &[]), append(X, 1)]), ran(&[read(X, &[]), read(Y, &[]), append(Y, 2)])],
        ),
        (
            "write skew of three",
            Anomaly::G2Item,
            vec![
                ran(&[read(X, &[]), append(Y, 1)]),
                ran(&[read(Y, &[]), append(3, 2)]),
                ran(&[read(3, &[]), append(X, 3)]),
            ],
        ),
        (
            "write skew over scans",
            Anomaly::G2,
            vec![ran(&[scan(0..9, &[]), append(X, 1)]), ran(&[scan(0..9, &[]), append(Y, 2)])],
        ),
    ]);
}

#[test]
fn contradictions_are_named() {
    assert_named(vec![
        ("own writes are not seen", Anomaly::Internal, vec![ran(&[append(X, 1), read(X, &[])])]),
        (
            "two orders of a key",
            Anomaly::Incompatible,
            vec![ran(&[append(X, 1)]), ran(&[append(X, 2)]), ran(&[read(X, &[1, 2])]), ran(&[read(X, &[2])])],
        ),
        ("what nobody appended", Anomaly::Malformed, vec![ran(&[read(X, &[1])])]),
        ("what was appended elsewhere", Anomaly::Malformed, vec![ran(&[append(Y, 1)]), ran(&[read(X, &[1])])]),
        ("a scan finds a key of which nobody knows", Anomaly::Malformed, vec![ran(&[scan(0..9, &[(X, &[1])])])]),
        ("an element twice", Anomaly::Malformed, vec![ran(&[append(X, 1)]), ran(&[append(X, 1)])]),
    ]);
}

#[test]
fn the_order_of_time_counts() {
    let bad: Vec<Bad<'_>> = vec![
        ("a stale read", Anomaly::GSingle, vec![ran_at(0, 1, &[append(X, 1)]), ran_at(2, 3, &[read(X, &[])])]),
        ("a read of the future", Anomaly::G1c, vec![ran_at(0, 1, &[read(X, &[1])]), ran_at(2, 3, &[append(X, 1)])]),
        (
            "a later write goes first",
            Anomaly::G0,
            vec![ran_at(0, 1, &[append(X, 1)]), ran_at(2, 3, &[append(X, 2)]), ran_at(4, 5, &[read(X, &[2, 1])])],
        ),
        (
            "a reader sees an earlier state than the one before",
            Anomaly::GSingle,
            vec![ran_at(0, 9, &[append(X, 1)]), ran_at(1, 2, &[read(X, &[1])]), ran_at(3, 4, &[read(X, &[])])],
        ),
        (
            "a long fork",
            Anomaly::GSingle,
            vec![
                ran_at(0, 1, &[append(X, 1)]),
                ran_at(2, 3, &[append(Y, 2)]),
                ran_at(0, 9, &[read(X, &[]), read(Y, &[2])]),
            ],
        ),
    ];
    for (name, anomaly, history) in bad {
        let wrong = check(&history).expect_err(name);
        assert_eq!((wrong.len(), wrong[0].anomaly), (1, anomaly), "{name}: {wrong:?}");
        assert!(wrong[0].needs_real_time(), "{name}: {}", wrong[0]);
    }
}

#[test]
fn labels_rise_along_dependencies() {
    let labelled = |labels: [u64; 3]| {
        let steps = [
            vec![append(X, 1), read(Y, &[])],
            // What lies between has no label of its own.
            vec![read(X, &[1]), read(Y, &[])],
            vec![append(Y, 2)],
        ];
        let label = |(steps, label): (Vec<Step>, u64)| Transaction { label: Some(label), ..ran(&steps) };
        steps.into_iter().zip(labels).map(label).collect::<Vec<_>>()
    };
    for rising in [[4, 4, 4], [4, 4, 5], [4, 3, 4], [4, 9, 4]] {
        check(&labelled(rising)).unwrap_or_else(|wrong| panic!("rejected: {rising:?}: {}", wrong[0]));
    }
    for falling in [[5, 5, 4], [5, 4, 4], [5, 3, 4]] {
        let wrong = check(&labelled(falling)).expect_err("they fall");
        assert_eq!((wrong[0].anomaly, &wrong[0].transactions[..]), (Anomaly::Label, &[0, 2][..]), "{falling:?}");
    }
}

#[test]
fn good_histories_are_accepted() {
    let good: Vec<(&str, Vec<Transaction>)> = vec![
        ("nothing at all", vec![]),
        ("one after the other", vec![ran_at(0, 1, &[append(X, 1)]), ran_at(2, 3, &[read(X, &[1]), append(X, 2)])]),
        ("its own writes", vec![ran(&[append(X, 1), read(X, &[1]), append(X, 2), scan(0..9, &[(X, &[1, 2])])])]),
        ("the later one goes first", vec![ran_at(0, 9, &[read(X, &[1])]), ran_at(1, 8, &[append(X, 1)])]),
        ("an aborted write that nobody saw", vec![during(Aborted(9), &[append(X, 1)]), ran(&[read(X, &[])])]),
        ("in progress, and seen", vec![during(Unknown, &[append(X, 1)]), ran_at(5, 6, &[read(X, &[1])])]),
        ("in progress, and not seen", vec![during(Unknown, &[append(X, 1)]), ran_at(5, 6, &[read(X, &[])])]),
        (
            "one of two that would be write skew saw the other",
            vec![ran(&[read(X, &[]), read(Y, &[2]), append(X, 1)]), ran(&[read(X, &[]), read(Y, &[]), append(Y, 2)])],
        ),
        (
            "a refused transaction has seen a state that was",
            vec![ran(&[append(X, 1), append(Y, 2)]), during(Aborted(9), &[read(X, &[1]), read(Y, &[2]), append(X, 3)])],
        ),
        (
            "a scan sees one state",
            vec![ran(&[append(X, 1)]), ran(&[append(Y, 2)]), ran(&[scan(0..9, &[(Y, &[2])])]), ran(&[read(X, &[1])])],
        ),
    ];
    for (name, history) in good {
        if let Err(wrong) = check(&history) {
            panic!("rejected: {name}: {}", wrong[0]);
        }
    }
}

/// A name, a history, what a crash left of it, and the instant before which everything had to survive.
type Crash<'a> = (&'a str, Vec<Transaction>, &'a [(u64, &'a [u64])], u64);

/// Whether a loss is the expected one.
type Fits<'a> = &'a dyn Fn(&Loss) -> bool;

#[test]
fn what_is_left_is_whole_and_closed() {
    let chain = || vec![ran(&[append(X, 1)]), ran(&[read(X, &[1]), append(Y, 2)])];
    let good: Vec<Crash<'_>> = vec![
        ("nothing", chain(), &[], 0),
        ("the first", chain(), &[(X, &[1])], 0),
        ("both", chain(), &[(X, &[1]), (Y, &[2])], 2_000),
        ("what was in progress", vec![during(Unknown, &[append(X, 1), append(Y, 2)])], &[(X, &[1]), (Y, &[2])], 0),
        ("nothing of what was in progress", vec![during(Unknown, &[append(X, 1), append(Y, 2)])], &[], 2_000),
        ("what was durable", vec![ran_at(0, 1, &[append(X, 1)]), ran_at(2, 3, &[append(X, 2)])], &[(X, &[1])], 2),
        ("the one that overwrote nothing read", vec![ran(&[append(X, 1)]), ran(&[read(X, &[])])], &[(X, &[1])], 0),
    ];
    for (name, history, left, floor) in good {
        if let Err(loss) = check_left(&history, &lists(left), floor) {
            panic!("rejected: {name}: {loss}");
        }
    }
}

#[test]
fn what_is_left_in_part_or_not_closed_is_rejected() {
    let is_open = |loss: &Loss| matches!(loss, Loss::Open { .. });
    let is_part = |loss: &Loss| matches!(loss, Loss::Part { .. });
    let is_strange = |loss: &Loss| matches!(loss, Loss::Strange { .. });
    let is_wrong = |loss: &Loss| matches!(loss, Loss::Wrong(_));
    let is_promised = |loss: &Loss| matches!(loss, Loss::Promised { .. });
    let both = [append(X, 1), append(Y, 2)];
    let bad: Vec<(Crash<'_>, Fits<'_>)> = vec![
        (("a part", vec![ran(&both)], &[(X, &[1])], 0), &is_part),
        (("a part of what was in progress", vec![during(Unknown, &both)], &[(Y, &[2])], 0), &is_part),
        (("wr", vec![ran(&[append(X, 1)]), ran(&[read(X, &[1]), append(Y, 2)])], &[(Y, &[2])], 0), &is_open),
        (("rw", vec![ran(&[read(X, &[]), append(Y, 2)]), ran(&[append(X, 1)])], &[(X, &[1])], 0), &is_open),
        (("phantom", vec![ran(&[scan(0..9, &[]), append(20, 2)]), ran(&[append(X, 1)])], &[(X, &[1])], 0), &is_open),
        (("real time", vec![ran_at(0, 1, &[append(X, 1)]), ran_at(2, 3, &[append(Y, 2)])], &[(Y, &[2])], 0), &is_open),
        (
            (
                "through a reader",
                vec![ran(&[append(X, 1)]), ran(&[read(X, &[1]), read(Y, &[])]), ran(&[append(Y, 2)])],
                &[(Y, &[2])],
                0,
            ),
            &is_open,
        ),
        (
            ("ww", vec![ran(&[append(X, 1)]), ran(&[append(X, 2)]), ran(&[read(X, &[1, 2])])], &[(X, &[2])], 0),
            &is_wrong,
        ),
        (("a value that nobody put", vec![], &[(X, &[1])], 0), &is_strange),
        (("an aborted one", vec![during(Aborted(9), &[append(X, 1)])], &[(X, &[1])], 0), &is_strange),
        (("what was promised", vec![ran_at(0, 1, &[append(X, 1)])], &[], 2), &is_promised),
    ];
    for ((name, history, left, floor), expected) in bad {
        let loss = check_left(&history, &lists(left), floor).expect_err(name);
        assert!(expected(&loss) && !loss.to_string().is_empty(), "{name}: {loss}");
    }
}

/// A history made from its own order: transactions run one after the other, and each extends around its instant.
fn explained(random: &mut Pcg64, count: u64) -> Vec<Transaction> {
    let mut state = Lists::new();
    let mut element = 0;
    let one = |instant: u64| {
        let mut steps = Vec::new();
        for _ in 0..random.random_range(1..5) {
            let key = random.random_range(0..6);
            match random.random_range(0..5) {
                0 | 1 => steps.push(read(key, state.get(&key).map_or(&[], |list| list))),
                2 => {
                    let found = state.range(key..6).map(|(key, list)| (*key, list.clone())).collect();
                    steps.push(Step::Scan { keys: key..6, found });
                }
                _ => {
                    element += 1;
                    state.entry(key).or_default().push(element);
                    steps.push(append(key, element));
                }
            }
        }
        // Instants are a hundred apart, so transactions that extend up to three hundred overlap a few others.
        let (before, after) = (random.random_range(1..300), random.random_range(1..300));
        ran_at(instant * 100 + 300 - before, instant * 100 + 300 + after, &steps)
    };
    (1..=count).map(one).collect()
}

#[test]
fn histories_made_from_an_order_are_accepted_and_spoilt_ones_are_not() {
    let mut spoilt = 0;
    for seed in 0..200 {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut history = explained(&mut random, 60);
        if let Err(wrong) = check(&history) {
            panic!("seed {seed}: {}", wrong[0]);
        }
        // One read loses the last element of a list that it read, and which the transaction did not append itself.
        let at = random.random_range(10..history.len());
        let own: Vec<u64> = history[at].appends().map(|(_, element)| element).collect();
        let shorter = history[at].steps.iter_mut().find_map(|step| match step {
            Step::Read { list, .. } if list.last().is_some_and(|last| !own.contains(last)) => list.pop(),
            _ => None,
        });
        let Some(lost) = shorter else { continue };
        let writer = history.iter().find(|one| one.appends().any(|(_, element)| element == lost)).expect("its writer");
        // Unless the two overlap, the read is stale.
        let overlaps = matches!(writer.outcome, Committed(ended) if ended >= history[at].began);
        if !overlaps {
            spoilt += 1;
            assert!(check(&history).is_err(), "seed {seed}: transaction {at} did not see {lost}");
        }
    }
    assert!(spoilt > 30, "only {spoilt} histories were spoilt");
}
