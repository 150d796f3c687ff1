//! Writes to several keys that take effect at one instant: what batches and transactions end in.
//!
//! Records come first and an intent after them; all of that is out of reach of every reader. The tree then latches the
//! leaves, checks what the writes depend on, and asks this module to set the intent, around the stores: see
//! `holm_tree`'s `commit.rs` and [`crate::intent`].

use crate::error::{Error, Result};
use crate::expiry::StoredValue;
use crate::intent::{IntendedWrite, Intent, IntentSlots, Slot};
use crate::keys::{Records, SearchKey};
use crate::keyspace_tree::KeyspaceTree;
use crate::operation::Operation;
use crate::record_buffer::with_buffer;
use crate::store::WritableStore;
use holm_medium::{Epoch, Guard, MediumError};
use holm_tree::{CommitObserver, LeafVersion, TreeWrite};

/// The most bytes of one commit. It must fit one epoch record, together with all other writes of that epoch.
const MAX_COMMIT: u64 = 64 << 20;

/// Checks the bytes of a commit.
///
/// # Errors
/// `TooLarge` if they exceed [`MAX_COMMIT`]. `what` names the batch or transaction.
pub(crate) fn check_size(what: &'static str, bytes: u64) -> Result<()> {
    if bytes > MAX_COMMIT { Err(Error::TooLarge { what, found: bytes, limit: MAX_COMMIT }) } else { Ok(()) }
}

/// The bytes that a write counts beside its key and value: a million removals may dirty a million leaves.
pub(crate) const WRITE_BYTES: u64 = 64;

/// A commit of more writes than this holds the epoch: a long one would otherwise start over each time an epoch ends.
const HELD_FROM: usize = 64;

/// How often a commit looks again at what it depends on before it gives up.
const MOST_LOOKS: usize = 8;

/// A write to one key of a keyspace.
#[derive(Clone, Copy)]
pub(crate) struct Write<'a> {
    pub(crate) tree: &'a KeyspaceTree,
    pub(crate) key: &'a [u8],
    /// `None` means remove.
    pub(crate) value: Option<StoredValue<'a>>,
    /// The leaf that answered for the key, if it was read.
    pub(crate) seen: Option<LeafVersion>,
}

impl<'a> Write<'a> {
    /// The same as the tree has it.
    fn in_tree(&self, payload: u64) -> TreeWrite<'a, Records> {
        let payload = self.value.map(|_| payload);
        TreeWrite { root: &self.tree.root, search_key: SearchKey::new(self.key), payload, seen: self.seen }
    }

    /// The same as an intent has it.
    fn intended(&self, payload: u64) -> IntendedWrite {
        IntendedWrite { keyspace: self.tree.root.keyspace(), removes: self.value.is_none(), payload }
    }
}

/// What a commit depends on.
pub(crate) trait Dependencies {
    /// The leaves that must be unchanged.
    fn leaves(&self) -> &[LeafVersion];
    /// Refuses the commit if a keyspace that was read has been dropped. The commit has pinned its epoch, so a drop that
    /// comes later does not return before it.
    fn check_not_dropped(&self) -> Result<()>;
    /// Looks again after a leaf has changed. Returns whether all that was read still holds.
    fn validate_again(&mut self) -> Result<bool>;
    /// The writes have taken effect. The commit may still wait for durability.
    fn took_effect(&mut self);
}

/// A commit that depends on nothing.
pub(crate) struct Unconditional;

impl Dependencies for Unconditional {
    fn leaves(&self) -> &[LeafVersion] {
        &[]
    }

    fn check_not_dropped(&self) -> Result<()> {
        Ok(())
    }

    fn validate_again(&mut self) -> Result<bool> {
        Ok(true)
    }

    fn took_effect(&mut self) {}
}

/// How far a commit's stores are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Before,
    Among,
    After,
}

/// Sets and clears the intent around the stores of a commit. If the stores end half-way, the database is poisoned: it
/// must neither acknowledge a write on top of them nor log their epoch. The intent stays, and the next open completes
/// the commit.
struct IntentObserver<'a> {
    store: &'a WritableStore,
    /// A commit of one write has none.
    intent: Option<Intent<'a>>,
    stage: Stage,
}

impl CommitObserver for IntentObserver<'_> {
    fn before_stores(&mut self, guard: &Guard<'_>) {
        self.intent.iter().for_each(|intent| intent.set(guard));
        self.stage = Stage::Among;
    }

    fn after_stores(&mut self, guard: &Guard<'_>) {
        self.intent.iter().for_each(|intent| intent.clear(guard));
        self.stage = Stage::After;
    }
}

impl Drop for IntentObserver<'_> {
    fn drop(&mut self) {
        let intent = self.intent.take();
        if self.stage == Stage::Among {
            intent.into_iter().for_each(Intent::keep);
            self.store.clock().poison(&MediumError::Poisoned { why: "a commit was cut short".into() });
        } else {
            intent.into_iter().for_each(Intent::free);
        }
    }
}

/// Commits writes, which are in strictly ascending order of keyspace and key. Returns the commit's epoch; `None` if
/// what it depends on no longer holds. Waits as the mode demands.
///
/// # Errors
/// `Poisoned`: the next open finds all of the commit or nothing. After any other error nothing has changed, except that
/// `NoSpace` in strict mode may follow a commit that took effect, and that becomes durable once the disk has space.
pub(crate) fn commit(
    store: &WritableStore,
    slots: &IntentSlots,
    writes: &[Write<'_>],
    on: &mut dyn Dependencies,
) -> Result<Option<Epoch>> {
    let bytes = writes.iter().map(|write| (write.key.len() + write.value.map_or(0, StoredValue::len)) as u64).sum();
    let count = writes.len() as u64;
    // Before the epoch is pinned. A single write has one commit word, and needs no intent.
    let slot = (writes.len() > 1).then(|| slots.take());
    if writes.len() > HELD_FROM {
        run(store, slot, Operation::begin_held(store, bytes, count)?, writes, on)
    } else {
        run(store, slot, Operation::begin_with_bytes(store, bytes + count * WRITE_BYTES)?, writes, on)
    }
}

fn run<H>(
    store: &WritableStore,
    slot: Option<Slot<'_>>,
    mut operation: Operation<'_, H>,
    writes: &[Write<'_>],
    on: &mut dyn Dependencies,
) -> Result<Option<Epoch>> {
    writes.iter().try_for_each(|write| write.tree.check_not_dropped())?;
    on.check_not_dropped()?;
    let payloads = write_records(&operation, writes)?;
    let (done, stage) = attempt(store, slot, &mut operation, RecordedWrites { writes, payloads: &payloads }, on);
    if stage != Stage::Among {
        // The record of a removal has served; that of a put has not if there was no commit.
        let unused = |(write, _): &(&Write<'_>, &u64)| write.value.is_none() || stage == Stage::Before;
        let unused = writes.iter().zip(&payloads).filter(unused).map(|(_, payload)| *payload);
        unused.filter(|payload| *payload != NO_RECORD).for_each(|payload| operation.free_record(payload));
    }
    if !done? {
        return Ok(None);
    }
    on.took_effect();
    let epoch = operation.epoch();
    operation.finish()?;
    Ok(Some(epoch))
}

/// Stands for a record that is not needed.
const NO_RECORD: u64 = 0;

/// Writes the records that the writes and their intent lead to.
fn write_records<H>(operation: &Operation<'_, H>, writes: &[Write<'_>]) -> Result<Vec<u64>> {
    let mut payloads = Vec::with_capacity(writes.len());
    with_buffer(|buffer| {
        for write in writes {
            let payload = match write.value {
                Some(value) => operation.write_record(write.key, value, buffer),
                None if writes.len() == 1 => Ok(NO_RECORD),
                None => operation.write_key(write.key, buffer),
            };
            let free = |_: &Error| payloads.iter().for_each(|payload| operation.free_record(*payload));
            payloads.push(payload.inspect_err(free)?);
        }
        Ok(payloads)
    })
}

/// Writes, and the payload of each one's record.
struct RecordedWrites<'a, 'w> {
    writes: &'a [Write<'w>],
    payloads: &'a [u64],
}

/// Attempts the commit until it is done or refused. Returns whether it is done, and how far its stores are.
fn attempt<H>(
    store: &WritableStore,
    slot: Option<Slot<'_>>,
    operation: &mut Operation<'_, H>,
    recorded: RecordedWrites<'_, '_>,
    on: &mut dyn Dependencies,
) -> (Result<bool>, Stage) {
    let RecordedWrites { writes, payloads } = recorded;
    let intended = writes.iter().zip(payloads).map(|(write, payload)| write.intended(*payload));
    let intent = slot.map(|slot| Intent::write(store, slot, operation.guard(), intended));
    let intent = match intent.transpose() {
        Ok(intent) => intent,
        Err(error) => return (Err(error), Stage::Before),
    };
    let tree_writes: Vec<_> = writes.iter().zip(payloads).map(|(write, payload)| write.in_tree(*payload)).collect();
    let mut observer = IntentObserver { store, intent, stage: Stage::Before };
    let mut looks = 0;
    let done = loop {
        match operation.commit(on.leaves(), &tree_writes, &mut observer) {
            Ok(true) => break Ok(true),
            Ok(false) if looks == MOST_LOOKS => break Ok(false),
            Ok(false) => match on.validate_again() {
                Ok(true) => looks += 1,
                refused => break refused,
            },
            Err(error) if observer.stage == Stage::Among => {
                break Err(Error::Poisoned { reason: format!("a commit was cut short: {error}") });
            }
            Err(error) => {
                let dropped = writes.iter().find_map(|write| write.tree.check_not_dropped().err());
                break Err(dropped.unwrap_or_else(|| error.into()));
            }
        }
    };
    (done, observer.stage)
}

/// Leaves a commit as the death of the process leaves it that falls right after the intent is set.
#[cfg(test)]
pub(crate) fn leave_undone(engine: &crate::engine::Engine, writes: &[Write<'_>]) {
    let store = &engine.store;
    let operation = Operation::begin(store).unwrap();
    let payloads = write_records(&operation, writes).unwrap();
    let intended = writes.iter().zip(payloads).map(|(write, payload)| write.intended(payload));
    let intent = Intent::write(store, engine.intents.take(), operation.guard(), intended).unwrap();
    intent.set(operation.guard());
    intent.keep();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;
    use holm_medium::INTENTS;
    use std::sync::Barrier;
    use std::time::Duration;

    /// Whatever ends a commit among its stores, the database acknowledges nothing after it, and does not end the epoch.
    #[test]
    fn a_commit_that_is_cut_short_poisons_the_database() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path().join("sea.holm")).unwrap();
        let reefs = db.keyspace("default").unwrap();
        let cut = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let operation = Operation::begin(&db.engine.store).unwrap();
            let mut observer = IntentObserver { store: &db.engine.store, intent: None, stage: Stage::Before };
            observer.before_stores(operation.guard());
            panic!("among the stores");
        }));
        assert!(cut.is_err());
        for refused in [reefs.insert("north", "coral"), db.sync(), db.close()] {
            assert!(matches!(&refused, Err(Error::Poisoned { reason }) if reason.contains("cut short")), "{refused:?}");
        }
    }

    /// A commit that waits for an intent word keeps no epoch open. Others that have a word may wait for that epoch's
    /// end.
    #[test]
    fn a_commit_that_waits_for_an_intent_keeps_no_epoch_open() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path().join("sea.holm")).unwrap();
        let reefs = db.keyspace("default").unwrap();
        let slots: Vec<_> = (0..INTENTS).map(|_| db.engine.intents.take()).collect();
        let begins = &Barrier::new(2);
        std::thread::scope(|scope| {
            let batch = db.batch().insert(&reefs, "north", "coral").insert(&reefs, "south", "sand");
            let committed = scope.spawn(move || {
                begins.wait();
                batch.commit()
            });
            begins.wait();
            let clock = db.engine.store.clock();
            // The commit waits within one of these epochs.
            let ended =
                (0..20).try_for_each(|_| clock.wait_durable_within(clock.active(), Duration::from_secs(5)).map(drop));
            drop(slots);
            committed.join().unwrap().unwrap();
            ended.unwrap();
        });
    }

    /// What ends a commit before or after its stores leaves the database as it is.
    #[test]
    fn a_commit_that_ends_beside_its_stores_poisons_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path().join("sea.holm")).unwrap();
        for is_after in [false, true] {
            let operation = Operation::begin(&db.engine.store).unwrap();
            let mut observer = IntentObserver { store: &db.engine.store, intent: None, stage: Stage::Before };
            if is_after {
                observer.before_stores(operation.guard());
                observer.after_stores(operation.guard());
            }
        }
        db.sync().unwrap();
        db.close().unwrap();
    }
}
