//! The leaf with one idea removed or replaced, compared with the unchanged leaf.

use super::super::epochs::{by_epochs, mops};
use super::LATENCY;
use crate::claim::Cause;
use crate::measured_tree::{by_fence, counted, create, setup};
use crate::setting::Setting;
use crate::study::{Axis, Cell, Claim, Figure, Needs, Study};
use crate::traces::{all, uniform, zipf};

const CONDITIONS: &str = "plain memory, real flushes and 300 ns more for each line, epochs of 10 ms; a million keys at \
                          scale 1, inserted, then two million uniform gets, then as many by Zipf 0.99, half of them \
                          puts; one thread";

const OPERATIONS: Axis = Axis::Measures("operations", &["inserts", "gets", "half puts, Zipf"]);

/// Returns a cell for each form: its name in the figure, and its design.
fn forms<const FORMS: usize>(setting: &Setting, forms: [(&'static str, &'static str); FORMS]) -> Vec<Cell> {
    let (pairs, operations) = (setting.count(1_000_000), setting.count(2_000_000));
    let cells = forms.map(|(name, design)| {
        Cell::new(name, 0.0, pairs + 2 * operations, move || {
            let tree = create(design, setup(pairs, LATENCY))?;
            let put = tree.put(&all(pairs), 1)?;
            tree.settle()?;
            let got = tree.get(&uniform(operations, pairs, 7), 1)?;
            let mixed = tree.mix(&zipf(operations, pairs, 3), 1)?;
            Ok([put, got, mixed].map(mops).into())
        })
    });
    cells.into()
}

const fn ablation(
    id: &'static str,
    title: &'static str,
    axis: Axis,
    claims: &'static [Claim],
    note: &'static str,
) -> Figure {
    Figure { id, title, measure: 0, unit: "million operations a second", axis, claims, note }
}

const fn study(cells: fn(&Setting) -> Vec<Cell>, figures: &'static [Figure]) -> Study {
    Study { conditions: CONDITIONS, exact: false, needs: Needs::Nothing, cells, figures }
}

pub(super) const CODECS: Study = study(
    |setting| forms(setting, [("triple", "bd_tree"), ("literal", "bd_tree_literal")]),
    &[ablation(
        "SYN-A1",
        "Three bitmaps with their epochs, or the paper's own fields",
        OPERATIONS,
        &[Claim::even("triple", "literal", 0.0).because("Expected: the paper's fields lack only safety.")],
        "One block and no fingerprints, as BD+Tree has it.",
    )],
);

pub(super) const PRINTS: Study = study(
    |setting| forms(setting, [("fingerprints", "buffered"), ("none", "bd_tree")]),
    &[ablation(
        "SYN-A2",
        "Fingerprints or none",
        OPERATIONS,
        &[Claim::more("fingerprints", "none", 1.0).because("Expected: one line of pairs is read, not up to seven.")],
        "One block.",
    )],
);

pub(super) const BLOCKS: Study = study(
    |setting| {
        let blocks = [("one", "buffered"), ("two", "holm"), ("three", "holm_three"), ("four", "holm_four")];
        forms(setting, blocks)
    },
    &[ablation("SYN-A3", "By the most blocks of a leaf", OPERATIONS, &[], "One block is BD+Tree.")],
);

pub(super) const ORDERS: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, epochs of 10 ms; a million keys at scale 1, \
                 inserted, then a quarter as many uniform scans of 100 pairs; one thread",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let cells = [("in order", "buffered"), ("as they come", "buffered_unsorted")].map(|(name, design)| {
            Cell::new(name, 0.0, 10 * pairs, move || {
                let garden = create(design, setup(pairs, LATENCY))?;
                let put = garden.put(&all(pairs), 1)?;
                garden.settle()?;
                Ok([put, garden.scan(&uniform(pairs.div_ceil(4), pairs, 7), 100, 1)?].map(mops).into())
            })
        });
        cells.into()
    },
    figures: &[ablation(
        "SYN-A4",
        "Pairs of a fresh block in key order, or in order of arrival",
        Axis::Measures("operations", &["inserts", "scans of 100"]),
        &[Claim::more("in order", "as they come", 1.0)
            .cause(Cause::Idea)
            .because("Expected: sorted keys need no sorting.")],
        "One block.",
    )],
};

/// Where fingerprints are searched.
const PLACES: [(&str, &str); 4] = [
    ("one block", "buffered"),
    ("one block, aside", "buffered_prints_aside"),
    ("two blocks", "holm"),
    ("two blocks, aside", "holm_prints_aside"),
];

pub(super) const ASIDE: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, epochs of 10 ms; a million keys at scale 1, \
                 inserted, then two million uniform gets of keys that are there, and of others; one thread",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let (pairs, operations) = (setting.count(1_000_000), setting.count(2_000_000));
        let cells = PLACES.map(|(name, design)| {
            Cell::new(name, 0.0, pairs + 2 * operations, move || {
                let tree = create(design, setup(pairs, LATENCY))?;
                let put = tree.put(&all(pairs), 1)?;
                tree.settle()?;
                let got = tree.get(&uniform(operations, pairs, 7), 1)?;
                Ok([put, got, tree.get(&absent(operations, pairs), 1)?].map(mops).into())
            })
        });
        cells.into()
    },
    figures: &[ablation(
        "SYN-A5",
        "Fingerprints in the block, or a copy of them in volatile memory",
        Axis::Measures("operations", &["inserts", "gets", "gets, absent"]),
        &[Claim::more("two blocks, aside", "two blocks", 2.0).because("Expected: no line of either block is read.")],
        "Reads cost here as much as plain memory's: slower persistent memory would gain more.",
    )],
};

pub(super) const ASIDE_READS: Study = Study {
    conditions: "exact counts, keys and values of 8 bytes, twenty thousand of them, uniform; searches of a thousand \
                 that are there, and of as many that are not",
    exact: true,
    needs: Needs::Reads,
    cells: |_| {
        let cells = PLACES.map(|(name, design)| {
            Cell::new(name, 0.0, 20_000, move || {
                let (tree, keys) = (create(design, counted(20_000))?, all(20_000));
                for keys in keys.chunks(1_000) {
                    tree.put(keys, 1)?;
                    tree.end_epoch()?;
                }
                Ok(vec![tree.lines_got(&keys[..1_000])?, tree.lines_got(&absent(1_000, 20_000))?])
            })
        });
        cells.into()
    },
    figures: &[Figure {
        unit: "lines read a search",
        ..ablation(
            "SYN-A5b",
            "Lines of a leaf that a search reads, by where fingerprints are",
            Axis::Measures("keys", &["there", "absent"]),
            &[Claim::less("two blocks, aside", "two blocks", 1.0)
                .because("Expected: none, unless a fingerprint matches another key's.")],
            "The copy lies in volatile memory and is not counted.",
        )
    }],
};

/// Returns `count` keys that are not among the first `pairs`.
fn absent(count: u64, pairs: u64) -> Vec<u64> {
    all(pairs + count).split_off(pairs as usize)
}

pub(super) const ROOTS: Study = study(
    |setting| {
        let roots = [
            ("vectors", "buffered_wide"),
            ("halving", "buffered_wide_halved"),
            ("interpolation", "buffered_wide_interpolated"),
        ];
        forms(setting, roots)
    },
    &[ablation(
        "SYN-A6",
        "The search of a root of 16 KiB",
        OPERATIONS,
        &[Claim::more("interpolation", "halving", 1.0)
            .cause(Cause::Idea)
            .because("Expected: interpolation guesses well on uniform keys.")],
        "One block.",
    )],
);

pub(super) const DURABILITIES: Study = study(
    |setting| {
        let modes = [("by epochs", "buffered"), ("at once", "borders"), ("at once, any keys", "holm_strict")];
        forms(setting, modes)
    },
    &[ablation(
        "SYN-A8",
        "Durable by epochs, or when an operation returns",
        OPERATIONS,
        &[
            Claim::more("by epochs", "at once", 0.0).because("Expected: nothing is flushed in the operation."),
            Claim::more("by epochs", "at once", 2.0).because("Expected: many puts of an epoch share a line."),
        ],
        "At once: a pair counts if its key lies within the leaf's borders, one line and one fence a put; or, which \
         suits byte strings too, if a bitmap says so.",
    )],
);

const LONGER: &str = "Expected: a longer epoch's lines serve more puts.";
const BY_BLOCKS: [(&str, &str); 2] = [("one block", "buffered"), ("two blocks", "holm")];

pub(super) const EPOCHS: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line; Zipf 0.99 over a million keys at scale 1, \
                 half puts; one thread",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| by_epochs(setting, BY_BLOCKS, |pairs| setup(pairs, LATENCY)),
    figures: &[ablation(
        "SYN-A7",
        "Throughput by length of an epoch",
        Axis::Numbers("ms of an epoch"),
        &[Claim::more("one block", "one block", 100.0).against_at(1.0).cause(Cause::Idea).because(LONGER)],
        "A crash may lose two epochs.",
    )],
};

pub(super) const EPOCHS_BY_FENCE: Study = Study {
    conditions: "plain memory, real flushes, 300 ns more for each fence and 32 ns for each line before it (2 GB a \
                 second); Zipf 0.99 over a million keys at scale 1, half puts; one thread",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| by_epochs(setting, BY_BLOCKS, by_fence),
    figures: &[ablation(
        "SYN-A7-fence",
        "Throughput by length of an epoch; lines overlap",
        Axis::Numbers("ms of an epoch"),
        &[Claim::more("one block", "one block", 100.0)
            .against_at(1.0)
            .form_of("SYN-A7", "one block", "one block")
            .cause(Cause::Idea)
            .because(LONGER)],
        "As SYN-A7, at the other price: the lines of an epoch wait for one fence.",
    )],
};
