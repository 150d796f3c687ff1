//! Space per pair: in the leaves, and in memory in addition to them.

use super::{FIVE, FIVE_AND_PRINTED, MONTAGE, NOTE};
use crate::claim::Cause;
use crate::measured_tree::{counted, create};
use crate::study::{Axis, Cell, Claim, Figure, Needs, Study};
use crate::traces::{all, uniform};

const NEGLIGIBLE: &str = "The paper says that the increase is negligible. Every key is updated twice here within 100 \
                          epochs, and old versions keep leaves emptier.";

pub(super) const SPACE: Study = Study {
    conditions: "exact counts, an epoch ends after a fiftieth of the keys; two uniform updates for each",
    exact: true,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let cell = |name, design: &'static str| {
            Cell::new(name, 2.0, 3 * pairs, move || {
                let (tree, epoch) = (create(design, counted(pairs))?, pairs as usize / 50);
                for keys in all(pairs).chunks(epoch).chain(uniform(2 * pairs, pairs, 3).chunks(epoch)) {
                    tree.put(keys, 1)?;
                    tree.end_epoch()?;
                }
                Ok(vec![tree.leaf_bytes() as f64 / tree.pairs() as f64])
            })
        };
        FIVE_AND_PRINTED.map(|(name, design)| cell(name, design)).into()
    },
    figures: &[Figure {
        id: "BD-X6",
        title: "Bytes of leaves after many updates",
        measure: 0,
        unit: "bytes for a pair",
        axis: Axis::Numbers("updates of a key"),
        claims: &[
            Claim::at_most("BD, as printed", "LB", 2.0, 1.05).cause(Cause::Scale).because(NEGLIGIBLE),
            Claim::at_most("BD, as printed", "FF", 2.0, 1.05)
                .form_of("BD-X6", "BD, as printed", "LB")
                .cause(Cause::Scale)
                .because(NEGLIGIBLE),
            Claim::at_most("BD", "LB", 2.0, 1.05)
                .form_of("BD-X6", "BD, as printed", "LB")
                .cause(Cause::Scale)
                .because(NEGLIGIBLE),
            Claim::at_most("BD", "FF", 2.0, 1.05)
                .form_of("BD-X6", "BD, as printed", "LB")
                .cause(Cause::Scale)
                .because(NEGLIGIBLE),
        ],
        note: NOTE,
    }],
};

pub(super) const MEMORY: Study = Study {
    conditions: "exact counts, a load of uniform keys, a million at scale 1",
    exact: true,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let cell = |name, design: &'static str| {
            Cell::new(name, 0.0, pairs, move || {
                let tree = create(design, counted(pairs))?;
                for keys in all(pairs).chunks(pairs.div_ceil(50) as usize) {
                    tree.put(keys, 1)?;
                    tree.end_epoch()?;
                }
                Ok(vec![tree.volatile_bytes() as f64 / tree.pairs() as f64])
            })
        };
        FIVE.map(|(name, design)| cell(name, design)).into()
    },
    figures: &[Figure {
        id: "BD-X1",
        title: "Memory in addition to the leaves",
        measure: 0,
        unit: "bytes for a pair",
        axis: Axis::Words("after", &["the load"]),
        claims: &[Claim::new(MONTAGE.0, "BD", 0.0, 10.0).cause(Cause::Unequal).because(
            "Montage's tree has a key and a number a pair here, and no nodes; BD's has what its leaves keep in memory, \
             too.",
        )],
        note: "Montage keeps all of its tree in memory: at least 16 bytes a pair.",
    }],
};
