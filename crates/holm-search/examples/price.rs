//! Measures the cost of a call of each kernel at each level, in nanoseconds: over one node in the cache, and over nodes
//! at random places of an area beyond the caches. On the left, each answer becomes part of the next call's argument, so
//! that calls cannot overlap (latency). On the right, and for uncached nodes, the answers are only summed (throughput).
//!
//! `cargo run --release -p holm-search --example price`

use holm_search::Search;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Words of the uncached area: 512 MiB.
const AREA_WORDS: usize = 1 << 26;

/// The best of this number of runs counts: interference by other programs is no property of a kernel.
const RUNS: usize = 7;

/// A kernel as a function of nodes, an index of a node and a number that varies.
struct Kernel<F> {
    name: &'static str,
    call: F,
}

/// Returns the nanoseconds per call of the best run.
fn price(calls: usize, mut run: impl FnMut(usize) -> u64) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        black_box(run(calls));
        best = best.min(start.elapsed().as_nanos() as f64 / calls as f64);
    }
    best
}

/// Returns the next element of a cheap sequence of well mixed numbers.
fn mixed(step: u64) -> u64 {
    let product = step.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 32
}

/// Prints one row: dependent and independent calls on the first node, and independent ones over the whole area.
fn row<F: FnMut(Search, &[AtomicU64], u64) -> u64>(kernel: &mut Kernel<F>, area: &[AtomicU64]) {
    let mut reference = [0.0; 3];
    for search in black_box(Search::all_available()) {
        let dependent = price(300_000, |calls| {
            (0..calls as u64).fold(0, |last, step| (kernel.call)(search, area, mixed(step + (last & 1))))
        });
        let independent = price(300_000, |calls| {
            (0..calls as u64).fold(0, |sum: u64, step| sum.wrapping_add((kernel.call)(search, area, mixed(step))))
        });
        let uncached = price(30_000, |calls| {
            (0..calls as u64).fold(0, |sum: u64, step| {
                let number = mixed(step);
                let node = (number as usize % (AREA_WORDS / 512)) * 512;
                sum.wrapping_add((kernel.call)(search, &area[node..], number))
            })
        });
        let costs = [dependent, independent, uncached];
        if search == Search::portable() {
            reference = costs;
        }
        let gains: Vec<f64> = reference.iter().zip(costs).map(|(reference, cost)| reference / cost).collect();
        println!(
            "{:<16} {:<9} {:>7.1} {:>7.1} {:>8.1}    {:>5.2}x {:>5.2}x {:>5.2}x",
            kernel.name,
            search.name(),
            costs[0],
            costs[1],
            costs[2],
            gains[0],
            gains[1],
            gains[2]
        );
    }
}

/// Prints a row for ranks in nodes of `LEN` words. The compiler knows the length, as in a tree.
fn rank_row<const LEN: usize>(name: &'static str, count: usize, area: &[AtomicU64]) {
    let call = |search: Search, nodes: &[AtomicU64], number: u64| {
        nodes.first_chunk::<LEN>().map_or(0, |node| search.rank(node, count, number) as u64)
    };
    row(&mut Kernel { name, call }, area);
}

/// Prints a row for copies of `words` words. The compiler does not know the number.
fn copy_row(name: &'static str, words: usize, area: &[AtomicU64]) {
    let mut out = [0; 128];
    let call = |search: Search, nodes: &[AtomicU64], number: u64| {
        let from = (number as usize) & 7;
        search.copy(&nodes[from..from + words], &mut out[..words]);
        black_box(&mut out)[words - 1]
    };
    row(&mut Kernel { name, call }, area);
}

/// Prints a row for the comparison of a key of `len` bytes with equal bytes. After a matching fingerprint, the bytes
/// are nearly always equal.
fn starts_row(name: &'static str, len: usize, area: &[AtomicU64]) {
    let zeros = black_box(vec![0_u8; len]);
    let call = |search: Search, nodes: &[AtomicU64], number: u64| {
        let from = 256 + (number as usize & 7);
        u64::from(search.starts_with(&nodes[from..from + 32], &zeros))
    };
    row(&mut Kernel { name, call }, area);
}

fn main() {
    // Each 512 words ascend over the whole range of numbers. The upper half of each node is zeros, for `starts_with`.
    let step = u64::MAX / 256;
    let word = |at: usize| if at % 512 < 256 { (at as u64 % 256) * step } else { 0 };
    let words: Vec<AtomicU64> = (0..AREA_WORDS + 512).map(|_| AtomicU64::new(0)).collect();
    // Nodes of a tree are aligned to lines.
    let area = &words[words.as_ptr().align_offset(64)..][..AREA_WORDS];
    for (at, slot) in area.iter().enumerate() {
        slot.store(word(at), Relaxed);
    }

    println!(
        "{:<16} {:<9} {:>7} {:>7} {:>8}    gains over portable",
        "kernel", "level", "depend.", "indep.", "uncached"
    );
    rank_row::<8>("rank of 8", 8, area);
    rank_row::<40>("rank of 38", 38, area);
    rank_row::<64>("rank of 64", 60, area);
    rank_row::<256>("rank of 256", 256, area);
    let call = |search: Search, nodes: &[AtomicU64], number: u64| {
        nodes.first_chunk().map_or(0, |words| u64::from(search.bytes_equal(words, number as u8)))
    };
    row(&mut Kernel { name: "bytes_equal", call }, area);
    let call = |search: Search, nodes: &[AtomicU64], number: u64| {
        nodes.first_chunk::<32>().map_or(0, |words| search.words_equal(words, number))
    };
    row(&mut Kernel { name: "words_equal 32", call }, area);
    let call = |search: Search, nodes: &[AtomicU64], number: u64| {
        nodes.first_chunk::<64>().map_or(0, |words| search.words_equal(words, number))
    };
    row(&mut Kernel { name: "words_equal 64", call }, area);
    copy_row("copy 4 words", black_box(4), area);
    copy_row("copy 13 words", black_box(13), area);
    copy_row("copy 120 words", black_box(120), area);
    starts_row("starts_with 8", 8, area);
    starts_row("starts_with 23", 23, area);
    starts_row("starts_with 100", 100, area);
}
