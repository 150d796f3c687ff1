//! A tree of one design over a recorded storage: created, or recovered from what a crash left.

use crate::crashes::Persistency;
use crate::model::{Contents, History, Step};
use crate::recorded::Recorded;
use crate::script::Script;
use crate::snapshot::Snapshot;
use crate::subject::{Subject, Tree};
use crate::threads;
use crate::trace::{Mark, Site};
use holm_medium::{
    Area, Clock, Epoch, FIRST_EPOCH, Image, MediumError, Result, Storage, StorageOps, WriteHandle, Writer,
};
use holm_tree::leaf::RecoveryPoint;
use holm_tree::{SeekTarget, TreeRoot};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Ends an epoch and marks in the trace when the epoch is published as durable.
pub type EndEpoch = fn(&Writer<Recorded>) -> Result<()>;

/// The storage's own way to end an epoch.
///
/// # Errors
/// The storage's errors.
pub fn advance(writer: &Writer<Recorded>) -> Result<()> {
    let ended = writer.end_epoch()?;
    writer.storage().medium.mark(Mark::Published(ended));
    Ok(())
}

/// Ends an epoch as late as possible: its lines are written back, and it is published as durable, only when the next
/// one is about to end. So operations run while what a crash would leave is two epochs old, and all three versions
/// count.
///
/// # Errors
/// The storage's errors.
pub fn lagging(writer: &Writer<Recorded>) -> Result<()> {
    let clock = writer.clock();
    let before = clock.active() - 1;
    if clock.durable() < before {
        writer.persist_epoch(before)?;
        writer.storage().medium.mark(Mark::Published(before));
    }
    clock.advance();
    Ok(())
}

/// A tree with its storage.
pub struct TreeFixture {
    subject: &'static Subject,
    writer: Arc<Writer<Recorded>>,
    tree: Arc<dyn Tree>,
    root: Arc<TreeRoot>,
    end_epoch: EndEpoch,
}

fn corrupt(what: &'static str, found: String, expected: String) -> MediumError {
    MediumError::Corrupt { path: "leaves".into(), offset: 0, what, found, expected }
}

impl TreeFixture {
    /// An empty tree with a script's past applied to it, all of it durable; recording is on from here. Returns the
    /// contents.
    ///
    /// # Errors
    /// The storage's errors; `Corrupt` for an answer that is not the model's.
    pub fn create(
        subject: &'static Subject,
        script: &Script,
        end_epoch: EndEpoch,
        without: &BTreeSet<Site>,
    ) -> Result<(Self, History)> {
        Self::create_at(FIRST_EPOCH, subject, script, end_epoch, without)
    }

    /// The same with a given first epoch.
    ///
    /// # Errors
    /// As [`TreeFixture::create`].
    pub fn create_at(
        first: Epoch,
        subject: &'static Subject,
        script: &Script,
        end_epoch: EndEpoch,
        without: &BTreeSet<Site>,
    ) -> Result<(Self, History)> {
        let medium = Recorded::new([script.blocks * subject.block, 64]);
        let writer = Arc::new(Storage::open(medium, first)?);
        let tree = subject.tree(writer.clone());
        let root = Arc::new(tree.create_tree(&mut writer.clock().pin()?, subject.keyspace(1))?);
        let mut fixture = TreeFixture { subject, writer, tree, root, end_epoch: advance };
        let mut past = History::from(&vec![]);
        for step in script.past.iter().chain([&Step::Tick]) {
            let answer = fixture.act(*step)?.0;
            fixture.expects(*step, answer, past.pass(*step))?;
        }
        fixture.end_epoch = end_epoch;
        fixture.medium().leave_out(without);
        fixture.medium().keep(true);
        Ok((fixture, past.begin()))
    }

    /// Opens what a crash left and recovers it; the recovery is in the trace.
    ///
    /// # Errors
    /// Those of recovery.
    pub fn revive(
        subject: &'static Subject,
        left: &Snapshot,
        crash: Persistency,
        end_epoch: EndEpoch,
        without: &BTreeSet<Site>,
    ) -> Result<Self> {
        Self::recover(subject, Self::storage_after_crash(left, crash, without)?, crash, end_epoch)
    }

    /// A storage over what a crash left, before any open, with recording on.
    ///
    /// # Errors
    /// The storage's errors.
    pub fn storage_after_crash(
        left: &Snapshot,
        crash: Persistency,
        without: &BTreeSet<Site>,
    ) -> Result<Writer<Recorded>> {
        // Operations run at most two epochs ahead of the durable one; operations that survive keep their labels.
        let ahead = if crash == Persistency::Visible { 3 } else { 1 };
        let writer = Recorded::from_image(left, left.durable() + ahead)?;
        writer.storage().medium.leave_out(without);
        writer.storage().medium.keep(true);
        Ok(writer)
    }

    /// Recovers a storage. After the death of a process, the storage's durable epoch is ended to the visible epochs,
    /// as every open must do before new operations take labels.
    ///
    /// # Errors
    /// Those of recovery.
    pub fn recover(
        subject: &'static Subject,
        writer: Writer<Recorded>,
        crash: Persistency,
        end_epoch: EndEpoch,
    ) -> Result<Self> {
        let writer = Arc::new(writer);
        let (durable, active) = (writer.storage().header()?.durable.read(), writer.clock().active());
        let visible = crash == Persistency::Visible;
        let tree = subject.tree(writer.clone());
        let recovery_point = if visible { RecoveryPoint::Visible } else { RecoveryPoint::At(durable) };
        let mut rebuilt = tree.rebuild(recovery_point, active, 1)?;
        if rebuilt.latest >= active {
            return Err(corrupt("the latest epoch", rebuilt.latest.to_string(), format!("less than {active}")));
        }
        if visible {
            let mut handle = writer.begin_write_at(active);
            let root = writer.storage().header()?;
            handle.write(&root.durable, active - 1);
            handle.persist(&root.durable);
        }
        let root = match rebuilt.roots.pop() {
            Some(root) => root,
            // A tree with only an empty leaf is found as no tree at all.
            None => tree.create_tree(&mut writer.clock().pin()?, subject.keyspace(1))?,
        };
        writer.storage().medium.mark(Mark::Recovered);
        Ok(TreeFixture { subject, writer, tree, root: Arc::new(root), end_epoch })
    }

    /// The design.
    pub fn subject(&self) -> &'static Subject {
        self.subject
    }

    /// The medium, for its trace.
    pub fn medium(&self) -> &Recorded {
        &self.writer.storage().medium
    }

    /// The image as the CPU cache has it.
    pub fn image(&self) -> &Image {
        self.writer.image()
    }

    /// A write handle of the active epoch, for tests that damage images.
    pub fn handle(&self) -> WriteHandle<'_, Recorded> {
        self.writer.begin_write_at(self.active())
    }

    /// The active epoch.
    pub fn active(&self) -> Epoch {
        self.writer.clock().active()
    }

    /// The last epoch published as durable.
    pub fn published(&self) -> Epoch {
        self.writer.clock().durable()
    }

    /// The clock, for operations that are not steps.
    pub fn clock(&self) -> &Clock {
        self.writer.clock()
    }

    /// Ends the epoch, as a step of a script does.
    ///
    /// # Errors
    /// The storage's errors.
    pub fn end_epoch(&self) -> Result<()> {
        (self.end_epoch)(&self.writer)
    }

    /// The tree, for tests that inspect it.
    pub fn tree(&self) -> (&dyn Tree, &TreeRoot) {
        (&*self.tree, &self.root)
    }

    /// The storage, for readers beside the writer.
    pub(crate) fn shared_writer(&self) -> Arc<Writer<Recorded>> {
        self.writer.clone()
    }

    /// The tree and its root, for the same readers.
    pub(crate) fn shared_tree(&self) -> (Arc<dyn Tree>, Arc<TreeRoot>) {
        (self.tree.clone(), self.root.clone())
    }

    /// Recovers again without a crash, with the storage's durable epoch unchanged.
    ///
    /// # Errors
    /// Those of recovery.
    pub fn recover_again(&mut self, crash: Persistency) -> Result<()> {
        let recovery_point =
            if crash == Persistency::Visible { RecoveryPoint::Visible } else { RecoveryPoint::At(self.published()) };
        let mut rebuilt = self.tree.rebuild(recovery_point, self.active(), 1)?;
        self.root = Arc::new(match rebuilt.roots.pop() {
            Some(root) => root,
            None => self.tree.create_tree(&mut self.writer.clock().pin()?, self.subject.keyspace(1))?,
        });
        Ok(())
    }

    /// Executes a step and adds it to the history.
    ///
    /// # Errors
    /// The storage's errors; `Corrupt` for an answer that is not the model's.
    pub fn step(&self, step: Step, history: &mut History) -> Result<()> {
        let (answer, label) = self.act(step)?;
        self.expects(step, answer, history.apply(step, label))
    }

    /// Executes a step; returns its answer and its label.
    fn act(&self, step: Step) -> Result<(Option<u64>, Epoch)> {
        Ok(match step {
            Step::Put(key, payload) => {
                let mut guard = self.writer.clock().pin()?;
                let old = self.tree.put(&self.root, &mut guard, key, payload)?;
                (old.map(|old| old.payload), guard.epoch())
            }
            Step::Remove(key) => {
                let mut guard = self.writer.clock().pin()?;
                let old = self.tree.remove(&self.root, &mut guard, key)?;
                (old.map(|old| old.payload), guard.epoch())
            }
            Step::Tick => {
                let ended = self.active();
                // As a thread of its own, as in a store: its fences complete no flush of the operations' threads.
                threads::apart(|| self.end_epoch())?;
                (None, ended)
            }
        })
    }

    /// Checks that a step's answer is the model's.
    fn expects(&self, step: Step, answer: Option<u64>, expected: Option<u64>) -> Result<()> {
        if self.subject.capabilities.stores_pairs && answer != expected {
            return Err(corrupt("the answer", format!("{answer:?} to {step:?}"), format!("{expected:?}")));
        }
        Ok(())
    }

    /// Executes the steps in order, each between its marks and as a thread of its own: its fences complete no flush of
    /// the steps before, on whose completion the next step relies.
    ///
    /// # Errors
    /// As for [`TreeFixture::step`].
    pub fn run(&self, steps: &[Step], history: &mut History) -> Result<()> {
        for (number, step) in steps.iter().enumerate() {
            self.medium().mark(Mark::Begun(number));
            threads::apart(|| self.step(*step, history))?;
            self.medium().mark(Mark::Returned(number));
        }
        Ok(())
    }

    /// All pairs, and the numbers of all leaves, from left to right.
    ///
    /// # Errors
    /// `Corrupt` if there are more leaves than blocks.
    pub fn contents(&self) -> Result<(Contents, Vec<u32>)> {
        let most = self.image().area(Area::Leaves).len() / self.subject.block;
        let (mut pairs, mut leaves, mut edge) = (vec![], vec![], 0);
        loop {
            let cursor = self.tree.cursor_at(&self.root, SeekTarget::Holding(edge));
            pairs.extend(cursor.pairs.iter().map(|slot| (slot.head, slot.payload)));
            leaves.push(cursor.leaf_version.leaf());
            match cursor.edge {
                Some(high) if leaves.len() < most => edge = high,
                Some(_) => return Err(corrupt("leaves of the tree", leaves.len().to_string(), format!("< {most}"))),
                None => return Ok((pairs, leaves)),
            }
        }
    }

    /// All blocks that the storage would allocate before it grows.
    ///
    /// # Errors
    /// The storage's errors.
    pub fn free_blocks(&self) -> Result<Vec<u32>> {
        let storage = self.writer.storage();
        let count = storage.space.free_blocks();
        let taken: Result<Vec<_>> =
            (0..count).map(|_| storage.space.take_block_at(&storage.medium, holm_medium::LAST_EPOCH)).collect();
        let taken = taken?;
        taken.iter().rev().for_each(|block| storage.space.return_block(*block));
        Ok(taken)
    }
}
