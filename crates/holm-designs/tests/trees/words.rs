//! A tree set of words over plain memory, against the standard library's map.

use holm_lab::words;
use holm_medium::{FIRST_EPOCH, Mapped, MappedOptions, Storage, StorageOps, Writer};
use holm_search::Search;
use holm_tree::leaf::RecoveryPoint;
use holm_tree::{Index, LeafCursor, SeekTarget, TreeRoot, Wanted, Words};
use std::collections::BTreeMap;
use std::sync::Arc;

struct TreeFixture {
    writer: Arc<Writer<Mapped>>,
    index: Box<dyn Index<Words>>,
}

fn fixture() -> TreeFixture {
    let medium = Mapped::anonymous(MappedOptions::default()).expect("address space");
    let writer = Arc::new(Storage::open(medium, FIRST_EPOCH).expect("memory"));
    let index = words::design("buffered", writer.clone(), Search::detect()).expect("a design of that name");
    TreeFixture { writer, index }
}

impl TreeFixture {
    fn put(&self, root: &TreeRoot, key: u64, payload: u64) -> Option<u64> {
        let mut guard = self.writer.clock().pin().expect("a sound storage");
        self.index.put(root, &mut guard, key, payload).expect("memory").map(|old| old.payload)
    }
    fn remove(&self, root: &TreeRoot, key: u64) -> Option<u64> {
        let mut guard = self.writer.clock().pin().expect("a sound storage");
        self.index.remove(root, &mut guard, key).expect("memory").map(|old| old.payload)
    }
    fn all(&self, root: &TreeRoot) -> Vec<(u64, u64)> {
        let mut all = vec![];
        let mut edge = 0;
        loop {
            let cursor = self.index.cursor_at(root, SeekTarget::Holding(edge));
            all.extend(cursor.pairs.iter().map(|slot| (slot.head, slot.payload)));
            match cursor.edge {
                Some(high) => edge = high,
                None => return all,
            }
        }
    }
}

fn mixed(i: u64) -> u64 {
    i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ i.wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 29
}

/// Keys in ascending order leave full leaves behind, where a split in the middle would leave half-full ones. The same
/// keys in descending order do not.
#[test]
fn ascending_keys_leave_full_leaves_behind() {
    let leaves = |keys: &mut dyn Iterator<Item = u64>| {
        let fixture = fixture();
        let mut root = fixture.index.create_tree(&mut fixture.writer.clock().pin().expect("sound"), 7).expect("memory");
        keys.for_each(|key| assert_eq!(fixture.put(&root, key, !key), None));
        let found = fixture.index.audit(&root);
        assert!(found.faults.is_empty(), "{:?}", found.faults);
        let recovery_point = RecoveryPoint::Visible;
        root =
            fixture.index.rebuild(recovery_point, fixture.writer.clock().active(), 1).expect("sound").roots.remove(0);
        assert_eq!(fixture.all(&root), (0..2_800).map(|key| (key, !key)).collect::<Vec<_>>());
        found.leaves
    };
    assert_eq!(leaves(&mut (0..2_800)), 100);
    assert!(leaves(&mut (0..2_800).rev()) > 180);
}

#[test]
fn agrees_with_a_map_through_splits_merges_ticks_and_a_rebuild() {
    let fixture = fixture();
    let mut root = fixture.index.create_tree(&mut fixture.writer.clock().pin().expect("sound"), 7).expect("memory");
    let mut map = BTreeMap::new();
    for i in 0..60_000u64 {
        let key = match mixed(i) % 8 {
            0 => u64::MAX - i % 3,
            1 => i,
            2 => 60_000 - i,
            _ => mixed(i / 2) % 20_000,
        };
        if mixed(i + 1).is_multiple_of(3) || i > 50_000 {
            assert_eq!(fixture.remove(&root, key), map.remove(&key), "remove {key} at {i}");
        } else {
            assert_eq!(fixture.put(&root, key, mixed(i) % 5), map.insert(key, mixed(i) % 5), "put {key} at {i}");
        }
        if i % 700 == 0 {
            fixture.writer.end_epoch().expect("sound");
        }
        if i % 20_000 == 9_999 {
            let audit = fixture.index.audit(&root);
            assert_eq!(audit.faults, Vec::<String>::new());
            fixture.writer.end_epoch().expect("sound");
            let rebuilt = fixture
                .index
                .rebuild(RecoveryPoint::Visible, fixture.writer.clock().active(), 2)
                .expect("sound leaves");
            root = rebuilt.roots.into_iter().next().expect("one tree");
            assert_eq!(root.keyspace(), 7);
        }
    }
    assert_eq!(fixture.index.audit(&root).faults, Vec::<String>::new());
    assert_eq!(fixture.all(&root), map.clone().into_iter().collect::<Vec<_>>());
    assert_eq!(root.pairs(), map.len() as u64);
    for key in map.keys().copied().collect::<Vec<_>>() {
        assert_eq!(fixture.remove(&root, key), map.remove(&key));
    }
    assert_eq!(fixture.all(&root), []);
    assert_eq!(fixture.put(&root, 3, 3), None);
    assert_eq!(fixture.index.get(&root, 3).payload, Some(3));
}

#[test]
fn backward_scans_visit_every_pair() {
    let fixture = fixture();
    let root = fixture.index.create_tree(&mut fixture.writer.clock().pin().expect("sound"), 0).expect("memory");
    (0..5_000).for_each(|key| assert_eq!(fixture.put(&root, key * 3, key), None));
    let mut all = vec![];
    let mut cursor = fixture.index.cursor_at(&root, SeekTarget::Last);
    loop {
        all.extend(cursor.pairs.iter().rev().map(|slot| slot.head));
        match cursor.edge {
            Some(low) => cursor = fixture.index.cursor_at(&root, SeekTarget::Below(low)),
            None => break,
        }
    }
    assert_eq!(all, (0..5_000).rev().map(|key| key * 3).collect::<Vec<_>>());
}

/// A scan reads the next leaf while it copies one; a leaf that changed since is read again.
#[test]
fn a_leaf_read_ahead_counts_only_while_unchanged() {
    let fixture = fixture();
    let root = fixture.index.create_tree(&mut fixture.writer.clock().pin().expect("sound"), 0).expect("memory");
    let mut map: BTreeMap<u64, u64> = (0..1_000).map(|key| (key * 3, key)).collect();
    map.iter().for_each(|(key, payload)| assert_eq!(fixture.put(&root, *key, *payload), None));
    let mut cursor = LeafCursor::default();
    for forward in [true, false] {
        let mut edge = if forward { 0 } else { 3_000 };
        let (mut leaves, mut foreseen, mut changed) = (0, 0, false);
        loop {
            let target = if forward { SeekTarget::Holding(edge) } else { SeekTarget::Below(edge) };
            fixture.index.copy_leaf(&root, target, Wanted::pairs(usize::MAX), &mut cursor);
            let next = cursor.edge.unwrap_or(if forward { u64::MAX } else { 0 });
            let found: Vec<_> = cursor.pairs.iter().map(|slot| (slot.head, slot.payload)).collect();
            let range = if forward { edge..next } else { next..edge };
            assert_eq!(found, map.range(range).map(|(key, payload)| (*key, *payload)).collect::<Vec<_>>());
            assert!(!(changed && cursor.was_ahead), "it has changed since");
            (leaves, foreseen) = (leaves + 1, foreseen + usize::from(cursor.was_ahead));
            changed = false;
            if let (0, Some(slot)) = (leaves % 3, cursor.ahead.pairs.first()) {
                changed = true;
                map.insert(slot.head, slot.payload + 5_000);
                assert_eq!(fixture.put(&root, slot.head, slot.payload + 5_000), Some(slot.payload));
            }
            match cursor.edge {
                Some(next) => edge = next,
                None => break,
            }
        }
        assert!(foreseen * 2 > leaves, "{foreseen} of {leaves} leaves were foreseen");
    }
}

#[test]
fn many_threads_lose_nothing() {
    let fixture = fixture();
    let root = fixture.index.create_tree(&mut fixture.writer.clock().pin().expect("sound"), 0).expect("memory");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3u64)
            .map(|thread| {
                let (fixture, root) = (&fixture, &root);
                scope.spawn(move || {
                    for i in 0..30_000 {
                        assert_eq!(fixture.put(root, mixed(i * 3 + thread), i), None);
                        if i % 5 == 4 {
                            let gone = mixed((i - 2) * 3 + thread);
                            assert_eq!(fixture.remove(root, gone), Some(i - 2));
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                fixture.writer.end_epoch().expect("sound");
                std::thread::yield_now();
            }
        });
        scope.spawn(|| {
            let mut i = 0;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                i += 1;
                let thread = i % 3;
                let at = mixed(i) % 30_000;
                if let Some(payload) = fixture.index.get(&root, mixed(at * 3 + thread)).payload {
                    assert_eq!(payload, at);
                }
            }
        });
        writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(root.pairs(), 3 * (30_000 - 6_000));
    assert_eq!(fixture.index.audit(&root).faults, Vec::<String>::new());
}
