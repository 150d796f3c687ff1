//! Lists in a small tree, and threads that run transactions over them as the store does: what was read is validated
//! together after each read, and once more by the commit. The medium records every store, and marks the instants.
//!
//! A payload is the number of a list. Lists never change, as records do not. Callers that break their obligations are
//! caught.

use super::crowd::random;
use crate::cycles::{Lists, Outcome, Step, Transaction};
use crate::fixture::advance;
use crate::recorded::Recorded;
use crate::snapshot::Snapshot;
use crate::subject::{Subject, Tree};
use crate::trace::{Entry, Mark};
use holm_medium::{Clock, Epoch, FIRST_EPOCH, Guard, Storage, StorageOps, Writer};
use holm_tree::{
    CommitObserver, CommitRequest, Committed, Conditional, LeafVersion, Lookup, SeekTarget, Seen, TreeRoot, TreeWrite,
};
use rand::Rng;
use rand::seq::IndexedRandom;
use rand_pcg::Pcg64;
use shuttle::thread;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of threads with transactions.
const THREADS: usize = 3;

/// Blocks of the image.
pub(super) const BLOCKS: usize = 20;

/// The attempts of a caller before it gives up.
const ATTEMPTS: usize = 4;

/// Payloads of lists are greater, those of the keys beside them less.
const FIRST_LIST: u64 = 1 << 32;

/// What the callers do wrong, if anything.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Bug {
    None,
    /// Commits depend on nothing.
    ReadsForgotten,
    /// Commits depend on the leaf that was read last.
    LastReadOnly,
    /// What was read is validated first, and the label is taken after it.
    LabelBehindReads,
    /// Commits keep the label of an epoch that has ended.
    LabelKept,
    /// Each leaf has a commit of its own: the latch of one is released before the store to the next.
    LeafByLeaf,
    /// Reads are not validated together.
    ReadsApart,
    /// Commits keep no intent.
    NoIntent,
}

/// The writes of a commit, and its entry in an intent word: the number of the commit and one.
type Writes = Vec<(u64, u64)>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A transaction has to begin anew.
struct Conflict;

/// Keys with lists in two leaves, and what is known of the threads.
pub(super) struct Board {
    subject: &'static Subject,
    writer: Arc<Writer<Recorded>>,
    tree: Arc<dyn Tree>,
    root: TreeRoot,
    bug: Bug,
    /// The keys of lists: two in the first leaf, two in the last.
    keys: [u64; 4],
    lists: Mutex<Vec<Vec<u64>>>,
    commits: Mutex<Vec<Writes>>,
    instants: AtomicUsize,
    elements: AtomicUsize,
    base: Snapshot,
    /// The transactions, and the instants after their last steps.
    history: Mutex<Vec<(Transaction, u64)>>,
    /// Epochs, and an instant before each ended.
    ends: Mutex<Vec<(Epoch, u64)>>,
}

/// What the threads have done.
pub(super) struct Run {
    pub(super) base: Snapshot,
    pub(super) entries: Vec<Entry>,
    pub(super) history: Vec<Transaction>,
    /// The instant after the last step of each.
    pub(super) known: Vec<u64>,
    pub(super) ends: Vec<(Epoch, u64)>,
    pub(super) commits: Vec<Writes>,
    lists: Vec<Vec<u64>>,
    keys: [u64; 4],
}

impl Run {
    /// The lists among the pairs of a tree.
    pub(super) fn lists(&self, pairs: &[(u64, u64)]) -> Lists {
        let own = pairs.iter().filter(|(key, _)| self.keys.contains(key));
        own.map(|(key, payload)| (*key, self.lists[(payload - FIRST_LIST) as usize].clone())).collect()
    }
}

impl Board {
    /// A tree of two leaves, half full or full, without lists; all of it durable.
    pub(super) fn create(subject: &'static Subject, bug: Bug, random: &mut Pcg64) -> Self {
        let writer = Arc::new(Storage::open(Recorded::new([BLOCKS * subject.block, 64]), FIRST_EPOCH).expect("room"));
        let tree = subject.tree(writer.clone());
        let guard = || writer.clock().pin().expect("sound");
        let root = tree.create_tree(&mut guard(), subject.keyspace(1)).expect("room");
        let capacity = subject.capacity as u64;
        // The last of these splits the leaf, in its middle.
        for number in [capacity + 1].into_iter().chain(1..=capacity) {
            tree.put(&root, &mut guard(), number * 10, number).expect("room");
        }
        if random.random_ratio(1, 3) {
            for number in 1..capacity / 2 {
                tree.put(&root, &mut guard(), number * 10 + 5, number).expect("room");
            }
        }
        advance(&writer).expect("sound");
        let keys = [11, 22, capacity * 10 - 8, capacity * 10 + 3];
        let leaf = |key: u64| tree.get(&root, key).leaf_version.leaf();
        assert!(leaf(keys[1]) != leaf(keys[2]), "the lists lie in two leaves");
        let base = Snapshot::of(writer.image());
        writer.storage().medium.keep(true);
        Board {
            subject,
            writer: writer.clone(),
            tree,
            root,
            bug,
            keys,
            lists: Mutex::default(),
            commits: Mutex::default(),
            instants: AtomicUsize::new(1),
            elements: AtomicUsize::new(1),
            base,
            history: Mutex::default(),
            ends: Mutex::default(),
        }
    }

    fn guard(&self) -> Guard<'_> {
        self.writer.clock().pin().expect("sound")
    }

    /// The present instant, marked in the trace; no two calls return the same one.
    fn now(&self) -> u64 {
        let instant = self.instants.fetch_add(1, SeqCst);
        self.writer.storage().medium.mark(Mark::Begun(instant));
        instant as u64
    }

    fn element(&self) -> u64 {
        self.elements.fetch_add(1, SeqCst) as u64
    }

    /// Runs the threads to their end.
    pub(super) fn run(self, random: &mut Pcg64) -> Run {
        let ticks = random.random_range(0..=3);
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let board = &self;
                let mut worker = Worker { board, thread, random: super::crowd::random() };
                scope.spawn(move || (0..2).for_each(|_| worker.step()));
            }
            scope.spawn(|| {
                for _ in 0..ticks {
                    let before = self.now();
                    lock(&self.ends).push((self.writer.clock().active(), before));
                    advance(&self.writer).expect("sound");
                }
            });
        });
        assert_eq!(self.tree.audit(&self.root).faults, Vec::<String>::new(), "{}", self.subject.name);
        assert_eq!(self.tree.snapshot_bytes(), (0, 0), "nothing is kept");
        let Board { writer, base, history, ends, commits, lists, keys, .. } = self;
        let entries = writer.storage().medium.take();
        let history = history.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (history, known) = history.into_iter().unzip();
        let ends = ends.into_inner().unwrap_or_else(PoisonError::into_inner);
        let commits = commits.into_inner().unwrap_or_else(PoisonError::into_inner);
        let lists = lists.into_inner().unwrap_or_else(PoisonError::into_inner);
        Run { base, entries, history, known, ends, commits, lists, keys }
    }

    fn list(&self, payload: Option<u64>) -> Vec<u64> {
        payload.map_or_else(Vec::new, |payload| lock(&self.lists)[(payload - FIRST_LIST) as usize].clone())
    }

    /// A payload for a list.
    fn keep(&self, list: Vec<u64>) -> u64 {
        let mut lists = lock(&self.lists);
        lists.push(list);
        FIRST_LIST + lists.len() as u64 - 1
    }

    fn ended(&self, mut transaction: Transaction, outcome: fn(u64) -> Outcome) {
        let now = self.now();
        transaction.outcome = outcome(now);
        lock(&self.history).push((transaction, now));
    }

    /// Commits writes, which are in the order of their keys. Returns the label.
    fn commit(&self, thread: usize, reads: &[LeafVersion], writes: &[(u64, u64)]) -> Option<Epoch> {
        if self.bug == Bug::LeafByLeaf && writes.len() > 1 {
            let first = self.commit(thread, reads, &writes[..1])?;
            // What was read has changed: by this very commit.
            return self.commit(thread, &[], &writes[1..]).or(Some(first));
        }
        if self.bug == Bug::LabelBehindReads {
            if !reads.iter().all(|read| self.tree.validate(*read)) {
                return None;
            }
            return self.commit_under(thread, &mut self.guard(), &[], writes);
        }
        let mut guard = self.guard();
        if self.bug == Bug::LabelKept {
            // The tree gets a clock that does not advance.
            let own = Clock::new(guard.epoch(), [0, 0]);
            return self.commit_under(thread, &mut own.pin().expect("it stands still"), reads, writes);
        }
        let reads = match (self.bug, reads) {
            (Bug::ReadsForgotten, _) => &[][..],
            (Bug::LastReadOnly, [.., last]) => &[*last][..],
            _ => reads,
        };
        self.commit_under(thread, &mut guard, reads, writes)
    }

    fn commit_under(
        &self,
        thread: usize,
        guard: &mut Guard<'_>,
        reads: &[LeafVersion],
        writes: &[(u64, u64)],
    ) -> Option<Epoch> {
        let mut intent = Intent { board: self, thread, writes };
        let root = &self.root;
        let write =
            |(key, payload): &(u64, u64)| TreeWrite { root, search_key: *key, payload: Some(*payload), seen: None };
        let writes: Vec<_> = writes.iter().map(write).collect();
        let request = CommitRequest { reads, writes: &writes, observer: &mut intent };
        let done = self.tree.commit(guard, request).expect("room");
        (done != Committed::Conflict).then(|| guard.epoch())
    }
}

/// The intent of a commit, in the header's word of its thread.
struct Intent<'a> {
    board: &'a Board,
    thread: usize,
    writes: &'a [(u64, u64)],
}

impl Intent<'_> {
    fn write(&self, value: u64) {
        let header = self.board.writer.storage().header().expect("it has a header");
        let mut handle = self.board.writer.begin_write_at(self.board.writer.clock().active());
        handle.write(&header.intents[self.thread], value);
    }
}

impl CommitObserver for Intent<'_> {
    fn before_stores(&mut self, _: &Guard<'_>) {
        if self.writes.len() < 2 || self.board.bug == Bug::NoIntent {
            return;
        }
        let number = {
            let mut commits = lock(&self.board.commits);
            commits.push(self.writes.to_vec());
            commits.len() as u64
        };
        self.write(number);
    }

    fn after_stores(&mut self, _: &Guard<'_>) {
        if self.writes.len() > 1 && self.board.bug != Bug::NoIntent {
            self.write(0);
        }
    }
}

/// What a transaction has read and is to write.
#[derive(Default)]
struct Attempt {
    leaves: Vec<LeafVersion>,
    own: BTreeMap<u64, Vec<u64>>,
    steps: Vec<Step>,
}

impl Attempt {
    /// Notes a leaf, and makes sure that all that was read stands together.
    fn note(&mut self, board: &Board, version: LeafVersion) -> Result<(), Conflict> {
        let others = self.leaves.iter().filter(|noted| **noted != version);
        let stands = |noted: &LeafVersion| noted.leaf() != version.leaf() && board.tree.validate(*noted);
        if board.bug != Bug::ReadsApart && !others.into_iter().all(stands) {
            return Err(Conflict);
        }
        self.leaves.retain(|noted| noted.leaf() != version.leaf());
        self.leaves.push(version);
        Ok(())
    }

    fn read(&mut self, board: &Board, key: u64) -> Result<Vec<u64>, Conflict> {
        let list = match self.own.get(&key) {
            Some(own) => own.clone(),
            None => {
                let lookup = board.tree.get(&board.root, key);
                self.note(board, lookup.leaf_version)?;
                board.list(lookup.payload)
            }
        };
        self.steps.push(Step::Read { key, list: list.clone() });
        Ok(list)
    }

    fn append(&mut self, board: &Board, key: u64) -> Result<(), Conflict> {
        let mut list = self.read(board, key)?;
        let element = board.element();
        list.push(element);
        self.own.insert(key, list);
        self.steps.push(Step::Append { key, element });
        Ok(())
    }

    /// Reads both leaves, from the first list to the last.
    fn scan(&mut self, board: &Board) -> Result<(), Conflict> {
        let keys = board.keys[0]..board.keys[3] + 1;
        let (mut found, mut low) = (Lists::new(), Some(keys.start));
        while let Some(from) = low.filter(|low| *low < keys.end) {
            let cursor = board.tree.cursor_at(&board.root, SeekTarget::Holding(from));
            self.note(board, cursor.leaf_version)?;
            let lists = cursor.pairs.iter().filter(|slot| board.keys.contains(&slot.head) && slot.head >= from);
            found.extend(lists.map(|slot| (slot.head, board.list(Some(slot.payload)))));
            low = cursor.edge;
        }
        found.extend(self.own.iter().map(|(key, list)| (*key, list.clone())));
        self.steps.push(Step::Scan { keys, found });
        Ok(())
    }
}

/// A thread that works on the lists.
struct Worker<'b> {
    board: &'b Board,
    thread: usize,
    random: Pcg64,
}

impl Worker<'_> {
    fn key(&mut self) -> u64 {
        *self.board.keys.choose(&mut self.random).expect("four keys")
    }

    fn begun(&self) -> Transaction {
        Transaction { began: self.board.now(), outcome: Outcome::Unknown, label: None, steps: Vec::new() }
    }

    fn step(&mut self) {
        match self.random.random_range(0..16) {
            0..10 => self.transact(),
            10..12 => self.update(),
            12 => self.get(),
            13 => self.read_snapshot(),
            _ => self.disturb(),
        }
    }

    fn transact(&mut self) {
        let (board, mut transaction, mut attempt) = (self.board, self.begun(), Attempt::default());
        let done = (0..self.random.random_range(1..=3)).try_for_each(|_| match self.random.random_range(0..8) {
            0..3 => attempt.read(board, self.key()).map(drop),
            3 => attempt.scan(board),
            _ => attempt.append(board, self.key()),
        });
        let writes: Writes = attempt.own.into_iter().map(|(key, list)| (key, board.keep(list))).collect();
        transaction.steps = attempt.steps;
        if done.is_err() {
            return board.ended(transaction, Outcome::Aborted);
        }
        // Without writes it took effect when it last stood together.
        if !writes.is_empty() {
            transaction.label = board.commit(self.thread, &attempt.leaves, &writes);
            if transaction.label.is_none() {
                return board.ended(transaction, Outcome::Aborted);
            }
        }
        board.ended(transaction, Outcome::Committed);
    }

    /// Appends to one list, if its leaf is still as it was read.
    fn update(&mut self) {
        let (board, mut transaction) = (self.board, self.begun());
        let (key, element) = (self.key(), board.element());
        for _ in 0..ATTEMPTS {
            let Lookup { payload, leaf_version: leaf, .. } = board.tree.get(&board.root, key);
            let list = [&board.list(payload)[..], &[element]].concat();
            let (payload, mut guard) = (board.keep(list.clone()), board.guard());
            let seen = Seen { leaf, others: &[], holds: None };
            let done = board.tree.put_if_unchanged(&board.root, &mut guard, seen, key, payload).expect("room");
            if matches!(done, Conditional::Done(_)) {
                transaction.label = Some(guard.epoch());
                drop(guard);
                transaction.steps = vec![Step::Append { key, element }, Step::Read { key, list }];
                return board.ended(transaction, Outcome::Committed);
            }
        }
    }

    fn get(&mut self) {
        let (board, mut transaction, key) = (self.board, self.begun(), self.key());
        let list = board.list(board.tree.get(&board.root, key).payload);
        transaction.steps.push(Step::Read { key, list });
        board.ended(transaction, Outcome::Committed);
    }

    /// Reads all lists of a snapshot while others write: a transaction that has ended when the snapshot was there.
    fn read_snapshot(&mut self) {
        let (board, mut transaction) = (self.board, self.begun());
        let (generation, _) = board.tree.begin_snapshot().expect("sound");
        transaction.outcome = Outcome::Committed(board.now());
        for key in board.keys {
            let list = board.list(board.tree.get_at(&board.root, generation, key).lookup.payload);
            transaction.steps.push(Step::Read { key, list });
        }
        board.tree.close_snapshot(generation);
        let now = board.now();
        lock(&board.history).push((transaction, now));
    }

    /// Changes a key beside the lists, so that their leaves change, split and merge.
    fn disturb(&mut self) {
        let Board { tree, root, .. } = self.board;
        let near = self.key() / 10 * 10;
        if self.random.random_bool(0.5) {
            tree.remove(root, &mut self.board.guard(), near).expect("sound");
        } else {
            tree.put(root, &mut self.board.guard(), near + 7, 1).expect("room");
        }
    }
}

/// Draws a tree and its transactions, and runs them.
pub(super) fn run(subject: &'static Subject, bug: Bug) -> (Run, Pcg64) {
    let mut random = random();
    let board = Board::create(subject, bug, &mut random);
    (board.run(&mut random), random)
}
