//! A tree of one design that counts its flushes, and keys in several orders.

#![allow(dead_code, reason = "each program of tests uses its part")]

use crate::names::Names;
use holm_designs::designs;
use holm_lab::words;
use holm_medium::{Area, Counts, FIRST_EPOCH, Flush, Mapped, MappedOptions, Storage, StorageOps, Writer};
use holm_search::Search;
use holm_tree::leaf::RecoveryPoint;
use holm_tree::{Index, Keys, SeekTarget, TreeRoot, Words};
use std::collections::BTreeMap;
use std::sync::Arc;

pub struct TreeFixture<K: Keys> {
    pub writer: Arc<Writer<Mapped>>,
    pub index: Box<dyn Index<K>>,
    pub root: TreeRoot,
}

impl TreeFixture<Words> {
    /// A design or a variant, which the laboratory has compiled.
    pub fn of_words(name: &str) -> Self {
        let index = |writer| words::design_or_variant(name, writer, Search::detect());
        Self::over(|writer| index(writer).expect("a design of that name"))
    }

    /// Whether a key's pair is the only one of its line, in a leaf of Isle-Tree of 512 bytes.
    pub fn is_alone_in_its_line(&self, key: u64) -> bool {
        let leaf = self.index.cursor_at(&self.root, SeekTarget::Holding(key)).leaf_version.leaf();
        let words = self.writer.image().words(Area::Leaves.at(u64::from(leaf) * 512), 64).expect("a leaf block");
        (0..7).any(|line| (words[3].read() >> (8 * line)) as u8 == 1 && words[8 * (1 + line)].read() == key)
    }
}

impl TreeFixture<Names> {
    pub fn of_names(design: &str, names: Names) -> Self {
        let index = |writer| designs::open(design, writer, names, Search::detect());
        Self::over(|writer| index(writer).expect("a design of that name"))
    }
}

impl<K: Keys> TreeFixture<K> {
    /// A fixture with any index.
    pub fn over(index: impl FnOnce(Arc<Writer<Mapped>>) -> Box<dyn Index<K>>) -> Self {
        let options = MappedOptions { count: true, flush: Flush::Nothing, ..MappedOptions::default() };
        let writer =
            Arc::new(Storage::open(Mapped::anonymous(options).expect("address space"), FIRST_EPOCH).expect("memory"));
        let index = index(writer.clone());
        let root = index.create_tree(&mut writer.clock().pin().expect("a sound storage"), 7).expect("memory");
        TreeFixture { writer, index, root }
    }
    pub fn put(&self, key: K::SearchKey<'_>, payload: u64) -> Option<u64> {
        let mut guard = self.writer.clock().pin().expect("a sound storage");
        self.index.put(&self.root, &mut guard, key, payload).expect("memory").map(|old| old.payload)
    }
    pub fn remove(&self, key: K::SearchKey<'_>) -> Option<u64> {
        let mut guard = self.writer.clock().pin().expect("a sound storage");
        self.index.remove(&self.root, &mut guard, key).expect("memory").map(|old| old.payload)
    }
    pub fn get(&self, key: K::SearchKey<'_>) -> Option<u64> {
        self.index.get(&self.root, key).payload
    }
    pub fn payloads(&self) -> Vec<u64> {
        let audit = self.index.audit(&self.root);
        assert_eq!(audit.faults, Vec::<String>::new());
        audit.payloads
    }
    /// Rebuilds as after the death of the process.
    pub fn rebuild(&mut self) {
        let rebuilt =
            self.index.rebuild(RecoveryPoint::Visible, self.writer.clock().active(), 2).expect("sound leaves");
        let mut roots = rebuilt.roots;
        assert!(roots.len() < 2);
        // A tree with only an empty leaf may not be found at all.
        let mut guard = self.writer.clock().pin().expect("a sound storage");
        self.root = roots.pop().unwrap_or_else(|| self.index.create_tree(&mut guard, 7).expect("memory"));
        assert_eq!(self.root.keyspace(), 7);
    }
    pub fn counts(&self) -> Counts {
        self.writer.storage().medium.counts()
    }
}

pub fn mixed(i: u64) -> u64 {
    i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ i.wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 29
}

/// Returns the key of a turn.
pub type Order = fn(u64) -> u64;

/// Orders in which keys arrive, including the least and the greatest key.
pub const ORDERS: [(&str, Order); 5] = [
    ("ascending", |i| i),
    ("descending", |i| u64::MAX - i),
    ("random", mixed),
    (
        "clustered",
        |i| if i.is_multiple_of(50) { [0, u64::MAX][i as usize / 50 % 2] } else { ((i % 7) << 60) | (i / 7) },
    ),
    ("towards the middle", |i| if i.is_multiple_of(2) { i } else { u64::MAX - i }),
];

/// Compares a design with a map: keys and values of any bits, in several orders, through rebuilds, until it is empty.
pub(crate) fn agrees_with_a_map_for_any_bits(design: &str) {
    for (name, order) in ORDERS {
        let mut fixture = TreeFixture::of_words(design);
        let mut map = BTreeMap::new();
        for round in 0..4 {
            for i in 0..2_000 {
                let (key, value) = (order(mixed(i) % 700), [0, 1, i, u64::MAX][(i + round) as usize % 4]);
                if mixed(i + round) % 8 < 3 + round % 2 * 3 {
                    assert_eq!(fixture.remove(key), map.remove(&key), "{name}: remove {key}");
                } else {
                    assert_eq!(fixture.put(key, value), map.insert(key, value), "{name}: put {key}");
                }
                if i % 500 == 0 {
                    fixture.writer.end_epoch().expect("a sound storage");
                }
            }
            assert_eq!(fixture.payloads(), map.values().copied().collect::<Vec<_>>(), "{name}");
            fixture.rebuild();
            assert_eq!(fixture.payloads(), map.values().copied().collect::<Vec<_>>(), "{name}: rebuilt");
            assert!(map.iter().all(|(key, value)| fixture.get(*key) == Some(*value)), "{name}");
        }
        while let Some((key, value)) = map.pop_last() {
            assert_eq!(fixture.remove(key), Some(value), "{name}: remove {key}");
        }
        assert_eq!(fixture.payloads(), [0; 0], "{name}: emptied");
        assert_eq!(fixture.put(u64::MAX, 1), None);
        assert_eq!(fixture.put(0, 2), None);
        fixture.rebuild();
        assert_eq!(fixture.payloads(), [2, 1]);
    }
}
