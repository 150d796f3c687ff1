//! What a repair found, kept and lost.

use std::fmt;

/// The report has at most this many descriptions of losses.
const MOST_LOSSES: usize = 100;

/// What a repair found, kept and lost: [`Repair::write_to`](crate::Repair::write_to).
///
/// `Display` formats it as a line for each number that is not zero, and a line for each loss.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("sea.holm");
/// # let db = holm::Database::open(&path)?;
/// db.keyspace("reefs")?.insert("north", "coral")?;
/// db.close()?;
/// let report = holm::Database::repair(&path, folder.path().join("saved.holm"))?;
/// assert_eq!((report.keyspaces, report.records), (2, 1));
/// assert!(!report.has_losses());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RepairReport {
    /// Keyspaces of the new database, `default` included.
    pub keyspaces: u64,
    /// Pairs of the new database.
    pub records: u64,
    /// Pairs that leaves named and whose record is gone: it lies outside of its file, its checksum does not hold, or
    /// it has no room for its deadline.
    pub damaged_records: u64,
    /// Pairs that leaves named and whose record is whole, but is that of another key.
    pub foreign_records: u64,
    /// Leaf blocks with pairs that were read.
    pub leaves: u64,
    /// Leaf blocks none of whose pairs could be kept. A block that was overwritten with zeros looks like a free one,
    /// and is not among them.
    pub unreadable_leaves: u64,
    /// Pairs that were found more than once under a key; the one of the latest epoch was kept.
    pub superseded_records: u64,
    /// Pairs that were kept although their records may be those of an earlier time: the log lacks entries, and what the
    /// file has in their place need not be what its leaf had written there. Or a process has died, the file has lost
    /// the record, and the log ends before the leaf's last change. A record is then an earlier one of its key, or one
    /// of the same key in another keyspace.
    pub doubtful_records: u64,
    /// Names that keyspaces got because the catalog has lost theirs: `lost-7`.
    pub lost_names: Vec<String>,
    /// Whole entries of the log that were used.
    pub log_records: u64,
    /// Entries of the log that are not whole, without those that precede what the superblock needs of it. The entry
    /// during which power was lost is one of them.
    pub broken_log_records: u64,
    /// Entries of the log that are missing although a later one is whole.
    pub missing_log_records: u64,
    /// Whether the first entry that the log lacks was begun, as a crash leaves it.
    pub torn_tail: bool,
    /// Commits that the death of the process interrupted, and that were completed.
    pub completed_commits: u64,
    /// Records that no leaf names and that were kept, in the keyspace `lost-records`: [`Repair::orphans`].
    ///
    /// [`Repair::orphans`]: crate::Repair::orphans
    pub orphans: u64,
    /// The mark that was found. The new database has none: what was committed with it may be lost.
    pub mark: Option<u64>,
    /// A description of each damage to a file, and of the first hundred damages to records and leaves.
    pub losses: Vec<String>,
}

impl RepairReport {
    /// Returns whether anything that the database had is known to be lost or older than it was. A torn tail is no loss:
    /// no write of its epoch had been acknowledged as durable.
    ///
    /// ```
    /// assert!(!holm::RepairReport::default().has_losses());
    /// ```
    pub fn has_losses(&self) -> bool {
        let lost = self.damaged_records + self.foreign_records + self.unreadable_leaves + self.missing_log_records;
        lost + self.doubtful_records > 0 || !self.losses.is_empty() || !self.lost_names.is_empty()
    }

    /// Notes a loss of one of many.
    pub(super) fn lose(&mut self, what: impl FnOnce() -> String) {
        if self.losses.len() < MOST_LOSSES {
            self.losses.push(what());
        }
    }
}

impl fmt::Display for RepairReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            ("keyspaces", self.keyspaces),
            ("records", self.records),
            ("leaves", self.leaves),
            ("damaged records", self.damaged_records),
            ("records of other keys", self.foreign_records),
            ("doubtful records", self.doubtful_records),
            ("unreadable leaves", self.unreadable_leaves),
            ("superseded records", self.superseded_records),
            ("log entries", self.log_records),
            ("broken log entries", self.broken_log_records),
            ("missing log entries", self.missing_log_records),
            ("completed commits", self.completed_commits),
            ("orphans", self.orphans),
        ];
        counts
            .iter()
            .filter(|(_, count)| *count > 0)
            .try_for_each(|(what, count)| writeln!(f, "{what:<22} {count}"))?;
        if self.torn_tail {
            writeln!(f, "the log ends with a torn entry")?;
        }
        if let Some(mark) = self.mark {
            writeln!(f, "the mark {mark} is left out")?;
        }
        self.lost_names.iter().try_for_each(|name| writeln!(f, "a keyspace without a name is now {name:?}"))?;
        self.losses.iter().try_for_each(|loss| writeln!(f, "lost: {loss}"))
    }
}
