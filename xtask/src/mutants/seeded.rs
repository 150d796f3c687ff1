//! Bugs that were seeded by hand, once: mutants that no operator makes, or that a row of `docs/mutants.md` names.
//!
//! Each is a piece of code that occurs once in its file, and what takes its place.

use super::operator::Operator;
use super::points::{Point, Shape};
use anyhow::{Result, bail};

/// A bug.
struct Seeded {
    /// What it is, in the words of the table.
    name: &'static str,
    file: &'static str,
    before: &'static str,
    after: &'static str,
}

const SEEDED: &[Seeded] = &[
    Seeded {
        name: "a get does not validate its copy",
        file: "crates/holm/src/read.rs",
        before: "self.validated(tree, Some(lookup.leaf_version), lookup.stamp, || copy(image, payload, view))?",
        after: "self.validated(tree, None, lookup.stamp, || copy(image, payload, view))?",
    },
    Seeded {
        name: "logged records are not verified",
        file: "crates/holm-tree/src/rebuild/kept.rs",
        before: "extent.is_none_or(|(offset, words)| logged.agrees(leaves.image(), Area::Records.at(offset), words))",
        after: "true",
    },
    Seeded {
        name: "only the first leaf of a run is compared",
        file: "crates/holm-medium/src/journaled/recover.rs",
        before: "number == last",
        after: "number <= last + 1",
    },
    Seeded {
        name: "the identity of `records` is ignored",
        file: "crates/holm-medium/src/journaled/open.rs",
        before: "identities == [superblock.leaves, superblock.records]",
        after: "identities[0] == superblock.leaves",
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
        name: "what an opening creates has an epoch of its own",
        file: "crates/holm/src/opening/rebuilt.rs",
        before: "latest.max(active)",
        after: "if pending.is_empty() { latest + 1 } else { latest.max(active) }",
    },
    Seeded {
        name: "a commit never holds the epoch",
        file: "crates/holm-tree/src/commit.rs",
        before: "lost_labels == MOST_LOST_LABELS",
        after: "false",
    },
    Seeded {
        name: "the count of an intent is off by one",
        file: "crates/holm/src/intent.rs",
        before: "(words.len() as u64 / 2)",
        after: "(words.len() as u64 / 2 - 1)",
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
        before: "self.store.storage.space().retire_record(self.epoch(), offset, words);",
        after: "self.store.storage.space().free_record(offset, words);",
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
        before: "self.dropped.add(tree.clone(), label);",
        after: "self.dropped.add(tree.clone(), label - 1);",
    },
    Seeded {
        name: "a group of gets does not validate its leaves",
        file: "crates/holm-tree/src/group.rs",
        before: "at.latch(at.leaf, descriptor).validate(version).then_some(Lookup { payload, leaf_version, stamp })",
        after: "Some(Lookup { payload, leaf_version, stamp })",
    },
    Seeded {
        name: "a gap behind the last leaf is not filled",
        file: "crates/holm-tree/src/rebuild/found_leaves.rs",
        before: "placed.push(gap(&limit, None));",
        after: "",
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
];

/// The seeded bugs of a file.
///
/// # Errors
/// The code of one is not there once.
pub(crate) fn points(file: &str, text: &str) -> Result<Vec<Point>> {
    SEEDED.iter().filter(|seeded| seeded.file == file).map(|seeded| point(seeded, text)).collect()
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
        for seeded in SEEDED {
            let text = std::fs::read_to_string(crate::root().join(seeded.file)).expect("the file is there");
            point(seeded, &text).expect("the code is there");
        }
    }
}
