//! The epoch log: numbered files that make acknowledged epochs survive the loss of power.
//!
//! A *segment* is a file that is first filled with zeros and then overwritten, so that a sync has no metadata to write.
//! Records are appended from its beginning. Each takes one write, and is durable when [`Log::append`] returns. A small
//! record shares its page with the ones before it (`last_page.rs`). When a segment has the size that is aimed at, the
//! log *moves on* to a free one, the one with the lowest number. When a checkpoint begins, the log *switches* to a free
//! one: the *start*, which the checkpoint's superblock names. When that superblock is durable, the segments before the
//! start are *released*, and free again. So the disk has as many bytes as the log holds, and about one segment more.
//!
//! A log of two segments never moves on: one is always free for the next checkpoint. The journaled medium adds segments
//! when the log needs them. The superblock has their number before one gets a record, so that a missing file is damage.
//!
//! Records carry the *pass*, which rises with every change of segments, so recovery never takes for new what an older
//! pass left in a segment. They carry a *sequence* that continues across segments, so recovery notices a missing
//! record, and finds the segment in which the log goes on. The log always begins a session in a segment that holds
//! nothing of the present pass: see [`Position::fresh_start`]. Records also carry the *reach*: no record of this pass
//! ends behind it, unless an earlier record has raised it. A search for a record behind damage thus does not need to
//! read all segments.
//!
//! This module has no threads, and does not decide when to take a checkpoint: both belong to the journaled medium. A
//! segment is never written after an error that leaves its contents in doubt; the log is then poisoned.

#![forbid(unsafe_code)]

pub mod epoch_record;
mod last_page;
mod options;
mod position;
pub mod replay;
mod salvage;
mod segment;
mod segment_files;

pub use epoch_record::EpochRecord;
use last_page::{LastPage, begin};
pub use options::LogOptions;
pub(crate) use position::FIRST_REACH;
pub use position::{FIRST_SEGMENTS, LogStart, MOST_SEGMENTS, Position};
pub use replay::{LogFiles, Replayed, check_segments, replay, replay_until, verify};
pub use salvage::{BrokenRecord, LinePlace, SalvagedLog, SalvagedRecord};
use segment::{Segment, make_segment};
pub use segment::{is_segment_name, segment_path};
pub use segment_files::SegmentFiles;

use crate::error::{MediumError, Result, is_full};
use crate::vfs::{FORMAT_PAGE, How, Vfs, read_exact_at, write_all_at, zero_fill};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A record that leaves less than this of the reach, in bytes, raises it. Damage can therefore pass for the tail only
/// if it hits every record that begins within this distance.
const LEAST_REACH: u64 = 8 << 20;

/// The log, open for appending. Dropping it loses nothing: what was appended is durable.
pub struct Log {
    uuid: [u8; 16],
    segments: Vec<Segment>,
    /// The same files, for what measures them beside the thread that writes.
    files: Arc<SegmentFiles>,
    start: LogStart,
    at: Position,
    last_page: LastPage,
    /// No record of this pass ends behind this, or on the page before it, unless a durable record says so.
    reach: u64,
    /// The segments from the start to the one being written, without that, and the bytes of records in them.
    passed: Vec<u8>,
    passed_bytes: u64,
    /// The segments before the start. Recovery still needs them, because no durable superblock names the start.
    left: Vec<u8>,
    /// The size at which the log moves on.
    aim: u64,
    /// The greatest number of a segment that was written since the last release, and in the time before that.
    peaks: [u8; 2],
    options: LogOptions,
    poisoned: Option<String>,
}

/// A segment that is durable with its name, and that the superblock does not count yet.
pub struct NewSegment(Segment);

impl Log {
    /// Creates the first segments in `dir`, durable with their names, and opens the log at [`LogStart::FIRST`].
    /// Existing files are overwritten, so the directory must not have a superblock.
    ///
    /// # Errors
    ///
    /// [`MediumError::NoSpace`], [`MediumError::ReadOnly`], [`MediumError::Io`].
    pub fn create(vfs: &dyn Vfs, dir: &Path, uuid: [u8; 16], options: LogOptions) -> Result<Log> {
        let options = options.rounded();
        for segment in 0..FIRST_SEGMENTS {
            let path = segment_path(dir, segment);
            make_segment(vfs, &path, options.initial)
                .map_err(|e| MediumError::opening_to_write("creating a log segment", &path, e))?;
        }
        // Names first: otherwise a crash leaves a superblock that refers to a log whose files have no names.
        vfs.sync_dir(dir).map_err(|e| MediumError::io("syncing the directory", dir, e))?;
        Log::open(vfs, LogFiles { dir, uuid, segments: FIRST_SEGMENTS }, LogStart::FIRST, options)
    }

    /// Opens the log to be written from `start`, which the durable superblock must name before anything is appended.
    /// The segment must hold nothing of that pass yet: that of a new or cleanly closed database, or
    /// [`Position::fresh_start`].
    ///
    /// # Errors
    ///
    /// [`MediumError::NotClean`] if a record of that pass lies there: it must be replayed first.
    /// [`MediumError::Corrupt`] if a segment is too short. [`MediumError::ReadOnly`], [`MediumError::Io`].
    pub fn open(vfs: &dyn Vfs, files: LogFiles<'_>, start: LogStart, options: LogOptions) -> Result<Log> {
        let options = options.rounded();
        let open = |segment| Segment::open(vfs, segment_path(files.dir, segment), &options);
        let segments: Vec<_> = (0..files.segments).map(open).collect::<Result<_>>()?;
        let measured = SegmentFiles::default();
        segments.iter().for_each(|segment| measured.add(segment));
        let log = Log {
            uuid: files.uuid,
            segments,
            files: Arc::new(measured),
            start,
            at: start.position(),
            last_page: LastPage::new(),
            reach: FIRST_REACH,
            passed: Vec::new(),
            passed_bytes: 0,
            left: Vec::new(),
            aim: options.maximum(),
            peaks: [start.segment; 2],
            options,
            poisoned: None,
        };
        log.refuse_an_unread_segment(vfs)?;
        Ok(log)
    }

    fn refuse_an_unread_segment(&self, vfs: &dyn Vfs) -> Result<()> {
        let path = &self.active().path;
        // Through a handle of its own: the one for writing may require aligned memory.
        let file = vfs.open(path, How::READ).map_err(|e| MediumError::io("opening a log segment", path, e))?;
        let mut raw = [0; epoch_record::HEADER];
        read_exact_at(&*file, &mut raw, 0).map_err(|e| MediumError::io("reading a log segment", path, e))?;
        let header = epoch_record::Header::parse(raw);
        if !header.belongs(&self.uuid, self.at.segment, 0) || header.pass < self.at.pass {
            return Ok(());
        }
        // Damage to what an older pass has left is irrelevant: only a complete record is a record.
        let len = file.len().map_err(|e| MediumError::io("measuring a log segment", path, e))?;
        let mut body = vec![0; u64::from(header.body).min(len - epoch_record::HEADER as u64) as usize];
        read_exact_at(&*file, &mut body, epoch_record::HEADER as u64)
            .map_err(|e| MediumError::io("reading a log segment", path, e))?;
        match body.len() == header.body as usize && header.crc == header.checksum(&body) {
            true => Err(MediumError::NotClean { path: path.clone() }),
            false => Ok(()),
        }
    }

    /// Appends a record and returns when it is durable. Moves on to a free segment if this one has the size that is
    /// aimed at. Grows the segment, by doubling, where the maximum allows. It grows beyond the maximum for a single
    /// record that would fit nowhere else: an epoch of large values is one record. Without growth this costs one write,
    /// and one sync unless writes are direct. A record that the reach does not cover costs this twice.
    ///
    /// # Errors
    ///
    /// [`MediumError::LogFull`] if the segment has no room under its maximum: switch, or wait for the checkpoint.
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
        if self.is_used_up(bytes) && self.may_move_on() {
            self.move_on();
        }
        let (is_far, end) = self.end_of(bytes);
        if end > self.active().capacity {
            // A record larger than the maximum of a segment has a segment to itself: a value of a gigabyte is one
            // record.
            if end > self.options.maximum() && self.at.offset > 0 {
                let left = self.options.maximum().saturating_sub(begin(self.at.offset, bytes));
                return Err(MediumError::LogFull { path: self.active().path.clone(), needed: bytes, left });
            }
            self.grow(end)?;
        }
        if is_far {
            // Before the large record: otherwise a crash leaves it, whole or torn, where no search behind damage
            // reads.
            self.put(&mut EpochRecord::new(), end + FIRST_REACH)?;
        }
        let end = begin(self.at.offset, bytes) + bytes;
        let reach = if end + LEAST_REACH > self.reach { end + FIRST_REACH } else { self.reach };
        self.put(epoch_record, reach)
    }

    /// Whether a record of this size lies behind the reach, and where it ends. The last page of the reach is for
    /// the record that raises it.
    fn end_of(&self, bytes: u64) -> (bool, u64) {
        let end = |from| begin(from, bytes) + bytes;
        let raised = || begin(self.at.offset, epoch_record::HEADER as u64) + epoch_record::HEADER as u64;
        let is_far = end(self.at.offset) + FORMAT_PAGE > self.reach;
        (is_far, end(if is_far { raised() } else { self.at.offset }))
    }

    /// Whether a record of this size belongs into another segment: this one holds records, and would have to grow
    /// beyond the size that is aimed at.
    fn is_used_up(&self, bytes: u64) -> bool {
        self.at.offset > 0 && self.end_of(bytes).1 > self.aim.max(self.active().capacity)
    }

    /// The segments without records that recovery needs, the lowest number first.
    fn free(&self) -> impl Iterator<Item = u8> {
        (0..self.segments())
            .filter(|number| *number != self.at.segment && !self.passed.contains(number) && !self.left.contains(number))
    }

    /// Whether a segment is free, and another one for the next checkpoint to switch to. The release of what a
    /// checkpoint has left gives that one.
    fn may_move_on(&self) -> bool {
        self.free().count() > usize::from(self.left.is_empty())
    }

    /// Goes on in a free segment, in the next pass. Writes nothing.
    fn move_on(&mut self) {
        let next = self.at.next_pass_in(self.free().next().expect("the caller has asked"));
        self.passed.push(self.at.segment);
        self.passed_bytes += self.at.offset;
        self.go_to(next);
    }

    fn go_to(&mut self, next: LogStart) {
        self.at = next.position();
        self.reach = FIRST_REACH;
        self.peaks[0] = self.peaks[0].max(next.segment);
    }

    /// Writes a record for which there is room, and returns when it is durable.
    fn put(&mut self, epoch_record: &mut EpochRecord, reach: u64) -> Result<()> {
        let segment = &self.segments[usize::from(self.at.segment)];
        let bytes = epoch_record.padded_len();
        let begin = begin(self.at.offset, bytes);
        let end = begin + bytes;
        // Behind the zeros a sync would have to write the length of the file too; behind the reach no search finds it.
        assert!(
            end <= segment.capacity && end <= reach,
            "a record ends at {end}, in a segment of {} and within a reach of {reach}",
            segment.capacity
        );
        let filled = begin % FORMAT_PAGE;
        let image = epoch_record.finish(&self.uuid, &Position { offset: begin, ..self.at }, reach);
        let written = match filled {
            0 => write_all_at(&*segment.file, image, begin),
            _ => {
                let page = self.last_page.with(filled as usize, &image[..bytes as usize]);
                write_all_at(&*segment.file, page, begin - filled)
            }
        };
        if let Err(error) = written {
            let error = self.fail_writing("writing a log record", error);
            return Err(if error.is_no_space() { self.blank(begin).err().unwrap_or(error) } else { error });
        }
        // A crash before this line leaves the record torn or missing, and nothing has reported it as durable.
        if !segment.direct
            && let Err(error) = segment.file.sync_data()
        {
            return Err(self.fail_syncing("syncing a log record", error));
        }
        if filled == 0 {
            self.last_page.take(&image[..bytes as usize]);
        }
        self.at.offset = end;
        self.at.sequence += 1;
        self.reach = reach;
        Ok(())
    }

    /// Makes room for at least `needed` bytes. The zeros are durable before any record lies among them, so that the
    /// sync of a record never has to write the length of the file as well.
    fn grow(&mut self, needed: u64) -> Result<()> {
        let most = if needed > self.aim { self.options.maximum() } else { self.aim };
        let segment = &mut self.segments[usize::from(self.at.segment)];
        let old = segment.capacity;
        let least = needed.next_multiple_of(FORMAT_PAGE);
        let mut new = old.saturating_mul(2).min(most).max(needed).next_multiple_of(FORMAT_PAGE);
        let reserved = segment.file.allocate(old, new - old).or_else(|error| {
            // No space to double, perhaps enough for this record. The partial reservation is released; if that fails,
            // the file is longer than needed, and nothing else is wrong.
            let _ = segment.file.set_len(old);
            new = if new > least && is_full(&error) { least } else { return Err(error) };
            segment.file.allocate(old, new - old).inspect_err(|_| drop(segment.file.set_len(old)))
        });
        if let Err(error) = reserved.and_then(|()| zero_fill(&*segment.file, old, new)) {
            return Err(self.fail_writing("growing a log segment", error));
        }
        if let Err(error) = segment.file.sync_all() {
            return Err(self.fail_syncing("growing a log segment", error));
        }
        segment.capacity = new;
        Ok(())
    }

    /// Runs after a record could not be written completely for lack of space: nothing in its place may be taken for
    /// it. The record may later go to the other segment, and after a crash recovery would find its sequence twice.
    fn blank(&mut self, begin: u64) -> Result<()> {
        let segment = &self.segments[usize::from(self.at.segment)];
        let filled = begin % FORMAT_PAGE;
        let blank = match filled {
            0 => zero_fill(&*segment.file, begin, begin + FORMAT_PAGE),
            _ => write_all_at(&*segment.file, self.last_page.with(filled as usize, &[]), begin - filled),
        };
        if let Err(error) = blank {
            return Err(self.fail_syncing("taking back a log record", error));
        }
        if !segment.direct
            && let Err(error) = segment.file.sync_data()
        {
            return Err(self.fail_syncing("taking back a log record", error));
        }
        Ok(())
    }

    /// Switches to a free segment, in the next pass, and returns its start, which the checkpoint's superblock names.
    /// Writes nothing. What lies before it stays needed until [`Log::release`].
    ///
    /// # Errors
    ///
    /// [`MediumError::LogFull`] if what an earlier switch has left was not released. [`MediumError::Poisoned`].
    pub fn switch(&mut self) -> Result<LogStart> {
        self.refuse_if_poisoned()?;
        // A crash after overwriting a needed segment would lose epochs that were acknowledged and not yet checkpointed.
        let (true, Some(next)) = (self.left.is_empty(), self.free().next()) else {
            return Err(MediumError::LogFull { path: self.active().path.clone(), needed: FORMAT_PAGE, left: 0 });
        };
        // The log has moved on to a segment, and that has no record, for want of space. A replay comes from the segment
        // before, and looks for the next record in this pass: in a later one it would not find it.
        let is_skipped = self.at.offset == 0 && !self.passed.is_empty();
        let start = self.at.next_pass_in(next);
        self.start = if is_skipped { LogStart { pass: self.at.pass, ..start } } else { start };
        self.left = std::mem::take(&mut self.passed);
        self.left.push(self.at.segment);
        self.passed_bytes = 0;
        self.go_to(self.start);
        Ok(self.start)
    }

    /// Allows the segments before the start to be overwritten. Call it only once the superblock that names
    /// [`Log::start`] is durable.
    pub fn release(&mut self) {
        self.left.clear();
        let used = self.passed.iter().copied().fold(self.at.segment, u8::max);
        self.peaks = [used, self.peaks[0]];
    }

    /// Whether segments before the start wait for [`Log::release`].
    pub fn awaits_release(&self) -> bool {
        !self.left.is_empty()
    }

    /// Sets the size, in bytes, at which the log moves on to the next segment; from the initial size to the maximum.
    pub fn aim_at(&mut self, bytes: u64) {
        let bytes = bytes.clamp(self.options.initial, self.options.maximum());
        self.aim = if self.options.segments == FIRST_SEGMENTS { self.options.maximum() } else { bytes };
    }

    /// The number of segments.
    pub fn segments(&self) -> u8 {
        self.segments.len() as u8
    }

    /// Whether a record of this size should get a segment that is still to be made.
    pub fn wants_segment(&self, bytes: u64) -> bool {
        self.segments() < self.options.segments && self.is_used_up(bytes) && !self.may_move_on()
    }

    /// Makes a segment, durable with its name. A file that is there is overwritten: its creation was cut short.
    ///
    /// # Errors
    ///
    /// [`MediumError::NoSpace`]; [`MediumError::Io`]. The log is as it was.
    pub fn make_segment(&self, vfs: &dyn Vfs, dir: &Path) -> Result<NewSegment> {
        let path = segment_path(dir, self.segments());
        let io = |e: io::Error| MediumError::io("creating a log segment", &path, e);
        make_segment(vfs, &path, self.options.initial).map_err(io)?;
        vfs.sync_dir(dir).map_err(|e| MediumError::io("syncing the directory", dir, e))?;
        Segment::open(vfs, path, &self.options).map(NewSegment)
    }

    /// Adds a segment that [`Log::make_segment`] has made. Call it only once the superblock that counts it is durable:
    /// otherwise a crash leaves records where no recovery looks for them.
    pub fn add(&mut self, made: NewSegment) {
        self.files.add(&made.0);
        self.segments.push(made.0);
    }

    /// Where what the next checkpoint covers began.
    pub fn start(&self) -> LogStart {
        self.start
    }

    /// Where the next record will lie.
    pub fn position(&self) -> Position {
        self.at
    }

    /// Bytes of records since the start.
    pub fn used_bytes(&self) -> u64 {
        self.passed_bytes + self.at.offset
    }

    /// Bytes that the segment being written can take without growing.
    pub fn capacity(&self) -> u64 {
        self.active().capacity
    }

    /// Bytes of the free segment that comes next; 0 without one.
    pub fn spare_capacity(&self) -> u64 {
        self.free().next().map_or(0, |next| self.segments[usize::from(next)].capacity)
    }

    /// Bytes of the largest free segment; 0 without one.
    pub fn largest_free(&self) -> u64 {
        self.free().map(|number| self.segments[usize::from(number)].capacity).max().unwrap_or(0)
    }

    /// Bytes of a segment at creation.
    pub fn initial(&self) -> u64 {
        self.options.initial
    }

    /// Bytes that all segments together may have.
    pub fn total(&self) -> u64 {
        self.options.total
    }

    /// The files of the segments, also of those that are added later.
    pub fn files(&self) -> &Arc<SegmentFiles> {
        &self.files
    }

    /// Whether records bypass the page cache.
    pub fn is_direct(&self) -> bool {
        self.active().direct
    }

    /// Whether an error left the contents of the log in doubt, so that it takes nothing more.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned.is_some()
    }

    /// Releases disk space: cuts each segment to `max_bytes` (a page at least), unless it holds a record that is
    /// needed.
    ///
    /// # Errors
    ///
    /// [`MediumError::Io`], which poisons; [`MediumError::Poisoned`].
    pub fn trim(&mut self, max_bytes: u64) -> Result<()> {
        self.cut(|_| max_bytes)
    }

    /// Like [`Log::trim`], for the segments that were not written since the release before the last one: to a page.
    ///
    /// # Errors
    ///
    /// As [`Log::trim`].
    pub fn trim_unused(&mut self) -> Result<()> {
        let used = self.peaks[0].max(self.peaks[1]);
        self.cut(|number| if number <= used { u64::MAX } else { 0 })
    }

    /// Like [`Log::trim`], for a log that nothing is written to: the first segments to `max_bytes`, the others to a
    /// page.
    ///
    /// # Errors
    ///
    /// As [`Log::trim`].
    pub fn trim_idle(&mut self, max_bytes: u64) -> Result<()> {
        self.cut(|number| if number < FIRST_SEGMENTS { max_bytes } else { 0 })
    }

    fn cut(&mut self, max_bytes: impl Fn(u8) -> u64) -> Result<()> {
        self.refuse_if_poisoned()?;
        let unused = (self.at.offset == 0).then_some(self.at.segment);
        let numbers: Vec<_> = self.free().chain(unused).collect();
        for number in numbers {
            let keep = (max_bytes(number) / FORMAT_PAGE * FORMAT_PAGE).max(FORMAT_PAGE);
            let segment = &mut self.segments[usize::from(number)];
            if segment.capacity <= keep {
                continue;
            }
            let cut = segment.file.set_len(keep).and_then(|()| segment.file.sync_all());
            segment.capacity = keep;
            if let Err(error) = cut {
                let error = MediumError::io("trimming a log segment", &segment.path, error);
                self.poisoned = Some(error.to_string());
                return Err(error);
            }
        }
        Ok(())
    }

    fn active(&self) -> &Segment {
        &self.segments[usize::from(self.at.segment)]
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
