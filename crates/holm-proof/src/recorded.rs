//! A medium that keeps a trace: every store, flush and fence, each with its thread and its source line.
//!
//! The image is what the CPU cache has; `crashes` derives from the trace what is durable. The medium changes nothing
//! that an algorithm can observe. It can leave out any store, flush or fence by its site, which makes a mutant of an
//! algorithm without changing its code.

use crate::snapshot::Snapshot;
use crate::threads;
use crate::trace::{Caller, Entry, Event, Mark, Site};
use holm_medium::{Area, Epoch, Image, Medium, MediumError, Result, Scratch, Storage, Word, Writer};
use std::collections::BTreeSet;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};

/// The recorded data.
#[derive(Default)]
struct Book {
    entries: Vec<Entry>,
    scratch: BTreeSet<u64>,
    without: BTreeSet<Site>,
}

/// Called after each store, flush and fence, by the thread that made it.
pub type Witness = Arc<dyn Fn() + Send + Sync>;

/// A heap image of fixed size, and the trace of the operations on it.
pub struct Recorded {
    image: Arc<Image>,
    /// Checked before anything else: without recording, threads run at full speed.
    open: AtomicBool,
    book: Mutex<Book>,
    witness: Mutex<Option<Witness>>,
}

impl Recorded {
    /// Zeroed memory of `bytes` bytes for each area; recording is off.
    pub fn new(bytes: [usize; 2]) -> Self {
        let image = Arc::new(Image::heap(bytes[0], bytes[1]));
        Recorded { image, open: AtomicBool::new(false), book: Mutex::default(), witness: Mutex::default() }
    }

    /// A storage over what a crash left, with active epoch `active`. The words of the image are not in the trace.
    ///
    /// # Errors
    /// `NoSpace` if not even the storage's own block fits.
    pub fn from_image(left: &Snapshot, active: Epoch) -> Result<Writer<Recorded>> {
        let writer = Storage::open(Recorded::new(left.bytes()), active)?;
        left.fill(&mut writer.begin_write_at(active), writer.storage().medium.image());
        Ok(writer)
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Leaves these out from now on: such a flush or fence is not executed, and such a store never becomes durable,
    /// though the process that made it sees it.
    pub fn leave_out(&self, sites: &BTreeSet<Site>) {
        self.book().without = sites.clone();
    }

    /// Turns recording on or off: while it is on, the medium keeps events and calls witnesses.
    pub fn keep(&self, open: bool) {
        self.open.store(open, SeqCst);
    }

    /// Takes the recorded events.
    pub fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut self.book().entries)
    }

    /// All locations that were ever written as scratch, also without recording.
    pub fn scratch(&self) -> BTreeSet<u64> {
        self.book().scratch.clone()
    }

    /// Adds a mark of the harness to the trace.
    #[track_caller]
    pub fn mark(&self, mark: Mark) {
        self.push(Event::Mark(mark), Location::caller());
    }

    /// Sets the witness that is called from now on, or removes it.
    pub fn show(&self, witness: Option<Witness>) {
        *self.witness.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = witness;
    }

    fn push(&self, event: Event, place: Caller) {
        if !self.open.load(Relaxed) {
            return;
        }
        let ordered = event.order().is_some();
        self.enter(event, place);
        if ordered {
            let witness = self.witness.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
            witness.iter().for_each(|look| look());
        }
    }

    fn enter(&self, event: Event, place: Caller) {
        let mut book = self.book();
        if event.order().is_some_and(|order| book.without.contains(&Site { order, place })) {
            return;
        }
        book.entries.push(Entry { event, thread: threads::number(), place });
    }
}

impl Medium for Recorded {
    fn image(&self) -> &Arc<Image> {
        &self.image
    }

    #[track_caller]
    fn wrote(&self, word: &Word, value: u64) {
        self.push(Event::Write { loc: self.image.locate(word), value }, Location::caller());
    }

    #[track_caller]
    fn filled(&self, words: &[Word]) {
        // The values are copied only for a trace: whole images are filled before it begins.
        if let [first, ..] = words
            && self.open.load(Relaxed)
        {
            let values = words.iter().map(Word::read).collect();
            self.push(Event::Fill { loc: self.image.locate(first), values }, Location::caller());
        }
    }

    #[track_caller]
    fn scratched(&self, word: &Scratch, _: u64) {
        let loc = self.image.locate_scratch(word);
        self.book().scratch.insert(loc);
        self.push(Event::Scratch { loc }, Location::caller());
    }

    #[track_caller]
    fn flush(&self, line: u64) {
        threads::step();
        self.push(Event::Flush { line }, Location::caller());
    }

    #[track_caller]
    fn fence(&self) {
        threads::step();
        self.push(Event::Fence, Location::caller());
    }

    fn grow(&self, area: Area, len: u64) -> Result<()> {
        if len <= self.image.area(area).len() as u64 {
            return Ok(());
        }
        Err(MediumError::NoSpace { doing: "growing a recorded image", path: format!("{area:?}").into() })
    }
}
