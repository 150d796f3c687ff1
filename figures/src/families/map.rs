//! MB+-tree: every level is chosen separately, in memory and without persistence.

mod btree;
mod hints;
mod ladder;
mod leaves;
mod nodes;
mod parts;
mod roots;
mod subject;
mod vectors;

use crate::claim::Cause;
use crate::setting::Setting;
use crate::study::{Absent, Axis, Cell, Claim, Family, Figure, Needs, Study};
use holm_map::{Map, Real, Selection};
use parts::{Keyed, Typical, Value, Wide};
use subject::{Subject, sample};

pub(crate) const FAMILY: Family = Family {
    name: "MB+-tree",
    paper: "every level a choice of its own, in memory, one thread",
    without: "",
    expected: false,
    studies: &[
        nodes::NODES,
        WIDTHS,
        TYPES,
        vectors::VECTORS,
        leaves::LEAVES,
        roots::ROOTS,
        roots::TWICE,
        roots::TWO_LEVELS,
        roots::SPREAD,
        ladder::LARGE_PAGES,
        hints::PREFETCHES,
        ladder::LADDER,
    ],
    absent: &[
        Absent::new("MB-X3", "Misses of the translation buffer", "needs the processor's counters"),
        Absent::new("MB-X4", "Berkeley DB", "in the text of the paper alone; its library is an engine of `rivals`"),
    ],
    drawn: &[],
};

const CONDITIONS: &str = "keys of 4 bytes (floats, uniform), values of 28; 12 million loaded at scale 1, 4 million \
                          puts timed, then gets of the last 4 million, removals of the first; one thread";

/// Returns the pairs that are loaded, and the timed operations of each kind.
fn sizes(setting: &Setting) -> (u64, u64) {
    (setting.count(12_000_000), setting.count(4_000_000))
}

/// Returns a cell of any map.
fn cell_of<M: Subject>(setting: &Setting, series: &'static str, x: f64) -> Cell {
    let (loaded, timed) = sizes(setting);
    // A map in memory runs four operations in the time of one of a tree that flushes.
    Cell::new(series, x, (loaded + 3 * timed) / 4, move || sample::<M>(loaded, timed, false))
}

/// Returns a cell of a selection, with the keys and values of most figures.
fn cell<S: Selection>(setting: &Setting, series: &'static str, x: f64, unique: bool) -> Cell {
    let (loaded, timed) = sizes(setting);
    Cell::new(series, x, (loaded + 3 * timed) / 4, move || sample::<Map<Real<f32>, Value, S>>(loaded, timed, unique))
}

/// Returns a view of a study of gets, puts and removals.
const fn figure(
    id: &'static str,
    title: &'static str,
    (measure, unit): (usize, &'static str),
    axis: Axis,
    claims: &'static [Claim],
    note: &'static str,
) -> Figure {
    Figure { id, title, measure, unit, axis, claims, note }
}

const GETS: (usize, &str) = (0, "million gets a second");
const PUTS: (usize, &str) = (1, "million puts a second");
const REMOVALS: (usize, &str) = (2, "million removals a second");

const NODES_NOTE: &str = "The B-tree is of our own after Google's, with pairs of 32 bytes in nodes of as many bytes \
                          in all, and searched one by one. Nodes of the standard library's map have eleven pairs at \
                          any place of the axis.";

const WIDTHS: Study = Study {
    conditions: CONDITIONS,
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        vec![
            cell_of::<Wide<4>>(setting, "MB", 8.0),
            cell_of::<Wide<12>>(setting, "MB", 16.0),
            cell_of::<Wide<28>>(setting, "MB", 32.0),
            cell_of::<Wide<60>>(setting, "MB", 64.0),
            cell_of::<Typical<4>>(setting, "standard library's", 8.0),
            cell_of::<Typical<12>>(setting, "standard library's", 16.0),
            cell_of::<Typical<28>>(setting, "standard library's", 32.0),
            cell_of::<Typical<60>>(setting, "standard library's", 64.0),
        ]
    },
    figures: &[figure(
        "MB-F5",
        "Puts by size of a pair",
        PUTS,
        Axis::Numbers("bytes of a pair"),
        &[
            Claim::even("MB", "MB", 64.0)
                .against_at(8.0)
                .cause(Cause::Environment)
                .because("The paper says flat: values stay where they are. The standard library's map falls to less."),
            Claim::less("standard library's", "standard library's", 64.0)
                .against_at(8.0)
                .because("The paper says that its B-tree falls: values are moved with their keys."),
        ],
        "Nodes of 256 bytes of keys. The paper's other series has pairs in its nodes, and so has the standard \
         library's map.",
    )],
};

const FLOATS: &str = "Nodes of 256 bytes of keys. A float is kept as a number that orders as it does.";

const TYPES: Study = Study {
    conditions: CONDITIONS,
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        vec![
            cell_of::<Keyed<i32>>(setting, "MB", 0.0),
            cell_of::<Keyed<Real<f32>>>(setting, "MB", 1.0),
            cell_of::<Keyed<i64>>(setting, "MB", 2.0),
            cell_of::<Keyed<Real<f64>>>(setting, "MB", 3.0),
        ]
    },
    figures: &[
        figure(
            "MB-F6",
            "Gets by type of key",
            GETS,
            Axis::Words("type of a key", &["int, 4 bytes", "float, 4", "int, 8", "float, 8"]),
            &[
                Claim::even("MB", "MB", 1.0)
                    .against_at(0.0)
                    .cause(Cause::Environment)
                    .because("The paper says that the type does not matter, and of 8 bytes it does not here either."),
                Claim::even("MB", "MB", 3.0).against_at(2.0).because("The paper says that the type does not matter."),
                Claim::less("MB", "MB", 2.0).against_at(0.0).cause(Cause::Environment).because(
                    "The paper says that the size does: half as many to a line. A get of 4 bytes executes 0.73 of \
                         the instructions here (callgrind, 200,000 keys), and takes longer.",
                ),
            ],
            FLOATS,
        ),
        figure(
            "MB-F6b",
            "Puts by type of key",
            PUTS,
            Axis::Words("type of a key", &["int, 4 bytes", "float, 4", "int, 8", "float, 8"]),
            &[
                Claim::even("MB", "MB", 1.0).against_at(0.0).because("The paper says that the type does not matter."),
                Claim::even("MB", "MB", 3.0).against_at(2.0).because("The paper says that the type does not matter."),
            ],
            FLOATS,
        ),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_selection_keeps_what_it_is_given() {
        let setting = Setting::new(0.000_1, Some(1), 1).expect("a setting");
        for study in FAMILY.studies {
            for cell in (study.cells)(&setting) {
                let rates = (cell.work)().expect("it fits");
                assert!(rates.len() == 3 && rates.iter().all(|rate| *rate > 0.0), "{}: {rates:?}", cell.series);
            }
        }
    }
}
