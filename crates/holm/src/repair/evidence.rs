//! What is left of a damaged database: its files, its superblock and its log, and which of them is believed first.
//!
//! | superblock says | believed first | state of a leaf |
//! |---|---|---|
//! | clean | the data files | the last one up to the superblock's epoch |
//! | open, and the page cache has survived | the data files | the last one |
//! | open, and the log has all records up to its tail | the log | the one at the end of the last record's epoch |
//! | open, and the log is damaged | the later of both, for each leaf | the last one |
//! | nothing: it is lost | the later of both, for each leaf | the last one |
//!
//! The first three are what an opening would do. The other source serves where the first one is damaged.

use super::area::{AreaBytes, LoggedLines, Source};
use super::found::Found;
use super::report::RepairReport;
use crate::backup::is_staged;
use crate::error::{Error, Result};
use crate::options::Builder;
use holm_medium::log::{FIRST_SEGMENTS, SalvagedLog, SalvagedRecord};
use holm_medium::superblock::{ImageKind, State, Superblock, open_superblock, superblock_path};
use holm_medium::vfs::{How, Vfs, VfsFile};
use holm_medium::{Area, Epoch, LAST_EPOCH, MediumError, doubts};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;

/// Which source is believed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Belief {
    /// This one, up to the end of an epoch.
    In(Source, Epoch),
    /// The one that has the later state of a leaf.
    InTheLater,
}

/// A damaged database, open for reading.
pub(super) struct Evidence {
    pub(super) superblock: Option<Superblock>,
    pub(super) belief: Belief,
    pub(super) log: SalvagedLog,
    pub(super) lines: LoggedLines,
    /// The epoch of the log's last entry; 0 if it has none.
    logged_until: Epoch,
    leaves: AreaBytes,
    records: AreaBytes,
    /// Keeps writers out.
    _lock: Option<Box<dyn VfsFile>>,
}

impl Evidence {
    /// Opens what is there, and notes in the report what is not.
    ///
    /// # Errors
    /// `NotFound`: the folder has no file of a database. `Locked`: a process has the database open. `Version`: another
    /// version of the format. `Io`.
    pub(super) fn open(builder: &Builder, folder: &Path, report: &mut RepairReport) -> Result<Self> {
        let vfs = &*builder.vfs;
        let (lock, superblock) = read_superblock(vfs, folder, report)?;
        let files = [open_file(vfs, folder, "leaves", report)?, open_file(vfs, folder, "records", report)?];
        if is_staged(vfs, folder)? {
            report.losses.push("increment: a backup was being applied, of which a part may be here".into());
        }
        let segments = superblock.as_ref().map_or(FIRST_SEGMENTS, |superblock| superblock.log_segments);
        let log = SalvagedLog::read(vfs, folder, segments)?;
        if lock.is_none() && files.iter().all(Option::is_none) && !log.has_files() {
            return Err(Error::NotFound { path: folder.into() });
        }
        report.losses.extend(log.missing.iter().map(|name| format!("{name} is missing")));
        // What an earlier pass has left of a record that a later one has overwritten is not broken.
        let first = superblock.as_ref().map_or(0, |superblock| superblock.log_start.sequence);
        report.broken_log_records = log.broken.iter().filter(|record| record.sequence >= first).count() as u64;
        let kept_cache = match &superblock {
            Some(superblock) => is_page_cache(vfs, folder, superblock, &files)?,
            None => false,
        };
        let chain = Chain::of(&log, superblock.as_ref());
        chain.note(superblock.as_ref(), report);
        let belief = chain.belief(superblock.as_ref(), kept_cache);
        let mut lines = LoggedLines::default();
        for record in &chain.records {
            if log.lines(record, |location, place| lines.add(location, place))? {
                report.log_records += 1;
            } else {
                report.broken_log_records += 1;
            }
        }
        let logged_until = chain.last_epoch();
        let [leaves, records] = areas(folder, superblock.as_ref(), files, report)?;
        let mut evidence = Evidence { superblock, belief, log, lines, logged_until, leaves, records, _lock: lock };
        if evidence.has_sound_leaves(report)? {
            // Nothing that the log has is later than the files of a closed database.
            evidence.lines.forget(Area::Leaves);
        }
        Ok(evidence)
    }

    /// Returns the bytes of an area.
    pub(super) fn area(&self, area: Area) -> &AreaBytes {
        match area {
            Area::Leaves => &self.leaves,
            Area::Records => &self.records,
        }
    }

    /// Reads bytes of an area: see [`AreaBytes::read`].
    pub(super) fn read(&self, source: Source, area: Area, offset: u64, bytes: &mut [u8]) -> Result<bool> {
        self.area(area).read(source, (&self.log, &self.lines), offset, bytes)
    }

    /// Returns whether the log has a part of a range of an area.
    pub(super) fn is_logged(&self, area: Area, offset: u64, len: u64) -> bool {
        self.area(area).is_logged(&self.lines, offset, len)
    }

    /// States that the log lacks entries at its end, because a leaf has only later states.
    pub(super) fn distrust_log(&mut self, block: u64, report: &mut RepairReport) {
        self.belief = Belief::InTheLater;
        report.losses.push(format!("the log lacks its last entries: all states of leaf {block} are later"));
    }

    /// Returns the last epoch that is known to have ended.
    pub(super) fn last_durable(&self) -> Epoch {
        self.logged_until.max(self.superblock.as_ref().map_or(0, |superblock| superblock.epoch))
    }

    /// Returns whether each line that the log has is the last one of its place: in a closed database, whose log was
    /// found to have all entries up to its end. Other than the file, the log has a checksum over each line.
    pub(super) fn has_exact_log(&self) -> bool {
        self.superblock.as_ref().is_some_and(|superblock| superblock.state == State::Clean)
    }

    /// Returns whether a source may have another record than a leaf of this epoch had written. If the log lacks
    /// entries, the file has what came after the last checkpoint only by chance. If a process has died, the log has
    /// nothing of what came after its last entry: where the file has lost that, the log has what lay there before.
    pub(super) fn doubts_record_of(&self, block: &Found, source: Source) -> bool {
        match (self.belief, source) {
            (Belief::InTheLater, Source::File) => match &self.superblock {
                Some(superblock) => block.epoch > superblock.epoch,
                None => block.is_logged,
            },
            (Belief::In(Source::File, _), Source::Log) => !self.has_exact_log() && block.epoch > self.logged_until,
            _ => false,
        }
    }

    /// Returns the source that is read first for the records of a leaf of this epoch that is not in the log. If it has
    /// changed since the last checkpoint, then behind the log's end: what the log has in their places is older.
    pub(super) fn source_of_unlogged(&self, epoch: Epoch) -> Source {
        let is_later = self.superblock.as_ref().is_some_and(|superblock| epoch > superblock.epoch);
        if self.belief == Belief::InTheLater && is_later { Source::File } else { self.first_source() }
    }

    /// Returns the source that is read first where no state of a leaf decides.
    pub(super) fn first_source(&self) -> Source {
        match self.belief {
            Belief::In(source, _) => source,
            // Without a superblock, the records of the log may be those of any earlier time.
            Belief::InTheLater => {
                if self.superblock.is_some() {
                    Source::Log
                } else {
                    Source::File
                }
            }
        }
    }

    /// Returns whether these are the leaves of a closed database as they were when it was closed.
    fn has_sound_leaves(&self, report: &mut RepairReport) -> Result<bool> {
        let Some(superblock) = self.superblock.as_ref().filter(|superblock| superblock.state == State::Clean) else {
            return Ok(false);
        };
        let (len, mut offset, mut sum) = (superblock.lengths[0], 0, 0);
        let mut buffer = vec![0; 1 << 20];
        // A file that is too short was noted before.
        if self.leaves.len() < len {
            return Ok(false);
        }
        while offset < len {
            let part = &mut buffer[..(len - offset).min(1 << 20) as usize];
            self.read(Source::File, Area::Leaves, offset, part)?;
            sum = crc32c::crc32c_append(sum, part);
            offset += part.len() as u64;
        }
        if sum != superblock.leaves_sum {
            let noted = superblock.leaves_sum;
            report
                .losses
                .push(format!("leaves have the checksum {sum:08x}, and had {noted:08x} when they were closed"));
        }
        Ok(sum == superblock.leaves_sum)
    }
}

/// The superblock's file under a shared lock, and its contents: each of them if there is one.
type LockedSuperblock = (Option<Box<dyn VfsFile>>, Option<Superblock>);

/// Reads the superblock. One whose contents are lost is no error.
fn read_superblock(vfs: &dyn Vfs, folder: &Path, report: &mut RepairReport) -> Result<LockedSuperblock> {
    let path = superblock_path(folder);
    let file = match open_superblock(vfs, folder, How::READ) {
        Err(MediumError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => None,
        // The data files are there.
        Err(MediumError::Corrupt { .. }) => None,
        opened => Some(opened?),
    };
    let Some(file) = file else {
        report.losses.push("superblock is missing".into());
        return Ok((None, None));
    };
    match Superblock::read(&*file, &path) {
        Ok((superblock, damaged)) => {
            report.losses.extend(damaged);
            Ok((Some(file), Some(superblock)))
        }
        Err(error @ (MediumError::Corrupt { .. } | MediumError::Foreign { .. })) => {
            report.losses.push(error.to_string());
            Ok((Some(file), None))
        }
        Err(error) => Err(error.into()),
    }
}

fn open_file(vfs: &dyn Vfs, folder: &Path, name: &str, report: &mut RepairReport) -> Result<Option<Box<dyn VfsFile>>> {
    let path = folder.join(name);
    match vfs.open(&path, How::READ) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            report.losses.push(format!("{name} is missing"));
            Ok(None)
        }
        opened => Ok(Some(opened.map_err(|error| MediumError::opening(&path, false, error))?)),
    }
}

/// Returns whether the data files are the page cache that a dead process has left.
fn is_page_cache(
    vfs: &dyn Vfs,
    folder: &Path,
    superblock: &Superblock,
    files: &[Option<Box<dyn VfsFile>>; 2],
) -> Result<bool> {
    let [Some(leaves), Some(records)] = files else { return Ok(false) };
    let io = |error| MediumError::io("asking about", folder, error);
    let identities = [leaves.identity().map_err(io)?, records.identity().map_err(io)?];
    let is_open = superblock.state == State::Dirty;
    Ok(is_open && doubts(vfs, superblock, identities, ImageKind::Shared).is_none())
}

/// Returns the areas as far as their bytes mean something, and notes what is missing from them.
fn areas(
    folder: &Path,
    superblock: Option<&Superblock>,
    files: [Option<Box<dyn VfsFile>>; 2],
    report: &mut RepairReport,
) -> Result<[AreaBytes; 2]> {
    let [leaves, records] = files;
    let mut area_of = |area: Area, file: Option<Box<dyn VfsFile>>, name: &str| {
        let path = folder.join(name);
        let mut len = match &file {
            Some(file) => file.len().map_err(|e| MediumError::io("measuring", &path, e))?,
            None => 0,
        };
        if let Some(superblock) = superblock {
            let noted = superblock.lengths[area as usize];
            if len < noted && file.is_some() {
                report.losses.push(format!("{name} has {len} bytes, and had {noted}"));
            }
            if superblock.state == State::Clean {
                len = len.min(noted);
            }
        }
        Ok::<_, Error>(AreaBytes::new(area, path, file, len))
    };
    Ok([area_of(Area::Leaves, leaves, "leaves")?, area_of(Area::Records, records, "records")?])
}

/// The records of the log that continue each other, in order, as far as they are left.
struct Chain {
    records: Vec<SalvagedRecord>,
    /// Records that are missing although a later one is there.
    missing: u64,
    /// The log has a header of the record after the last one.
    has_torn_tail: bool,
}

impl Chain {
    /// Chooses among the records of a log. With a superblock, those from its start on. Without one, the last ones
    /// without a gap: what an older pass has left must not go back before a later one.
    fn of(log: &SalvagedLog, superblock: Option<&Superblock>) -> Self {
        let uuid = superblock.map(|superblock| superblock.uuid).or_else(|| commonest_uuid(log));
        let start = superblock.filter(|superblock| superblock.state != State::Clean).map(|it| (it.log_start, it.epoch));
        let mut by_sequence: BTreeMap<u64, SalvagedRecord> = BTreeMap::new();
        for record in log.records.iter().filter(|record| Some(record.uuid) == uuid && record.epoch <= LAST_EPOCH) {
            let is_needed = start.is_none_or(|(start, epoch)| {
                // A record that only raises the reach belongs to no epoch.
                let is_later = record.epoch > epoch || record.epoch == 0;
                record.pass >= start.pass && record.sequence >= start.sequence && is_later
            });
            let present = by_sequence.get(&record.sequence);
            if is_needed && present.is_none_or(|present| present.pass < record.pass) {
                by_sequence.insert(record.sequence, *record);
            }
        }
        let mut records: Vec<_> = by_sequence.into_values().collect();
        let last = records.last().map(|it| it.sequence);
        let mut missing = 0;
        match start {
            Some((start, _)) => {
                let expected = last.map_or(0, |last| last + 1 - start.sequence);
                missing = expected - records.len() as u64;
            }
            None => {
                let gap = records.windows(2).rposition(|pair| pair[0].sequence + 1 != pair[1].sequence);
                records.drain(..gap.map_or(0, |gap| gap + 1));
                // The log of a closed database is cut, and has all of its end or lines that later ones replaced.
                let next = superblock.map(|superblock| superblock.log_start.sequence);
                if next.is_some_and(|next| last.is_none_or(|last| last + 1 != next)) {
                    records.clear();
                }
            }
        }
        let next = last.map(|last| last + 1).or(start.map(|(start, _)| start.sequence));
        let pass = records.last().map(|it| it.pass).or(start.map(|(start, _)| start.pass));
        let continues = |sequence: u64, of: u64| Some(sequence) == next && Some(of) >= pass;
        let has_torn_tail = log.broken.iter().any(|it| Some(it.uuid) == uuid && continues(it.sequence, it.pass));
        Chain { records, missing, has_torn_tail }
    }

    fn note(&self, superblock: Option<&Superblock>, report: &mut RepairReport) {
        if superblock.is_some_and(|superblock| superblock.state == State::Clean) {
            return;
        }
        report.missing_log_records = self.missing;
        report.torn_tail = self.has_torn_tail;
        if self.missing > 0 {
            let last = self.records.last().map_or(0, |record| record.epoch);
            report.losses.push(format!("{} log entries are missing before that of epoch {last}", self.missing));
        }
    }

    /// The epoch of the last entry; 0 if there is none.
    fn last_epoch(&self) -> Epoch {
        self.records.iter().map(|record| record.epoch).max().unwrap_or(0)
    }

    fn belief(&self, superblock: Option<&Superblock>, kept_cache: bool) -> Belief {
        let Some(superblock) = superblock else { return Belief::InTheLater };
        let last = self.records.iter().map(|record| record.epoch).max();
        match superblock.state {
            State::Clean => Belief::In(Source::File, superblock.epoch),
            _ if kept_cache => Belief::In(Source::File, LAST_EPOCH),
            // A log without a record may have lost all of them.
            State::Dirty | State::Poisoned => match last.filter(|_| self.missing == 0) {
                Some(last) => Belief::In(Source::Log, last.max(superblock.epoch)),
                None => Belief::InTheLater,
            },
        }
    }
}

/// Returns the database that most records of a log belong to.
fn commonest_uuid(log: &SalvagedLog) -> Option<[u8; 16]> {
    let mut counts: HashMap<[u8; 16], u64> = HashMap::new();
    for record in &log.records {
        *counts.entry(record.uuid).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(uuid, count)| (*count, *uuid)).map(|(uuid, _)| uuid)
}
