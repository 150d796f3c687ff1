//! `watch`: stores records as `load` does, and prints what has become durable, epoch by epoch.
//!
//! A line is printed only once no crash can take back what it says. Changes of other threads do not exist: a database
//! belongs to one process at a time.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use holm::{Change, Changes, Feed};

use crate::args::Load;
use crate::escape::escape;
use crate::exit::{Exit, note};
use crate::expiring::{millis, rfc_3339};
use crate::load::load_beside;
use crate::output;

/// What the feed keeps while the output is slower than the input.
const FEED_BYTES: usize = 1 << 30;

/// How long the printer waits before it looks whether the input has ended.
const LOOK: Duration = Duration::from_millis(50);

pub(crate) fn run(args: &Load) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    let tally = load_beside(args, |database, load| {
        let feed = database.feed(FEED_BYTES)?;
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            let printer = scope.spawn(|| print(feed, &ended));
            let loaded = load();
            ended.store(true, Ordering::SeqCst);
            let printed = printer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            loaded.and(printed)
        })
    })?;
    // Standard output is for changes.
    note(tally.summary(begun.elapsed().as_secs_f64()).trim_end());
    Ok(Exit::Found)
}

/// Prints all changes up to the end of the input.
fn print(mut feed: Feed, ended: &AtomicBool) -> anyhow::Result<()> {
    let mut out = output::standard();
    let mut line = Vec::new();
    loop {
        // Before the look at the feed, which has everything once the input has ended.
        let is_last = ended.load(Ordering::SeqCst);
        match feed.next(LOOK).context("reading the changes")? {
            Some(changes) => print_epoch(&changes, &mut line, &mut out)?,
            None if is_last => return output::finish(out),
            None => {}
        }
    }
}

fn print_epoch(changes: &Changes, line: &mut Vec<u8>, out: &mut impl Write) -> anyhow::Result<()> {
    for change in changes.iter() {
        let (what, fields, expiry): (&str, &[&[u8]], Option<String>) = match change {
            Change::Put { keyspace, key, value, expiry, .. } => {
                ("put", &[keyspace.as_bytes(), key, value], millis(expiry).map(rfc_3339))
            }
            Change::Remove { keyspace, key } => ("del", &[keyspace.as_bytes(), key], None),
            Change::Create { keyspace, options, .. } => {
                ("create", &[keyspace.as_bytes()], options.has_expiry().then(|| "expires".into()))
            }
            Change::Drop { keyspace } => ("drop", &[keyspace.as_bytes()], None),
            _ => continue,
        };
        line.clear();
        write!(line, "{}\t{what}", changes.epoch()).context("writing the output")?;
        for field in fields {
            line.push(b'\t');
            escape(field, line);
        }
        if let Some(expiry) = expiry {
            line.push(b'\t');
            line.extend_from_slice(expiry.as_bytes());
        }
        line.push(b'\n');
        out.write_all(line).context("writing the output")?;
    }
    // A reader acts on whole epochs.
    out.flush().context("writing the output")
}
