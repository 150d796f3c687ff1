//! The bugs that were seeded in `holm-tree`, its leaves and its rebuild.

use super::bug::Seeded;

/// The bugs, in no order.
pub(super) const OF_TREES: &[Seeded] = &[
    Seeded {
        name: "logged records are not verified",
        file: "crates/holm-tree/src/rebuild/kept.rs",
        before: "record.is_none_or(|(location, words)| logged.agrees(leaves.image(), location, words))",
        after: "true",
    },
    Seeded {
        name: "leaves of the log's tail count as unchanged",
        file: "crates/holm-tree/src/rebuild.rs",
        before: "earlier.epoch.min(logged.since())",
        after: "earlier.epoch",
    },
    Seeded {
        name: "a leaf behind a separator divides no run",
        file: "crates/holm-tree/src/rebuild/unchanged.rs",
        before: "leaf.end.is_none_or(|end| &low[..] < end)",
        after: "false",
    },
    Seeded {
        name: "a leaf in no log is taken although it does not find its own slots",
        file: "crates/holm-tree/src/rebuild.rs",
        before: "!may_go_back || leaves.finds(live.number, slot)",
        after: "true || leaves.finds(live.number, slot)",
    },
    Seeded {
        name: "a record that ends in zeros is withheld as far as it is not zero",
        file: "crates/holm-tree/src/rebuild.rs",
        before: "self.space.withhold_records(kept.finish(after)?);",
        after: "kept.finish(after)?;",
    },
    Seeded {
        name: "a commit never holds the epoch",
        file: "crates/holm-tree/src/commit.rs",
        before: "lost_labels == MOST_LOST_LABELS",
        after: "false",
    },
    Seeded {
        name: "a group of gets does not validate its leaves",
        file: "crates/holm-tree/src/group.rs",
        before: "if at.latch(at.leaf, descriptor).validate(version) {",
        after: "{",
    },
    Seeded {
        name: "a gap behind the last leaf is not filled",
        file: "crates/holm-tree/src/rebuild/found_leaves.rs",
        before: "placed.push(gap(&limit, None));",
        after: "",
    },
    Seeded {
        name: "a changed leaf counts as an earlier index has it",
        file: "crates/holm-tree/src/rebuild/leaves.rs",
        before: "stamp <= epoch && self.tree_set.sum(number) == Some(sum)",
        after: "sum > 0 && stamp > 0",
    },
    Seeded {
        name: "a run of unchanged leaves has the lower end of its first leaf alone",
        file: "crates/holm-tree/src/rebuild/unchanged.rs",
        before: "first.ends.zip(last.ends).map(|((low, _), (_, high))| (low, high))",
        after: "first.ends.clone()",
    },
    Seeded {
        name: "a leaf that an earlier index has twice counts where it is first",
        file: "crates/holm-tree/src/rebuild/unchanged.rs",
        before: "expected[leaf.number as usize] = Some((live, leaf.sum, position));",
        after: "expected[leaf.number as usize].get_or_insert((live, leaf.sum, position));",
    },
    Seeded {
        name: "a leaf counts as an earlier index has it, although an epoch that may be lost has changed it",
        file: "crates/holm-tree/src/rebuild/leaves.rs",
        before: "stamp <= epoch && self.tree_set.sum(number) == Some(sum)",
        after: "stamp <= epoch + 9 && self.tree_set.sum(number) == Some(sum)",
    },
    Seeded {
        name: "a changed leaf between two unchanged neighbours does not divide them",
        file: "crates/holm-tree/src/rebuild/unchanged.rs",
        before: "after.first_mut()",
        after: "after.first_mut().filter(|_| false)",
    },
    Seeded {
        name: "the leaves behind the first one of a run are left out",
        file: "crates/holm-tree/src/rebuild/unchanged.rs",
        before: "run.start + 1..run.end",
        after: "run.end..run.end",
    },
    Seeded {
        name: "recovery does not ask for the leaves that have the pairs of an emptied one",
        file: "crates/holm-tree/src/rebuild/kept.rs",
        before: "leaves.lost_heir(number, logged.epoch())",
        after: "None::<u32>",
    },
    Seeded {
        name: "a leaf that splits names one of its two heirs",
        file: "crates/holm-tree/src/leaf/buffered/heirs.rs",
        before: "heirs.get(1)",
        after: "heirs.get(2)",
    },
    Seeded {
        name: "a snapshot that closes takes what one needs that has begun meanwhile",
        file: "crates/holm-tree/src/pre_images.rs",
        before: "a snapshot that has begun meanwhile may have pre-images in it.\n            \
                 let open = lock(&self.open).clone();",
        after: "\n            let open = BTreeSet::new();",
    },
    Seeded {
        name: "a scan goes on below a leaf parent that has changed",
        file: "crates/holm-tree/src/descent.rs",
        before: "Reached { leaf_parent, number, version, leaf: leaf_parent.child(next), position: next }",
        after: "Reached { leaf_parent, number, version: leaf_parent.latch().read()?, leaf: leaf_parent.child(next), \
                position: next }",
    },
    Seeded {
        name: "in the design clustered: words are written again too early",
        file: "crates/holm-tree/src/leaf/buffered/room.rs",
        before: "self.now().bits | self.older(handle.epoch())",
        after: "self.now().bits",
    },
    Seeded {
        name: "in the design clustered: records stay in a block that gives way",
        file: "crates/holm-tree/src/leaf/buffered/replace.rs",
        before: "settled.as_deref().unwrap_or(part)",
        after: "settled.as_deref().map_or(part, |_| part)",
    },
    Seeded {
        name: "in the design clustered: a record is laid beside a snapshot",
        file: "crates/holm-tree/src/put_record.rs",
        before: "guard.has_snapshots()",
        after: "false",
    },
    Seeded {
        name: "in the design clustered: a leaf is not split for a record without room",
        file: "crates/holm-tree/src/leaf/buffered/room.rs",
        before: "self.is_worth_a_split(named, records(self.now().bits), record.len())",
        after: "false",
    },
    Seeded {
        name: "in the design clustered: lines of a record are not logged",
        file: "crates/holm-tree/src/leaf/buffered/room.rs",
        before: "handle.defer_words(place);",
        after: "",
    },
    Seeded {
        name: "a compaction passes over the blocks before its limit",
        file: "crates/holm-medium/src/space/blocks.rs",
        before: "Some(block) if block >= limit => self.behind.push_front(block)",
        after: "Some(block) if block < limit => self.behind.push_front(block)",
    },
    Seeded {
        name: "what leaves have left behind a compaction is taken first",
        file: "crates/holm-medium/src/space/blocks.rs",
        before: "if block < self.leaves_end {",
        after: "if block < u32::MAX {",
    },
    Seeded {
        name: "a close cuts off a block in use",
        file: "crates/holm-medium/src/space/blocks.rs",
        before: "*block + 1 == self.frontier",
        after: "*block < self.frontier",
    },
    Seeded {
        name: "an opening by an index forgets the free runs",
        file: "crates/holm-tree/src/leaf_index.rs",
        before: "records.free.clone()",
        after: "Vec::new()",
    },
];
