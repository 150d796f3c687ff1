//! The child: writes until it is ended from outside, and reports what has returned.
//!
//! A report has sixteen bytes, written at once and so never torn: kind, thread, number. Standard output is the pipe.

use super::Mode;
use super::ledger::{Effect, NAMES, THREADS, Work, key, value, work};
use super::readers;
use holm::{Database, Error, Keyspace, KeyspaceOptions};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::UNIX_EPOCH;
use std::{process, thread};

/// What a report says about its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The step has returned.
    Returned,
    /// The step survives the loss of power.
    Durable,
    /// The database is open.
    Opened,
}

/// One report.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// The kind of report.
    pub kind: Kind,
    /// The thread.
    pub thread: usize,
    /// The step.
    pub step: u64,
}

impl Report {
    fn send(self, mut to: &File) -> io::Result<()> {
        let head = [self.kind as u8, self.thread as u8, 0, 0, 0, 0, 0, 0];
        to.write_all(&[head, self.step.to_le_bytes()].concat())
    }

    /// The next report; `None` at the end of the pipe.
    pub fn receive(from: &mut impl Read) -> Option<Report> {
        let mut raw = [0; 16];
        from.read_exact(&mut raw).ok()?;
        let [head, step] = [0, 8].map(|at| std::array::from_fn::<u8, 8, _>(|i| raw[at + i]));
        let kind = [Kind::Returned, Kind::Durable, Kind::Opened].into_iter().nth(head[0].into())?;
        Some(Report { kind, thread: head[1].into(), step: u64::from_le_bytes(step) })
    }
}

/// Opens the database, recovers it if necessary, and waits to be ended.
///
/// # Errors
/// Those of opening.
pub fn hold(dir: &Path, mode: Mode) -> Result<(), Error> {
    let _db = mode.builder().open(dir)?;
    loop {
        thread::park();
    }
}

/// Opens the database and writes, each thread from its next step on, until a call fails or the process is ended.
///
/// # Errors
/// The first failure.
pub fn write(dir: &Path, mode: Mode, next: [u64; THREADS]) -> Result<(), Error> {
    let pipe = File::options()
        .write(true)
        .open("/proc/self/fd/1")
        .map_err(|error| Error::Invalid { what: format!("standard output: {error}") })?;
    let db = mode.builder().open(dir)?;
    let spaces = [db.keyspace(NAMES[0])?, db.keyspace_with(NAMES[1], &KeyspaceOptions::new().expires(true))?];
    let _ = Report { kind: Kind::Opened, thread: 0, step: 0 }.send(&pipe);
    let returned = next.map(|next| AtomicU64::new(next - 1));
    thread::scope(|scope| {
        let steps: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (db, spaces, returned, pipe) = (&db, &spaces, &returned, &pipe);
                scope.spawn(move || run(db, spaces, returned, thread, pipe))
            })
            .collect();
        scope.spawn(|| watch(&db, &returned, &pipe));
        scope.spawn(|| end_with(readers::read_snapshots(&db, next, &returned)));
        scope.spawn(|| end_with(readers::read_keys(&spaces)));
        steps.into_iter().filter_map(|steps| steps.join().ok()).collect()
    })
}

/// Ends the process if a reader has seen what cannot be: the parent takes a child that ends by itself for a fault.
fn end_with(read: Result<(), String>) {
    if let Err(why) = read {
        let _ = writeln!(io::stderr(), "a reader of the child: {why}");
        process::exit(3);
    }
}

fn run(
    db: &Database,
    spaces: &[Keyspace; 2],
    returned: &[AtomicU64; THREADS],
    thread: usize,
    pipe: &File,
) -> Result<(), Error> {
    loop {
        let step = returned[thread].load(SeqCst) + 1;
        let seen = returned[(thread + 1) % THREADS].load(SeqCst);
        match work(thread, step) {
            Work::One((number, effect)) => {
                let (space, name) = key(thread, number);
                let space = &spaces[space];
                match effect {
                    Effect::Put => space.insert(name, value(step, seen, number))?,
                    Effect::PutExpired => space.insert_until(name, value(step, seen, number), UNIX_EPOCH)?,
                    Effect::Remove => space.remove(name).map(drop)?,
                }
            }
            Work::Batch(changes) => {
                let batch = changes.iter().fold(db.batch(), |batch, &(number, effect)| {
                    let (space, name) = key(thread, number);
                    let space = &spaces[space];
                    match effect {
                        Effect::Put => batch.insert(space, name, value(step, seen, number)),
                        Effect::PutExpired => batch.insert_until(space, name, value(step, seen, number), UNIX_EPOCH),
                        Effect::Remove => batch.remove(space, name),
                    }
                });
                batch.commit()?;
            }
            Work::RemoveRange(keys) => {
                if let (Some(first), Some(last)) = (keys.first(), keys.last()) {
                    let ((space, low), (_, high)) = (key(thread, *first), key(thread, *last));
                    spaces[space].remove_range(low..=high)?;
                }
            }
        }
        returned[thread].store(step, SeqCst);
        if (Report { kind: Kind::Returned, thread, step }).send(pipe).is_err() {
            return Ok(());
        }
    }
}

/// Reports what is durable: sometimes after a sync, sometimes after waiting for the clock alone.
fn watch(db: &Database, returned: &[AtomicU64; THREADS], pipe: &File) {
    for turn in 0_u64.. {
        let steps: [u64; THREADS] = std::array::from_fn(|thread: usize| returned[thread].load(SeqCst));
        let label = db.stats().epochs.active;
        if turn % 4 == 3 {
            while db.stats().epochs.durable < label {
                thread::yield_now();
                if db.keyspace("default").and_then(|keyspace| keyspace.remove("nothing")).is_err() {
                    return;
                }
            }
        } else if db.sync().is_err() {
            return;
        }
        for (thread, step) in steps.into_iter().enumerate() {
            if (Report { kind: Kind::Durable, thread, step }).send(pipe).is_err() {
                return;
            }
        }
    }
}
