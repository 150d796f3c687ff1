//! A scrub: it verifies leaves and records at a bounded rate, beside writers.
//!
//! It goes from leaf to leaf, as a scan does. A leaf is copied, its keys are compared, and its records are verified by
//! their checksums. What looks wrong counts only if the leaf is then still as it was copied: until then, a writer may
//! have changed it and freed the record. `check` verifies more, all at once, while writers wait.

use crate::check::verify_record;
use crate::database::Database;
use crate::engine::{Engine, ReadOnlyEngine, View};
use crate::error::{Error, Result};
use crate::keyspace_tree::KeyspaceTree;
use crate::pace::Pace;
use crate::read_only::ReadOnlyDatabase;
use crate::record::Place;
use crate::stats::bytes_in_use;
use holm_medium::Area;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The report lists at most this many damages and counts the rest.
const MOST_DAMAGES: usize = 100;

/// How often a leaf that shows a fault and changes meanwhile is read.
const MOST_ATTEMPTS: u32 = 64;

/// A scrub of a database: [`Database::scrub`].
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// use std::ops::ControlFlow;
///
/// let reefs = db.keyspace("reefs")?;
/// (0..1_000_u32).try_for_each(|reef| reefs.insert(reef.to_be_bytes(), "coral"))?;
/// // Stop after one leaf, and continue there later.
/// let begun = db.scrub().run(|_| ControlFlow::Break(()))?;
/// let cursor = begun.cursor.clone().expect("it is not at its end");
/// let rest = db.scrub().rate(64 << 20).resume(cursor).run(|_| ControlFlow::Continue(()))?;
/// assert!(rest.cursor.is_none() && begun.damages.is_empty() && rest.damages.is_empty());
/// assert_eq!(begun.records + rest.records, 1_002); // and the names of two keyspaces
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a scrub does nothing until `run`"]
pub struct Scrub {
    database: Scrubbed,
    pace: Pace,
    report: ScrubReport,
}

impl fmt::Debug for Scrub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scrub").field("rate", &self.pace.rate()).field("report", &self.report).finish_non_exhaustive()
    }
}

/// The database that a scrub reads.
enum Scrubbed {
    Open(Arc<Engine>),
    ReadOnly(Arc<ReadOnlyEngine>),
}

impl Scrubbed {
    fn view(&self) -> View<'_> {
        match self {
            Scrubbed::Open(engine) => engine.view(),
            Scrubbed::ReadOnly(engine) => engine.view(),
        }
    }
}

/// Where a scrub continues: before a key of a keyspace. Keys and keyspaces may come and go meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ScrubCursor {
    /// The name of the keyspace; empty for the catalog, which comes first.
    pub keyspace: String,
    /// The key.
    pub key: Vec<u8>,
}

/// What is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum DamagedPlace {
    /// A record.
    #[non_exhaustive]
    Record {
        /// The file that has it: `records`, or `leaves` for a record in a leaf block, of the design `clustered`.
        file: &'static str,
        /// Where it begins in that file, in bytes.
        offset: u64,
    },
    /// A leaf.
    #[non_exhaustive]
    Leaf {
        /// The number of its first block: multiplied by the length of a block, where it begins in the file `leaves`.
        number: u32,
    },
}

/// A damage that a scrub has found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Damage {
    /// The name of the keyspace; empty for the catalog.
    pub keyspace: String,
    /// The key, as far as it can be read. The key of a record that is damaged may be damaged, too.
    pub key: Option<Vec<u8>>,
    /// What is damaged.
    pub place: DamagedPlace,
    /// A description of the fault.
    pub what: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.keyspace.is_empty() { "(catalog)" } else { &self.keyspace };
        write!(f, "keyspace {name:?}: {}", self.what)?;
        match &self.key {
            Some(key) => write!(f, " (key \"{}\")", key.escape_ascii()),
            None => Ok(()),
        }
    }
}

/// What a scrub has read, and what it has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ScrubReport {
    /// Leaves read.
    pub leaves: u64,
    /// Records read.
    pub records: u64,
    /// Bytes of these leaves and records.
    pub bytes: u64,
    /// Leaves that showed a fault and changed meanwhile, again and again. Another scrub may find out.
    pub unsettled_leaves: u64,
    /// The number of damages found.
    pub damage_count: u64,
    /// The first hundred of them.
    pub damages: Vec<Damage>,
    /// Where the next scrub continues; `None` if this one has read everything.
    pub cursor: Option<ScrubCursor>,
}

/// How far a scrub is: passed to the caller of [`Scrub::run`] after each leaf.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ScrubProgress<'a> {
    /// What was read and found so far, and where the scrub continues.
    pub report: &'a ScrubReport,
    /// Bytes of all leaves and records that the database has now. The end of a scrub that began at the start is near
    /// this number.
    pub total_bytes: u64,
}

impl ScrubReport {
    fn note(&mut self, damages: impl IntoIterator<Item = Damage>) {
        for damage in damages {
            self.damage_count += 1;
            if self.damages.len() < MOST_DAMAGES {
                self.damages.push(damage);
            }
        }
    }
}

impl Scrub {
    fn new(database: Scrubbed) -> Self {
        let report = ScrubReport { cursor: Some(ScrubCursor::default()), ..ScrubReport::default() };
        Scrub { database, pace: Pace::new(0), report }
    }

    /// Sets how many bytes are read in a second, leaf by leaf. Time that was lost is made up for by a tenth of a
    /// second's bytes, and no more. Default, and with 0: no limit.
    pub fn rate(mut self, bytes_per_second: u64) -> Self {
        self.pace = Pace::new(bytes_per_second);
        self
    }

    /// Begins where an earlier scrub has stopped.
    pub fn resume(mut self, cursor: ScrubCursor) -> Self {
        self.report.cursor = Some(cursor);
        self
    }

    /// Verifies leaf by leaf on the caller's thread, and sleeps between leaves to keep the rate. After each leaf, and
    /// ten times a second while it sleeps, `watch` gets the progress and may end the run. O(n), and no more memory than
    /// a leaf takes.
    ///
    /// For each leaf: keys are in order and in its range, `get` finds each, and each record has its lengths, its
    /// checksum and, where keys expire, its deadline. A keyspace that is dropped meanwhile is left out.
    ///
    /// # Errors
    /// None today. A damage is not an error but an entry of [`ScrubReport::damages`].
    pub fn run(mut self, mut watch: impl FnMut(ScrubProgress<'_>) -> ControlFlow<()>) -> Result<ScrubReport> {
        let engine = match &self.database {
            Scrubbed::Open(engine) => Some(engine.clone()),
            Scrubbed::ReadOnly(_) => None,
        };
        let mut running = engine.as_ref().map(|engine| engine.scrubs.begin());
        while let Some(cursor) = self.report.cursor.take() {
            self.report.cursor = self.step(cursor)?;
            let report = &self.report;
            running.as_mut().into_iter().for_each(|running| running.note(report.bytes, report.damage_count));
            let mut watched = || {
                let total_bytes = bytes_in_use(self.database.view().store);
                watch(ScrubProgress { report, total_bytes })
            };
            let goes_on = watched();
            if goes_on.is_break() || report.cursor.is_some() && self.pace.keep(report.bytes, watched).is_break() {
                break;
            }
        }
        if self.report.cursor.is_none() {
            running.into_iter().for_each(|running| running.complete());
        }
        Ok(self.report)
    }

    /// Verifies the leaf at a cursor, and returns where the next one is.
    fn step(&mut self, cursor: ScrubCursor) -> Result<Option<ScrubCursor>> {
        let Some(tree) = self.tree_at(&cursor.keyspace) else { return Ok(None) };
        // Another keyspace, if that of the cursor was dropped.
        let low = if tree.name == cursor.keyspace { cursor.key } else { Vec::new() };
        match self.verify_leaf(&tree, &low) {
            Ok(Some(key)) => Ok(Some(ScrubCursor { keyspace: tree.name.clone(), key })),
            Ok(None) | Err(Error::Dropped { .. }) => Ok(self.keyspace_after(&tree.name)),
            // A leaf that is not as it was closed: its keyspace answers with that damage alone.
            Err(Error::Corrupt { offset, what, found, expected, .. }) => {
                let block = self.database.view().store.storage.space().block_bytes();
                let (key, place) = (None, DamagedPlace::Leaf { number: (offset / block) as u32 });
                let what = format!("{what}: found {found}, expected {expected}");
                self.report.note([Damage { keyspace: tree.name.clone(), key, place, what }]);
                Ok(self.keyspace_after(&tree.name))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the tree of the first name that is not below this one; that of the catalog is empty.
    fn tree_at(&self, name: &str) -> Option<Arc<KeyspaceTree>> {
        let catalog = self.database.view().catalog;
        if name.is_empty() {
            return Some(catalog.own().clone());
        }
        catalog.trees().into_iter().find(|tree| *tree.name >= *name)
    }

    fn keyspace_after(&self, name: &str) -> Option<ScrubCursor> {
        let next = self.database.view().catalog.trees().into_iter().find(|tree| *tree.name > *name)?;
        Some(ScrubCursor { keyspace: next.name.clone(), key: Vec::new() })
    }

    /// Verifies a leaf, and returns where the next one begins.
    fn verify_leaf(&mut self, tree: &KeyspaceTree, low: &[u8]) -> Result<Option<Vec<u8>>> {
        for attempt in 1.. {
            let store = self.database.view().store;
            let audit = store.index.audit_leaf(&tree.root, &low.to_vec());
            let (mut damages, mut bytes) = (Vec::new(), store.storage.space().block_bytes());
            let damage = |key, place, what| Damage { keyspace: tree.name.clone(), key, place, what };
            for fault in audit.faults {
                damages.push(damage(fault.key, DamagedPlace::Leaf { number: fault.leaf }, fault.what));
            }
            for (payload, key) in &audit.pairs {
                let place = Place::of(*payload);
                // A block counts as a whole.
                bytes += if place.area == Area::Records { place.bytes() } else { 0 };
                if let Err(what) = verify_record(tree.format, store.storage.image(), *payload) {
                    let place = DamagedPlace::Record { file: place.file(), offset: place.offset };
                    damages.push(damage(key.clone(), place, what));
                }
            }
            // Without a fault, the leaf was sound when it was copied.
            let is_settled = damages.is_empty() || store.copied(tree, Some(audit.leaf_version), || ())?.is_some();
            tree.check_not_dropped()?;
            if !is_settled && attempt < MOST_ATTEMPTS {
                continue;
            }
            self.report.leaves += 1;
            self.report.records += audit.pairs.len() as u64;
            self.report.bytes += bytes;
            if is_settled {
                self.report.note(damages);
            } else {
                self.report.unsettled_leaves += 1;
            }
            return Ok(audit.next);
        }
        Ok(None)
    }
}

/// Scrubs.
impl Database {
    /// Begins a scrub: it verifies all leaves and records while writers continue, at a rate that the caller sets.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use std::ops::ControlFlow;
    /// let report = db.scrub().rate(64 << 20).run(|_| ControlFlow::Continue(()))?;
    /// report.damages.iter().for_each(|damage| eprintln!("{damage}"));
    /// assert_eq!(report.damage_count, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scrub(&self) -> Scrub {
        Scrub::new(Scrubbed::Open(self.engine.clone()))
    }
}

impl ReadOnlyDatabase {
    /// Begins a scrub: see [`Database::scrub`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// # holm::Database::open(&path)?.close()?;
    /// use std::ops::ControlFlow;
    /// let report = holm::Database::open_read_only(&path)?.scrub().run(|_| ControlFlow::Continue(()))?;
    /// assert_eq!(report.damage_count, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scrub(&self) -> Scrub {
        Scrub::new(Scrubbed::ReadOnly(self.engine.clone()))
    }
}
