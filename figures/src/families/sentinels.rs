//! Sentinels over FAST and FAIR and over Circ-Tree.

mod waits;

use crate::axes::{MILLIONS, NODES_OF_SENTINELS};
use crate::claim::Cause;
use crate::measured_tree::{counted, create, setup};
use crate::setting::Setting;
use crate::strings;
use crate::study::{Axis, Cell, Claim, Family, Figure, Needs, Study};
use crate::traces::{all, uniform};
use anyhow::Result;

pub(crate) const FAMILY: Family = Family {
    name: "Sentinels",
    paper: "sentinels that say which line of a persistent node to read, over FAST-FAIR and Circ-Tree",
    without: "",
    expected: false,
    studies: &[WAYS, EXAMPLES, NODES, PRINTED, SIZES, SIZES_OF_LARGE, THREADS, STRINGS, PARITY, READS, waits::WAITS],
    absent: &[],
    drawn: &[],
};

/// Names of the series, with designs of 512-byte and of 4-KiB nodes.
const SIX: [(&str, &str, &str); 6] = [
    ("FF", "fast_fair", "fast_fair_4k"),
    ("FF_S", "fast_fair_sentinels", "fast_fair_sentinels_4k"),
    ("FF_F", "fast_fair_fingerprints", "fast_fair_fingerprints_4k"),
    ("CIRC", "circ_linear", "circ_linear_4k"),
    ("CIRC_S", "circ_sentinels", "circ_sentinels_4k"),
    ("CIRC_F", "circ_fingerprints", "circ_fingerprints_4k"),
];

const LATENCY: u32 = 300;

/// Returns the nanoseconds of a lookup and of an insert, per operation of one thread.
fn searched(design: &str, pairs: u64, threads: usize) -> Result<Vec<f64>> {
    let tree = create(design, setup(pairs, LATENCY))?;
    let insert = tree.put(&all(pairs), threads)?;
    let search = tree.get(&uniform(pairs, pairs, 7), threads)?;
    Ok(vec![search * threads as f64, insert * threads as f64])
}

const CONDITIONS: &str =
    "plain memory, real flushes and 300 ns more for each line, keys and values of 8 bytes, uniform";

const IN_ORDER: &str = "A plain search reads 24 lines of 4 KiB, and 3 of 512 bytes (SENT-X2), in about the same time \
                        (SENT-F4a): lines that follow one another do not wait for memory one by one here.";

const HALVED: &str = "The paper says faster, without a number. Halving needs few compares, but mispredicts them.";

const WAYS: Study = Study {
    conditions: CONDITIONS,
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let nodes = [
            ("linear", 512.0, "fast_fair"),
            ("binary", 512.0, "fast_fair_halving"),
            ("linear", 1024.0, "fast_fair_1k"),
            ("linear", 2048.0, "fast_fair_2k"),
            ("linear", 4096.0, "fast_fair_4k"),
            ("binary", 1024.0, "fast_fair_halving_1k"),
            ("binary", 2048.0, "fast_fair_halving_2k"),
            ("binary", 4096.0, "fast_fair_halving_4k"),
        ];
        let cell = |series, x, design| Cell::new(series, x, 2 * pairs, move || searched(design, pairs, 1));
        nodes.map(|(series, x, design)| cell(series, x, design)).into()
    },
    figures: &[Figure {
        id: "SENT-F1",
        title: "Linear and binary search by node size",
        measure: 0,
        unit: "search, ns",
        axis: NODES_OF_SENTINELS,
        claims: &[
            Claim::less("linear", "binary", 512.0).cause(Cause::Environment).because(HALVED),
            Claim::less("linear", "binary", 1024.0).cause(Cause::Environment).because(HALVED),
            Claim::less("linear", "binary", 2048.0).cause(Cause::Environment).because(HALVED),
        ],
        note: "The search covers a whole tree.",
    }],
};

const EXAMPLES: Study = Study {
    conditions: "exact counts, one leaf of fifteen pairs, whose keys are 10, 20 and so on to 150",
    exact: true,
    needs: Needs::Reads,
    cells: |_| {
        let cells = [("FF", "fast_fair"), ("FF_S", "fast_fair_sentinels")].map(|(name, design)| {
            Cell::new(name, 0.0, 15, move || {
                let tree = create(design, counted(15))?;
                tree.put(&(1..=15).map(|number| number * 10).collect::<Vec<_>>(), 1)?;
                Ok(vec![tree.lines_got(&[130])?, tree.lines_got(&[140])?])
            })
        });
        cells.into()
    },
    figures: &[
        example("SENT-F2", "A worked example: key 130", 0, &["130"]),
        example("SENT-F3", "A worked example: key 140", 1, &["140"]),
    ],
};

const ONE_LINE: &[Claim] = &[Claim::new("FF_S", "FF", 0.0, 0.25)
    .because("The paper has one line of pairs in place of four; the line of sentinels itself is its second.")];

const fn example(id: &'static str, title: &'static str, measure: usize, key: &'static [&'static str]) -> Figure {
    Figure {
        id,
        title,
        measure,
        unit: "lines read",
        axis: Axis::Measures("key", key),
        claims: ONE_LINE,
        note: "A pair less than in the paper, for our header takes its place in the first of the four lines. Sentinels \
               lie beside the block and are not counted, in the paper's ratio neither.",
    }
}

const NODES: Study = Study {
    conditions: CONDITIONS,
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let cell =
            |series, x, design: &'static str| Cell::new(series, x, 2 * pairs, move || searched(design, pairs, 1));
        SIX.iter().flat_map(|(name, small, large)| [cell(name, 512.0, small), cell(name, 4096.0, large)]).collect()
    },
    figures: &[
        Figure {
            id: "SENT-F4a",
            title: "Search by node size, six variants",
            measure: 0,
            unit: "search, ns",
            axis: NODES_OF_SENTINELS,
            claims: &[
                Claim::new("CIRC_S", "CIRC", 4096.0, 0.516)
                    .form_of("SENT-F4c", "CIRC_S", "CIRC")
                    .at_scale(1.0)
                    .cause(Cause::Environment)
                    .because(IN_ORDER),
                Claim::new("FF_S", "FF", 4096.0, 0.574)
                    .form_of("SENT-F4c", "FF_S", "FF")
                    .at_scale(1.0)
                    .cause(Cause::Environment)
                    .because(IN_ORDER),
                Claim::new("CIRC_F", "CIRC", 4096.0, 0.969)
                    .form_of("SENT-F4c", "CIRC_F", "CIRC")
                    .cause(Cause::Unequal)
                    .because("Our fingerprints are compared with vectors, the paper's one by one."),
                Claim::new("FF_S", "FF_F", 4096.0, 0.625)
                    .form_of("SENT-F4c", "FF_S", "FF_F")
                    .cause(Cause::Unequal)
                    .because("Our fingerprints are compared with vectors, the paper's one by one."),
                Claim::new("CIRC_S", "CIRC_F", 4096.0, 0.533)
                    .form_of("SENT-F4c", "CIRC_S", "CIRC_F")
                    .cause(Cause::Unequal)
                    .because(
                        "The paper's quotient of 0.516 and 0.969. Our fingerprints are compared with vectors, the \
                         paper's one by one.",
                    ),
                Claim::more("FF_S", "FF", 512.0)
                    .form_of("SENT-F4c", "FF_S", "FF")
                    .because("The paper says slower, without a number; our sentinels are searched with vectors."),
            ],
            note: "Sentinels and fingerprints lie in volatile memory and are searched with vectors.",
        },
        Figure {
            id: "SENT-F4b",
            title: "Insert by node size, six variants",
            measure: 1,
            unit: "insert, ns",
            axis: NODES_OF_SENTINELS,
            claims: &[
                Claim::at_most("CIRC_S", "CIRC", 4096.0, 1.065)
                    .form_of("SENT-F4d", "CIRC_S", "CIRC")
                    .because("Sentinels flush no line (SENT-X1)."),
                Claim::at_most("FF_S", "FF", 4096.0, 1.04)
                    .form_of("SENT-F4d", "FF_S", "FF")
                    .because("Sentinels flush no line (SENT-X1)."),
            ],
            note: "",
        },
    ],
};

/// The paper's own forms: sentinels in the node, and signs that are searched one by one.
const AS_PRINTED: [(&str, [&str; 4]); 6] = [
    ("FF", ["fast_fair", "fast_fair_1k", "fast_fair_2k", "fast_fair_4k"]),
    (
        "FF_S",
        [
            "fast_fair_sentinels_inlaid",
            "fast_fair_sentinels_inlaid_1k",
            "fast_fair_sentinels_inlaid_2k",
            "fast_fair_sentinels_inlaid_4k",
        ],
    ),
    (
        "FF_F",
        [
            "fast_fair_fingerprints_scalar",
            "fast_fair_fingerprints_scalar_1k",
            "fast_fair_fingerprints_scalar_2k",
            "fast_fair_fingerprints_scalar_4k",
        ],
    ),
    ("CIRC", ["circ_linear", "circ_linear_1k", "circ_linear_2k", "circ_linear_4k"]),
    (
        "CIRC_S",
        ["circ_sentinels_inlaid", "circ_sentinels_inlaid_1k", "circ_sentinels_inlaid_2k", "circ_sentinels_inlaid_4k"],
    ),
    (
        "CIRC_F",
        [
            "circ_fingerprints_scalar",
            "circ_fingerprints_scalar_1k",
            "circ_fingerprints_scalar_2k",
            "circ_fingerprints_scalar_4k",
        ],
    ),
];

const PRINTED: Study = Study {
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let cell =
            |series, x, design: &'static str| Cell::new(series, x, 2 * pairs, move || searched(design, pairs, 1));
        let sizes = [512.0, 1024.0, 2048.0, 4096.0];
        let of_sizes =
            |(name, designs): (_, [_; 4])| sizes.into_iter().zip(designs).map(move |(x, it)| cell(name, x, it));
        AS_PRINTED.into_iter().flat_map(of_sizes).collect()
    },
    figures: &[
        Figure {
            id: "SENT-F4c",
            title: "Search by node size, the paper's own forms",
            measure: 0,
            unit: "search, ns",
            axis: NODES_OF_SENTINELS,
            claims: &[
                Claim::new("CIRC_S", "CIRC", 4096.0, 0.516)
                    .at_scale(1.0)
                    .cause(Cause::Environment)
                    .headline("Sentinels shorten Circ-Tree's searches by up to 48.4 percent")
                    .because(IN_ORDER),
                Claim::new("FF_S", "FF", 4096.0, 0.574)
                    .at_scale(1.0)
                    .cause(Cause::Environment)
                    .headline("Sentinels shorten FAST-FAIR's searches by up to 42.6 percent")
                    .because(IN_ORDER),
                Claim::new("CIRC_F", "CIRC", 4096.0, 0.969).cause(Cause::Unknown).because(ONE_BY_ONE),
                Claim::new("FF_S", "FF_F", 4096.0, 0.625)
                    .at_scale(1.0)
                    .headline("Sentinels are up to 60.1 percent faster than fingerprints")
                    .because(ONE_BY_ONE),
                Claim::new("CIRC_S", "CIRC_F", 4096.0, 0.533).at_scale(1.0).cause(Cause::Unknown).because(ONE_BY_ONE),
                Claim::more("FF_S", "FF", 512.0).because("The paper says slower, without a number."),
                Claim::more("CIRC_S", "CIRC", 512.0).because("The paper says slower, without a number."),
            ],
            note: "Sentinels lie in the node behind its pairs; sentinels and fingerprints are compared one by one.",
        },
        Figure {
            id: "SENT-F4d",
            title: "Insert by node size, the paper's own forms",
            measure: 1,
            unit: "insert, ns",
            axis: NODES_OF_SENTINELS,
            claims: &[
                Claim::at_most("CIRC_S", "CIRC", 4096.0, 1.065)
                    .headline("Upkeep of sentinels lengthens an insert by at most 6.5 percent")
                    .because("Sentinels flush no line (SENT-X1)."),
                Claim::at_most("FF_S", "FF", 4096.0, 1.04).because("Sentinels flush no line (SENT-X1)."),
            ],
            note: "",
        },
    ],
    ..NODES
};

const ONE_BY_ONE: &str = "Compared one by one in both, as the paper has them.";

const SIZES: Study = Study {
    conditions: CONDITIONS,
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| sizes_cells(setting, SIX.map(|(name, small, _)| (name, small))),
    figures: &[
        size_of_data("SENT-F5a", "Search by number of keys, nodes of 512 bytes", 0, SLOWER),
        size_of_data("SENT-F5b", "Insert by number of keys, nodes of 512 bytes", 1, SMALL_OVERHEAD),
    ],
};

const SIZES_OF_LARGE: Study = Study {
    cells: |setting| sizes_cells(setting, SIX.map(|(name, _, large)| (name, large))),
    figures: &[
        size_of_data("SENT-F5c", "Search by number of keys, nodes of 4 KiB", 0, FASTEST),
        size_of_data("SENT-F5d", "Insert by number of keys, nodes of 4 KiB", 1, SMALL_OVERHEAD),
    ],
    ..SIZES
};

fn sizes_cells(setting: &Setting, designs: [(&'static str, &'static str); 6]) -> Vec<Cell> {
    let cells = setting.millions().flat_map(|millions| {
        let pairs = setting.count(millions * 1_000_000);
        designs.map(|(name, design)| Cell::new(name, millions as f64, 2 * pairs, move || searched(design, pairs, 1)))
    });
    cells.collect()
}

const EVERY_SIZE: &str = "The paper says fastest at every number of keys; the node size of its figure is not legible.";
const EVERY_SIZE_IN_ORDER: &str = "The paper says fastest at every number of keys; the node size of its figure is not \
                                   legible. A plain search of 4 KiB reads 24 lines (SENT-X2), which follow one \
                                   another and do not wait for memory one by one here.";

const FASTEST: &[Claim] = &[
    Claim::less("FF_S", "FF", 10.0).at_scale(1.0).cause(Cause::Environment).because(EVERY_SIZE_IN_ORDER),
    Claim::less("CIRC_S", "CIRC", 10.0).at_scale(1.0).because(EVERY_SIZE),
];

/// At 512 bytes the paper itself says that sentinels cost time.
const SLOWER: &[Claim] = &[
    Claim::more("FF_S", "FF", 10.0).because("The paper says slower in nodes of 512 bytes (its Fig. 4a)."),
    Claim::more("CIRC_S", "CIRC", 10.0).because("The paper says slower in nodes of 512 bytes (its Fig. 4a)."),
];

const SMALL_OVERHEAD: &[Claim] = &[
    Claim::at_most("FF_S", "FF", 10.0, 1.04).because("The paper says that the overhead is small."),
    Claim::at_most("CIRC_S", "CIRC", 10.0, 1.065).because("The paper says that the overhead is small."),
];

const fn size_of_data(id: &'static str, title: &'static str, measure: usize, claims: &'static [Claim]) -> Figure {
    let unit = if measure == 0 { "search, ns" } else { "insert, ns" };
    let note = "The paper's node size is not legible. Its 100 million keys are left out below scale 1, and where \
                half of the free memory is less than 150 bytes a key.";
    Figure { id, title, measure, unit, axis: MILLIONS, claims, note }
}

const THREADS: Study = Study {
    conditions: CONDITIONS,
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let designs = SIX.map(|(name, _, design)| (name, design));
        Cell::by_threads(setting, designs, 2 * pairs, move |design, threads| searched(design, pairs, threads))
    },
    figures: &[
        Figure {
            id: "SENT-F6a",
            title: "Search by threads, nodes of 4 KiB",
            measure: 0,
            unit: "search, ns",
            axis: Axis::Numbers("threads"),
            claims: &[
                Claim::new("FF_S", "FF", 2.0, 0.539).at_scale(1.0).cause(Cause::Environment).because(IN_ORDER),
                Claim::new("CIRC_S", "CIRC", 2.0, 0.524).at_scale(1.0).cause(Cause::Environment).because(IN_ORDER),
            ],
            note: "As many threads as processors; the paper has eight.",
        },
        Figure {
            id: "SENT-F6b",
            title: "Insert by threads, nodes of 4 KiB",
            measure: 1,
            unit: "insert, ns",
            axis: Axis::Numbers("threads"),
            claims: &[
                Claim::even("FF_S", "FF", 2.0).because("The paper says: no significant difference."),
                Claim::even("CIRC_S", "CIRC", 2.0).because("The paper says: no significant difference."),
            ],
            note: "As SENT-F6a.",
        },
    ],
};

const STRINGS: Study = Study {
    conditions: "plain memory, 300 ns more for each flushed line, keys of 23 bytes, values of 1000 in records; load, \
                 then YCSB A (Zipf 0.99, half updates)",
    exact: false,
    needs: Needs::Nothing,
    cells: strings_cells,
    figures: &[
        string_figure(
            "SENT-F7a",
            "p99 of YCSB inserts, one client",
            0,
            &[Claim::at_most("FF_S", "FF", 1.0, 1.0).because("The paper says lower, without a number.")],
        ),
        string_figure(
            "SENT-F7b",
            "p99 of YCSB A's searches, one client",
            1,
            &[Claim::new("FF_S, 4 KiB", "FF, 4 KiB", 1.0, 0.831)
                .headline("Sentinels shorten FAST-FAIR's searches in YCSB A by 16.9 percent")
                .cause(Cause::Environment)
                .because("The paper's nodes have 4 KiB, in which searches are slower with sentinels here.")],
        ),
        string_figure(
            "SENT-F7c",
            "p99 of YCSB A's updates, one client",
            2,
            &[Claim::at_most("FF_S", "FF", 1.0, 1.0).because("The paper says shorter, without a number.")],
        ),
        string_figure(
            "SENT-F8a",
            "p99 of YCSB inserts by clients",
            0,
            &[Claim::at_most("FF_S", "FF", 2.0, 1.0).because("The paper says lower, without a number.")],
        ),
        string_figure(
            "SENT-F8b",
            "p99 of YCSB A's searches by clients",
            1,
            &[Claim::less("FF_S, 4 KiB", "FF, 4 KiB", 2.0)
                .because("The paper says lower in all cases, of nodes of 4 KiB.")],
        ),
        string_figure(
            "SENT-F8c",
            "p99 of YCSB A's updates by clients",
            2,
            &[Claim::at_most("FF_S", "FF", 2.0, 1.0).cause(Cause::Unequal).because(
                "The paper says lower, without a number. The store's nodes have 512 bytes, at which the paper itself \
                 has slower searches with sentinels (its Fig. 4a).",
            )],
        ),
    ],
};

const fn string_figure(id: &'static str, title: &'static str, measure: usize, claims: &'static [Claim]) -> Figure {
    let note = "Nodes of 512 bytes, where no other size is named. Circ-Tree is searched by segments in those, and from \
                its first pair in nodes of 4 KiB, as elsewhere in this family.";
    Figure { id, title, measure, unit: "p99, ns", axis: Axis::Numbers("clients"), claims, note }
}

fn strings_cells(setting: &Setting) -> Vec<Cell> {
    let (records, seconds) = (setting.count(1_000_000), setting.seconds(2.0));
    let designs = [
        ("FF", "fast_fair"),
        ("FF_S", "fast_fair_sentinels"),
        ("CIRC", "circ"),
        ("FF, 4 KiB", "fast_fair_4k"),
        ("FF_S, 4 KiB", "fast_fair_sentinels_4k"),
        ("CIRC, 4 KiB", "circ_linear_4k"),
        ("CIRC_S, 4 KiB", "circ_sentinels_4k"),
    ];
    Cell::by_threads(setting, designs, strings::operations(records, seconds), move |design, threads| {
        strings::percentiles(design, LATENCY, threads, records, seconds)
    })
}

const UNFLUSHED: &str = "Signs are rebuilt from the pairs after a crash, and never flushed.";

const PARITY: Study = Study {
    conditions: "exact counts, keys and values of 8 bytes, uniform, splits included",
    exact: true,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(100_000);
        let cells = SIX.iter().flat_map(|(name, small, large)| {
            [(512.0, *small), (4096.0, *large)].map(|(x, design)| {
                Cell::new(name, x, pairs, move || {
                    let tree = create(design, counted(pairs))?;
                    tree.put(&all(pairs), 1)?;
                    let spent = tree.counts();
                    Ok([spent.flushes, spent.blocks].map(|count| count as f64 / pairs as f64).into())
                })
            })
        });
        cells.collect()
    },
    figures: &[
        Figure {
            id: "SENT-X1",
            title: "Lines flushed by an insert: sentinels and fingerprints cost none",
            measure: 0,
            unit: "lines flushed an insert",
            axis: NODES_OF_SENTINELS,
            claims: &[
                Claim::new("FF_S", "FF", 4096.0, 1.0).because(UNFLUSHED),
                Claim::new("FF_F", "FF", 4096.0, 1.0).because(UNFLUSHED),
                Claim::new("CIRC_S", "CIRC", 4096.0, 1.0).because(UNFLUSHED),
                Claim::new("CIRC_F", "CIRC", 4096.0, 1.0).because(UNFLUSHED),
            ],
            note: "",
        },
        Figure {
            id: "SENT-X1b",
            title: "Blocks of 256 bytes written by an insert",
            measure: 1,
            unit: "blocks written an insert",
            axis: NODES_OF_SENTINELS,
            claims: &[],
            note: "Behind a buffer of sixteen blocks that combines lines.",
        },
    ],
};

const READS: Study = Study {
    conditions: "exact counts, keys and values of 8 bytes, uniform, a hundred thousand at scale 1; searches of a \
                 thousand",
    exact: true,
    needs: Needs::Reads,
    cells: |setting| {
        let pairs = setting.count(100_000);
        let nodes = [
            ("FF", ["fast_fair", "fast_fair_2k", "fast_fair_4k"]),
            ("FF_S", ["fast_fair_sentinels", "fast_fair_sentinels_2k", "fast_fair_sentinels_4k"]),
            ("CIRC", ["circ_linear", "circ_linear_2k", "circ_linear_4k"]),
            ("CIRC_S", ["circ_sentinels", "circ_sentinels_2k", "circ_sentinels_4k"]),
        ];
        let cells = nodes.into_iter().flat_map(|(name, designs)| {
            [512.0, 2048.0, 4096.0].into_iter().zip(designs).map(move |(x, design)| {
                Cell::new(name, x, 2 * pairs, move || {
                    let (tree, keys) = (create(design, counted(pairs))?, all(pairs));
                    tree.put(&keys, 1)?;
                    Ok(vec![tree.lines_got(&keys[..1_000])?])
                })
            })
        });
        cells.collect()
    },
    figures: &[Figure {
        id: "SENT-X2",
        title: "Lines of a leaf that a search reads",
        measure: 0,
        unit: "lines read a search",
        axis: NODES_OF_SENTINELS,
        claims: &[
            Claim::less("FF_S", "FF", 2048.0)
                .because("The paper has at most five lines against 32: sentinels name the only line that is read."),
            Claim::less("CIRC_S", "CIRC", 2048.0)
                .because("The paper has at most five lines against 32: sentinels name the only line that is read."),
        ],
        note: "The sentinels lie in volatile memory and are not counted: one line per eight lines of the node.",
    }],
};
