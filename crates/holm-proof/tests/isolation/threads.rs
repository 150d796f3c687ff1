//! Transactions, batches and plain writes of several threads over lists of few leaves and of many: every history is
//! strictly serializable, and what was refused has seen nothing that never was.

use holm::{Database, Durability};
use holm_proof::cycles::{Outcome, Step, Transaction, check};
use holm_proof::lists::{Board, THREADS, Worker};
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

/// Transactions of each thread in a long history, and in a short one.
const LONG: usize = 150;
const SHORT: usize = 8;

/// Histories of one kind; `HOLM_HISTORIES` overrides their number, and `HOLM_SEED` the first seed.
struct Kind {
    design: &'static str,
    fillers: u8,
    histories: u64,
    /// Transactions of each thread.
    steps: usize,
    /// Whether some transactions read so much that they go on at a snapshot.
    at_snapshots: bool,
}

const KIND: Kind = Kind { design: "buffered", fillers: 0, histories: 60, steps: LONG, at_snapshots: false };

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// The lists of a history lie where those of an earlier one lay.
const SETS: u64 = 5;

/// Runs all threads on fresh lists, and returns their history.
fn run(db: &Database, seed: u64, kind: &Kind) -> Vec<Transaction> {
    let board = Board::new(db, seed % SETS, kind.fillers);
    let board = if kind.at_snapshots { board.and_then(Board::with_long_transactions) } else { board };
    let board = board.expect("sound");
    board.clear().expect("sound");
    let barrier = Barrier::new(THREADS as usize);
    let work = |thread| {
        let mut worker = Worker::new(&board, thread, seed);
        barrier.wait();
        (0..kind.steps).for_each(|_| worker.step(&mut |_| ()).expect("no error but conflicts"));
        worker.into_history()
    };
    let mut history = thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
    });
    let began = board.now();
    let found = board.lists().expect("sound");
    let steps = vec![Step::Scan { keys: 0..u64::MAX, found }];
    history.push(Transaction { began, outcome: Outcome::Committed(board.now()), label: None, steps });
    history
}

fn every_history_has_an_order(kind: &Kind) {
    let Kind { design, fillers, .. } = *kind;
    let (histories, first) = (number("HOLM_HISTORIES").unwrap_or(kind.histories), number("HOLM_SEED").unwrap_or(0));
    let folder = tempfile::tempdir().expect("a folder");
    let durability = Durability::Buffered { interval: Duration::from_millis(2) };
    let db = Database::builder().design(design).durability(durability).open(folder.path().join("lists.holm"));
    let db = db.expect("new");
    let (mut committed, mut aborted) = (0, 0);
    for seed in first..first + histories {
        let history = run(&db, seed, kind);
        let count = history.iter().filter(|one| matches!(one.outcome, Outcome::Committed(_))).count();
        (committed, aborted) = (committed + count, aborted + history.len() - count);
        if let Err(wrong) = check(&history) {
            let shown: Vec<_> = wrong[0].transactions.iter().map(|at| (at, &history[*at])).collect();
            panic!("{design}, {fillers} fillers, seed {seed}: {} in\n{shown:#?}", wrong[0]);
        }
    }
    assert_eq!(db.check().expect("readable").faults, Vec::<String>::new());
    println!("{design}, {fillers} fillers: {committed} committed, {aborted} did not");
    assert!(committed > aborted && aborted > 0, "{committed} committed, {aborted} did not");
}

#[test]
fn histories_in_one_leaf_have_an_order() {
    every_history_has_an_order(&KIND);
}

#[test]
fn histories_in_leaves_that_split_and_merge_have_an_order() {
    every_history_has_an_order(&Kind { fillers: 40, ..KIND });
    every_history_has_an_order(&Kind { fillers: 6, histories: 30, ..KIND });
}

#[test]
fn histories_of_the_mirrored_design_have_an_order() {
    every_history_has_an_order(&Kind { design: "holm", fillers: 40, histories: 30, ..KIND });
}

/// Many beginnings: threads meet in lists that are empty, and in leaves that have just been emptied.
#[test]
fn short_histories_have_an_order() {
    every_history_has_an_order(&Kind { fillers: 6, histories: 200, steps: SHORT, ..KIND });
}

#[test]
fn histories_of_long_transactions_have_an_order() {
    every_history_has_an_order(&Kind { fillers: 40, histories: 10, at_snapshots: true, ..KIND });
    every_history_has_an_order(&Kind { design: "holm", fillers: 6, histories: 3, at_snapshots: true, ..KIND });
}
