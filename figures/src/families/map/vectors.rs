//! Searches of sorted nodes, with vectors of several widths and without, in nodes of one type and of several sizes.

use super::parts::Single;
use super::{CONDITIONS, GETS, PUTS, REMOVALS, cell, figure};
use crate::axes::KEYS_OF_NODES;
use crate::claim::Cause;
use crate::study::{Claim, Needs, Study};
use holm_map::{Binary, Counting, Examining, Scalar, Stepping};

const WIDEST: &str = "vectors, line by line";

const BEST: &str = "The paper says that vectors in nodes of 512 bytes are one of the best choices.";
const BEST_OF_GETS: &str = "The paper says that AVX in nodes of 512 bytes is its best.";
const BEST_OF_PUTS: &str = "The paper says that SSE in nodes of 256 bytes is its best: less is moved.";
const WIDTH: &str = "A vector of AVX compares twice as many keys as one of SSE.";
const COUNT_APART: &str = "The paper's reason is that the count of a node fills a vector in front of its keys. Here \
                           the count lies elsewhere.";
const FEWER_BRANCHES: &str = "The paper says that binary search is below vectors in nodes of 128 to 2048 bytes.";
const MORE_LINES: &str = "The paper says that binary search reads more lines of a larger node. Why it is not slower \
                          here was not measured; a larger node saves levels.";
const WIDER: &str = "The processor's widest vectors are used, not 256 bits.";
const MOVED: &str = "A put into a sorted leaf moves the pairs behind it.";

pub(super) const VECTORS: Study = Study {
    conditions: CONDITIONS,
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        type Sse = Stepping<16>;
        type Avx = Stepping<32>;
        vec![
            cell::<Single<Scalar, 128>>(setting, "linear", 128.0, false),
            cell::<Single<Scalar, 256>>(setting, "linear", 256.0, false),
            cell::<Single<Scalar, 512>>(setting, "linear", 512.0, false),
            cell::<Single<Scalar, 1024>>(setting, "linear", 1024.0, false),
            cell::<Single<Scalar, 2048>>(setting, "linear", 2048.0, false),
            cell::<Single<Binary, 128>>(setting, "binary", 128.0, false),
            cell::<Single<Binary, 256>>(setting, "binary", 256.0, false),
            cell::<Single<Binary, 512>>(setting, "binary", 512.0, false),
            cell::<Single<Binary, 1024>>(setting, "binary", 1024.0, false),
            cell::<Single<Binary, 2048>>(setting, "binary", 2048.0, false),
            cell::<Single<Sse, 128>>(setting, "SSE", 128.0, false),
            cell::<Single<Sse, 256>>(setting, "SSE", 256.0, false),
            cell::<Single<Sse, 512>>(setting, "SSE", 512.0, false),
            cell::<Single<Sse, 1024>>(setting, "SSE", 1024.0, false),
            cell::<Single<Sse, 2048>>(setting, "SSE", 2048.0, false),
            cell::<Single<Avx, 128>>(setting, "AVX", 128.0, false),
            cell::<Single<Avx, 256>>(setting, "AVX", 256.0, false),
            cell::<Single<Avx, 512>>(setting, "AVX", 512.0, false),
            cell::<Single<Avx, 1024>>(setting, "AVX", 1024.0, false),
            cell::<Single<Avx, 2048>>(setting, "AVX", 2048.0, false),
            cell::<Single<Examining, 256>>(setting, WIDEST, 256.0, false),
            cell::<Single<Examining, 512>>(setting, WIDEST, 512.0, false),
            cell::<Single<Examining, 1024>>(setting, WIDEST, 1024.0, false),
            cell::<Single<Counting, 256>>(setting, "vectors, all lines", 256.0, false),
            cell::<Single<Counting, 512>>(setting, "vectors, all lines", 512.0, false),
            cell::<Single<Counting, 1024>>(setting, "vectors, all lines", 1024.0, false),
        ]
    },
    figures: &[
        figure("MB-F7a", "Gets by search and node size", GETS, KEYS_OF_NODES, &OF_GETS, NOTE),
        figure("MB-F7b", "Puts by search and node size", PUTS, KEYS_OF_NODES, &OF_PUTS, NOTE),
        figure(
            "MB-F7c",
            "Removals by search and node size",
            REMOVALS,
            KEYS_OF_NODES,
            &[
                Claim::more("AVX", "binary", 512.0).because(BEST),
                Claim::more(WIDEST, "binary", 512.0).form_of("MB-F7c", "AVX", "binary").because(BEST),
            ],
            NOTE,
        ),
    ],
};

const NOTE: &str = "SSE and AVX compare four and eight keys at a time, up to the first vector that is not wholly \
                    below; the other vectors are the processor's widest, and compare a line at a time.";

const OF_GETS: [Claim; 22] = [
    Claim::new("AVX", "linear", 512.0, 1.377).against_at(256.0).cause(Cause::Environment).because(WIDTH),
    Claim::new(WIDEST, "linear", 512.0, 1.377)
        .against_at(256.0)
        .form_of("MB-F7a", "AVX", "linear")
        .cause(Cause::Unequal)
        .because(WIDER),
    Claim::more("AVX", "linear", 512.0).because(BEST),
    Claim::more(WIDEST, "linear", 512.0).form_of("MB-F7a", "AVX", "linear").because(BEST),
    Claim::at_least("AVX", "AVX", 512.0, 1.0).against_at(256.0).because(BEST_OF_GETS),
    Claim::at_least("AVX", "AVX", 512.0, 1.0).against_at(1024.0).because(BEST_OF_GETS),
    Claim::more("AVX", "SSE", 512.0).because(WIDTH),
    Claim::more("SSE", "AVX", 128.0).cause(Cause::Unequal).because(COUNT_APART),
    Claim::more("SSE", "AVX", 256.0).cause(Cause::Unequal).because(COUNT_APART),
    Claim::more("AVX", "binary", 128.0).because(FEWER_BRANCHES),
    Claim::more("AVX", "binary", 256.0).because(FEWER_BRANCHES),
    Claim::more("AVX", "binary", 512.0).because(FEWER_BRANCHES),
    Claim::more(WIDEST, "binary", 512.0).form_of("MB-F7a", "AVX", "binary").because(BEST),
    Claim::more("AVX", "binary", 1024.0).because(FEWER_BRANCHES),
    Claim::more("AVX", "binary", 2048.0).because(FEWER_BRANCHES),
    Claim::more("SSE", "binary", 128.0).because(FEWER_BRANCHES),
    Claim::more("SSE", "binary", 256.0).because(FEWER_BRANCHES),
    Claim::more("SSE", "binary", 1024.0).because(FEWER_BRANCHES),
    Claim::more("SSE", "binary", 2048.0).because(FEWER_BRANCHES),
    Claim::more("linear", "binary", 128.0).because("The paper says that linear search is faster in a small node."),
    Claim::less("binary", "binary", 1024.0).against_at(512.0).cause(Cause::Environment).because(MORE_LINES),
    Claim::less("binary", "binary", 2048.0).against_at(512.0).because(MORE_LINES),
];

const OF_PUTS: [Claim; 6] = [
    Claim::new("AVX", "linear", 512.0, 1.062).against_at(256.0).cause(Cause::Unknown).because(MOVED),
    Claim::new(WIDEST, "linear", 512.0, 1.062)
        .against_at(256.0)
        .form_of("MB-F7b", "AVX", "linear")
        .cause(Cause::Unknown)
        .because(MOVED),
    Claim::at_least("SSE", "AVX", 256.0, 1.0).cause(Cause::Unequal).because(COUNT_APART),
    Claim::at_least("SSE", "AVX", 256.0, 1.0).against_at(512.0).cause(Cause::Unknown).because(BEST_OF_PUTS),
    Claim::at_least("SSE", "SSE", 256.0, 1.0).against_at(128.0).because(BEST_OF_PUTS),
    Claim::at_least("SSE", "SSE", 256.0, 1.0).against_at(512.0).because(BEST_OF_PUTS),
];
