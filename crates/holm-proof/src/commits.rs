//! Commits of several leaves, crashed at every store, and once more at every store of the recovery that completes them.
//!
//! The tree tells its caller when the stores of a commit begin and end, and the caller keeps an intent meanwhile. This
//! caller keeps it as the store does, in a word of the header, and does all writes of an interrupted commit once more
//! after the death of the process. A commit is there as a whole or not at all, whenever the process dies; after a power
//! cut, the label decides.

use crate::crashes::{Crashes, Persistency};
use crate::each_crash::{BOUNDS, Moment, each_crash};
use crate::fixture::advance;
use crate::recorded::Recorded;
use crate::snapshot::Snapshot;
use crate::subject::{Subject, Tree};
use crate::trace::{Entry, Mark};
use holm_medium::{Epoch, FIRST_EPOCH, Guard, Result, Storage, StorageOps, Writer};
use holm_tree::leaf::RecoveryPoint;
use holm_tree::{CommitObserver, CommitRequest, Committed, SeekTarget, TreeRoot, TreeWrite};
use rand::SeedableRng;
use rand_pcg::Pcg64;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What the caller does wrong, if anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntentBug {
    /// Nothing.
    None,
    /// It keeps no intent.
    Never,
    /// It clears the intent before the first store.
    ClearedBefore,
    /// It never clears the intent.
    Kept,
    /// The next open forgets the last write.
    RedoneInPart,
}

/// What was tested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommitCrashes {
    /// How the first crash ends what runs.
    pub persistency: Persistency,
    /// Images that a crash has left.
    pub images: usize,
    /// Images that a second crash has left, in the recovery of one of those.
    pub in_recovery: usize,
}

impl fmt::Display for CommitCrashes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CommitCrashes { persistency, images, in_recovery } = self;
        write!(f, "{persistency}: {images} images, {in_recovery} in recovery")
    }
}

type Contents = BTreeMap<u64, u64>;
type Writes = Vec<(u64, Option<u64>)>;

/// The intent of a commit in the header's first intent word: the commit's number and one.
struct Intent<'a> {
    writer: &'a Writer<Recorded>,
    number: usize,
    bug: IntentBug,
}

impl Intent<'_> {
    fn write(&self, value: u64) {
        let header = self.writer.storage().header().expect("it has a header");
        self.writer.begin_write_at(self.writer.clock().active()).write(&header.intents[0], value);
    }
}

impl CommitObserver for Intent<'_> {
    fn before_stores(&mut self, _: &Guard<'_>) {
        if self.bug != IntentBug::Never {
            self.write(self.number as u64 + 1);
        }
        if self.bug == IntentBug::ClearedBefore {
            self.write(0);
        }
    }

    fn after_stores(&mut self, _: &Guard<'_>) {
        if self.bug != IntentBug::Kept {
            self.write(0);
        }
    }
}

struct CommitFixture {
    writer: Arc<Writer<Recorded>>,
    tree: Arc<dyn Tree>,
    root: TreeRoot,
}

impl CommitFixture {
    /// Commits writes. One write is no commit, and has no intent.
    fn commit(&self, number: usize, writes: &Writes, bug: IntentBug) -> Result<Epoch> {
        let mut guard = self.writer.clock().pin()?;
        if let [(key, Some(payload))] = writes[..] {
            self.tree.put(&self.root, &mut guard, key, payload)?;
            return Ok(guard.epoch());
        }
        let write = |(key, payload): &(u64, Option<u64>)| TreeWrite {
            root: &self.root,
            search_key: *key,
            payload: *payload,
            seen: None,
        };
        let writes: Vec<_> = writes.iter().map(write).collect();
        let mut intent = Intent { writer: &self.writer, number, bug };
        let request = CommitRequest { reads: &[], writes: &writes, observer: &mut intent };
        let done = self.tree.commit(&mut guard, request)?;
        assert!(matches!(done, Committed::Done(_)), "it depends on nothing");
        Ok(guard.epoch())
    }

    fn contents(&self) -> Contents {
        let (mut contents, mut edge) = (Contents::new(), 0);
        loop {
            let cursor = self.tree.cursor_at(&self.root, SeekTarget::Holding(edge));
            contents.extend(cursor.pairs.iter().map(|slot| (slot.head, slot.payload)));
            match cursor.edge.filter(|high| *high > edge) {
                Some(high) => edge = high,
                None => return contents,
            }
        }
    }

    /// Recovers what a crash left, and completes the commit in which the process died. `dead` counts the processes that
    /// have died; the recovery after the first is recorded.
    fn recover(
        subject: &'static Subject,
        left: &Snapshot,
        crash: Persistency,
        commits: &[Writes],
        bug: IntentBug,
        dead: u64,
    ) -> Result<Self> {
        let visible = crash == Persistency::Visible;
        // Operations run two epochs ahead of the durable one, and each recovery one more.
        let active = left.durable() + if visible { 2 + dead } else { 1 };
        let writer = Arc::new(Recorded::from_image(left, active)?);
        writer.storage().medium.keep(dead == 1);
        let tree = subject.tree(writer.clone());
        let recovery_point = if visible { RecoveryPoint::Visible } else { RecoveryPoint::At(left.durable()) };
        let root = tree.rebuild(recovery_point, active, 1)?.roots.pop().expect("the tree is there");
        let fixture = CommitFixture { writer, tree, root };
        let word = fixture.writer.storage().header()?.intents[0].read() as usize;
        if let Some(number) = word.checked_sub(1).filter(|_| visible) {
            let writes = &commits[number];
            let count = writes.len() - usize::from(bug == IntentBug::RedoneInPart);
            for (key, payload) in &writes[..count] {
                let mut guard = fixture.writer.clock().pin()?;
                match payload {
                    Some(payload) => fixture.tree.put(&fixture.root, &mut guard, *key, *payload)?,
                    None => fixture.tree.remove(&fixture.root, &mut guard, *key)?,
                };
            }
        }
        Intent { writer: &fixture.writer, number: 0, bug }.write(0);
        Ok(fixture)
    }
}

/// The commits: updates, insertions and removals in two and three leaves, one over slots that older states pin, one for
/// which leaves must be split first, and one that empties a leaf. A single write comes in between.
fn commits(capacity: u64) -> Vec<Writes> {
    let (first, middle, last) = (10, capacity * 15, capacity * 30 - 10);
    let put = |key, payload| (key, Some(payload));
    vec![
        vec![put(first, 1), put(last, 1)],
        // Another writer, after the latches are released.
        vec![put(last, 9)],
        vec![put(first, 2), put(first + 1, 2), (middle, None), put(last, 2)],
        vec![put(first, 3), (first + 1, None), put(last, 3)],
        (0..capacity).map(|at| put(first + at * 3 + 2, 4)).chain([put(last, 4)]).collect(),
        (0..capacity).map(|at| (first + at * 3 + 2, None)).chain([put(last, 5)]).collect(),
    ]
}

/// Crashes commits at every event, as the model says; after the death of the process, the recovery too. Returns what
/// was tested.
///
/// # Errors
/// What should not have been found.
pub fn crash_commits(
    subject: &'static Subject,
    crash: Persistency,
    bug: IntentBug,
) -> std::result::Result<CommitCrashes, String> {
    let capacity = subject.capacity as u64;
    let commits = commits(capacity);
    let (base, entries, states) = record(subject, &commits, bug).map_err(|error| error.to_string())?;
    // Of leaves of several blocks, a sample of the recoveries.
    let sample = subject.blocks * subject.blocks * 2 - 1;
    let mut again = 0;
    let images = each_crash(crash, base, &entries, |moment, choice| {
        let Moment { event, entry, returned, in_flight, images } = *moment;
        let left = choice.snapshot();
        let right: Vec<&Contents> = if crash == Persistency::Visible {
            states[returned..=returned + usize::from(in_flight)].iter().map(|state| &state.0).collect()
        } else {
            vec![&states[states.partition_point(|(_, label)| *label <= left.durable()) - 1].0]
        };
        let judge = |fixture: &CommitFixture, what: &str| {
            let found = fixture.contents();
            let sound = right.contains(&&found);
            let said = || format!("{crash}: event {event}, {entry}{what}: found {found:?}, expected {right:?}");
            if sound { Ok(()) } else { Err(said()) }
        };
        let said = |error: holm_medium::MediumError| format!("{crash}: event {event}, {entry}: {error}");
        let fixture = CommitFixture::recover(subject, &left, crash, &commits, bug, 1).map_err(said)?;
        judge(&fixture, "")?;
        // The process that recovers dies, too.
        if crash == Persistency::Visible && in_flight && images.is_multiple_of(sample) {
            let mut twice = Crashes::new(crash, left.clone());
            for (event, entry) in fixture.writer.storage().medium.take().iter().enumerate() {
                twice.visit(&BOUNDS, &mut Pcg64::seed_from_u64(1), |choice| -> std::result::Result<(), String> {
                    again += 1;
                    let left = choice.snapshot();
                    let fixture = CommitFixture::recover(subject, &left, crash, &commits, bug, 2).map_err(said)?;
                    judge(&fixture, ", and again in recovery")
                })?;
                twice.pass(event, entry);
            }
        }
        Ok(())
    })?;
    Ok(CommitCrashes { persistency: crash, images, in_recovery: again })
}

/// Records the commits over three full leaves. Returns also the contents after each, and its label.
#[expect(clippy::type_complexity, reason = "the base, the trace, and the states")]
fn record(
    subject: &'static Subject,
    commits: &[Writes],
    bug: IntentBug,
) -> Result<(Snapshot, Vec<Entry>, Vec<(Contents, Epoch)>)> {
    let writer = Arc::new(Storage::open(Recorded::new([64 * subject.block, 64]), FIRST_EPOCH)?);
    let tree = subject.tree(writer.clone());
    let root = tree.create_tree(&mut writer.clock().pin()?, subject.keyspace(1))?;
    let fixture = CommitFixture { writer, tree, root };
    for key in 1..subject.capacity as u64 * 3 {
        fixture.tree.put(&fixture.root, &mut fixture.writer.clock().pin()?, key * 10, key)?;
    }
    for _ in 0..3 {
        advance(&fixture.writer)?;
    }
    let base = Snapshot::of(fixture.writer.image());
    let medium = &fixture.writer.storage().medium;
    medium.keep(true);
    let mut states = vec![(fixture.contents(), fixture.writer.clock().durable())];
    for (number, writes) in commits.iter().enumerate() {
        medium.mark(Mark::Begun(number));
        let label = fixture.commit(number, writes, bug)?;
        medium.mark(Mark::Returned(number));
        states.push((fixture.contents(), label));
        // Two commits belong to one epoch.
        if number % 2 == 1 {
            advance(&fixture.writer)?;
        }
    }
    advance(&fixture.writer)?;
    Ok((base, medium.take(), states))
}
