//! What a medium of blocks reads behind a cache, and how long operations wait for it, by the model of `read_model.rs`.

use super::counts::OPERATIONS;
use super::splits::{ROOM_NOTE, exact_cells};
use super::{COUNTED, THREE};
use crate::claim::Cause;
use crate::measured_tree::{counted, create, media};
use crate::read_model::cache_bytes;
use crate::study::{Axis, Cell, Claim, Figure, Needs, Study};
use crate::traces::{all, ascending, eighty_twenty, shuffled};
use holm_lab::measured::What;

/// Operations, of which the first half fills the cache.
const SOME: u64 = 4_000;

const MODEL_NOTE: &str = "By a model: a cache of a 64th of 24 bytes a pair, in sets of eight lines; a buffer of \
                          sixteen blocks; 305 ns for a line whose block the medium reads, 124 ns for one whose block \
                          is in the buffer. Volatile memory costs nothing.";

pub(super) const MEDIA: Study = Study {
    conditions: "exact counts behind a cache, keys and values of 8 bytes, uniform, a hundred thousand at scale 1",
    exact: true,
    needs: Needs::Reads,
    cells: |setting| {
        let pairs = setting.count(100_000);
        let cells = COUNTED.into_iter().flat_map(|(name, design)| {
            [What::Put, What::Put, What::Remove, What::Get].into_iter().enumerate().map(move |(place, what)| {
                Cell::new(name, place as f64, 2 * pairs, move || {
                    let some = SOME.min(pairs);
                    let (tree, keys) = (create(design, counted(2 * pairs))?, all(pairs + some));
                    let (loaded, new) = keys.split_at(pairs as usize);
                    tree.put(loaded, 1)?;
                    let there = &shuffled(loaded, some)[..];
                    tree.media_costs(what, if place == 0 { new } else { there }, cache_bytes(pairs))
                })
            })
        });
        cells.collect()
    },
    figures: &[
        Figure {
            id: "SS-F10b",
            title: "Blocks of 256 bytes that the medium reads per operation",
            measure: media::BLOCKS_READ,
            unit: "blocks read an operation",
            axis: Axis::Words("operation", OPERATIONS),
            claims: &[
                Claim::value("SS", 0.0, 2.0).cause(Cause::Environment).because(ABOUT_TWO),
                Claim::value("SS", 1.0, 2.0).cause(Cause::Environment).because(ABOUT_TWO),
                Claim::value("SS", 2.0, 2.0).cause(Cause::Environment).because(ABOUT_TWO),
                Claim::value("SS", 3.0, 2.0).cause(Cause::Questionable).because(ONE_AND_A_HALF),
            ],
            note: MODEL_NOTE,
        },
        waits(
            "SS-F8c",
            "How long an operation waits for the medium, if each line waits alone",
            media::ALONE_NS,
            &[
                Claim::at_most("SS", "LB", 3.0, 1.04)
                    .form_of("SS-F8d", "SS", "LB")
                    .cause(Cause::Environment)
                    .because(TWO_BLOCKS),
                Claim::at_most("SS", "uTree, not proven", 3.0, 1.04)
                    .form_of("SS-F8d", "SS", "uTree, not proven")
                    .cause(Cause::Environment)
                    .because(ONE_BLOCK),
            ],
        ),
        waits(
            "SS-F8d",
            "How long an operation waits for the medium, if a block is one wait",
            media::TOGETHER_NS,
            // This bound decides: LB+-Tree asks for all lines of a leaf, which is one block, before it waits.
            &[
                Claim::at_most("SS", "LB", 3.0, 1.04).cause(Cause::Environment).because(TWO_BLOCKS),
                Claim::at_most("SS", "uTree, not proven", 3.0, 1.04).cause(Cause::Environment).because(ONE_BLOCK),
            ],
        ),
    ],
};

const ONE_AND_A_HALF: &str = "The paper says about two. Fingerprints of the head subnode are in memory, and of a pair \
                              that lies there, only that block is read.";
const ABOUT_TWO: &str = "The paper says about two. A block that is written in part is read once more, although the \
                         cache holds its lines.";

const TWO_BLOCKS: &str = "The paper says that at most 4 percent are lost. A leaf of SSTree is two blocks, one of \
                          LB+-Tree is one, whose lines it asks for together.";
const ONE_BLOCK: &str = "The paper says that at most 4 percent are lost. A search of SSTree reads 1.50 blocks, one of \
                         uTree 0.99 (SS-F10b).";

const fn waits(id: &'static str, title: &'static str, measure: usize, claims: &'static [Claim]) -> Figure {
    let axis = Axis::Words("operation", OPERATIONS);
    Figure { id, title, measure, unit: "ns an operation", axis, claims, note: MODEL_NOTE }
}

pub(super) const MEDIA_WITHOUT: Study = Study {
    conditions: "exact counts behind a cache, LB+-Tree, keys and values of 8 bytes, uniform, twenty thousand at scale \
                 1 and as many new ones",
    exact: true,
    needs: Needs::Reads,
    cells: |setting| exact_cells(setting, |tree, new| tree.media_costs(What::Put, new, cache_bytes(new.len() as u64))),
    figures: &[Figure {
        id: "SS-F1e",
        title: "Blocks of 256 bytes read and written, with and without splits",
        measure: media::BLOCKS_READ,
        unit: "blocks an insert",
        axis: Axis::Measures("LB", &["read", "written"]),
        claims: &[
            Claim::new("splitting", "with room", 0.0, 6.5).cause(Cause::Questionable).because(
                "A split reads one block more, the fresh one, for seven inserts. The partial write of an insert costs \
                      a read in either state.",
            ),
            Claim::new("splitting", "with room", 1.0, 1.5)
                .cause(Cause::Environment)
                .because("A split writes a fresh block, once for many inserts."),
        ],
        note: ROOM_NOTE,
    }],
};

pub(super) const MEDIA_LOAD: Study = Study {
    conditions: "exact counts behind a cache, keys and values of 8 bytes, in order, a hundred thousand at scale 1",
    exact: true,
    needs: Needs::Reads,
    cells: |setting| {
        let pairs = setting.count(100_000);
        let cells = THREE.map(|(name, design)| {
            Cell::new(name, 0.0, pairs, move || {
                let (tree, keys) = (create(design, counted(pairs))?, ascending(pairs));
                let (loaded, last) = keys.split_at((pairs - SOME.min(pairs / 2)) as usize);
                tree.put(loaded, 1)?;
                tree.media_costs(What::Put, last, cache_bytes(pairs))
            })
        });
        cells.into()
    },
    figures: &[Figure {
        id: "SS-F12b",
        title: "Sequential load: lines that come from remote memory",
        measure: media::LINES,
        unit: "lines fetched an insert",
        axis: Axis::Words("load", &["in order"]),
        claims: &[Claim::less("SS", "LB", 0.0).cause(Cause::Unequal).because(REMOTE)],
        note: "Remote memory has no blocks: each line that the cache lacks is one access to the other node.",
    }],
};

const REMOTE: &str =
    "The paper says 1.1 to 13 times as many inserts a second. In order, what is fetched is fresh lines.";

pub(super) const MEDIA_MOVES: Study = Study {
    conditions: "exact counts behind a cache, keys and values of 8 bytes, a hundred thousand at scale 1; after two \
                 skewed updates a pair",
    exact: true,
    needs: Needs::Reads,
    cells: |setting| {
        let pairs = setting.count(100_000);
        let cells = [("moving", "ss_tree"), ("staying", "ss_tree_staying")].map(|(name, design)| {
            Cell::new(name, 0.0, 3 * pairs, move || {
                let tree = create(design, counted(pairs))?;
                tree.put(&all(pairs), 1)?;
                tree.put(&eighty_twenty(2 * pairs, pairs, 5), 1)?;
                tree.media_costs(What::Put, &eighty_twenty(SOME.min(pairs), pairs, 9), cache_bytes(pairs))
            })
        });
        cells.into()
    },
    figures: &[Figure {
        id: "SS-T2b",
        title: "Skewed updates: blocks read and written, with moving pairs and without",
        measure: media::BLOCKS_READ,
        unit: "blocks an update",
        axis: Axis::Measures("blocks", &["read", "written"]),
        claims: &[
            Claim::new("moving", "staying", 0.0, 0.881)
                .because("The paper's number is of time: popular pairs move into one block, which is read less often."),
            Claim::less("moving", "staying", 1.0)
                .cause(Cause::Scale)
                .because("Sixteen blocks combine lines of successive updates only, and few of these meet in a block."),
        ],
        note: MODEL_NOTE,
    }],
};
