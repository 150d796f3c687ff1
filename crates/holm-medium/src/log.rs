//! The epoch log: two files, written in turn, that make acknowledged epochs survive the loss of power.
//!
//! A *half* is a file that is first filled with zeros and then overwritten, so that a sync has no metadata to write.
//! Records are appended from its beginning. Each is a number of whole pages, takes one write, and is durable when
//! [`Log::append`] returns. When a checkpoint begins the log is *switched* to the other half. When the checkpoint's
//! superblock is durable the old half is *released*. The checkpoint never waits for the log, nor the log for the
//! checkpoint, as long as one half suffices for the duration of a checkpoint.
//!
//! Records carry the *pass*, which rises with every switch, so recovery never takes for new what an older pass left in
//! a half. They carry a *sequence* that continues across halves, so recovery notices a missing record. The log always
//! begins a session in a half that holds nothing of the present pass: see [`Position::fresh_start`]. Records also
//! carry the *reach*: no record of this pass ends behind it, unless an earlier record has raised it. A search for a
//! record behind damage thus does not need to read the whole of two large files.
//!
//! This module has no threads, and does not decide when to take a checkpoint: both belong to the journaled medium. A
//! half is never written after an error that leaves its contents in doubt; the log is then poisoned.

#![forbid(unsafe_code)]

pub mod epoch_record;
mod half;
mod options;
mod position;
pub mod replay;
mod salvage;

pub use epoch_record::EpochRecord;
pub use half::half_path;
use half::{Half, make_half};
pub use options::LogOptions;
pub(crate) use position::FIRST_REACH;
use position::HALVES;
pub use position::{LogStart, Position};
pub use replay::{Replayed, check_halves, replay, replay_until, verify};
pub use salvage::{BrokenRecord, LinePlace, SalvagedLog, SalvagedRecord};

use crate::error::{MediumError, Result, is_full};
use crate::vfs::{FORMAT_PAGE, How, Vfs, read_exact_at, write_all_at, zero_fill};
use std::io;
use std::path::Path;

/// A record that leaves less than this of the reach, in bytes, raises it. Damage can therefore pass for the tail only
/// if it hits every record that begins within this distance.
const LEAST_REACH: u64 = 8 << 20;

/// The log, open for appending. Dropping it loses nothing: what was appended is durable.
pub struct Log {
    uuid: [u8; 16],
    halves: [Half; HALVES],
    start: LogStart,
    at: Position,
    /// No record of this pass ends behind this, or on the page before it, unless a durable record says so.
    reach: u64,
    /// Whether the half that is not being written holds records that recovery still needs, because no durable
    /// superblock names a later start.
    other_needed: bool,
    options: LogOptions,
    poisoned: Option<String>,
}

impl Log {
    /// Creates both halves in `dir`, durable with their names, and opens the log at [`LogStart::FIRST`]. Existing
    /// halves are overwritten, so the directory must not have a superblock.
    ///
    /// # Errors
    ///
    /// [`MediumError::NoSpace`], [`MediumError::ReadOnly`], [`MediumError::Io`].
    pub fn create(vfs: &dyn Vfs, dir: &Path, uuid: [u8; 16], options: LogOptions) -> Result<Log> {
        let options = options.rounded();
        for half in 0..HALVES as u8 {
            let path = half_path(dir, half);
            make_half(vfs, &path, options.initial)
                .map_err(|e| MediumError::opening_to_write("creating a log half", &path, e))?;
        }
        // Names first: otherwise a crash leaves a superblock that refers to a log whose files have no names.
        vfs.sync_dir(dir).map_err(|e| MediumError::io("syncing the directory", dir, e))?;
        Log::open(vfs, dir, uuid, LogStart::FIRST, options)
    }

    /// Opens the log to be written from `start`, which the durable superblock must name before anything is appended.
    /// The half must hold nothing of that pass yet: that of a new or cleanly closed database, or
    /// [`Position::fresh_start`].
    ///
    /// # Errors
    ///
    /// [`MediumError::NotClean`] if a record of that pass lies there: it must be replayed first.
    /// [`MediumError::Corrupt`] if a half is too short. [`MediumError::ReadOnly`], [`MediumError::Io`].
    pub fn open(vfs: &dyn Vfs, dir: &Path, uuid: [u8; 16], start: LogStart, options: LogOptions) -> Result<Log> {
        let options = options.rounded();
        let halves = [Half::open(vfs, half_path(dir, 0), &options)?, Half::open(vfs, half_path(dir, 1), &options)?];
        let at = start.position();
        let log = Log { uuid, halves, start, at, reach: FIRST_REACH, other_needed: false, options, poisoned: None };
        log.refuse_an_unread_half(vfs)?;
        Ok(log)
    }

    fn refuse_an_unread_half(&self, vfs: &dyn Vfs) -> Result<()> {
        let path = &self.active().path;
        // Through a handle of its own: the one for writing may require aligned memory.
        let file = vfs.open(path, How::READ).map_err(|e| MediumError::io("opening a log half", path, e))?;
        let mut raw = [0; epoch_record::HEADER];
        read_exact_at(&*file, &mut raw, 0).map_err(|e| MediumError::io("reading a log half", path, e))?;
        let header = epoch_record::Header::parse(raw);
        if !header.belongs(&self.uuid, self.at.half, 0) || header.pass < self.at.pass {
            return Ok(());
        }
        // Damage to what an older pass has left is irrelevant: only a complete record is a record.
        let len = file.len().map_err(|e| MediumError::io("measuring a log half", path, e))?;
        let mut body = vec![0; u64::from(header.body).min(len - epoch_record::HEADER as u64) as usize];
        read_exact_at(&*file, &mut body, epoch_record::HEADER as u64)
            .map_err(|e| MediumError::io("reading a log half", path, e))?;
        match body.len() == header.body as usize && header.crc == header.checksum(&body) {
            true => Err(MediumError::NotClean { path: path.clone() }),
            false => Ok(()),
        }
    }

    /// Appends a record and returns when it is durable. Grows the half, by doubling, where the maximum allows. It
    /// grows beyond the maximum for a single record that would fit nowhere else: an epoch of large values is one
    /// record. Without growth this costs one write, and one sync unless writes are direct. A record that the reach
    /// does not cover costs this twice.
    ///
    /// # Errors
    ///
    /// [`MediumError::LogFull`] if the half has no room under its maximum: switch, or wait for the checkpoint.
    /// [`MediumError::TooLarge`] for a record of 4 GiB. [`MediumError::NoSpace`] if the disk is full. The log is
    /// unharmed by these three unless [`Log::is_poisoned`] says otherwise, and the record may be appended again. After
    /// any other error, and after any failed sync, all further calls return [`MediumError::Poisoned`].
    pub fn append(&mut self, epoch_record: &mut EpochRecord) -> Result<()> {
        self.refuse_if_poisoned()?;
        let bytes = epoch_record.padded_len();
        let limit = u64::from(u32::MAX) / FORMAT_PAGE * FORMAT_PAGE;
        if bytes > limit {
            return Err(MediumError::TooLarge { what: "a log record", found: bytes, limit });
        }
        // The last page is for the record that raises the reach.
        let is_far = self.at.offset + bytes + FORMAT_PAGE > self.reach;
        let end = self.at.offset + bytes + if is_far { FORMAT_PAGE } else { 0 };
        if end > self.active().capacity {
            // A record larger than the maximum of a half has a half to itself: a value of a gigabyte is one record.
            if end > self.options.maximum && self.at.offset > 0 {
                let left = self.options.maximum.saturating_sub(self.at.offset);
                return Err(MediumError::LogFull { path: self.active().path.clone(), needed: bytes, left });
            }
            self.grow(end)?;
        }
        if is_far {
            // Before the large record: otherwise a crash leaves it, whole or torn, where no search behind damage
            // reads.
            self.put(&mut EpochRecord::new(), end + FIRST_REACH)?;
        }
        let end = self.at.offset + bytes;
        let reach = if end + LEAST_REACH > self.reach { end + FIRST_REACH } else { self.reach };
        self.put(epoch_record, reach)
    }

    /// Writes a record for which there is room, and returns when it is durable.
    fn put(&mut self, epoch_record: &mut EpochRecord, reach: u64) -> Result<()> {
        let half = &self.halves[usize::from(self.at.half)];
        let image = epoch_record.finish(&self.uuid, &self.at, reach);
        let bytes = image.len() as u64;
        let end = self.at.offset + bytes;
        // Behind the zeros a sync would have to write the length of the file too; behind the reach no search finds it.
        assert!(
            end <= half.capacity && end <= reach,
            "a record ends at {end}, in a half of {} and within a reach of {reach}",
            half.capacity
        );
        if let Err(error) = write_all_at(&*half.file, image, self.at.offset) {
            let error = self.fail_writing("writing a log record", error);
            return Err(if error.is_no_space() { self.blank().err().unwrap_or(error) } else { error });
        }
        // A crash before this line leaves the record torn or missing, and nothing has reported it as durable.
        if !half.direct
            && let Err(error) = half.file.sync_data()
        {
            return Err(self.fail_syncing("syncing a log record", error));
        }
        self.at.offset += bytes;
        self.at.sequence += 1;
        self.reach = reach;
        Ok(())
    }

    /// Makes room for at least `needed` bytes. The zeros are durable before any record lies among them, so that the
    /// sync of a record never has to write the length of the file as well.
    fn grow(&mut self, needed: u64) -> Result<()> {
        let maximum = self.options.maximum.max(needed);
        let half = &mut self.halves[usize::from(self.at.half)];
        let old = half.capacity;
        let least = needed.next_multiple_of(FORMAT_PAGE);
        let mut new = old.saturating_mul(2).min(maximum).max(needed).next_multiple_of(FORMAT_PAGE);
        let reserved = half.file.allocate(old, new - old).or_else(|error| {
            // No space to double, perhaps enough for this record. The partial reservation is released; if that fails,
            // the file is longer than needed, and nothing else is wrong.
            let _ = half.file.set_len(old);
            new = if new > least && is_full(&error) { least } else { return Err(error) };
            half.file.allocate(old, new - old).inspect_err(|_| drop(half.file.set_len(old)))
        });
        if let Err(error) = reserved.and_then(|()| zero_fill(&*half.file, old, new)) {
            return Err(self.fail_writing("growing a log half", error));
        }
        if let Err(error) = half.file.sync_all() {
            return Err(self.fail_syncing("growing a log half", error));
        }
        half.capacity = new;
        Ok(())
    }

    /// Runs after a record could not be written completely for lack of space: nothing in its place may be taken for
    /// it. The record may later go to the other half, and after a crash recovery would find its sequence twice.
    fn blank(&mut self) -> Result<()> {
        let half = &self.halves[usize::from(self.at.half)];
        if let Err(error) = zero_fill(&*half.file, self.at.offset, self.at.offset + FORMAT_PAGE) {
            return Err(self.fail_syncing("taking back a log record", error));
        }
        if !half.direct
            && let Err(error) = half.file.sync_data()
        {
            return Err(self.fail_syncing("taking back a log record", error));
        }
        Ok(())
    }

    /// Switches to the other half, in the next pass, and returns its start, which the checkpoint's superblock names.
    /// Writes nothing. The old half stays needed until [`Log::release`].
    ///
    /// # Errors
    ///
    /// [`MediumError::LogFull`] if the other half was not released. [`MediumError::Poisoned`].
    pub fn switch(&mut self) -> Result<LogStart> {
        self.refuse_if_poisoned()?;
        // A crash after overwriting a needed half would lose epochs that were acknowledged and not yet checkpointed.
        if self.other_needed {
            return Err(MediumError::LogFull { path: self.inactive().path.clone(), needed: FORMAT_PAGE, left: 0 });
        }
        self.start = self.at.after_passes(1);
        self.at = self.start.position();
        self.reach = FIRST_REACH;
        self.other_needed = true;
        Ok(self.start)
    }

    /// Allows the half that is not being written to be overwritten. Call it only once the superblock that names
    /// [`Log::start`] is durable.
    pub fn release(&mut self) {
        self.other_needed = false;
    }

    /// Whether the half that is not being written waits for [`Log::release`].
    pub fn is_other_needed(&self) -> bool {
        self.other_needed
    }

    /// Where the half being written began.
    pub fn start(&self) -> LogStart {
        self.start
    }

    /// Where the next record will lie.
    pub fn position(&self) -> Position {
        self.at
    }

    /// Bytes of records in the half being written.
    pub fn used_bytes(&self) -> u64 {
        self.at.offset
    }

    /// Bytes that the half being written can take without growing.
    pub fn capacity(&self) -> u64 {
        self.active().capacity
    }

    /// Bytes of the half that is not being written.
    pub fn spare_capacity(&self) -> u64 {
        self.inactive().capacity
    }

    /// Bytes of a half at creation.
    pub fn initial(&self) -> u64 {
        self.options.initial
    }

    /// Bytes that a half may grow to.
    pub fn maximum(&self) -> u64 {
        self.options.maximum
    }

    /// Bytes that both halves occupy on the disk.
    ///
    /// # Errors
    ///
    /// [`MediumError::Io`].
    pub fn disk_bytes(&self) -> Result<u64> {
        let of =
            |half: &Half| half.file.disk_bytes().map_err(|e| MediumError::io("measuring a log half", &half.path, e));
        Ok(of(&self.halves[0])? + of(&self.halves[1])?)
    }

    /// Whether records bypass the page cache.
    pub fn is_direct(&self) -> bool {
        self.active().direct
    }

    /// Whether an error left the contents of the log in doubt, so that it takes nothing more.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned.is_some()
    }

    /// Releases disk space: cuts the half that is not being written to `max_bytes` (a page at least), and the other
    /// one too while it holds no record. Does nothing to a half that is still needed.
    ///
    /// # Errors
    ///
    /// [`MediumError::Io`], which poisons; [`MediumError::Poisoned`].
    pub fn trim(&mut self, max_bytes: u64) -> Result<()> {
        self.refuse_if_poisoned()?;
        let keep = (max_bytes / FORMAT_PAGE * FORMAT_PAGE).max(FORMAT_PAGE);
        for (index, half) in self.halves.iter_mut().enumerate() {
            let needed = if index == usize::from(self.at.half) { self.at.offset > 0 } else { self.other_needed };
            if needed || half.capacity <= keep {
                continue;
            }
            let cut = half.file.set_len(keep).and_then(|()| half.file.sync_all());
            half.capacity = keep;
            if let Err(error) = cut {
                let error = MediumError::io("trimming a log half", &half.path, error);
                self.poisoned = Some(error.to_string());
                return Err(error);
            }
        }
        Ok(())
    }

    fn active(&self) -> &Half {
        &self.halves[usize::from(self.at.half)]
    }

    fn inactive(&self) -> &Half {
        &self.halves[usize::from(1 - self.at.half)]
    }

    fn refuse_if_poisoned(&self) -> Result<()> {
        match &self.poisoned {
            Some(why) => Err(MediumError::Poisoned { why: why.clone() }),
            None => Ok(()),
        }
    }

    /// A full disk is no damage: the whole record is written again at the same place, or never acknowledged.
    fn fail_writing(&mut self, doing: &'static str, error: io::Error) -> MediumError {
        let error = MediumError::io(doing, &self.active().path, error);
        if !error.is_no_space() {
            self.poisoned = Some(error.to_string());
        }
        error
    }

    /// After a failed sync it is unknown what is durable, and the kernel does not report the error again.
    fn fail_syncing(&mut self, doing: &'static str, error: io::Error) -> MediumError {
        let error = MediumError::io(doing, &self.active().path, error);
        self.poisoned = Some(error.to_string());
        error
    }
}
