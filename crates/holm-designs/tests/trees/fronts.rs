//! Counts by formula for the designs that keep pairs in the header's line: the line of an operation's pair determines
//! what it flushes.

use crate::fixture::{ORDERS, Order, TreeFixture, mixed};
use holm_medium::{Area, Counts, StorageOps, Word};
use holm_tree::{SeekTarget, Words};
use std::collections::{BTreeMap, BTreeSet};

/// Where a design keeps what the formulas need, and the costs of its splits.
struct Shape {
    design: &'static str,
    bytes: usize,
    slots: usize,
    bits: fn(&[Word]) -> u64,
    /// The word of slot 0.
    first: usize,
    /// The number of slots in the header's line.
    front: usize,
    /// With the pending pair, and without it.
    splits: [(u64, u64); 2],
    /// If a pair above all of the last leaf becomes a leaf alone.
    append: Option<(u64, u64)>,
    merges: bool,
}

const SHAPES: [Shape; 2] = [
    Shape {
        design: "lb_tree",
        bytes: 256,
        slots: 14,
        bits: |words| words[0].read(),
        first: 2,
        front: 3,
        // The header, the lines behind it for eight or seven pairs, the old leaf's links, and its header.
        splits: [(6, 2), (5, 2)],
        // The same without a line of pairs behind the header.
        append: Some((4, 2)),
        merges: false,
    },
    Shape {
        design: "holm_strict",
        bytes: 512,
        slots: 29,
        bits: |words| words[0].read() >> 32,
        first: 6,
        front: 1,
        // The header, the lines behind it for sixteen or fifteen pairs, and the old leaf's header.
        splits: [(6, 2), (6, 2)],
        append: None,
        merges: true,
    },
];

/// The contents of a leaf: slots that count, each with its key.
type Slots = BTreeSet<(usize, u64)>;

impl Shape {
    fn slots(&self, fixture: &TreeFixture<Words>, leaf: u32) -> Slots {
        let place = Area::Leaves.at(u64::from(leaf) * self.bytes as u64);
        let words = fixture.writer.image().words(place, self.bytes / 8).expect("a block");
        let bits = (self.bits)(words);
        (0..self.slots).filter(|at| bits >> at & 1 == 1).map(|at| (at, words[self.first + 2 * at].read())).collect()
    }

    fn line(&self, slot: usize) -> usize {
        (self.first / 2 + slot) / 4
    }

    /// The cost of an insert without a split.
    fn insert(&self, slot: usize) -> (u64, u64) {
        assert_eq!(self.line(slot) == 0, slot < self.front);
        if slot < self.front { (1, 1) } else { (2, 2) }
    }

    /// The cost of a merge in which the left leaf takes over these slots of its right neighbour, and changes its
    /// header.
    fn merge<'a>(&self, taken: impl Iterator<Item = &'a (usize, u64)>) -> (u64, u64) {
        let lines: BTreeSet<_> = taken.map(|(slot, _)| self.line(*slot)).filter(|line| *line > 0).collect();
        (lines.len() as u64 + 1, 1 + u64::from(!lines.is_empty()))
    }
}

/// The leaves, by number.
fn leaves(shape: &Shape, fixture: &TreeFixture<Words>) -> BTreeMap<u32, Slots> {
    let (mut leaves, mut edge) = (BTreeMap::new(), 0);
    loop {
        let cursor = fixture.index.cursor_at(&fixture.root, SeekTarget::Holding(edge));
        leaves.insert(cursor.leaf_version.leaf(), shape.slots(fixture, cursor.leaf_version.leaf()));
        match cursor.edge {
            Some(high) => edge = high,
            None => return leaves,
        }
    }
}

/// How often each case occurred.
#[derive(Default, Debug)]
struct Tally {
    fronts: u32,
    behind: u32,
    along: u32,
    splits: u32,
    riders: u32,
    appends: u32,
    merges: u32,
}

/// Checks the cost of each operation of a trace by formula.
fn follows(shape: &Shape, name: &str, order: Order) -> Tally {
    let fixture = TreeFixture::of_words(shape.design);
    let mut tally = Tally::default();
    for i in 0..4_000 {
        let key = order(mixed(i) % 600);
        let removes = mixed(i + 7) % 16 < if i < 2_000 { 3 } else { 13 };
        let number = || fixture.index.cursor_at(&fixture.root, SeekTarget::Holding(key)).leaf_version.leaf();
        let (own, before, counts) = (number(), leaves(shape, &fixture), fixture.counts());
        let found = if removes { fixture.remove(key) } else { fixture.put(key, i) };
        let spent = fixture.counts() - counts;
        let (now, after) = (number(), leaves(shape, &fixture));
        let wanted = match (removes, found.is_some()) {
            (true, false) => (0, 0),
            (false, true) => (1, 1),
            (true, true) if after.len() == before.len() => (1, 1),
            (true, true) => {
                tally.merges += 1;
                let (flushes, fences) = shape.merge(after[&now].difference(&before[&now]));
                (1 + flushes, 1 + fences)
            }
            (false, false) => {
                let slot = after[&now].iter().find(|(_, put)| *put == key).expect("the key was put").0;
                let insert = shape.insert(slot);
                match (after.len() - before.len(), now == own) {
                    (0, _) => {
                        let came = after[&now].difference(&before[&now]).count();
                        *[&mut tally.fronts, &mut tally.behind][usize::from(insert.0 > 1)] += 1;
                        tally.along += u32::from(came > 1);
                        insert
                    }
                    (_, false) if shape.append.is_some() && after[&now].len() == 1 => {
                        tally.appends += 1;
                        shape.append.expect("it appends")
                    }
                    (_, false) => {
                        (tally.splits, tally.riders) = (tally.splits + 1, tally.riders + 1);
                        shape.splits[0]
                    }
                    (_, true) => {
                        tally.splits += 1;
                        (shape.splits[1].0 + insert.0, shape.splits[1].1 + insert.1)
                    }
                }
            }
        };
        let design = shape.design;
        assert_eq!((spent.flushes, spent.fences), wanted, "{design}, {name}: {key}, removed: {removes}, {found:?}");
    }
    tally
}

#[test]
fn an_insert_flushes_one_line_where_the_header_s_has_room_and_two_elsewhere() {
    for (shape, (name, order)) in SHAPES.iter().flat_map(|shape| ORDERS.map(|order| (shape, order))) {
        let tally = follows(shape, name, order);
        let Tally { fronts, behind, along, splits, riders, appends, merges } = tally;
        assert!(splits > 10 && riders > 3, "{}, {name}: {tally:?}", shape.design);
        assert!(behind > 50 && along > 50 && fronts > behind / 2, "{}, {name}: {tally:?}", shape.design);
        assert!(appends == 0 || shape.append.is_some(), "{}, {name}: {tally:?}", shape.design);
        assert_eq!(merges > 3, shape.merges, "{}, {name}: {tally:?}", shape.design);
    }
}

#[test]
fn creating_and_dropping_a_tree_costs_what_the_page_says() {
    for (shape, planted) in SHAPES.iter().zip([(3, 3), (1, 1)]) {
        let fixture = TreeFixture::of_words(shape.design);
        let cost = |before: Counts| {
            let spent = fixture.counts() - before;
            (spent.flushes, spent.fences)
        };
        let before = fixture.counts();
        let root = fixture.index.create_tree(&mut fixture.writer.clock().pin().expect("sound"), 8).expect("memory");
        assert_eq!(cost(before), planted, "{}", shape.design);
        let mut guard = fixture.writer.clock().pin().expect("sound");
        (0..200).for_each(|key| assert_eq!(fixture.index.put(&root, &mut guard, key, key).expect("memory"), None));
        let (leaves, before) = (fixture.index.audit(&root).leaves, fixture.counts());
        fixture.index.drop_tree(&root, &mut guard, &mut |_| {}).expect("sound");
        assert!(leaves > 5);
        assert_eq!(cost(before), (leaves, leaves), "{}", shape.design);
    }
}

/// Ascending keys leave full leaves behind.
#[test]
fn ascending_keys_fill_every_leaf() {
    let mut fixture = TreeFixture::<Words>::of_words("lb_tree");
    (0..4_000).for_each(|key| assert_eq!(fixture.put(key, key), None));
    assert_eq!(fixture.index.audit(&fixture.root).leaves, 4_000_u64.div_ceil(14));
    fixture.rebuild();
    assert_eq!(fixture.payloads(), (0..4_000).collect::<Vec<_>>());
}

/// The purpose of the designs: lines and fences of 100,000 inserts, including splits.
#[test]
fn uniform_inserts_cost_less_than_two_lines() {
    let spent = SHAPES.map(|shape| {
        let fixture = TreeFixture::of_words(shape.design);
        let before = fixture.counts();
        (0..100_000).for_each(|i| assert_eq!(fixture.put(mixed(i), i), None));
        let spent = fixture.counts() - before;
        (shape.design, spent.flushes, spent.fences)
    });
    assert_eq!(spent, [("lb_tree", 172_382, 138_826), ("holm_strict", 175_764, 157_680)]);
}
