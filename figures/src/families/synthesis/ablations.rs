//! The leaf with one idea taken away or put in another's place, each beside itself.

use super::super::epochs::mops;
use super::LATENCY;
use crate::grove::{Soil, plant, soil};
use crate::setting::Setting;
use crate::study::{Axis, Cell, Claim, Figure, Needs, Study};
use crate::traces::{all, uniform, zipf};
use std::time::Duration;

const CONDITIONS: &str = "plain memory, real flushes and 300 ns more for each line, epochs of 10 ms; a million keys at \
                          scale 1, inserted, then two million uniform gets, then as many by Zipf 0.99, half of them \
                          puts; one thread";

const OPERATIONS: Axis = Axis::Measures("operations", &["inserts", "gets", "half puts, Zipf"]);

/// A cell for each form: its name in the figure, and its design.
fn forms<const FORMS: usize>(setting: &Setting, forms: [(&'static str, &'static str); FORMS]) -> Vec<Cell> {
    let (pairs, operations) = (setting.count(1_000_000), setting.count(2_000_000));
    let cells = forms.map(|(name, design)| {
        Cell::new(name, 0.0, pairs + 2 * operations, move || {
            let grove = plant(design, soil(pairs, LATENCY))?;
            let put = grove.put(&all(pairs), 1)?;
            grove.settle()?;
            let got = grove.get(&uniform(operations, pairs, 7), 1)?;
            let mixed = grove.mix(&zipf(operations, pairs, 3), 1)?;
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
        &[Claim::even("triple", "literal", 0.0).because("Expected: what the paper's fields lack is safety.")],
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
    |setting| forms(setting, [("one block", "buffered"), ("two blocks", "holm")]),
    &[ablation("SYN-A3", "By the most blocks of a leaf", OPERATIONS, &[], "One block is BD+Tree.")],
);

pub(super) const DURABILITIES: Study = study(
    |setting| forms(setting, [("by epochs", "buffered"), ("at once", "borders")]),
    &[ablation(
        "SYN-A8",
        "Durable by epochs, or when an operation returns",
        OPERATIONS,
        &[
            Claim::more("by epochs", "at once", 0.0).because("Expected: nothing is flushed in the operation."),
            Claim::more("by epochs", "at once", 2.0).because("Expected: many puts of an epoch share a line."),
        ],
        "At once: a pair counts if its key lies within the leaf's borders; one line and one fence a put.",
    )],
);

pub(super) const EPOCHS: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line; Zipf 0.99 over a million keys at scale 1, \
                 half puts; one thread",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let (pairs, operations) = (setting.count(1_000_000), setting.count(4_000_000));
        let cells = [1, 5, 10, 50, 100].into_iter().flat_map(|milliseconds: u64| {
            [("one block", "buffered"), ("two blocks", "holm")].map(|(name, design)| {
                Cell::new(name, milliseconds as f64, pairs + operations, move || {
                    let epoch = Duration::from_millis(milliseconds);
                    let grove = plant(design, Soil { epoch, ..soil(pairs, LATENCY) })?;
                    grove.put(&all(pairs), 1)?;
                    grove.settle()?;
                    Ok(vec![mops(grove.mix(&zipf(operations, pairs, 3), 1)?)])
                })
            })
        });
        cells.collect()
    },
    figures: &[ablation(
        "SYN-A7",
        "Throughput by length of an epoch",
        Axis::Numbers("ms of an epoch"),
        &[Claim::more("one block", "one block", 100.0)
            .against_at(1.0)
            .because("Expected: a longer epoch's lines serve more puts.")],
        "What may be lost is two epochs.",
    )],
};
