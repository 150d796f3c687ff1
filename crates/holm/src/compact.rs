//! A compaction: it moves records out of the end of the record area into free space before it, beside writers and at a
//! bounded rate, and gives what becomes free back to the file system.
//!
//! Space chooses a limit: all that lies behind it finds room before it. The pass goes from leaf to leaf, as a scan
//! does. A record behind the limit is copied as it is, and its leaf leads to the copy if the leaf is as it was read.
//! So a value that another thread stores meanwhile is never undone. The former record is retired as any other, and no
//! caller can observe the difference. A crash finds a prefix of the moves, and nothing of them is special.

use crate::backup::is_untouched_copy;
use crate::database::Database;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::keys::SearchKey;
use crate::keyspace_tree::KeyspaceTree;
use crate::operation::Operation;
use crate::pace::pause_after;
use crate::record;
use holm_medium::Word;
use holm_medium::sync::{Instant, sleep};
use holm_tree::{Keys, LeafCursor, SeekTarget, Seen};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

/// How often a record whose leaf keeps changing is tried. It was written a moment ago, so it has a good place.
const MOST_ATTEMPTS: u32 = 16;

/// Each pass finds the space that the one before has made free; few are ever needed.
const MOST_PASSES: u32 = 4;

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
    rate: Option<u64>,
    report: CompactReport,
    cursor: LeafCursor<crate::keys::Records>,
    /// The copy of a record.
    words: Vec<u64>,
}

impl fmt::Debug for Compact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compact").field("rate", &self.rate).field("report", &self.report).finish_non_exhaustive()
    }
}

/// What a compaction has done so far: the result of [`Compact::run`], and what its caller gets after each leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct CompactReport {
    /// The number of passes begun. None: nothing was there to gain.
    pub passes: u32,
    /// Records looked at, in all passes.
    pub records_read: u64,
    /// Records moved.
    pub records_moved: u64,
    /// Bytes of the records moved, headers and padding included.
    pub bytes_moved: u64,
    /// Bytes given back to the file system while the database is open. The close gives back more: it cuts the file
    /// behind the last record.
    pub bytes_released: u64,
}

impl Compact {
    /// Sets how many bytes are moved in a second, on average over the run. Default, and with 0: no limit.
    pub fn rate(mut self, bytes_per_second: u64) -> Self {
        self.rate = Some(bytes_per_second).filter(|rate| *rate > 0);
        self
    }

    /// Moves records on the caller's thread, and sleeps between leaves to keep the rate. After each leaf, `watch` gets
    /// the report so far and may end the run. O(n) for each pass, and at most four passes; no more memory than a leaf
    /// and a record take. Returns once what was moved is durable.
    ///
    /// # Errors
    /// [`Invalid`](Error::Invalid): the database is a copy that the next incremental backup can be applied to, and a
    /// move would end that. Otherwise as a put, and as [`Database::sync`]; what was moved before stays so.
    pub fn run(mut self, mut watch: impl FnMut(&CompactReport) -> ControlFlow<()>) -> Result<CompactReport> {
        let untouched = || is_untouched_copy(&self.engine.store, &self.engine.catalog);
        if self.engine.increments.outside(untouched).unwrap_or(Ok(true))? {
            let what = "the database is a copy for incremental backups; a compaction would end that".into();
            return Err(Error::Invalid { what });
        }
        let begun = Instant::now();
        // Until then, space that nobody uses belongs to threads, or waits for its grace period.
        self.settle()?;
        while self.report.passes < MOST_PASSES
            && let Some(limit) = self.engine.store.storage.space().compaction_limit()
        {
            let before = self.report.records_moved;
            self.report.passes += 1;
            let passed = self.pass(limit, begun, &mut watch)?;
            self.settle()?;
            if passed.is_break() || self.report.records_moved == before {
                break;
            }
        }
        self.report.bytes_released += self.engine.store.storage.give_space_back()?;
        Ok(self.report)
    }

    /// Moves what lies behind the limit. Ends: the low end rises with each leaf.
    fn pass(
        &mut self,
        limit: u64,
        begun: Instant,
        watch: &mut impl FnMut(&CompactReport) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        for tree in self.engine.catalog.trees() {
            let mut low = Some(Vec::new());
            while let Some(key) = low {
                low = match self.compact_leaf(&tree, &key, limit) {
                    Ok(next) => next.filter(|next| *next > key),
                    Err(Error::Dropped { .. }) => None,
                    Err(error) => return Err(error),
                };
                if watch(&self.report).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                let pause = self.rate.map(|rate| pause_after(self.report.bytes_moved, begun.elapsed(), rate));
                pause.filter(|pause| !pause.is_zero()).into_iter().for_each(sleep);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Moves the records of the leaf at `low`, and returns where the next leaf begins.
    fn compact_leaf(&mut self, tree: &KeyspaceTree, low: &[u8], limit: u64) -> Result<Option<Vec<u8>>> {
        let engine = self.engine.clone();
        let (store, cursor) = (&engine.store, &mut self.cursor);
        let keys = loop {
            store.index.copy_leaf(&tree.root, SeekTarget::Holding(SearchKey::new(low)), 0, cursor);
            let behind = cursor.pairs.iter().filter(|slot| record::extent(slot.payload).0 >= limit);
            let keys = || behind.filter_map(|slot| store.keys.key(*slot)).collect::<Vec<_>>();
            if let Some(keys) = store.copied(tree, Some(cursor.leaf_version), keys)? {
                break keys;
            }
        };
        self.report.records_read += cursor.pairs.len() as u64;
        let next = cursor.edge.take();
        for key in keys {
            if let Some(words) = self.move_record(tree, &key, limit)? {
                self.report.records_moved += 1;
                self.report.bytes_moved += u64::from(words) * 8;
            }
        }
        Ok(next)
    }

    /// Moves a record before the limit, and returns its words. Does nothing where the record does not lie behind the
    /// limit or is gone, where its leaf keeps changing, and where no free run before the limit is long enough. Waits
    /// for no durability: no caller can observe the move.
    fn move_record(&mut self, tree: &KeyspaceTree, key: &[u8], limit: u64) -> Result<Option<u32>> {
        let (store, key) = (&self.engine.store, SearchKey::new(key));
        for _ in 0..MOST_ATTEMPTS {
            let lookup = store.index.get(&tree.root, key);
            let Some((payload, (offset, words))) = lookup.payload.map(|payload| (payload, record::extent(payload)))
            else {
                return Ok(None);
            };
            if offset < limit {
                return Ok(None);
            }
            let copy = || {
                self.words.clear();
                // What leads to no record is damaged, and stays for `check` to report.
                record::words(store.storage.image(), payload)
                    .map(|words| self.words.extend(words.iter().map(Word::read)))
            };
            match store.copied(tree, Some(lookup.leaf_version), copy)? {
                None => continue,
                Some(None) => return Ok(None),
                Some(Some(())) => {}
            }
            let mut operation = Operation::begin_with_bytes(store, u64::from(words) * 8)?;
            tree.check_not_dropped()?;
            let Some(moved) = operation.write_words_below(&self.words, limit) else { return Ok(None) };
            let seen = Seen { leaf: lookup.leaf_version, others: &[], holds: None };
            if operation.put_seen(tree, key, moved, seen)? {
                operation.finish_later();
                return Ok(Some(words));
            }
        }
        Ok(None)
    }

    /// Makes everything durable, lets the grace period of all that was retired pass, and returns it to the heap.
    fn settle(&self) -> Result<()> {
        let store = &self.engine.store;
        for _ in 0..holm_medium::GRACE {
            Operation::begin(store)?.finish_durably()?;
        }
        store.storage.space().settle(store.clock().durable());
        Ok(())
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
    /// how much there is to gain.
    ///
    /// A move is a write: it takes log, an open snapshot keeps the former record, an incremental backup has the pair,
    /// and a [feed](crate::Feed) reports it as put once more, with the same value.
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
    /// assert!(report.bytes_released >= 2 << 20, "{report:?}");
    /// assert_eq!(reefs.len()?, 6_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compact(&self) -> Compact {
        Compact {
            engine: self.engine.clone(),
            rate: None,
            report: CompactReport::default(),
            cursor: LeafCursor::default(),
            words: Vec::new(),
        }
    }
}
