//! A tree of one design over a recorded storage: created, or recovered from what a crash left.

use crate::crashes::Persistency;
use crate::model::{Contents, History, Step};
use crate::recorded::Recorded;
use crate::script::Script;
use crate::snapshot::Snapshot;
use crate::subject::{Subject, Tree};
use crate::trace::{Mark, Site};
use holm_medium::{Area, Clock, Epoch, FIRST_EPOCH, Ground, Image, MediumError, Pen, Pool, Quill, Result};
use holm_tree::leaf::Cut;
use holm_tree::{Root, Toward};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;

/// Ends an epoch and marks in the trace when the epoch is published as durable.
pub type Ticker = fn(&Quill<Recorded>) -> Result<()>;

/// The storage's own way to end an epoch.
///
/// # Errors
/// The storage's errors.
pub fn advance(quill: &Quill<Recorded>) -> Result<()> {
    let ended = quill.advance()?;
    quill.pool().medium.mark(Mark::Published(ended));
    Ok(())
}

/// Ends an epoch as late as possible: its lines are written back, and it is published as durable, only when the next
/// one is about to end. So operations run while what a crash would leave is two epochs old, and all three versions
/// count.
///
/// # Errors
/// The storage's errors.
pub fn lagging(quill: &Quill<Recorded>) -> Result<()> {
    let clock = quill.clock();
    let before = clock.active() - 1;
    if clock.durable() < before {
        quill.settle(before)?;
        quill.pool().medium.mark(Mark::Published(before));
    }
    clock.raise();
    Ok(())
}

/// A tree with its storage.
pub struct Grove {
    subject: &'static Subject,
    quill: Arc<Quill<Recorded>>,
    tree: Arc<dyn Tree>,
    root: Arc<Root>,
    ticker: Ticker,
}

fn corrupt(what: &'static str, found: String, expected: String) -> MediumError {
    MediumError::Corrupt { path: "leaves".into(), offset: 0, what, found, expected }
}

impl Grove {
    /// An empty tree with a script's past applied to it, all of it durable; recording is on from here. Returns the
    /// contents.
    ///
    /// # Errors
    /// The storage's errors; `Corrupt` for an answer that is not the model's.
    pub fn plant(
        subject: &'static Subject,
        script: &Script,
        ticker: Ticker,
        without: &BTreeSet<Site>,
    ) -> Result<(Self, History)> {
        Self::plant_in(FIRST_EPOCH, subject, script, ticker, without)
    }

    /// The same with a given first epoch.
    ///
    /// # Errors
    /// As [`TreeFixture::create`].
    pub fn plant_in(
        first: Epoch,
        subject: &'static Subject,
        script: &Script,
        ticker: Ticker,
        without: &BTreeSet<Site>,
    ) -> Result<(Self, History)> {
        let medium = Recorded::new([script.blocks * subject.block, 64]);
        let quill = Arc::new(Pool::open(medium, first)?);
        let tree = subject.tree(quill.clone());
        let root = Arc::new(tree.plant(&mut quill.clock().check_in()?, 1)?);
        let mut grove = Grove { subject, quill, tree, root, ticker: advance };
        let mut past = History::from(&vec![]);
        for step in script.past.iter().chain([&Step::Tick]) {
            let answer = grove.act(*step)?.0;
            grove.expects(*step, answer, past.pass(*step))?;
        }
        grove.ticker = ticker;
        grove.medium().leave_out(without);
        grove.medium().keep(true);
        Ok((grove, past.begin()))
    }

    /// Opens what a crash left and recovers it; the recovery is in the trace.
    ///
    /// # Errors
    /// Those of recovery.
    pub fn revive(
        subject: &'static Subject,
        left: &Snapshot,
        crash: Persistency,
        ticker: Ticker,
        without: &BTreeSet<Site>,
    ) -> Result<Self> {
        Self::recover(subject, Self::laid(left, crash, without)?, crash, ticker)
    }

    /// A storage over what a crash left, before any open, with recording on.
    ///
    /// # Errors
    /// The storage's errors.
    pub fn laid(left: &Snapshot, crash: Persistency, without: &BTreeSet<Site>) -> Result<Quill<Recorded>> {
        // Operations run at most two epochs ahead of the durable one; operations that survive keep their labels.
        let ahead = if crash == Persistency::Visible { 3 } else { 1 };
        let quill = Recorded::from_image(left, left.durable() + ahead)?;
        quill.pool().medium.leave_out(without);
        quill.pool().medium.keep(true);
        Ok(quill)
    }

    /// Recovers a storage. After the death of a process, the storage's durable epoch is raised to the visible epochs,
    /// as every open must do before new operations take labels.
    ///
    /// # Errors
    /// Those of recovery.
    pub fn recover(
        subject: &'static Subject,
        quill: Quill<Recorded>,
        crash: Persistency,
        ticker: Ticker,
    ) -> Result<Self> {
        let quill = Arc::new(quill);
        let (durable, active) = (quill.pool().root()?.durable.read(), quill.clock().active());
        let visible = crash == Persistency::Visible;
        let tree = subject.tree(quill.clone());
        let cut = if visible { Cut::Visible } else { Cut::At(durable) };
        let mut rebuilt = tree.rebuild(cut, active, 1)?;
        if rebuilt.latest >= active {
            return Err(corrupt("the latest epoch", rebuilt.latest.to_string(), format!("less than {active}")));
        }
        if visible {
            let mut pen = quill.cut_at(active);
            let root = quill.pool().root()?;
            pen.write(&root.durable, active - 1);
            pen.persist(&root.durable);
        }
        let root = match rebuilt.roots.pop() {
            Some(root) => root,
            // A tree with only an empty leaf is found as no tree at all.
            None => tree.plant(&mut quill.clock().check_in()?, 1)?,
        };
        quill.pool().medium.mark(Mark::Recovered);
        Ok(Grove { subject, quill, tree, root: Arc::new(root), ticker })
    }

    /// The design.
    pub fn subject(&self) -> &'static Subject {
        self.subject
    }

    /// The medium, for its trace.
    pub fn medium(&self) -> &Recorded {
        &self.quill.pool().medium
    }

    /// The image as the CPU cache has it.
    pub fn image(&self) -> &Image {
        self.quill.image()
    }

    /// A write handle of the active epoch, for tests that damage images.
    pub fn pen(&self) -> Pen<'_, Recorded> {
        self.quill.cut_at(self.active())
    }

    /// The active epoch.
    pub fn active(&self) -> Epoch {
        self.quill.clock().active()
    }

    /// The last epoch published as durable.
    pub fn published(&self) -> Epoch {
        self.quill.clock().durable()
    }

    /// The clock, for operations that are not steps.
    pub fn clock(&self) -> &Clock {
        self.quill.clock()
    }

    /// The tree, for tests that inspect it.
    pub fn tree(&self) -> (&dyn Tree, &Root) {
        (&*self.tree, &self.root)
    }

    /// The storage, for readers beside the writer.
    pub(crate) fn shared_quill(&self) -> Arc<Quill<Recorded>> {
        self.quill.clone()
    }

    /// The tree and its root, for the same readers.
    pub(crate) fn shared_tree(&self) -> (Arc<dyn Tree>, Arc<Root>) {
        (self.tree.clone(), self.root.clone())
    }

    /// Recovers again without a crash, with the storage's durable epoch unchanged.
    ///
    /// # Errors
    /// Those of recovery.
    pub fn recover_again(&mut self, crash: Persistency) -> Result<()> {
        let cut = if crash == Persistency::Visible { Cut::Visible } else { Cut::At(self.published()) };
        let mut rebuilt = self.tree.rebuild(cut, self.active(), 1)?;
        self.root = Arc::new(match rebuilt.roots.pop() {
            Some(root) => root,
            None => self.tree.plant(&mut self.quill.clock().check_in()?, 1)?,
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
                let mut stay = self.quill.clock().check_in()?;
                let old = self.tree.put(&self.root, &mut stay, key, payload, None)?;
                (old.map(|old| old.payload), stay.epoch())
            }
            Step::Remove(key) => {
                let mut stay = self.quill.clock().check_in()?;
                let old = self.tree.remove(&self.root, &mut stay, key, None)?;
                (old.map(|old| old.payload), stay.epoch())
            }
            Step::Tick => {
                let ended = self.active();
                // On a thread of its own, as in a store: its fences complete no flush of the operations' threads.
                let ticked = thread::scope(|scope| scope.spawn(|| (self.ticker)(&self.quill)).join());
                ticked.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
                (None, ended)
            }
        })
    }

    /// Checks that a step's answer is the model's.
    fn expects(&self, step: Step, answer: Option<u64>, expected: Option<u64>) -> Result<()> {
        if self.subject.card.keeps && answer != expected {
            return Err(corrupt("the answer", format!("{answer:?} to {step:?}"), format!("{expected:?}")));
        }
        Ok(())
    }

    /// Executes the steps in order, each between its marks and on a thread of its own: its fences complete no flush of
    /// the steps before, on whose completion the next step relies.
    ///
    /// # Errors
    /// As for [`TreeFixture::step`].
    pub fn run(&self, steps: &[Step], history: &mut History) -> Result<()> {
        for (number, step) in steps.iter().enumerate() {
            self.medium().mark(Mark::Begun(number));
            let done = thread::scope(|scope| scope.spawn(|| self.step(*step, history)).join());
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
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
            let view = self.tree.view(&self.root, Toward::Holding(edge));
            pairs.extend(view.pairs.iter().map(|slot| (slot.head, slot.payload)));
            leaves.push(view.seen.leaf());
            match view.edge {
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
        let pool = self.quill.pool();
        let count = pool.space.free_blocks();
        let taken: Result<Vec<_>> =
            (0..count).map(|_| pool.space.take_block_at(&pool.medium, holm_medium::LAST_EPOCH)).collect();
        let taken = taken?;
        taken.iter().rev().for_each(|block| pool.space.return_block(*block));
        Ok(taken)
    }
}
