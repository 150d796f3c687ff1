//! Full verification: structure, reachability, checksums.

use crate::engine::Engine;
use crate::error::Result;
use crate::record;
use holm_medium::{Found, Recovery, Tail};
use serde::Serialize;

/// At most so many faults are listed; the rest are counted.
const MOST_FAULTS: usize = 100;

/// What a verification looked at, and what it found.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Keyspaces, the catalog's own included.
    pub keyspaces: u64,
    /// Leaves visited.
    pub leaves: u64,
    /// Records verified.
    pub records: u64,
    /// Bytes of records.
    pub record_bytes: u64,
    /// Each fault, in words; empty if the database is sound. The first hundred.
    pub faults: Vec<String>,
    /// What the last open found, in words: whether a tail was kept or cut, and why.
    pub recovery: String,
}

/// Verifies everything while writers wait.
pub(crate) fn check(engine: &Engine) -> Result<Report> {
    let mut report = Report { recovery: told(&engine.recovery), ..Report::default() };
    if let (Found::Cut { .. }, Tail::Damaged { file, epoch, .. }) = (&engine.recovery.found, &engine.recovery.tail) {
        report.faults.push(format!("{file} is damaged: what was durable from epoch {epoch} on is lost"));
    }
    if engine.is_read_only() {
        // Opened for writing it has been mended, and is told as part of the recovery.
        report.faults.extend_from_slice(&engine.recovery.damaged);
        look(engine, &mut report);
    } else {
        engine.clock().paused(|| look(engine, &mut report));
    }
    Ok(report)
}

fn look(engine: &Engine, report: &mut Report) {
    let image = engine.ground.image();
    let mut extents = Vec::new();
    let own = engine.catalog.own().into_iter().cloned();
    for tree in own.chain(engine.catalog.trees()) {
        let audit = engine.index.audit(&tree.root);
        report.keyspaces += 1;
        report.leaves += audit.leaves;
        report.records += audit.pairs;
        let name = if tree.name.is_empty() { "(catalog)" } else { &tree.name };
        let mut faults: Vec<_> = audit.faults.iter().map(|fault| format!("keyspace {name:?}: {fault}")).collect();
        for payload in audit.payloads {
            let (offset, words) = record::extent(payload);
            report.record_bytes += u64::from(words) * 8;
            extents.push((offset, u64::from(words) * 8));
            faults.extend(record::verify(image, payload).err());
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

fn told(recovery: &Recovery) -> String {
    let read = format!("{} log records with {} bytes", recovery.records, recovery.bytes);
    let found = match &recovery.found {
        Found::New => "a new database".into(),
        Found::Clean => "it had been closed; nothing to recover".into(),
        Found::Kept => format!("the process had died; everything it did is kept ({read} agree with the files)"),
        Found::Cut { why } => format!("cut at the last synced epoch, {}: {why} ({read} restored)", recovery.epoch),
    };
    let tail = match &recovery.tail {
        Tail::Torn { file, offset, epoch } => {
            let what = "is torn, or damaged if the session did not end there";
            Some(format!("the record of epoch {epoch} at byte {offset} of {file} {what}"))
        }
        Tail::Damaged { file, offset, epoch } => {
            Some(format!("{file} is damaged from byte {offset} on: epoch {epoch} had been durable"))
        }
        _ => None,
    };
    std::iter::once(&found).chain(&tail).chain(&recovery.damaged).cloned().collect::<Vec<_>>().join("; ")
}
