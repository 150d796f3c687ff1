//! Full verification: structure, reachability, checksums.

use crate::engine::{Engine, ReadOnlyEngine, View};
use crate::error::Result;
use crate::expiry::ValueFormat;
use crate::record::{self, NoRecord, Place};
use crate::recovery::{LogTail, RecoveredFrom};
use holm_medium::Image;

/// The report lists at most this many faults and counts the rest.
const MOST_FAULTS: usize = 100;

/// What a verification read, and which faults it found: [`Database::check`](crate::Database::check).
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// let report = db.check()?;
/// report.faults.iter().for_each(|fault| eprintln!("{fault}"));
/// assert!(report.faults.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Report {
    /// The number of keyspaces, the catalog included.
    pub keyspaces: u64,
    /// The number of leaves read.
    pub leaves: u64,
    /// The number of blocks that these leaves have: as many, but in designs whose leaves may have several. The number
    /// of blocks in use, [`SpaceStats::leaves`](crate::SpaceStats::leaves), is the same once what was freed has waited
    /// for two epochs.
    pub leaf_blocks: u64,
    /// The number of records verified; the catalog has one for each keyspace.
    pub records: u64,
    /// Bytes of those in the file `records`, headers and padding included. A record in a leaf block, of the design
    /// `clustered`, is part of that block.
    pub record_bytes: u64,
    /// A description of each fault; empty if the database is sound. Beyond 100 faults: the first 100, and the number of
    /// others.
    pub faults: Vec<String>,
    /// A description of what the last open recovered: the `Display` of [`Recovery`](crate::Recovery).
    pub recovery: String,
}

/// Verifies everything while writers wait.
pub(crate) fn check(engine: &Engine) -> Result<Report> {
    let mut report = Report { recovery: engine.recovery.to_string(), ..Report::default() };
    if let (RecoveredFrom::Log { .. }, LogTail::Damaged { .. }) = (&engine.recovery.source, &engine.recovery.tail) {
        report.faults.push(format!("{}; what was durable from then on is lost", engine.recovery.tail));
    }
    engine.store.clock().paused(|| check_trees(engine.view(), &mut report));
    Ok(report)
}

/// Verifies a database that was opened for reading. There are no writers.
pub(crate) fn check_read_only(engine: &ReadOnlyEngine) -> Result<Report> {
    let mut report = Report { recovery: engine.recovery.to_string(), ..Report::default() };
    // An open for writing has repaired this damage and reports it as part of the recovery.
    report.faults.extend_from_slice(&engine.recovery.damaged);
    check_trees(engine.view(), &mut report);
    Ok(report)
}

/// Verifies the record of a pair: its lengths, its checksum and, in a keyspace with expiry, its deadline.
pub(crate) fn verify_record(format: ValueFormat, image: &Image, payload: u64) -> std::result::Result<(), String> {
    record::verify(image, payload).and_then(|()| has_deadline(format, image, payload))
}

/// Verifies that a record of a keyspace with expiry has a deadline.
fn has_deadline(format: ValueFormat, image: &Image, payload: u64) -> std::result::Result<(), String> {
    match format {
        ValueFormat::Plain => Ok(()),
        ValueFormat::Expiring => record::deadline(image, payload).map(drop).map_err(|NoRecord| {
            let place = Place::of(payload);
            format!("record at {:#x} of {}: its value has no room for a deadline", place.offset, place.file())
        }),
    }
}

fn check_trees(View { store, catalog, .. }: View<'_>, report: &mut Report) {
    let image = store.storage.image();
    let mut extents = Vec::new();
    for tree in std::iter::once(catalog.own().clone()).chain(catalog.trees()) {
        let audit = store.index.audit(&tree.root);
        report.keyspaces += 1;
        report.leaves += audit.leaves;
        report.leaf_blocks += audit.blocks;
        report.records += audit.pairs;
        let name = if tree.name.is_empty() { "(catalog)" } else { &tree.name };
        let damage = tree.root.damage().map(ToString::to_string);
        let faults = damage.iter().chain(&audit.faults);
        let mut faults: Vec<_> = faults.map(|fault| format!("keyspace {name:?}: {fault}")).collect();
        for payload in audit.payloads {
            let place = Place::of(payload);
            // What lies in a leaf block is counted with the leaves.
            report.record_bytes += record::extent(payload).map_or(0, |_| place.bytes());
            extents.push((place.location(), place.bytes()));
            faults.extend(verify_record(tree.format, image, payload).err());
        }
        report.faults.extend(faults);
    }
    extents.sort_unstable();
    for pair in extents.windows(2) {
        if pair[0].0 + pair[0].1 > pair[1].0 {
            report.faults.push(format!("the records at {:#x} and {:#x} overlap", pair[0].0, pair[1].0));
        }
    }
    let counted = report.faults.len();
    if counted > MOST_FAULTS {
        report.faults.truncate(MOST_FAULTS);
        report.faults.push(format!("and {} more", counted - MOST_FAULTS));
    }
}
