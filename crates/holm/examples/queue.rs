//! A durable queue of jobs, each done at least once.
//!
//! A worker moves a job from `waiting` to `running` in one transaction, and removes it when it is done. Jobs that a
//! crash has left in `running` wait again after the next open. `Durability::Strict`: a job that was accepted is never
//! lost.
//!
//! `cargo run --example queue [FOLDER]`

use holm::{Database, Durability, Keyspace, Result, Slice};
use std::error::Error;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

struct Queue {
    db: Database,
    waiting: Keyspace,
    running: Keyspace,
    /// The number of the next job.
    next: AtomicU64,
}

struct Job {
    number: Slice,
    text: Slice,
}

impl Queue {
    fn open(path: &Path) -> Result<Self> {
        let db = Database::builder().durability(Durability::Strict).open(path)?;
        let (waiting, running) = (db.keyspace("waiting")?, db.keyspace("running")?);
        let mut batch = db.batch();
        for job in running.iter() {
            let (number, text) = job?;
            batch = batch.insert(&waiting, &number, text).remove(&running, number);
        }
        batch.commit()?;
        // Numbers are stored with their highest byte first, so that keys are in the order of numbers.
        let last = waiting.last()?.and_then(|(number, _)| Some(u64::from_be_bytes(*number.first_chunk()?)));
        Ok(Queue { db, waiting, running, next: AtomicU64::new(last.map_or(0, |last| last + 1)) })
    }

    fn push(&self, text: &str) -> Result<()> {
        self.waiting.insert(self.next.fetch_add(1, Relaxed).to_be_bytes(), text)
    }

    fn take(&self) -> Result<Option<Job>> {
        self.db.transact(|transaction| {
            let Some((number, text)) = transaction.first(&self.waiting)? else { return Ok(None) };
            transaction.remove(&self.waiting, &number)?;
            transaction.insert(&self.running, &number, &text)?;
            Ok(Some(Job { number, text }))
        })
    }

    fn done(&self, job: Job) -> Result<()> {
        self.running.remove(job.number).map(drop)
    }
}

pub(crate) fn run(path: &Path, out: &mut dyn Write) -> std::result::Result<(), Box<dyn Error>> {
    let queue = Queue::open(path)?;
    ["wash", "rinse", "dry"].iter().try_for_each(|job| queue.push(job))?;
    if let Some(job) = queue.take()? {
        writeln!(out, "done: {}", String::from_utf8_lossy(&job.text))?;
        queue.done(job)?;
    }
    if let Some(job) = queue.take()? {
        writeln!(out, "taken and not finished: {}", String::from_utf8_lossy(&job.text))?;
    }
    drop(queue); // as if the worker had died

    writeln!(out, "opened again:")?;
    let queue = Queue::open(path)?;
    std::thread::scope(|scope| {
        let worker = || -> Result<Vec<Slice>> {
            let mut texts = Vec::new();
            while let Some(job) = queue.take()? {
                texts.push(job.text.clone());
                queue.done(job)?;
            }
            Ok(texts)
        };
        let workers = [scope.spawn(worker), scope.spawn(worker)];
        let mut texts: Vec<_> = workers.into_iter().filter_map(|worker| worker.join().ok()?.ok()).flatten().collect();
        texts.sort();
        texts.iter().try_for_each(|text| writeln!(out, "done by one of two workers: {}", String::from_utf8_lossy(text)))
    })?;
    Ok(())
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let path = std::env::args_os().nth(1).map_or(temporary.path().join("queue.holm"), PathBuf::from);
    run(&path, &mut stdout())
}
