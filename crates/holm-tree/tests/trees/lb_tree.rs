//! LB+-Tree's counts, by formula: what an operation flushes depends on the line that its pair goes to.

use crate::grove::{Grove, ORDERS, mixed};
use holm_medium::{Area, Ground};
use holm_tree::{Toward, Words};

/// The line of the block in which the leaf keeps a key; the header's is line 0.
fn line_of(grove: &Grove<Words>, leaf: u32, key: u64) -> Option<usize> {
    let image = grove.quill.image();
    let words = image.words(Area::Leaves.at(u64::from(leaf) * 256), 32).expect("a block of 256 bytes");
    let bits = words[0].read();
    let slot = (0..14).find(|slot| bits >> slot & 1 == 1 && words[2 + 2 * slot].read() == key)?;
    Some((slot + 1) / 4)
}

#[test]
fn an_insert_flushes_one_line_where_the_header_s_has_room_and_two_elsewhere() {
    for (name, order) in ORDERS {
        let grove = Grove::new("lb_tree", Words);
        let (mut fronts, mut behind, mut splits, mut riders) = (0, 0, 0, 0);
        for i in 0..4_000 {
            let key = order(mixed(i) % 600);
            let removes = mixed(i + 7) % 16 < if i < 2_000 { 3 } else { 10 };
            let leaf = |key| grove.index.view(&grove.root, Toward::Holding(key));
            let before = leaf(key);
            let present = before.pairs.iter().any(|slot| slot.head == key);
            let counts = grove.counts();
            if removes {
                grove.remove(key)
            } else {
                grove.put(key, i)
            };
            let spent = grove.counts() - counts;
            let after = leaf(key);
            let wanted = match (removes, present) {
                (true, false) => (0, 0),
                (true, true) | (false, true) => (1, 1),
                (false, false) => {
                    let own = after.seen.leaf();
                    let line = line_of(&grove, own, key).expect("the key was put");
                    let insert = if line == 0 { (1, 1) } else { (2, 2) };
                    let full = before.pairs.len() == 14;
                    splits += u64::from(full);
                    if full && own != before.seen.leaf() {
                        riders += 1;
                        // Header, the three lines behind it for eight pairs, the old leaf's links; its header.
                        (6, 2)
                    } else if full {
                        (5 + insert.0, 2 + insert.1)
                    } else {
                        *[&mut fronts, &mut behind][usize::from(line > 0)] += 1;
                        insert
                    }
                }
            };
            assert_eq!((spent.flushes, spent.fences), wanted, "{name}: {key}, removed: {removes}, there: {present}");
        }
        assert!(splits > 30 && riders > 10, "{name}: {splits} splits, {riders} with a rider");
        assert!(fronts > 2 * behind && behind > 50, "{name}: {fronts} into the header's line, {behind} elsewhere");
    }
}
