//! Two committers and a reader over two leaves, while epochs end and leaves split. A commit is seen whole, it depends
//! on all that it has read, and labels rise along dependencies. Callers that break their obligations are caught.

use super::bare::Bare;
use super::explore::{caught, caught_for_any, explore};
use holm_medium::{Clock, Epoch, Guard, StorageOps};
use holm_tree::leaf::Leaf;
use holm_tree::{CommitObserver, CommitRequest, Committed, Design, Index, LeafVersion, Lookup, TreeWrite, designs};
use shuttle::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use shuttle::thread;
use std::sync::Mutex;

const CAPACITY: u64 = <designs::buffered as Design>::Leaf::CAPACITY as u64;

/// The pairs of two leaves, which are full: the first commits split them.
const PAIRS: u64 = 2 * CAPACITY;

/// Pairs in twelve leaves: in most attempts to latch them all, an epoch ends.
const WIDE: u64 = 6 * CAPACITY;

/// The first key of the first leaf. At first, each key has its own number.
const LOW: u64 = 1;

/// The last key of the second leaf.
const HIGH: u64 = PAIRS;

/// What the two keys have together.
const SUM: u64 = LOW + HIGH;

/// The attempts of a caller before it gives up.
const ATTEMPTS: usize = 4;

/// What the callers do wrong, if anything.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Bug {
    None,
    /// Commits depend on nothing.
    ReadsForgotten,
    /// Commits depend on the leaf that was read last.
    LastReadOnly,
    /// The leaves that were read are validated before the commit, not by it.
    ValidatedBefore,
    /// Each leaf has a commit of its own.
    LeafByLeaf,
    /// The reader does not validate what it has read together.
    ReaderAlone,
    /// Commits keep the label of an epoch that has ended.
    LabelKept,
}

struct Nothing;

impl CommitObserver for Nothing {
    fn before_stores(&mut self, _: &Guard<'_>) {}
    fn after_stores(&mut self, _: &Guard<'_>) {}
}

/// Two keys in two leaves.
struct Pair {
    bare: Bare,
    bug: Bug,
}

impl Pair {
    fn create(bug: Bug) -> Self {
        let pair = Pair { bare: Bare::create(PAIRS), bug };
        assert_ne!(pair.get(LOW).leaf_version.leaf(), pair.get(HIGH).leaf_version.leaf(), "two leaves");
        pair
    }

    fn get(&self, key: u64) -> Lookup {
        self.bare.tree_set.get(&self.bare.root, key)
    }

    /// Commits writes, which are in the order of their keys. Returns the label.
    fn commit(&self, reads: &[LeafVersion], writes: &[(u64, u64)]) -> Option<Epoch> {
        if self.bug == Bug::LeafByLeaf && writes.len() > 1 {
            let done = |(reads, writes)| self.commit(reads, writes);
            return [(reads, &writes[..1]), (&[], &writes[1..])]
                .into_iter()
                .map(done)
                .collect::<Option<Vec<_>>>()?
                .pop();
        }
        let mut guard = self.bare.guard();
        if self.bug == Bug::LabelKept {
            // The tree gets a clock that does not advance.
            let own = Clock::new(guard.epoch(), [0, 0]);
            drop(guard);
            thread::yield_now();
            return self.commit_under(&mut own.pin().expect("it stands still"), reads, writes);
        }
        self.commit_under(&mut guard, reads, writes)
    }

    fn commit_under(&self, guard: &mut Guard<'_>, reads: &[LeafVersion], writes: &[(u64, u64)]) -> Option<Epoch> {
        let reads = match (self.bug, reads) {
            (Bug::ReadsForgotten, _) => &[][..],
            (Bug::LastReadOnly, [.., last]) => &[*last][..],
            (Bug::ValidatedBefore, _) => {
                if !reads.iter().all(|read| self.bare.tree_set.validate(*read)) {
                    return None;
                }
                thread::yield_now();
                &[]
            }
            _ => reads,
        };
        let root = &self.bare.root;
        let writes: Vec<_> = writes
            .iter()
            .map(|(key, payload)| TreeWrite { root, search_key: *key, payload: Some(*payload), seen: None })
            .collect();
        let request = CommitRequest { reads, writes: &writes, observer: &mut Nothing };
        let done = self.bare.tree_set.commit(guard, request).expect("room");
        (done != Committed::Conflict).then(|| guard.epoch())
    }

    /// What both keys have, if it is of one instant.
    fn both(&self) -> Option<[Lookup; 2]> {
        let both = [LOW, HIGH].map(|key| self.get(key));
        let stands = self.bug == Bug::ReaderAlone || self.bare.tree_set.validate(both[0].leaf_version);
        stands.then_some(both)
    }

    /// Changes other pairs of both leaves.
    fn disturb(&self) {
        let Bare { tree_set, root, .. } = &self.bare;
        for key in [LOW + 1, HIGH - 1] {
            tree_set.remove(root, &mut self.bare.guard(), key).expect("sound");
            tree_set.put(root, &mut self.bare.guard(), key, key).expect("room");
        }
    }

    fn end_epochs(&self) {
        for _ in 0..2 {
            self.bare.writer.end_epoch().expect("sound");
        }
    }
}

fn payloads(both: [Lookup; 2]) -> [u64; 2] {
    both.map(|lookup| lookup.payload.expect("both are there"))
}

fn added(both: [Lookup; 2]) -> u64 {
    let [low, high] = payloads(both);
    low.wrapping_add(high)
}

/// Two threads move amounts from one key to the other; a third adds them up.
fn sum(bug: Bug) {
    let pair = Pair::create(bug);
    let moved = AtomicU64::new(0);
    thread::scope(|scope| {
        for amount in [3, 5] {
            let (pair, moved) = (&pair, &moved);
            scope.spawn(move || {
                let done = (0..ATTEMPTS).any(|_| {
                    // A commit validates both reads, so they need not be of one instant here.
                    let both = [LOW, HIGH].map(|key| pair.get(key));
                    let [low, high] = payloads(both);
                    let reads = both.map(|lookup| lookup.leaf_version);
                    pair.commit(&reads, &[(LOW, low.wrapping_sub(amount)), (HIGH, high.wrapping_add(amount))]).is_some()
                });
                moved.fetch_add(if done { amount } else { 0 }, SeqCst);
            });
        }
        scope.spawn(|| {
            for both in (0..ATTEMPTS).filter_map(|_| pair.both()) {
                assert_eq!(added(both), SUM, "the sum is constant");
            }
        });
        scope.spawn(|| pair.disturb());
        scope.spawn(|| pair.end_epochs());
    });
    let both = [LOW, HIGH].map(|key| pair.get(key));
    assert_eq!(added(both), SUM, "the sum is constant");
    assert_eq!(payloads(both)[1], HIGH + moved.load(SeqCst), "no update is lost");
    assert_eq!(pair.bare.tree_set.audit(&pair.bare.root).faults, Vec::<String>::new());
}

/// Each of two threads reads both keys and writes one of them: not both commit.
fn skew(bug: Bug) {
    let pair = Pair::create(bug);
    let done = Mutex::new(0);
    thread::scope(|scope| {
        for key in [LOW, HIGH] {
            let (pair, done) = (&pair, &done);
            scope.spawn(move || {
                let Some(both) = pair.both() else { return };
                let written = payloads(both) == [LOW, HIGH]
                    && pair.commit(&both.map(|lookup| lookup.leaf_version), &[(key, 0)]).is_some();
                *done.lock().expect("no panic under it") += u64::from(written);
            });
        }
        scope.spawn(|| pair.end_epochs());
    });
    assert!(*done.lock().expect("no panic under it") < 2, "write skew");
}

/// One thread reads the first key and writes the second; another overwrites the first. If the reader came first, its
/// label is no later: otherwise a recovery point could have the other one alone.
fn labels(bug: Bug) {
    let pair = Pair::create(bug);
    let labels = Mutex::new([None; 2]);
    thread::scope(|scope| {
        scope.spawn(|| {
            let read = pair.get(LOW);
            let label = pair.commit(&[read.leaf_version], &[(HIGH, 0)]);
            labels.lock().expect("no panic under it")[0] = label.map(|label| (label, read.payload == Some(LOW)));
        });
        scope.spawn(|| {
            let label = pair.commit(&[], &[(LOW, 0)]);
            labels.lock().expect("no panic under it")[1] = label.map(|label| (label, true));
        });
        scope.spawn(|| pair.end_epochs());
    });
    if let [Some((reader, is_first)), Some((writer, _))] = *labels.lock().expect("no panic under it") {
        let rises = if is_first { reader <= writer } else { writer <= reader };
        assert!(rises, "labels fall along a dependency: {reader} read, {writer} wrote, first {is_first}");
    }
}

/// A commit takes many latches, while another thread ends one epoch after the other. In a livelock, the number of steps
/// runs out.
fn many_latches() {
    let bare = Bare::create(WIDE);
    let keys = (1..=WIDE).step_by(CAPACITY as usize / 2);
    let (root, done) = (&bare.root, AtomicBool::new(false));
    let writes: Vec<_> =
        keys.clone().map(|key| TreeWrite { root, search_key: key, payload: Some(0), seen: None }).collect();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(SeqCst) {
                bare.writer.end_epoch().expect("sound");
                thread::yield_now();
            }
        });
        let request = CommitRequest { reads: &[], writes: &writes, observer: &mut Nothing };
        let committed = bare.tree_set.commit(&mut bare.guard(), request).expect("room");
        assert_ne!(committed, Committed::Conflict, "it depends on nothing");
        done.store(true, SeqCst);
    });
    keys.for_each(|key| assert_eq!(bare.tree_set.get(root, key).payload, Some(0)));
}

#[test]
fn a_commit_ends_however_often_epochs_end() {
    explore(20, many_latches);
}

#[test]
fn commits_are_whole_and_depend_on_what_they_read() {
    explore(300, || sum(Bug::None));
    explore(300, || skew(Bug::None));
    explore(300, || labels(Bug::None));
}

#[test]
fn a_commit_that_forgets_its_reads_is_caught() {
    for bug in [Bug::ReadsForgotten, Bug::ValidatedBefore] {
        caught_for_any(2_000, &["the sum is constant", "no update is lost"], move || sum(bug));
        caught(2_000, "write skew", move || skew(bug));
    }
    caught(2_000, "write skew", || skew(Bug::LastReadOnly));
}

#[test]
fn a_commit_leaf_by_leaf_is_caught() {
    caught(2_000, "the sum is constant", || sum(Bug::LeafByLeaf));
}

#[test]
fn a_reader_that_does_not_validate_is_caught() {
    caught(2_000, "the sum is constant", || sum(Bug::ReaderAlone));
}

#[test]
fn a_commit_under_an_old_label_is_caught() {
    caught(2_000, "labels fall", || labels(Bug::LabelKept));
}
