//! A snapshot begins between any two stores of an operation, perhaps beside one that is open, and both are read after
//! each later store.
//!
//! All happens on the writer's own thread, in the middle of its operation, so the test is deterministic. From a leaf
//! whose latch is held, the reader gets no answer. A snapshot has the state before or after the operation in which it
//! began; of a removed range, a part from its low end on may be gone. It has the same pairs until it is closed, and
//! none of their payloads is freed before that. In the end each payload that gave way has been freed once. Memory is
//! bounded by the leaves that changed and the open snapshots.

use crate::fixture::{TreeFixture, advance};
use crate::model::{Contents, Step};
use crate::script::Script;
use crate::subject::{Subject, Tree};
use crate::threads;
use holm_medium::Result;
use holm_tree::leaf::KeyRange;
use holm_tree::{
    CommitObserver, CommitRequest, LeafCursor, RangeRemoval, Released, Reuse, SeekTarget, Superseded, TreeRoot,
    TreeWrite,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a pre-image beside its pairs, at most.
const PRE_IMAGE: u64 = 128;

/// The turns that are tried of a script with more stores; `HOLM_EVERY_TURN=1` tries all.
const MOST_TURNS: usize = 16;

/// What a caller does wrong, if anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TurnBug {
    /// Nothing.
    None,
    /// It reads leaves as they are.
    ReadsTheLatest,
    /// It asks for a generation that has not begun.
    LaterGeneration,
    /// It frees at once what a snapshot needs.
    FreesAtOnce,
}

/// One operation.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Operation {
    /// A put, a removal or the end of an epoch.
    Step(Step),
    /// A commit of several writes.
    Commit(Vec<(u64, Option<u64>)>),
    /// A removal of a range.
    RemoveRange(u64, u64),
}

/// The operations of a run, on a tree with a past.
#[derive(Clone, Debug)]
pub struct Turns {
    script: Script,
    operations: Vec<Operation>,
}

impl From<Script> for Turns {
    fn from(script: Script) -> Self {
        Turns { operations: script.steps.iter().copied().map(Operation::Step).collect(), script }
    }
}

impl Turns {
    /// Commits and removals of ranges on five full leaves: updates, insertions and removals in two and three leaves,
    /// commits that split, and ranges that begin and end within leaves and empty others.
    pub fn of_ranges(capacity: usize) -> Self {
        let capacity = capacity as u64;
        let past = (1..=capacity * 3).map(|key| Step::Put(key * 10, key)).chain([Step::Tick, Step::Tick]).collect();
        let script = Script { name: "ranges".into(), past, steps: vec![], blocks: 96 };
        let (first, middle, last) = (10, capacity * 15, capacity * 30 - 10);
        let operations = vec![
            Operation::Commit(vec![(first, Some(1 << 20)), (last, Some(2 << 20))]),
            Operation::Commit(vec![(first, Some(3 << 20)), (middle, None), (middle + 1, Some(4 << 20)), (last, None)]),
            Operation::RemoveRange(25, capacity * 22),
            Operation::Step(Step::Put(middle, 5 << 20)),
            Operation::Step(Step::Tick),
            Operation::RemoveRange(0, u64::MAX),
            Operation::Step(Step::Put(5, 6 << 20)),
        ];
        Turns { script, operations }
    }

    fn keys(&self) -> BTreeSet<u64> {
        let past = self.script.past.iter().filter_map(Step::key);
        let own = self.operations.iter().flat_map(|operation| match operation {
            Operation::Step(step) => step.key().into_iter().collect(),
            Operation::Commit(writes) => writes.iter().map(|(key, _)| *key).collect(),
            Operation::RemoveRange(..) => vec![],
        });
        past.chain(own).collect()
    }
}

/// A snapshot, the operation in which it began if there was one by then, and what it has answered.
struct Opened {
    generation: u64,
    during: Option<usize>,
    told: BTreeMap<u64, Option<u64>>,
}

/// What a reader in the middle of operations knows.
#[derive(Default)]
struct Seen {
    stores: usize,
    /// How many operations have returned.
    returned: usize,
    open: Vec<Opened>,
    fault: Option<String>,
}

/// A tree, what it has freed, and its reader.
struct Run {
    fixture: TreeFixture,
    bug: TurnBug,
    seen: Arc<Mutex<Seen>>,
    replaced: BTreeSet<u64>,
    freed: BTreeSet<u64>,
    /// The contents after each operation.
    states: Vec<Contents>,
    /// The most leaves that the tree has had.
    leaves: usize,
}

struct Nothing;

impl CommitObserver for Nothing {
    fn before_stores(&mut self, _: &holm_medium::Guard<'_>) {}
    fn after_stores(&mut self, _: &holm_medium::Guard<'_>) {}
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn begin(tree: &dyn Tree, during: Option<usize>) -> Result<Opened> {
    Ok(Opened { generation: tree.begin_snapshot()?.0, during, told: BTreeMap::new() })
}

/// Reads all keys of a snapshot as far as their leaves are not latched, and compares with what it has answered before.
fn look(
    opened: &mut Opened,
    (tree, root): (&dyn Tree, &TreeRoot),
    keys: &BTreeSet<u64>,
    bug: TurnBug,
) -> Option<String> {
    for key in keys {
        let lookup = match bug {
            TurnBug::ReadsTheLatest => tree.try_get(root, *key),
            TurnBug::LaterGeneration => tree.try_get_at(root, opened.generation + 1, *key),
            TurnBug::None | TurnBug::FreesAtOnce => tree.try_get_at(root, opened.generation, *key),
        };
        let Some(lookup) = lookup else { continue };
        let before = *opened.told.entry(*key).or_insert(lookup.payload);
        if before != lookup.payload {
            return Some(format!("the snapshot has changed: {:?} under {key} after {before:?}", lookup.payload));
        }
    }
    None
}

impl Run {
    fn create(subject: &'static Subject, turns: &Turns, bug: TurnBug) -> Result<Self> {
        let (fixture, history) = TreeFixture::create(subject, &turns.script, advance, &BTreeSet::new())?;
        let states = vec![history.now().clone()];
        let leaves = fixture.contents()?.1.len();
        let seen = Arc::default();
        Ok(Run { fixture, bug, seen, replaced: BTreeSet::new(), freed: BTreeSet::new(), states, leaves })
    }

    /// From now on a snapshot begins after this number of stores, and each open one is read after every store.
    fn turn_at(&self, turn: Option<usize>, keys: &BTreeSet<u64>) {
        let ((tree, root), seen, keys, bug) = (self.fixture.shared_tree(), self.seen.clone(), keys.clone(), self.bug);
        self.fixture.medium().show(Some(Arc::new(move || {
            let mut seen = lock(&seen);
            seen.stores += 1;
            if turn.is_some_and(|turn| seen.stores == turn + 1) {
                match begin(&*tree, Some(seen.returned)) {
                    Ok(opened) => seen.open.push(opened),
                    Err(error) => seen.fault = Some(error.to_string()),
                }
            }
            let Seen { open, fault, .. } = &mut *seen;
            let faults = open.iter_mut().filter_map(|opened| look(opened, (&*tree, &root), &keys, bug));
            *fault = fault.take().or(faults.collect::<Vec<_>>().into_iter().next());
        })));
    }

    fn execute(&mut self, operation: &Operation) -> Result<()> {
        let (tree, root) = self.fixture.shared_tree();
        let mut old: Vec<Superseded> = Vec::new();
        let clock = self.fixture.clock();
        match operation {
            Operation::Step(Step::Tick) => threads::apart(|| self.fixture.end_epoch())?,
            Operation::Step(Step::Put(key, payload)) => {
                old.extend(tree.put(&root, &mut clock.pin()?, *key, *payload)?);
            }
            Operation::Step(Step::Remove(key)) => old.extend(tree.remove(&root, &mut clock.pin()?, *key)?),
            Operation::Commit(writes) => {
                let root = &*root;
                let write = |(key, payload): &(u64, Option<u64>)| TreeWrite {
                    root,
                    search_key: *key,
                    payload: *payload,
                    seen: None,
                };
                let writes: Vec<_> = writes.iter().map(write).collect();
                let request = CommitRequest { reads: &[], writes: &writes, observer: &mut Nothing };
                let done = tree.commit(&mut clock.pin()?, request)?;
                let holm_tree::Committed::Done(replaced) = done else { unreachable!("it depends on nothing") };
                old.extend(replaced);
            }
            Operation::RemoveRange(low, high) => {
                let mut next = Some(*low);
                while let Some(from) = next {
                    let removed = &mut |_, gone: Superseded| old.push(gone);
                    let range = KeyRange { low: &from, high: Some(high) };
                    let request = RangeRemoval { range, most_leaves: 2, removed };
                    next = tree.remove_range(&root, &mut clock.pin()?, request)?;
                }
            }
        }
        for old in old {
            self.replaced.insert(old.payload);
            if old.reuse != Reuse::WithSnapshots || self.bug == TurnBug::FreesAtOnce {
                self.freed.insert(old.payload);
            }
        }
        let (contents, leaves) = self.fixture.contents()?;
        self.states.push(contents);
        self.leaves = self.leaves.max(leaves.len());
        lock(&self.seen).returned += 1;
        Ok(())
    }

    /// All pairs of a snapshot, by a scan.
    fn all(&self, generation: u64) -> Contents {
        let ((tree, root), mut pairs, mut low) = (self.fixture.tree(), Contents::new(), 0);
        loop {
            let mut cursor = LeafCursor::default();
            tree.copy_leaf_at(root, generation, SeekTarget::Holding(low), &mut cursor);
            pairs.extend(cursor.pairs.iter().map(|slot| (slot.head, slot.payload)).filter(|(head, _)| *head >= low));
            match cursor.edge {
                Some(edge) => low = edge,
                None => return pairs,
            }
        }
    }

    /// What a snapshot has in the end: what it has answered all the time, and a state that it may have.
    fn judge(&self, opened: &Opened, operations: &[Operation]) -> std::result::Result<(), String> {
        let generation = opened.generation + u64::from(self.bug == TurnBug::LaterGeneration);
        let all = self.all(generation);
        let pairs: BTreeMap<u64, u64> = all.iter().copied().collect();
        if let Some((key, told)) = opened.told.iter().find(|(key, told)| pairs.get(key) != told.as_ref()) {
            let found = pairs.get(key);
            return Err(format!("the snapshot has changed: {found:?} under {key} after {told:?}"));
        }
        let first = opened.during.unwrap_or(0);
        let (before, after) = (&self.states[first], &self.states[opened.during.map_or(0, |during| during + 1)]);
        let is_part = || {
            let gone: Vec<bool> =
                before.iter().filter(|pair| !after.contains(pair)).map(|pair| !all.contains(pair)).collect();
            let kept = before.iter().filter(|pair| all.contains(pair)).count();
            kept == all.len() && gone.is_sorted_by(|a, b| a >= b) && after.iter().all(|pair| all.contains(pair))
        };
        let operation = opened.during.map(|during| &operations[during]);
        let is_range = matches!(operation, Some(Operation::RemoveRange(..)));
        if all != *before && all != *after && !(is_range && is_part()) {
            return Err(format!("no state: {all:?} within {operation:?}, from {before:?} to {after:?}"));
        }
        match pairs.values().find(|payload| self.freed.contains(payload)) {
            Some(payload) => Err(format!("{payload} is freed while a snapshot has it")),
            None => Ok(()),
        }
    }

    /// Checks what is left when all has been done, and closes the snapshots; the latest first or the earliest.
    fn end(mut self, operations: &[Operation], latest_first: bool) -> std::result::Result<usize, String> {
        self.fixture.medium().show(None);
        let Seen { stores, mut open, fault, .. } = std::mem::take(&mut *lock(&self.seen));
        fault.map_or(Ok(()), Err)?;
        open.iter().try_for_each(|opened| self.judge(opened, operations))?;
        let (tree, root) = self.fixture.shared_tree();
        let (bytes, _) = tree.snapshot_bytes();
        let most = (open.len() * self.leaves) as u64 * (PRE_IMAGE + 16 * self.fixture.subject().capacity as u64);
        if bytes > most {
            return Err(format!("{bytes} bytes of pre-images, {most} at most"));
        }
        if !latest_first {
            open.reverse();
        }
        while let Some(opened) = open.pop() {
            for Released { payload, .. } in tree.close_snapshot(opened.generation) {
                if !self.freed.insert(payload) && self.bug != TurnBug::FreesAtOnce {
                    return Err(format!("{payload} is freed twice"));
                }
            }
            open.iter().try_for_each(|opened| self.judge(opened, operations))?;
        }
        if tree.snapshot_bytes() != (0, 0) || self.freed != self.replaced {
            return Err(format!("{:?} kept, freed {:?} of {:?}", tree.snapshot_bytes(), self.freed, self.replaced));
        }
        let faults = tree.audit(&root).faults;
        if faults.is_empty() { Ok(stores) } else { Err(faults.join("; ")) }
    }
}

/// Runs all operations with one turn, and perhaps with another snapshot open from the beginning. Returns the number of
/// stores.
fn run(
    subject: &'static Subject,
    turns: &Turns,
    (turn, older): (Option<usize>, bool),
    bug: TurnBug,
) -> std::result::Result<usize, String> {
    let said = |error: holm_medium::MediumError| error.to_string();
    let mut run = Run::create(subject, turns, bug).map_err(said)?;
    if older {
        let opened = begin(run.fixture.tree().0, None).map_err(said)?;
        lock(&run.seen).open.push(opened);
    }
    run.turn_at(turn, &turns.keys());
    turns.operations.iter().try_for_each(|operation| run.execute(operation)).map_err(said)?;
    run.end(&turns.operations, turn.is_some_and(|turn| turn % 2 == 0))
}

/// Begins a snapshot between any two stores of some operations. Returns a description of what was tested.
///
/// # Errors
/// What a snapshot should not have had, or what was kept or freed wrongly.
pub fn turn_at_each_store(
    subject: &'static Subject,
    turns: impl Into<Turns>,
    bug: TurnBug,
) -> std::result::Result<String, String> {
    let turns = turns.into();
    let name = turns.script.name.clone();
    let mut tried = 0;
    let mut run = |turn: Option<usize>, older: bool| {
        tried += 1;
        run(subject, &turns, (turn, older), bug).map_err(|why| format!("{name}, turn {turn:?}, older {older}: {why}"))
    };
    for older in [false, true] {
        let stores = run(None, older)?;
        let every = std::env::var_os("HOLM_EVERY_TURN").is_some();
        let stride = if every { 1 } else { stores.div_ceil(MOST_TURNS).max(1) };
        // The first of each stride differs, so all remainders are met.
        for turn in (usize::from(older) % stride..stores).step_by(stride) {
            run(Some(turn), older)?;
        }
    }
    Ok(format!("{name}: {tried} runs"))
}
