//! Lines of a leaf that searches and updates read: a build that counts them is needed.

use super::{SEARCHES, TREES};
use crate::axes::NODES_OF_ISLES;
use crate::measured_tree::{counted, create};
use crate::setting::Setting;
use crate::study::{Axis, Cell, Figure, Needs, Study};
use crate::traces::all;

/// Returns cells of a thousand searches each.
fn reads_by_size(setting: &Setting) -> Vec<Cell> {
    let pairs = setting.count(100_000);
    let trees = [
        ("NV", ["nv_tree", "nv_tree_1k", "nv_tree_2k"]),
        ("FF, inner nodes volatile", ["fast_fair", "fast_fair_1k", "fast_fair_2k"]),
        ("CIRC", ["circ", "circ_1k", "circ_2k"]),
        ("CIRC, linear", ["circ_linear", "circ_linear_1k", "circ_linear_2k"]),
        ("ISLE", ["isle", "isle_1k", "isle_2k"]),
        ("ISLE, vectors", ["isle_vectors", "isle_vectors_1k", "isle_vectors_2k"]),
    ];
    let cells = trees.into_iter().flat_map(|(name, designs)| {
        [512.0, 1024.0, 2048.0].into_iter().zip(designs).map(move |(size, design)| {
            Cell::new(name, size, pairs, move || {
                let (tree, keys) = (create(design, counted(pairs))?, all(pairs));
                tree.put(&keys, 1)?;
                Ok(vec![tree.lines_got(&keys[..1_000])?])
            })
        })
    });
    cells.collect()
}

pub(super) const READS_BY_SIZE: Study = Study {
    conditions: "exact counts, keys and values of 8 bytes, uniform, a hundred thousand at scale 1; searches of a \
                 thousand",
    exact: true,
    needs: Needs::Reads,
    cells: reads_by_size,
    figures: &[Figure {
        id: "ISLE-F2b",
        title: "Lines of a leaf that a search reads, by node size",
        measure: 0,
        unit: "lines read a search",
        axis: NODES_OF_ISLES,
        claims: &[],
        note: "Nodes of Isle-Tree hop from line to line; what vectors compare is read whole.",
    }],
};

pub(super) const READS: Study = Study {
    conditions: "exact counts, nodes of 512 bytes, keys and values of 8 bytes, uniform, a hundred thousand at scale 1",
    exact: true,
    needs: Needs::Reads,
    cells: |setting| {
        let pairs = setting.count(100_000);
        let cell = |name, at, design: &'static str| {
            Cell::new(name, at, 2 * pairs, move || {
                let (tree, keys) = (create(design, counted(pairs))?, all(pairs));
                tree.put(&keys, 1)?;
                Ok(vec![if at == 0.0 { tree.lines_got(&keys[..1_000])? } else { tree.lines_put(&keys[..1_000])? }])
            })
        };
        let trees = TREES.into_iter().filter(|(name, _)| !name.contains("_ALL") && *name != "FF");
        trees.chain(SEARCHES).flat_map(|(name, design)| [cell(name, 0.0, design), cell(name, 1.0, design)]).collect()
    },
    figures: &[Figure {
        id: "ISLE-F2",
        title: "Lines of a leaf that are read",
        measure: 0,
        unit: "lines read an operation",
        axis: Axis::Words("operation", &["search", "update"]),
        claims: &[],
        note: "In place of the paper's worked example, which is of one node and one key. What vectors compare is read \
               whole.",
    }],
};
