//! Kernels beside a concurrent writer: results stay in range, and each word that a kernel copies was written by the
//! writer.

use holm_search::{Search, prefetch, prefetch_lines, prefetch_write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Returns a word whose two halves are equal, so that a torn word is visible.
fn whole(of: u32) -> u64 {
    u64::from(of) << 32 | u64::from(!of)
}

#[test]
fn a_writer_cannot_push_answers_out_of_range_nor_tear_a_word() {
    let node: Vec<AtomicU64> = (0..512).map(|slot| AtomicU64::new(whole(slot))).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // The writer's rounds are bounded and not ended by the reader: a reader that fails must not leave the writer
        // running.
        scope.spawn(|| {
            for round in 0..if cfg!(miri) { 2 } else { 20_000_u32 } {
                for (slot, word) in (0_u32..).zip(&node) {
                    word.store(whole((slot ^ round).wrapping_mul(0x9e37_79b9)), Relaxed);
                }
            }
            done.store(true, Relaxed);
        });
        for round in 0_u32.. {
            for search in Search::all_available() {
                let key = whole(round.wrapping_mul(0x85eb_ca6b));
                assert!(search.rank(&node, 400, key) <= 400);
                assert!(search.rank(&node[..64], 40, key) <= 40);
                assert!(search.rank_below(&node[..40], 38, key) <= 38);
                assert!(search.rank_halving(&node, 400, key) <= 400);
                assert!(search.rank_interpolating(&node, 400, key) <= 400);
                assert_eq!(search.words_equal(&node[..40], key) >> 40, 0);
                let mut out = [0; 75];
                search.copy(&node[3..], &mut out);
                assert!(out.iter().all(|word| *word >> 32 == u64::from(!(*word as u32))), "{}", search.name());
            }
            if done.load(Relaxed) {
                break;
            }
        }
    });
}

#[test]
fn prefetching_anything_is_harmless() {
    let words = [const { AtomicU64::new(0) }; 100];
    prefetch(&words);
    prefetch_write(&words[99]);
    prefetch_lines(&words);
    prefetch_lines(&words[3..3]);
    prefetch_lines(&());
    prefetch_lines("a word of text");
}

#[test]
fn a_search_is_at_most_one_byte_and_detects_the_best() {
    assert!(size_of::<Search>() <= 1);
    let levels = Search::all_available();
    assert_eq!(levels.first(), Some(&Search::portable()));
    assert_eq!(levels.last(), Some(&Search::detect()));
}
