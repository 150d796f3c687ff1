//! What of a database that was not closed is kept, and what is restored from the log.
//!
//! An equal boot id alone proves nothing. A write-back that failed after the death of the process reverts pages to an
//! older state. Another process that has the file open may have received the error in our place. Before anything
//! is believed, recovery therefore writes every logged line to its file again, which makes its page one that a sync
//! must write. It syncs both files and compares the image with the log. If they disagree, or a file cannot be synced,
//! recovery marks the database durably and cuts history. The superblock itself is made durable first of all.

#![forbid(unsafe_code)]

use super::allocated::AllocatedPages;
use super::data_files::Journaled;
use super::logged::Logged;
use super::map::store;
use super::opened::{JournaledOptions, Opened};
use super::recovery::{Found, Recovery, Tail};
use super::touched::Touched;
use crate::error::{MediumError, Result};
use crate::loc::{Area, LINE, parts};
use crate::log::{Replayed, replay, segment_path};
use crate::superblock::{ImageKind, State, Superblock, superblock_path};
use crate::vfs::{FORMAT_PAGE, VfsFile};

/// Why the image is not kept.
struct Doubt {
    why: String,
    /// Whether the superblock says so already.
    marked: bool,
}

/// Syncs the files, replays the log if it must, and returns what is there now.
pub(super) fn recover(
    medium: Journaled,
    mut superblock: Superblock,
    superblock_file: Box<dyn VfsFile>,
    doubt: Option<&'static str>,
    options: &JournaledOptions,
) -> Result<Opened> {
    let (next, epoch) = (superblock.log_start.position(), superblock.epoch);
    if superblock.state == State::Clean {
        let recovery = Recovery::of(Found::Clean, epoch);
        return Ok(Opened::new(medium, recovery, (superblock, superblock_file), options.log, next));
    }
    // The process that wrote it may have died before it was durable. Were the power to fail in this opening, an older
    // one would be in force again, and what is written here would be of epochs that it knows nothing of.
    superblock.write(&*superblock_file, &superblock_path(&medium.dir))?;
    let kept = match doubt {
        Some(why) => {
            // The kernel reports pending errors of both files now, rather than after everything is restored.
            if let Err(error) = medium.sync_data() {
                ::log::warn!("holm: {error}; what was logged is restored");
            }
            Err(Doubt { why: why.into(), marked: true })
        }
        None => keep(&medium, &superblock, options)?,
    };
    let (replayed, found, logged) = match kept {
        Ok((replayed, logged)) => (replayed, Found::Kept, Some(logged)),
        Err(doubt) => {
            if !doubt.marked {
                superblock.state = State::Poisoned;
                // Durable before anything else, since the kernel does not report the error again.
                superblock.write(&*superblock_file, &superblock_path(&medium.dir))?;
            }
            (restore(&medium, &superblock)?, Found::Cut { why: doubt.why }, None)
        }
    };
    let recovery = Recovery {
        records: replayed.records,
        bytes: replayed.bytes,
        tail: Tail::of(&replayed),
        ..Recovery::of(found, replayed.last_epoch.unwrap_or(epoch))
    };
    Ok(Opened { logged, ..Opened::new(medium, recovery, (superblock, superblock_file), options.log, replayed.next) })
}

/// Makes what is logged durable in the data files as the page cache has it, and compares the two.
fn keep(
    medium: &Journaled,
    superblock: &Superblock,
    options: &JournaledOptions,
) -> Result<std::result::Result<(Replayed, Logged), Doubt>> {
    let mut logged = Logged::after(superblock.epoch);
    let replayed = replay_after(medium, superblock, |loc, bytes| {
        logged.push(loc, bytes);
        Ok(())
    })?;
    logged.seal(replayed.last_epoch.unwrap_or(superblock.epoch));
    let mut pages = Touched::default();
    // The intents of batches lie in the first page, and are never logged.
    pages.mark(Area::Leaves.at(0), FORMAT_PAGE);
    logged.lines().for_each(|line| pages.mark(line * LINE, LINE));
    match medium.rewrite(&pages).and_then(|()| medium.sync_data()) {
        // No data is in doubt: once there is space, the next open continues from here.
        Err(error) if error.is_no_space() => return Err(error),
        Err(error) => {
            let why = format!("the data files could not be synced: {error}");
            return Ok(Err(Doubt { why, marked: false }));
        }
        Ok(()) => {}
    }
    logged.compare(&medium.image);
    Ok(match disagreement(medium, superblock, options, &logged) {
        Some(why) => Err(Doubt { why, marked: false }),
        None => Ok((replayed, logged)),
    })
}

/// A leaf block that disagrees with the log, described in words, if there is one.
fn disagreement(
    medium: &Journaled,
    superblock: &Superblock,
    options: &JournaledOptions,
    logged: &Logged,
) -> Option<String> {
    let block = u64::from(superblock.geometry.leaf_block);
    let lines = (block / LINE) as usize;
    let (mut wanted, mut found) = (vec![None; lines], vec![[0; 8]; lines]);
    let mut last = 0;
    for number in logged.lines().take_while(|line| parts(line * LINE).0 == Area::Leaves).map(|line| line * LINE / block)
    {
        // Block 0 is the header of the storage; a block with several lines is checked once.
        if number == last {
            continue;
        }
        last = number;
        let lost = || format!("the page cache has lost writes: block {number}, logged up to epoch {}", logged.epoch());
        for (index, (wanted, found)) in wanted.iter_mut().zip(&mut found).enumerate() {
            let at = number * block + index as u64 * LINE;
            *wanted = logged.line(at / LINE).copied();
            let Some(words) = medium.image.words(at, 8) else { return Some(lost()) };
            *found = std::array::from_fn(|word| words[word].read());
        }
        if !(options.agrees)(&wanted, &found, logged.epoch()) {
            return Some(lost());
        }
    }
    None
}

/// Reads the log of the epochs after the superblock's, and passes each run on. A checkpoint has an earlier epoch in the
/// data files: a record of it would take lines back.
fn replay_after(
    medium: &Journaled,
    superblock: &Superblock,
    mut visit: impl FnMut(u64, &[u8]) -> Result<()>,
) -> Result<Replayed> {
    let Superblock { log_start, epoch: last, .. } = superblock;
    replay(&*medium.vfs, superblock.log_files(&medium.dir), *log_start, |epoch, loc, bytes| {
        if epoch > *last {
            return visit(loc, bytes);
        }
        Err(MediumError::Corrupt {
            path: segment_path(&medium.dir, log_start.segment),
            offset: 0,
            what: "the epoch of a log record",
            found: epoch.to_string(),
            expected: format!("more than the superblock's, {last}"),
        })
    })
}

/// Reads the log and restores every logged line to its last record.
fn restore(medium: &Journaled, superblock: &Superblock) -> Result<Replayed> {
    let (mut pages, mut allocated) = (Touched::default(), AllocatedPages::default());
    let replayed = replay_after(medium, superblock, |loc, bytes| {
        let (area, offset) = parts(loc);
        // The length of the file may not have survived; the log shows how long it was.
        if medium.image.words(loc, bytes.len() / 8).is_none() {
            medium.grow_to(area, offset + bytes.len() as u64)?;
        }
        if medium.kind == ImageKind::Shared {
            allocated.allocate(medium, loc, bytes.len() as u64)?;
        }
        if store(&medium.image, loc, bytes) {
            pages.mark(loc, bytes.len() as u64);
            return Ok(());
        }
        Err(MediumError::Corrupt {
            path: segment_path(&medium.dir, superblock.log_start.segment),
            offset: 0,
            what: "a run's location",
            found: format!("{loc:#x}"),
            expected: "a place in the image".into(),
        })
    })?;
    let mapped = Area::ALL.iter().all(|area| medium.files[*area as usize].fd().is_some());
    if medium.kind == ImageKind::Shared && !mapped {
        // A store through a mapping makes its page one that a sync must write, whatever it held. Here only this call
        // does.
        medium.rewrite(&pages)?;
    }
    Ok(replayed)
}
