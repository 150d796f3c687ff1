//! What all designs share: every key and value equals the standard library's map. And what the designs share that are
//! durable when an operation returns: readers beside writers, and flushes and fences by a table.

mod counts;

use crate::agree;
use crate::fixture::{TreeFixture, mixed};
use holm_designs::designs;
use holm_tree::leaf::Capabilities;
use holm_tree::{Design, SeekTarget, Words};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

macro_rules! tests {
    ($($name:ident)*) => {
        $(
            mod $name {
                use super::*;

                const CAPABILITIES: Capabilities = <designs::$name as Design>::CAPABILITIES;
                const STRICT: bool = CAPABILITIES.stores_pairs && !CAPABILITIES.per_epoch;

                #[test]
                fn words_agree_with_a_map_for_any_keys_and_values() {
                    if CAPABILITIES.stores_pairs {
                        agree::words(|| TreeFixture::of_words(stringify!($name)), 1_500);
                    }
                }

                #[test]
                fn byte_strings_with_equal_heads_agree_with_a_map() {
                    if CAPABILITIES.stores_pairs && !CAPABILITIES.needs_whole_keys {
                        agree::names(|names| TreeFixture::of_names(stringify!($name), names));
                    }
                }

                #[test]
                fn readers_beside_writers_see_what_is_there() {
                    if STRICT {
                        readers_beside_writers(&TreeFixture::of_words(stringify!($name)));
                    }
                }
            }
        )*
    };
}

holm_designs::for_each_design!(tests);

pub fn readers_beside_writers(fixture: &TreeFixture<Words>) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2u64)
            .map(|thread| {
                scope.spawn(move || {
                    for i in 0..20_000 {
                        assert_eq!(fixture.put(mixed(i * 2 + thread), i), None);
                        if i % 3 == 2 {
                            assert_eq!(fixture.remove(mixed((i - 1) * 2 + thread)), Some(i - 1));
                        }
                    }
                })
            })
            .collect();
        for thread in 0..2u64 {
            let done = &done;
            scope.spawn(move || {
                // Pairs that are never removed: once seen, always seen.
                let mut seen = 0;
                while !done.load(Relaxed) {
                    while fixture.get(mixed(seen * 2 + thread)).is_some() {
                        seen += 3;
                    }
                    for i in (0..seen).step_by(3) {
                        assert_eq!(fixture.get(mixed(i * 2 + thread)), Some(i));
                    }
                    let cursor = fixture.index.cursor_at(&fixture.root, SeekTarget::Holding(mixed(seen)));
                    assert!(cursor.pairs.is_sorted_by(|a, b| a.head < b.head));
                }
            });
        }
        writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
        done.store(true, Relaxed);
    });
    assert_eq!(fixture.root.pairs(), 2 * (20_000 - 6_666));
    assert_eq!(fixture.payloads().len() as u64, fixture.root.pairs());
}
