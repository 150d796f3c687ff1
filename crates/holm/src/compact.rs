//! A compaction: it moves records out of the end of the record area into free space before it, beside writers and at a
//! bounded rate, and gives what becomes free back to the file system.
//!
//! Space chooses a limit: all that lies behind it finds room before it. The pass goes from leaf to leaf, as a scan
//! does. A record behind the limit is copied as it is, and its leaf leads to the copy if the leaf is as it was read.
//! So a value that another thread stores meanwhile is never undone. The former record is retired as any other, and no
//! caller can observe the difference. A crash finds a prefix of the moves, and nothing of them is special.
//! `in_key_order` has another pass, whose moves are the same.

mod in_key_order;
mod leaves;

use crate::backup::is_untouched_copy;
use crate::database::Database;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::keys::SearchKey;
use crate::keyspace_tree::KeyspaceTree;
use crate::operation::Operation;
use crate::pace::Pace;
use crate::record;
use holm_medium::{RecordRun, TimedRead, Word};
use holm_tree::{Keys, LeafCursor, SeekTarget, Seen, Slot, Wanted};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

/// How often a record whose leaf keeps changing is tried. It was written a moment ago, so it has a good place.
const MOST_ATTEMPTS: u32 = 16;

/// Each pass finds the space that the one before has made free; few are ever needed.
const MOST_PASSES: u32 = 4;

/// Where the leaf behind a visited one begins, if there is one, or the end of the run.
type Visited = ControlFlow<(), Option<Vec<u8>>>;

/// Where a record moves to.
enum To<'a> {
    /// Into free space that ends below this offset.
    Below(u64),
    /// Into the next words of a run, and beside it where it is used up.
    Into { run: &'a mut RecordRun, beside: &'a mut RecordRun },
}

impl To<'_> {
    /// Returns whether a record at this offset moves.
    fn moves(&self, offset: u64) -> bool {
        match self {
            To::Below(limit) => offset >= *limit,
            To::Into { .. } => true,
        }
    }

    /// Writes a record; `None` if there is no room. A run is too short for a record that has grown, and for the last
    /// one after a move that was tried again.
    fn write(&mut self, operation: &Operation<'_>, words: &[u64]) -> Result<Option<u64>> {
        match self {
            To::Below(limit) => Ok(operation.write_words_below(words, *limit)),
            To::Into { run, beside } => match operation.write_words_in(words, run) {
                Some(moved) => Ok(Some(moved)),
                None => operation.write_words_beside(words, beside).map(Some),
            },
        }
    }
}

/// A compaction of a database: [`Database::compact`].
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// use std::ops::ControlFlow;
///
/// let report = db.compact().rate(64 << 20).run(|_| ControlFlow::Continue(()))?;
/// assert_eq!(report.records_moved, 0); // nothing was there to gain
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a compaction does nothing until `run`"]
pub struct Compact {
    engine: Arc<Engine>,
    in_key_order: bool,
    report: CompactReport,
    pace: Pace,
    cursor: LeafCursor<crate::keys::Records>,
    /// The copy of a record.
    words: Vec<u64>,
    /// The first damage met.
    damage: Option<Error>,
}

impl fmt::Debug for Compact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compact")
            .field("rate", &self.pace.rate())
            .field("in_key_order", &self.in_key_order)
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}

/// What a compaction has done so far: the result of [`Compact::run`], and what its caller gets after each leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct CompactReport {
    /// The number of passes begun. None: nothing was there to gain.
    pub passes: u32,
    /// Pairs of the leaves that were read, in all passes.
    pub records_read: u64,
    /// Records moved, but for those that leaves have taken along.
    pub records_moved: u64,
    /// Leaves moved.
    pub leaves_moved: u64,
    /// Bytes of the records moved, headers and padding included, and of the leaves.
    pub bytes_moved: u64,
    /// Bytes that the compaction has given back to the file system. A checkpoint meanwhile can have been first, and the
    /// close gives back more: it cuts the file behind the last record.
    pub bytes_released: u64,
}

impl Compact {
    /// Sets how many bytes are moved in a second, leaf by leaf; what is only read does not count. A leaf in which
    /// nothing moves is made up for by a tenth of a second's bytes, and no more. Default, and with 0: no limit.
    pub fn rate(mut self, bytes_per_second: u64) -> Self {
        self.pace = Pace::new(bytes_per_second);
        self
    }

    /// Lays records together in the order of their keys, instead of moving the last ones forwards. A record lies where
    /// it was written, so that a scan of data larger than memory reads a page of the disk for each record, and from
    /// records in key order one for each page of them. This is for data that were not loaded in key order and are
    /// scanned from the disk: what changes later lies where there is room, so it is repeated after many changes. Leaves
    /// whose records lie together already are left alone, and so are records of 4 KiB and more.
    ///
    /// The records move into free pieces of 256 KiB, and to the end of the file where there are none. So the disk needs
    /// room for as many bytes as are moved; the space before them is given back at the end.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use std::ops::ControlFlow;
    ///
    /// let reefs = db.keyspace("reefs")?;
    /// // In an order that is not that of the keys.
    /// (0..9_973_u32).try_for_each(|reef| reefs.insert((reef * 7_919 % 9_973).to_be_bytes(), [7; 100]))?;
    /// let report = db.compact().in_key_order().run(|_| ControlFlow::Continue(()))?;
    /// assert!(report.records_moved > 9_000, "{report:?}");
    /// let again = db.compact().in_key_order().run(|_| ControlFlow::Continue(()))?;
    /// assert!(again.records_moved < report.records_moved / 2, "most lie together");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_key_order(mut self) -> Self {
        self.in_key_order = true;
        self
    }

    /// Moves records on the caller's thread, and sleeps between leaves to keep the rate. After each leaf, and ten times
    /// a second while it sleeps, `watch` gets the report so far and may end the run. O(n) for each pass, and at most
    /// four passes for records and four for leaves; no more memory than a leaf and a record take. In key order it is
    /// one pass, which has the keys of 8,192 leaves in memory, and calls `watch` each time that it returns to a leaf.
    /// Returns once what was moved is durable.
    ///
    /// # Errors
    /// [`Invalid`](Error::Invalid): the database is a copy that the next incremental backup can be applied to, and a
    /// move would end that. [`Corrupt`](Error::Corrupt): a leaf is damaged; its keyspace stays as it is from there on,
    /// and the rest of the run was done. Otherwise as a put, and as [`Database::sync`]; what was moved before stays so.
    pub fn run(mut self, mut watch: impl FnMut(&CompactReport) -> ControlFlow<()>) -> Result<CompactReport> {
        let untouched = || is_untouched_copy(&self.engine.store, &self.engine.catalog);
        if self.engine.increments.outside(untouched).unwrap_or(Ok(true))? {
            let what = "the database is a copy for incremental backups; a compaction would end that".into();
            return Err(Error::Invalid { what });
        }
        // Until then, space that nobody uses belongs to threads, or waits for its grace period.
        self.settle()?;
        match self.in_key_order {
            true => self.lay_in_key_order(&mut watch)?,
            false => {
                if self.move_forwards(&mut watch)?.is_continue() {
                    self.move_leaves(&mut watch)?;
                }
            }
        }
        self.report.bytes_released += self.engine.store.storage.give_space_back()?;
        self.damage.map_or(Ok(self.report), Err)
    }

    /// Moves the last records into free space before them, in passes.
    fn move_forwards(&mut self, watch: &mut impl FnMut(&CompactReport) -> ControlFlow<()>) -> Result<ControlFlow<()>> {
        while self.report.passes < MOST_PASSES
            && let Some(limit) = self.engine.store.storage.space().compaction_limit()
        {
            let before = self.report.records_moved;
            self.report.passes += 1;
            let passed = self.pass(limit, watch)?;
            self.settle()?;
            if passed.is_break() {
                return Ok(passed);
            }
            if self.report.records_moved == before {
                break;
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Moves what lies behind the limit.
    fn pass<W: FnMut(&CompactReport) -> ControlFlow<()>>(
        &mut self,
        limit: u64,
        watch: &mut W,
    ) -> Result<ControlFlow<()>> {
        self.each_leaf(watch, |compact, tree, low, _| {
            let behind = |slot: &&Slot| record::extent(slot.payload).is_some_and(|(offset, _)| offset >= limit);
            let (_, keys) = compact.copy_keys(tree, low, |slots| slots.iter().filter(behind).copied().collect())?;
            let next = compact.cursor.edge.take();
            keys.iter().try_for_each(|key| compact.move_record(tree, key, &mut To::Below(limit)))?;
            Ok(ControlFlow::Continue(next))
        })
    }

    /// Visits the leaves of all keyspaces and of the catalog in order, until `visit` or the watcher breaks off. `visit`
    /// gets where a leaf begins, and returns where the next one does. Ends: the low end rises with each leaf.
    fn each_leaf<W: FnMut(&CompactReport) -> ControlFlow<()>>(
        &mut self,
        watch: &mut W,
        mut visit: impl FnMut(&mut Self, &Arc<KeyspaceTree>, &[u8], &mut W) -> Result<Visited>,
    ) -> Result<ControlFlow<()>> {
        let catalog = self.engine.catalog.own().clone();
        for tree in self.engine.catalog.trees().into_iter().chain([catalog]) {
            let mut low = Some(Vec::new());
            while let Some(key) = low {
                low = match visit(self, &tree, &key, watch) {
                    Ok(ControlFlow::Continue(next)) => next.filter(|next| *next > key),
                    Ok(ControlFlow::Break(())) => return Ok(ControlFlow::Break(())),
                    Err(error) => self.pass_over(error).map(|()| None)?,
                };
                if self.keep_rate(watch).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Asks the watcher, and sleeps until the rate allows more than was moved since the last call.
    fn keep_rate(&mut self, watch: &mut impl FnMut(&CompactReport) -> ControlFlow<()>) -> ControlFlow<()> {
        let report = &self.report;
        watch(report)?;
        self.pace.keep(report.bytes_moved, || watch(report))
    }

    /// Ends with a keyspace that is dropped or damaged; the others have nothing to do with that.
    fn pass_over(&mut self, error: Error) -> Result<()> {
        match error {
            Error::Dropped { .. } => Ok(()),
            Error::Corrupt { .. } => {
                self.damage.get_or_insert(error);
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// Copies the leaf at `low` into the cursor, and returns the slots that `choose` selects of it, with their keys.
    fn copy_keys(
        &mut self,
        tree: &KeyspaceTree,
        low: &[u8],
        choose: impl Fn(&[Slot]) -> Vec<Slot>,
    ) -> Result<(Vec<Slot>, Vec<Vec<u8>>)> {
        let (store, cursor) = (&self.engine.store, &mut self.cursor);
        let paging = store.storage.image().paging();
        loop {
            let read = TimedRead::begin();
            store.index.copy_leaf(&tree.root, SeekTarget::Holding(SearchKey::new(low)), Wanted::leaf(), cursor);
            let chosen = choose(&cursor.pairs);
            if paging.waits() {
                store.keys.announce_records(&chosen);
            }
            let keys = || chosen.iter().filter_map(|slot| store.keys.key(*slot)).collect();
            if let Some(keys) = store.copied(tree, Some(cursor.leaf_version), keys)? {
                paging.note(read, 0);
                self.report.records_read += cursor.pairs.len() as u64;
                return Ok((chosen, keys));
            }
        }
    }

    /// Moves a record, and counts it. Does nothing where the record need not move or is gone, where its leaf keeps
    /// changing, and where there is no room. Waits for no durability: no caller can observe the move.
    fn move_record(&mut self, tree: &KeyspaceTree, key: &[u8], to: &mut To<'_>) -> Result<()> {
        let (store, key) = (&self.engine.store, SearchKey::new(key));
        for _ in 0..MOST_ATTEMPTS {
            let lookup = store.index.get(&tree.root, key);
            let moves = |payload: &u64| record::extent(*payload).is_some_and(|(offset, _)| to.moves(offset));
            let Some(payload) = lookup.payload.filter(moves) else { return Ok(()) };
            let copy = || {
                self.words.clear();
                // What leads to no record is damaged, and stays for `check` to report.
                record::words(store.storage.image(), payload)
                    .map(|words| self.words.extend(words.iter().map(Word::read)))
            };
            match store.copied(tree, Some(lookup.leaf_version), copy)? {
                None => continue,
                Some(None) => return Ok(()),
                Some(Some(())) => {}
            }
            let bytes = self.words.len() as u64 * 8;
            let mut operation = Operation::begin_with_bytes(store, bytes)?;
            tree.check_not_dropped()?;
            let Some(moved) = to.write(&operation, &self.words)? else { return Ok(()) };
            let seen = Seen { leaf: lookup.leaf_version, others: &[], holds: None };
            if operation.put_seen(tree, key, moved, seen)? {
                operation.finish_later();
                self.report.records_moved += 1;
                self.report.bytes_moved += bytes;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Makes everything durable, lets the grace period of all that was retired pass, and returns it to the heap.
    fn settle(&self) -> Result<()> {
        self.pass_epochs()?;
        let store = &self.engine.store;
        store.storage.space().settle(store.clock().durable());
        Ok(())
    }

    /// Makes everything durable, and lets the grace period of all that was retired pass.
    fn pass_epochs(&self) -> Result<()> {
        (0..holm_medium::GRACE).try_for_each(|_| Operation::begin(&self.engine.store)?.finish_durably())
    }
}

/// Compaction.
impl Database {
    /// Begins a compaction: it moves records from the end of the file `records` into free space before it, while
    /// writers continue, and gives the space behind them back to the file system. The close then cuts the file.
    ///
    /// Free space is used again without it, and what is free in whole large pages (2 MiB) goes back by itself after
    /// checkpoints. A compaction is for a database that will stay smaller than it was: what was removed lies between
    /// what remains, and no large page is free as a whole. [`SpaceStats::fragmented_bytes`](crate::SpaceStats) tells
    /// how much there is to gain. The first large page stays. Then the last leaves move into free blocks before them,
    /// if leaves of the design can move; the close cuts the file `leaves` behind them.
    ///
    /// A move is a write: it takes log, an open snapshot keeps the former record, an incremental backup has the pair,
    /// and a [feed](crate::Feed) reports it as put once more, with the same value. A transaction that has scanned what
    /// moves conflicts.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use std::ops::ControlFlow;
    ///
    /// let reefs = db.keyspace("reefs")?;
    /// (0..60_000_u32).try_for_each(|reef| reefs.insert(reef.to_be_bytes(), [7; 100]))?;
    /// for reef in (0..60_000_u32).filter(|reef| reef % 10 != 0) {
    ///     reefs.remove(reef.to_be_bytes())?;
    /// }
    /// let report = db.compact().run(|_| ControlFlow::Continue(()))?;
    /// assert!(report.records_moved > 0 && db.stats().space.released_bytes >= 2 << 20);
    /// assert_eq!(reefs.len()?, 6_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compact(&self) -> Compact {
        Compact {
            engine: self.engine.clone(),
            in_key_order: false,
            report: CompactReport::default(),
            pace: Pace::new(0),
            cursor: LeafCursor::default(),
            words: Vec::new(),
            damage: None,
        }
    }
}
