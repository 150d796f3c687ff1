//! Bugs that were seeded by hand, once: mutants that no operator makes, or that a row of `docs/mutants.md` names.
//!
//! Each is a piece of code that occurs once in its file, and what takes its place.

use super::bug::Seeded;
use super::bugs_of_trees::OF_TREES;
use super::operator::Operator;
use super::points::{Point, Shape};
use anyhow::{Result, bail};

const SEEDED: &[Seeded] = &[
    Seeded {
        name: "a get does not validate its copy",
        file: "crates/holm/src/read.rs",
        before: "let (check, version) = (|| tree.check_not_dropped(), Some(lookup.leaf_version));",
        after: "let (check, version) = (|| tree.check_not_dropped(), None);",
    },
    Seeded {
        name: "files are cut before the mark of the close is durable",
        file: "crates/holm-medium/src/journaled/open.rs",
        before: "superblock.state == State::Clean && is_longer",
        after: "false",
    },
    Seeded {
        name: "a segment without a record takes a pass of the log",
        file: "crates/holm-medium/src/log.rs",
        before: "self.at.offset == 0 && !self.passed.is_empty()",
        after: "false",
    },
    Seeded {
        name: "only the first leaf of a run is compared",
        file: "crates/holm-medium/src/journaled/recover.rs",
        before: "number == last",
        after: "number <= last + 1",
    },
    Seeded {
        name: "a superblock is believed that may not be durable",
        file: "crates/holm-medium/src/journaled/recover.rs",
        before: "// one would be in force again, and what is written here would be of epochs that it knows nothing \
                 of.\n    superblock.write(&*superblock_file, &superblock_path(&medium.dir))?;",
        after: "",
    },
    Seeded {
        name: "the identity of `records` is ignored",
        file: "crates/holm-medium/src/journaled/open.rs",
        before: "identities == [superblock.leaves, superblock.records]",
        after: "identities[0] == superblock.leaves",
    },
    Seeded {
        name: "what was retained for a snapshot that does not begin is lost",
        file: "crates/holm/src/generation.rs",
        before: "        ended?;",
        after: "        if let Err(error) = ended { std::mem::forget(open); return Err(error.into()); }",
    },
    Seeded {
        name: "the boot id is not compared",
        file: "crates/holm-medium/src/journaled/open.rs",
        before: "boot.is_none() || boot != superblock.boot_id",
        after: "false",
    },
    Seeded {
        name: "the mark of a failed write is not written",
        file: "crates/holm-medium/src/journaled/state.rs",
        before: "marked.write(&*journal.superblock_file, &path)",
        after: "Ok::<(), MediumError>(())",
    },
    Seeded {
        name: "a sync that fails at opening is not marked",
        file: "crates/holm-medium/src/journaled/opened_state.rs",
        before: "self.doubt(medium, &error);",
        after: "",
    },
    Seeded {
        name: "lengths are measured after the sync of the data",
        file: "crates/holm-medium/src/journaled/checkpoint.rs",
        before: "CheckpointMark { epoch, state: State::Dirty, lengths, leaves_sum: 0 }",
        after: "CheckpointMark { epoch, state: State::Dirty, lengths: medium.lengths()?, leaves_sum: 0 }",
    },
    Seeded {
        name: "the files are cut before the clean mark",
        file: "crates/holm-medium/src/journaled/close.rs",
        before: "medium.sync_data()?;",
        after: "medium.sync_data()?; medium.shrink(lengths);",
    },
    Seeded {
        name: "space is not withheld during recovery",
        file: "crates/holm/src/opening/opened.rs",
        before: "withhold_all(&storage);",
        after: "",
    },
    Seeded {
        name: "what is freed while space is withheld is reused",
        file: "crates/holm-medium/src/space/heap.rs",
        before: "u64::MAX",
        after: "if self.large_area { FIRST } else { 0 }",
    },
    Seeded {
        name: "a record of an intent that ends in zeros is withheld as far as it is not zero",
        file: "crates/holm/src/opening/opened.rs",
        before: "storage.space.withhold_records(pending.records_end)",
        after: "_ = pending.records_end",
    },
    Seeded {
        name: "a backup is stored by the path of a folder that was moved",
        file: "crates/holm/src/backup/staged.rs",
        before: "self.engine.refuse_moved()?;",
        after: "let _ = self.engine;",
    },
    Seeded {
        name: "the folder of a database is found by a relative path",
        file: "crates/holm-medium/src/vfs/real.rs",
        before: "std::path::absolute(path).unwrap_or_else(|_| path.into())",
        after: "path.into()",
    },
    Seeded {
        name: "names of keyspaces in a backup are not verified",
        file: "crates/holm/src/backup/reader.rs",
        before: "is_name(name)",
        after: "!name.is_empty()",
    },
    Seeded {
        name: "a copy on which an increment has stopped half-way is swept",
        file: "crates/holm/src/backup/base.rs",
        before: "is_staged(&*files.vfs, &store.path)",
        after: "Ok(false)",
    },
    Seeded {
        name: "a pass of the sweeper goes on in a backup that is applied",
        file: "crates/holm/src/sweeper.rs",
        before: "increments.turn() == turn",
        after: "true",
    },
    Seeded {
        name: "what an opening creates has an epoch of its own",
        file: "crates/holm/src/opening/rebuilt.rs",
        before: "latest.max(active)",
        after: "if pending.is_empty() { latest + 1 } else { latest.max(active) }",
    },
    Seeded {
        name: "the count of an intent is off by one",
        file: "crates/holm/src/intent.rs",
        before: "(words.len() as u64 / 2)",
        after: "(words.len() as u64 / 2 - 1)",
    },
    Seeded {
        name: "an intent of a commit that has ended is done again",
        file: "crates/holm/src/opening/opened.rs",
        before: "kept.then_some(recovery.epoch)",
        after: "None.filter(|_| kept)",
    },
    Seeded {
        name: "intents stay after a cut",
        file: "crates/holm/src/opening/rebuilt.rs",
        before: "intent::forget(&store)?;",
        after: "",
    },
    Seeded {
        name: "the folder above a new database is not synced",
        file: "crates/holm-medium/src/journaled/open.rs",
        before: "vfs.sync_dir(parent).map_err(making)?;",
        after: "",
    },
    Seeded {
        name: "the reach of the log is raised by the record that needs it",
        file: "crates/holm-medium/src/log.rs",
        before: "self.put(&mut EpochRecord::new(), end + FIRST_REACH)?;",
        after: "",
    },
    Seeded {
        name: "records of a dropped keyspace are free at once",
        file: "crates/holm/src/operation.rs",
        before: "freed.into_iter().for_each(|payload| self.store.retire(self.epoch(), payload));",
        after: "freed.into_iter().for_each(|payload| self.free_record(payload));",
    },
    Seeded {
        name: "orphans of a drop stay",
        file: "crates/holm/src/catalog.rs",
        before: "orphans.iter().try_for_each(|root| Operation::begin(store)?.drop_tree(root))?;",
        after: "",
    },
    Seeded {
        name: "the label of a drop is one epoch early",
        file: "crates/holm/src/catalog.rs",
        before: "self.dropped.add(tree, label);",
        after: "self.dropped.add(tree, label - 1);",
    },
    Seeded {
        name: "epochs after a kept recovery are used again",
        file: "crates/holm/src/opening/opened.rs",
        before: "rebuilt.latest.max(recovery.epoch)",
        after: "recovery.epoch",
    },
    Seeded {
        name: "an epoch does not wait for its writers",
        file: "crates/holm-medium/src/epoch/labels.rs",
        before: "self.wait_for_slots(ended, refused);",
        after: "",
    },
    Seeded {
        name: "space is given back without its grace period",
        file: "crates/holm-medium/src/space/give_back.rs",
        before: "durable + 1",
        after: "durable + 5",
    },
    Seeded {
        name: "space is taken back without an allocation",
        file: "crates/holm-medium/src/journaled/data_files.rs",
        before: "self.allocate(area, offset, bytes)?;",
        after: "",
    },
    Seeded {
        name: "the log is restored into space that has none",
        file: "crates/holm-medium/src/journaled/recover.rs",
        before: "allocated.allocate(medium, loc, bytes.len() as u64)?;",
        after: "",
    },
    Seeded {
        name: "a compaction moves a record whatever its leaf has by then",
        file: "crates/holm/src/compact.rs",
        before: "operation.put_seen(tree, key, moved, seen)?",
        after: "{ operation.put(tree, key.bytes, moved)?; true }",
    },
    Seeded {
        name: "an index of another session counts",
        file: "crates/holm-medium/src/leaf_index/decode.rs",
        before: "read_header(bytes)? != binding(clean)",
        after: "false",
    },
    Seeded {
        name: "the checksum of an index is not compared",
        file: "crates/holm-medium/src/leaf_index/decode.rs",
        before: "bytes[12..SUMMED] != crc32c::crc32c(&bytes[SUMMED..]).to_le_bytes()",
        after: "false",
    },
    Seeded {
        name: "a commit forgets what it depends on",
        file: "crates/holm/src/transaction/reads.rs",
        before: "&self.reads.versions",
        after: "&[]",
    },
    Seeded {
        name: "a checkpoint does not sync the data files",
        file: "crates/holm-medium/src/journaled/checkpoint.rs",
        before: "medium.sync_data()?;",
        after: "",
    },
    Seeded {
        name: "a half of the log is released before its checkpoint",
        file: "crates/holm-medium/src/journaled/checkpoint.rs",
        before: "journal.switch()?;",
        after: "journal.switch()?; journal.log.release();",
    },
    Seeded {
        name: "the grace period is one epoch short",
        file: "crates/holm-medium/src/retention.rs",
        before: "retired + GRACE <= label",
        after: "retired + 1 <= label",
    },
    Seeded {
        name: "a commit sets no intent",
        file: "crates/holm/src/commit.rs",
        before: "self.intent.iter().for_each(|intent| intent.set(guard));",
        after: "",
    },
    Seeded {
        name: "an epoch is published before its record is written",
        file: "crates/holm-medium/src/journaled/committer.rs",
        before: "if !append(shared, epoch_record)? {",
        after: "clock.publish(ended); if !append(shared, epoch_record)? {",
    },
    Seeded {
        name: "the thread that ends an epoch calls the functions for news",
        file: "crates/holm-medium/src/epoch/listeners.rs",
        before: "let mut state = self.lock();\n        if !state.listeners.is_empty() {",
        after: "let mut state = self.lock();\n        let listeners = state.listeners.clone();\n        drop(state);\n\
                \x20       listeners.iter().for_each(|listener| listener());\n        state = self.lock();\n\
                \x20       if false {",
    },
    Seeded {
        name: "the end of the last snapshot hides one that has begun meanwhile",
        file: "crates/holm-medium/src/epoch/labels.rs",
        before: "if is_open() {",
        after: "if false {",
    },
    Seeded {
        name: "a snapshot that was withdrawn begins with a later epoch",
        file: "crates/holm-medium/src/epoch/labels.rs",
        before: "if withdraw {",
        after: "if false {",
    },
    Seeded {
        name: "a snapshot with a feed lacks a keyspace that is dropped while it begins",
        file: "crates/holm/src/catalog/trees.rs",
        before: "if let Some(former) = &mut self.former {",
        after: "if let Some(former) = self.former.as_mut().filter(|_| epoch == 0) {",
    },
    Seeded {
        name: "each writer that finds too much kept ends a snapshot",
        file: "crates/holm/src/generation.rs",
        before: "let ending = match self.generations.ending.try_lock() {",
        after: "let other = Mutex::new(()); let ending = match other.try_lock() {",
    },
    Seeded {
        name: "the thread that waits passes over its panic",
        file: "crates/holm-medium/src/journaled/leader.rs",
        before: "Err(panic) => state.fail(MediumError::died(\"the leader of a commit\", &*panic)),",
        after: "Err(_) => return Led::Whole,",
    },
    Seeded {
        name: "lines of one epoch in eight are not marked",
        file: "crates/holm-medium/src/writer.rs",
        before: "self.clock.mark(self.epoch, [self.marks]);",
        after: "if self.epoch % 8 != 3 { self.clock.mark(self.epoch, [self.marks]); }",
    },
    Seeded {
        name: "an increment does not look again",
        file: "crates/holm/src/update.rs",
        before: "(&now.value, now.deadline) != (&before.value, before.deadline)",
        after: "false",
    },
    Seeded {
        name: "a compare-and-swap compares presence alone",
        file: "crates/holm/src/atomic.rs",
        before: "current.map(|value| &**value) == expected",
        after: "current.is_some() == expected.is_some()",
    },
    Seeded {
        name: "a mark that does not rise is set",
        file: "crates/holm/src/mark.rs",
        before: "next <= present",
        after: "false",
    },
    Seeded {
        name: "a mark counts as durable one epoch early",
        file: "crates/holm/src/mark.rs",
        before: "self.epoch <= durable",
        after: "self.epoch <= durable + 1",
    },
    Seeded {
        name: "an increment of a backup lacks the epoch after its base",
        file: "crates/holm/src/backup/source.rs",
        before: "cursor.stamp > base",
        after: "cursor.stamp > base + 1",
    },
    Seeded {
        name: "a checkpoint writes over the mark of a failure",
        file: "crates/holm-medium/src/journaled/checkpoint.rs",
        before: "shared.refuse_if_failed()?;",
        after: "",
    },
    Seeded {
        name: "a second opening does not ask for the lock",
        file: "crates/holm-medium/src/superblock.rs",
        before: "lock(&*superblock_file, how.write).map_err(|error| MediumError::io(\"locking\", &path, error))?",
        after: "true",
    },
    Seeded {
        name: "a reader opens what was not closed",
        file: "crates/holm-medium/src/journaled/open.rs",
        before: "return Err(MediumError::NotClean { path: dir.into() });",
        after: "",
    },
    Seeded {
        name: "the time goes back with the system's clock",
        file: "crates/holm/src/wall_clock.rs",
        before: "now <= latest",
        after: "{ self.latest.store(now, Ordering::Relaxed); return now; }",
    },
    Seeded {
        name: "an opening forgets the time of the last sweep",
        file: "crates/holm/src/catalog.rs",
        before: "store.wall_clock.advance_to(swept_by);",
        after: "",
    },
    Seeded {
        name: "a segment of the log has records before the superblock counts it",
        file: "crates/holm-medium/src/journaled/log_segment.rs",
        before: "superblock.replace(next, &**superblock_file, &superblock_path(&medium.dir))?;",
        after: "let _ = (superblock_file, superblock_path(&medium.dir)); *superblock = next;",
    },
    Seeded {
        name: "a log moves on to the segment that is kept for a checkpoint",
        file: "crates/holm-medium/src/log.rs",
        before: "self.free().count() > usize::from(self.left.is_empty())",
        after: "self.free().next().is_some()",
    },
    Seeded {
        name: "a drop that a damaged leaf ends is begun again",
        file: "crates/holm/src/catalog/dropped.rs",
        before: "*gone = true;",
        after: "freed.as_ref().map_err(Clone::clone)?; *gone = true;",
    },
    Seeded {
        name: "in the design clustered: a snapshot retains no blocks",
        file: "crates/holm-medium/src/space/blocks.rs",
        before: "self.retention.may_reuse_block(epoch, label)",
        after: "crate::retention::may_reuse(epoch, label)",
    },
    Seeded {
        name: "the log forgets the page in which its last record ends",
        file: "crates/holm-medium/src/log.rs",
        before: "self.last_page.take(&image[..bytes as usize]);",
        after: "",
    },
    Seeded {
        name: "the log looks for the next record in the page of the last one alone",
        file: "crates/holm-medium/src/log/replay.rs",
        before: "behind.is_record(next) || (behind.epoch_of(next).is_some() && !near.is_begun(next.pass))",
        after: "false",
    },
    Seeded {
        name: "a record that is taken back takes the others of its page along",
        file: "crates/holm-medium/src/log.rs",
        before: "self.last_page.with(filled as usize, &[])",
        after: "self.last_page.with(0, &[])",
    },
    Seeded {
        name: "a free run of an index begins where the one before it does",
        file: "crates/holm-medium/src/leaf_index/encode.rs",
        before: "end = offset + bytes;",
        after: "end = *offset;",
    },
];

fn all() -> impl Iterator<Item = &'static Seeded> {
    SEEDED.iter().chain(OF_TREES)
}

/// The seeded bugs of a file.
///
/// # Errors
/// The code of one is not there once.
pub(crate) fn points(file: &str, text: &str) -> Result<Vec<Point>> {
    all().filter(|seeded| seeded.file == file).map(|seeded| point(seeded, text)).collect()
}

fn point(seeded: &Seeded, text: &str) -> Result<Point> {
    let Seeded { name, file, before, after } = *seeded;
    let mut places = text.match_indices(before);
    let (Some((at, _)), None) = (places.next(), places.next()) else {
        bail!("{file} does not have this code once: {before}");
    };
    let shape = match before {
        _ if before.ends_with(';') => Shape::Statements,
        _ => Shape::Expression,
    };
    let (operator, range) = (Operator::Seeded, at..at + before.len());
    let line = text[..at].matches('\n').count() + 1;
    Ok(Point { operator, shape, range, line, before: name.into(), after: after.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seeded_bug_has_its_place() {
        for seeded in all() {
            let text = std::fs::read_to_string(crate::root().join(seeded.file)).expect("the file is there");
            point(seeded, &text).expect("the code is there");
        }
    }
}
