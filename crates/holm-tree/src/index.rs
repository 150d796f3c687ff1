//! What a store holds of a tree: object safe and coarse. The one dynamic door.
//!
//! A call through it costs five to nine nanoseconds and the overlap of consecutive operations, so it is crossed once
//! per operation, and once per group by `get_many`; never between a leaf and its slots.

use crate::audit::Audit;
use crate::keys::Keys;
use crate::latch::{Latch, Version};
use crate::leaf::{Card, Cut, Old, Pairs};
use crate::snapshot::Snapshot;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::tally::Tally;
use holm_medium::{Epoch, Logged, MediumError, Result, Stay};

/// The top of one keyspace's tree.
pub struct Root {
    keyspace: u32,
    pub(crate) latch: Latch,
    /// Level in the upper half, node number in the lower.
    pub(crate) top: AtomicU64,
    pub(crate) pairs: Tally,
    /// How often the levels above the leaves have been made anew.
    pub(crate) renewals: AtomicU64,
    given_up: AtomicBool,
}

impl Root {
    pub(crate) fn new(keyspace: u32, level: u32, number: u32, pairs: u64) -> Self {
        Root {
            keyspace,
            latch: Latch::default(),
            top: AtomicU64::new(u64::from(level) << 32 | u64::from(number)),
            pairs: Tally::of(pairs),
            renewals: AtomicU64::new(0),
            given_up: AtomicBool::new(false),
        }
    }

    /// The keyspace it is the root of.
    pub fn keyspace(&self) -> u32 {
        self.keyspace
    }

    /// Says that the tree is going to be given up: before the wait for the epoch in which somebody may not know it yet.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::SeqCst);
    }

    /// Whether that was said. A writer asks once it has checked in, and again each time that it has renewed its stay:
    /// else the epoch that is waited for ends, and he is on his way still, into blocks that are somebody else's. A
    /// reader asks once it knows its answer, and wherever it would look again: what it finds may be of other trees, and
    /// in no order.
    #[inline]
    pub fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::SeqCst)
    }

    /// For a writer who goes on under another label.
    pub(crate) fn renew(&self, stay: &mut Stay<'_>) -> Result<()> {
        stay.renew()?;
        let what = "writing to a tree that is given up";
        if self.is_given_up() { Err(MediumError::Unsupported { what }) } else { Ok(()) }
    }

    /// Pairs now. O(threads that ever wrote to it); exact while nobody writes.
    pub fn pairs(&self) -> u64 {
        self.pairs.sum()
    }

    /// How often the levels above the leaves have been made anew since they were first made, in designs that do so.
    pub fn renewals(&self) -> u64 {
        self.renewals.load(Ordering::Relaxed)
    }
}

/// When something was seen: enough to ask later whether it still stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    pub(crate) leaf: u32,
    /// The twig whose lock array the version is of; zero where leaves have latches of their own.
    pub(crate) twig: u32,
    pub(crate) version: Version,
}

impl Seen {
    /// The number of the leaf that was looked at.
    pub fn leaf(self) -> u32 {
        self.leaf
    }
}

/// The answer of a leaf, and when it gave it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sighting {
    /// The payload, if the key is there.
    pub payload: Option<u64>,
    /// When it was seen.
    pub seen: Seen,
    /// The latest epoch in which the leaf had changed: what was seen survives once that epoch is durable.
    pub stamp: Epoch,
}

/// Which leaf to look at.
pub enum Toward<'a, K: Keys> {
    /// The one whose range holds the probe.
    Holding(K::Probe<'a>),
    /// The one that holds the greatest keys below the probe.
    Below(K::Probe<'a>),
    /// The last one.
    Last,
}

/// The pairs of one leaf, copied out whole at one instant.
#[derive(Default)]
pub struct Glimpse {
    /// In order.
    pub pairs: Pairs,
    /// Bytes that the pairs' heads leave out.
    pub skip: usize,
    /// When they were seen.
    pub seen: Seen,
    /// As in [`Sighting`].
    pub stamp: Epoch,
}

/// One leaf, and where it lies.
pub struct View<K: Keys> {
    pub(crate) here: Glimpse,
    /// Where a scan goes on: the end of the leaf's range or, going backwards, its start; `None`: that was the last
    /// leaf.
    pub edge: Option<K::Fence>,
    /// The leaf that comes next, where it was looked at already: what to fetch meanwhile. Without pairs otherwise.
    pub ahead: Glimpse,
    /// Whether this leaf was the one ahead, when the view before was taken.
    pub foreseen: bool,
}

impl<K: Keys> Default for View<K> {
    fn default() -> Self {
        View { here: Glimpse::default(), edge: None, ahead: Glimpse::default(), foreseen: false }
    }
}

impl<K: Keys> View<K> {
    /// Forgets what was seen and keeps the room: before a view of another tree, whose leaves have the same numbers.
    pub fn forget(&mut self) {
        (self.here.seen, self.ahead.seen, self.edge) = (Seen::default(), Seen::default(), None);
    }
}

impl<K: Keys> std::ops::Deref for View<K> {
    type Target = Glimpse;
    fn deref(&self) -> &Glimpse {
        &self.here
    }
}

/// A word to be stored under the leaf's latch, after the commit word: how far a batch has come.
pub type Seal = Option<(u64, u64)>;

/// What a rebuild found.
#[derive(Default)]
pub struct Rebuilt {
    /// A root for each keyspace that has a leaf, in ascending order of keyspace.
    pub roots: Vec<Root>,
    /// The latest epoch that any leaf carries.
    pub latest: Epoch,
    /// Leaves that are in use.
    pub leaves: u64,
    /// Bytes of records that are reached.
    pub record_bytes: u64,
    /// Of the epochs from the one that the rebuild is of on, the first and the last in which leaves were found to have
    /// changed, before any cut, for designs that know.
    pub after: Option<(Epoch, Epoch)>,
}

/// An ordered tree from probes to payloads, over some medium, of some design.
pub trait Index<K: Keys>: Send + Sync {
    /// The design's name.
    fn design(&self) -> &'static str;
    /// What it assumes and offers.
    fn card(&self) -> Card;

    /// The payload of a key. Never waits for a writer longer than one leaf's change.
    fn get(&self, root: &Root, probe: K::Probe<'_>) -> Sighting;
    /// The same for many: their misses overlap.
    fn get_many(&self, root: &Root, probes: &[K::Probe<'_>], out: &mut Vec<Sighting>);
    /// Whether what was seen still stands: asked after following a payload.
    fn still(&self, seen: Seen) -> bool;
    /// Puts a payload under a key, and tells what was there.
    ///
    /// # Errors
    /// `NoSpace` if a leaf had to be split and no block was to be had: nothing has changed. `Corrupt` for a leaf that
    /// stays full however often it is split.
    fn put(
        &self,
        root: &Root,
        stay: &mut Stay<'_>,
        probe: K::Probe<'_>,
        payload: u64,
        seal: Seal,
    ) -> Result<Option<Old>>;
    /// Takes a key away, and tells what was there.
    ///
    /// # Errors
    /// As for [`Index::put`].
    fn remove(&self, root: &Root, stay: &mut Stay<'_>, probe: K::Probe<'_>, seal: Seal) -> Result<Option<Old>>;
    /// Copies a leaf out into `view`, whose room is used again. Of a scan that wants `wanted` pairs, the leaves that
    /// come next are asked for while this one is copied.
    fn look(&self, root: &Root, toward: Toward<'_, K>, wanted: usize, view: &mut View<K>);

    /// Copies one leaf out.
    fn view(&self, root: &Root, toward: Toward<'_, K>) -> View<K> {
        let mut view = View::default();
        self.look(root, toward, 0, &mut view);
        view
    }

    /// Copies out every leaf of a range, from one fence up to another, as they were at one instant. Of what is copied
    /// `follow` may read whatever the payloads lead to: it is called before the copies are vouched for, and again each
    /// time that they were not, so only its last call counts. It writes to no tree: it may be called under latches.
    fn snapshot(
        &self,
        root: &Root,
        range: (&K::Fence, Option<&K::Fence>),
        follow: &mut dyn FnMut(&[Glimpse]),
    ) -> Snapshot;

    /// Plants an empty tree.
    ///
    /// # Errors
    /// `NoSpace`.
    fn plant(&self, stay: &mut Stay<'_>, keyspace: u32) -> Result<Root>;
    /// Gives up every leaf of a tree that nobody uses any more; `freed` is told each payload.
    ///
    /// # Errors
    /// `Poisoned`.
    fn uproot(&self, root: &Root, stay: &mut Stay<'_>, freed: &mut dyn FnMut(u64)) -> Result<()>;

    /// At open: recovers every leaf to the cut, frees what is not reached, and rebuilds all that is volatile. Parallel
    /// over `threads`. Alone in the world.
    ///
    /// # Errors
    /// `Corrupt`, saying where and what; nothing volatile is to be used then.
    fn rebuild(&self, cut: Cut, epoch: Epoch, threads: usize) -> Result<Rebuilt> {
        self.rebuild_when(cut, epoch, threads, None, &mut || Ok(()))
    }
    /// The same; `ready` is asked once everything found has been seen to be sound, before the first store into a
    /// database that had been closed. What the death of a process left is compared with what was `logged` up to the
    /// epoch before this one; what was not logged is written to the files again, and verified.
    ///
    /// # Errors
    /// As [`Index::rebuild`], and what `ready` returns; `Corrupt` where the image disagrees with the log.
    fn rebuild_when(
        &self,
        cut: Cut,
        epoch: Epoch,
        threads: usize,
        logged: Option<&Logged>,
        ready: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Rebuilt>;
    /// Checks every invariant of a tree that nobody writes to meanwhile.
    fn audit(&self, root: &Root) -> Audit;
}
