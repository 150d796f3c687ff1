//! Designs by metrics, continued: what a medium of blocks reads for each operation behind a cache, and how long an
//! operation waits for it, by the model of `read_model.rs`.

use super::metrics::{DESIGNS, Metrics};
use crate::claim::Cause;
use crate::measured_tree::{counted, create, media};
use crate::read_model::cache_bytes;
use crate::study::{Cell, Claim, Needs, Study};
use crate::traces::{all, ascending, shuffled};
use holm_lab::measured::What;

const READ: Metrics = Metrics {
    operations: &["insert", "insert in order", "update", "removal", "search"],
    note: "By a model: a cache of a 64th of 24 bytes a pair, a buffer of sixteen blocks, 305 ns for a line whose block \
           the medium reads and 124 ns for one whose block is in the buffer. Reads of blocks that are written in part \
           are included in blocks, and not in waits.",
};

/// Operations, of which the first half fills the cache. Each half is an epoch.
const SOME: u64 = 4_000;

pub(super) const MEDIA_METRICS: Study = Study {
    conditions: "exact counts behind a cache, keys and values of 8 bytes, a hundred thousand at scale 1, four thousand \
                 operations in two epochs",
    exact: true,
    needs: Needs::Reads,
    cells: |setting| {
        let pairs = setting.count(100_000);
        let whats = [What::Put, What::Put, What::Put, What::Remove, What::Get];
        let cells = DESIGNS.into_iter().flat_map(|(name, design)| {
            whats.into_iter().enumerate().map(move |(place, what)| {
                Cell::new(name, place as f64, 2 * pairs, move || {
                    let more = pairs + SOME.min(pairs);
                    let (tree, mut keys) = (create(design, counted(more))?, all(more));
                    if place == 1 {
                        keys = ascending(more);
                    }
                    let (loaded, new) = keys.split_at(pairs as usize);
                    for keys in loaded.chunks(loaded.len().div_ceil(10)) {
                        tree.put(keys, 1)?;
                        tree.end_epoch()?;
                    }
                    let there = &shuffled(loaded, SOME)[..];
                    tree.media_costs(what, if place < 2 { new } else { there }, cache_bytes(pairs))
                })
            })
        });
        cells.collect()
    },
    figures: &[
        READ.figure(
            "SYN-D5",
            "Designs by metrics: blocks that the medium reads",
            (media::BLOCKS_READ, "blocks read an operation"),
            &[
                Claim::at_most("BORDERS", "LB", 4.0, 1.0)
                    .cause(Cause::Idea)
                    .because("Expected: one block a search, as LB+-Tree has."),
                Claim::less("LINED", "BD", 2.0)
                    .cause(Cause::Idea)
                    .because("Expected: an update reads and writes one line."),
            ],
        ),
        READ.figure(
            "SYN-D6",
            "Designs by metrics: waits for the medium, a block being one wait",
            (media::TOGETHER_NS, "ns an operation"),
            &[Claim::less("LINED", "BD", 4.0)
                .cause(Cause::Idea)
                .because("Expected: a search reads one line, not metadata and a pair in two blocks.")],
        ),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts do not depend on the machine: these change only with a design or the model. A program without debug
    /// assertions sees no reads.
    #[test]
    fn lines_of_searches_behind_a_cache_are_these() {
        let searched = |design: &str| {
            let (tree, keys) = (create(design, counted(4_000)).expect("memory"), all(4_000));
            keys.chunks(400).for_each(|keys| {
                tree.put(keys, 1).expect("memory");
                tree.end_epoch().expect("memory");
            });
            let costs = tree.media_costs(What::Get, &keys[..1_000], cache_bytes(4_000)).expect("a build with reads");
            [media::LINES, 1, media::ALONE_NS, media::TOGETHER_NS].map(|measure| (costs[measure] * 1000.0) as u64)
        };
        // Lines, blocks, and nanoseconds by both bounds, for a thousand searches. A leaf of LB+-Tree is one block, so
        // its two lines are one wait.
        let expected = [
            ("borders", [1_010, 922, 292_122, 289_642]),
            ("lb_tree", [1_980, 964, 420_004, 298_236]),
            ("ss_tree", [1_756, 1_690, 523_634, 520_162]),
            ("isle", [3_242, 1_082, 597_850, 339_186]),
            ("fast_fair", [3_410, 1_208, 641_488, 377_120]),
        ];
        if cfg!(debug_assertions) {
            assert_eq!(expected.map(|(design, _)| (design, searched(design))), expected);
        }
    }
}
