//! A database without a tree: epochs whose numbers determine their bytes, a log, a superblock, recovery.

use holm_medium::error::{MediumError, Result};
use holm_medium::log::{EpochRecord, Log, LogFiles, LogOptions, LogStart, Replayed, replay};
use holm_medium::superblock::{Geometry, ImageKind, State, Superblock, reserve, superblock_path};
use holm_medium::vfs::{How, Identity, Vfs, VfsFile};
use holm_proof::disk::SimDisk;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

pub(crate) const UUID: [u8; 16] = *b"a database's own";

pub(crate) fn dir() -> PathBuf {
    PathBuf::from("/d")
}

/// The files of a log of some segments.
pub(crate) fn files(segments: u8) -> LogFiles<'static> {
    LogFiles { dir: Path::new("/d"), uuid: UUID, segments }
}

pub(crate) fn log_0() -> PathBuf {
    dir().join("log.0")
}

pub(crate) fn log_1() -> PathBuf {
    dir().join("log.1")
}

pub(crate) fn options(direct: bool) -> LogOptions {
    LogOptions { initial: 16 << 10, total: 128 << 10, segments: 2, direct }
}

/// Segments of four pages, of which two are made at first.
pub(crate) fn segmented(direct: bool) -> LogOptions {
    LogOptions { segments: 5, ..options(direct) }
}

/// The superblock's file, created.
pub(crate) fn made(disk: &SimDisk, superblock: &mut Superblock) -> Result<Box<dyn VfsFile>> {
    let superblock_file = reserve(disk, &dir())?.expect("there is none");
    superblock.create(disk, &dir(), &*superblock_file)?;
    Ok(superblock_file)
}

pub(crate) fn superblock() -> Superblock {
    Superblock {
        sequence: 0,
        uuid: UUID,
        geometry: Geometry { leaf_block: 512, design: "Isle".into(), keys: 3 },
        boot_generation: 1,
        state: State::Dirty,
        boot_id: Some([7; 16]),
        leaves: Identity { device: 1, inode: 2, birth_ns: 3, file_system: 4, trusted: true },
        records: Identity { device: 5, inode: 6, birth_ns: 7, file_system: 8, trusted: false },
        epoch: 0,
        log_start: LogStart::FIRST,
        log_segments: 2,
        image: ImageKind::Shared,
        leaves_sum: 0,
        lengths: [4096, 65_536],
        created_by: "0.1.0".into(),
    }
}

/// Locations and bytes that an epoch logs: a few runs, sometimes more than a page.
pub(crate) fn runs_of(epoch: u64) -> Vec<(u64, Vec<u8>)> {
    let long = if epoch.is_multiple_of(3) { 80 } else { 3 };
    let bytes = |lines: u64, salt: u64| (0..lines * 64).map(|i| (i * 7 + epoch * 31 + salt) as u8).collect();
    vec![(epoch * 64, bytes(1, 1)), (1 << 20, bytes(long, 2)), (4096 * epoch, bytes(2, 3))]
}

pub(crate) fn record_of(epoch: u64) -> EpochRecord {
    let mut epoch_record = EpochRecord::new();
    epoch_record.begin(epoch);
    runs_of(epoch).iter().for_each(|(location, bytes)| epoch_record.push(*location, bytes));
    epoch_record
}

/// Replays, and compares every run with what its epoch must have logged. Epochs must be consecutive from `after`.
pub(crate) fn read_back(vfs: &dyn Vfs, files: LogFiles<'_>, start: LogStart, after: u64) -> Result<Replayed> {
    let mut met: Vec<(u64, u64, Vec<u8>)> = Vec::new();
    let seen = replay(vfs, files, start, |epoch, location, bytes| {
        met.push((epoch, location, bytes.to_vec()));
        Ok(())
    })?;
    let last = seen.last_epoch.unwrap_or(after);
    let logged = (after + 1..=last).flat_map(|epoch| runs_of(epoch).into_iter().map(move |(at, b)| (epoch, at, b)));
    assert!(met.into_iter().eq(logged), "the runs up to epoch {last} are not those that were logged");
    assert_eq!(seen.records, last - after);
    Ok(seen)
}

/// Makes the directory, durably.
pub(crate) fn make_dir(disk: &SimDisk) -> std::io::Result<()> {
    disk.create_dir(&dir())?;
    disk.sync_dir(dir().parent().expect("it is not the root"))
}

/// A new directory with a log of `epochs` epochs, none of them checkpointed.
pub(crate) fn logged(epochs: u64, direct: bool) -> SimDisk {
    let disk = SimDisk::new();
    make_dir(&disk).expect("no faults");
    let mut log = Log::create(&disk, &dir(), UUID, options(direct)).expect("no faults");
    for epoch in 1..=epochs {
        log.append(&mut record_of(epoch)).expect("no faults");
    }
    disk
}

/// Where each record begins in the first segment, and where the last one ends.
pub(crate) fn boundaries(epochs: u64) -> Vec<u64> {
    places(1..=epochs)
}

/// The same for the records of some epochs. A record that does not fit into the rest of a page begins the next one.
pub(crate) fn places(epochs: RangeInclusive<u64>) -> Vec<u64> {
    let (mut all, mut end) = (Vec::new(), 0_u64);
    for len in epochs.map(|epoch| record_of(epoch).padded_len()) {
        let begin = if end % 4096 + len <= 4096 { end } else { end.next_multiple_of(4096) };
        all.push(begin);
        end = begin + len;
    }
    all.push(end);
    all
}

/// An open database.
pub(crate) struct Database {
    disk: SimDisk,
    superblock_file: Box<dyn VfsFile>,
    pub(crate) superblock: Superblock,
    pub(crate) log: Log,
    /// The last epoch whose append succeeded.
    pub(crate) acknowledged: u64,
    /// The last epoch for which an append was attempted.
    pub(crate) attempted: u64,
}

impl Database {
    pub(crate) fn create(disk: &SimDisk, direct: bool) -> Result<Database> {
        make_dir(disk).map_err(|e| MediumError::io("creating", &dir(), e))?;
        let mut log = Log::create(disk, &dir(), UUID, segmented(direct))?;
        log.aim_at(0);
        let mut superblock = superblock();
        let superblock_file = made(disk, &mut superblock)?;
        Ok(Database { disk: disk.clone(), superblock_file, superblock, log, acknowledged: 0, attempted: 0 })
    }

    /// Recovery: replays the log, assumes that the replayed data is durable in the data files, and starts a new log.
    pub(crate) fn open(disk: &SimDisk, direct: bool) -> Result<Database> {
        let path = superblock_path(&dir());
        let superblock_file = disk.open(&path, How::WRITE).map_err(|e| MediumError::io("opening", &path, e))?;
        let (mut superblock, _) = Superblock::read(&*superblock_file, &path)?;
        let seen = read_back(disk, superblock.log_files(&dir()), superblock.log_start, superblock.epoch)?;
        superblock.epoch = seen.last_epoch.unwrap_or(superblock.epoch);
        superblock.log_start = seen.next.fresh_start();
        superblock.write(&*superblock_file, &path)?;
        let mut log = Log::open(disk, superblock.log_files(&dir()), superblock.log_start, segmented(direct))?;
        log.aim_at(0);
        let epoch = superblock.epoch;
        Ok(Database { disk: disk.clone(), superblock_file, superblock, log, acknowledged: epoch, attempted: epoch })
    }

    /// One epoch. Retried once if the disk was full and may have space again.
    pub(crate) fn put(&mut self) -> Result<()> {
        let mut epoch_record = record_of(self.acknowledged + 1);
        self.attempted = self.acknowledged + 1;
        if self.log.wants_segment(epoch_record.padded_len()) {
            self.add_segment()?;
        }
        match self.log.append(&mut epoch_record) {
            Err(error) if error.is_no_space() && !self.log.is_poisoned() => self.log.append(&mut epoch_record)?,
            other => other?,
        }
        self.acknowledged += 1;
        Ok(())
    }

    fn add_segment(&mut self) -> Result<()> {
        match self.log.make_segment(&self.disk, &dir()) {
            Err(error) if error.is_no_space() => Ok(()),
            made => {
                let made = made?;
                self.superblock.log_segments = self.log.segments() + 1;
                self.superblock.write(&*self.superblock_file, &superblock_path(&dir()))?;
                self.log.add(made);
                Ok(())
            }
        }
    }

    pub(crate) fn checkpoint(&mut self) -> Result<()> {
        self.superblock.log_start = self.log.switch()?;
        self.superblock.epoch = self.acknowledged;
        self.superblock.write(&*self.superblock_file, &superblock_path(&dir()))?;
        self.log.release();
        self.log.trim(8 << 10)
    }

    /// Epochs that make the log grow and move on, a checkpoint with an epoch in the midst of it, and epochs after it.
    pub(crate) fn work(&mut self) -> Result<()> {
        (0..6).try_for_each(|_| self.put())?;
        let epoch = self.acknowledged;
        self.superblock.log_start = self.log.switch()?;
        self.put()?;
        self.superblock.epoch = epoch;
        self.superblock.write(&*self.superblock_file, &superblock_path(&dir()))?;
        self.log.release();
        self.put()?;
        self.checkpoint()?;
        (0..3).try_for_each(|_| self.put())
    }
}

/// What recovery finds on a disk: the last epoch, or the error.
pub(crate) fn recovered(disk: &SimDisk) -> Result<u64> {
    Database::open(disk, true).map(|database| database.acknowledged)
}

/// Whether a database exists: its superblock's file has its name.
pub(crate) fn is_there(disk: &SimDisk) -> bool {
    disk.contents(Path::new("/d/superblock")).is_some()
}
