//! A tree set of words over plain memory, against the standard library's map.

use holm_designs::designs;
use holm_medium::{FIRST_EPOCH, Ground, Mapped, MappedOptions, Pool, Quill};
use holm_search::Search;
use holm_tree::leaf::Cut;
use holm_tree::{Index, Root, Toward, View, Words};
use std::collections::BTreeMap;
use std::sync::Arc;

struct Grove {
    quill: Arc<Quill<Mapped>>,
    index: Box<dyn Index<Words>>,
}

fn grove() -> Grove {
    let medium = Mapped::anonymous(MappedOptions::default()).expect("address space");
    let quill = Arc::new(Pool::open(medium, FIRST_EPOCH).expect("memory"));
    let index = designs::open("buffered", quill.clone(), Words, Search::detect()).expect("a design of that name");
    Grove { quill, index }
}

impl Grove {
    fn put(&self, root: &Root, key: u64, payload: u64) -> Option<u64> {
        let mut stay = self.quill.clock().check_in().expect("a sound pool");
        self.index.put(root, &mut stay, key, payload, None).expect("memory").map(|old| old.payload)
    }
    fn remove(&self, root: &Root, key: u64) -> Option<u64> {
        let mut stay = self.quill.clock().check_in().expect("a sound pool");
        self.index.remove(root, &mut stay, key, None).expect("memory").map(|old| old.payload)
    }
    fn all(&self, root: &Root) -> Vec<(u64, u64)> {
        let mut all = vec![];
        let mut edge = 0;
        loop {
            let view = self.index.view(root, Toward::Holding(edge));
            all.extend(view.pairs.iter().map(|slot| (slot.head, slot.payload)));
            match view.edge {
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
        let grove = grove();
        let mut root = grove.index.plant(&mut grove.quill.clock().check_in().expect("sound"), 7).expect("memory");
        keys.for_each(|key| assert_eq!(grove.put(&root, key, !key), None));
        let found = grove.index.audit(&root);
        assert!(found.faults.is_empty(), "{:?}", found.faults);
        let cut = Cut::Visible;
        root = grove.index.rebuild(cut, grove.quill.clock().active(), 1).expect("sound").roots.remove(0);
        assert_eq!(grove.all(&root), (0..2_800).map(|key| (key, !key)).collect::<Vec<_>>());
        found.leaves
    };
    assert_eq!(leaves(&mut (0..2_800)), 100);
    assert!(leaves(&mut (0..2_800).rev()) > 180);
}

#[test]
fn agrees_with_a_map_through_splits_merges_ticks_and_a_rebuild() {
    let grove = grove();
    let mut root = grove.index.plant(&mut grove.quill.clock().check_in().expect("sound"), 7).expect("memory");
    let mut map = BTreeMap::new();
    for i in 0..60_000u64 {
        let key = match mixed(i) % 8 {
            0 => u64::MAX - i % 3,
            1 => i,
            2 => 60_000 - i,
            _ => mixed(i / 2) % 20_000,
        };
        if mixed(i + 1).is_multiple_of(3) || i > 50_000 {
            assert_eq!(grove.remove(&root, key), map.remove(&key), "remove {key} at {i}");
        } else {
            assert_eq!(grove.put(&root, key, mixed(i) % 5), map.insert(key, mixed(i) % 5), "put {key} at {i}");
        }
        if i % 700 == 0 {
            grove.quill.advance().expect("sound");
        }
        if i % 20_000 == 9_999 {
            let audit = grove.index.audit(&root);
            assert_eq!(audit.faults, Vec::<String>::new());
            grove.quill.advance().expect("sound");
            let rebuilt = grove.index.rebuild(Cut::Visible, grove.quill.clock().active(), 2).expect("sound leaves");
            root = rebuilt.roots.into_iter().next().expect("one tree");
            assert_eq!(root.keyspace(), 7);
        }
    }
    assert_eq!(grove.index.audit(&root).faults, Vec::<String>::new());
    assert_eq!(grove.all(&root), map.clone().into_iter().collect::<Vec<_>>());
    assert_eq!(root.pairs(), map.len() as u64);
    for key in map.keys().copied().collect::<Vec<_>>() {
        assert_eq!(grove.remove(&root, key), map.remove(&key));
    }
    assert_eq!(grove.all(&root), []);
    assert_eq!(grove.put(&root, 3, 3), None);
    assert_eq!(grove.index.get(&root, 3).payload, Some(3));
}

#[test]
fn backward_scans_visit_every_pair() {
    let grove = grove();
    let root = grove.index.plant(&mut grove.quill.clock().check_in().expect("sound"), 0).expect("memory");
    (0..5_000).for_each(|key| assert_eq!(grove.put(&root, key * 3, key), None));
    let mut all = vec![];
    let mut view = grove.index.view(&root, Toward::Last);
    loop {
        all.extend(view.pairs.iter().rev().map(|slot| slot.head));
        match view.edge {
            Some(low) => view = grove.index.view(&root, Toward::Below(low)),
            None => break,
        }
    }
    assert_eq!(all, (0..5_000).rev().map(|key| key * 3).collect::<Vec<_>>());
}

/// A scan reads the next leaf while it copies one; a leaf that changed since is read again.
#[test]
fn a_leaf_read_ahead_counts_only_while_unchanged() {
    let grove = grove();
    let root = grove.index.plant(&mut grove.quill.clock().check_in().expect("sound"), 0).expect("memory");
    let mut map: BTreeMap<u64, u64> = (0..1_000).map(|key| (key * 3, key)).collect();
    map.iter().for_each(|(key, payload)| assert_eq!(grove.put(&root, *key, *payload), None));
    let mut view = View::default();
    for forward in [true, false] {
        let mut edge = if forward { 0 } else { 3_000 };
        let (mut leaves, mut foreseen, mut changed) = (0, 0, false);
        loop {
            let toward = if forward { Toward::Holding(edge) } else { Toward::Below(edge) };
            grove.index.look(&root, toward, usize::MAX, &mut view);
            let next = view.edge.unwrap_or(if forward { u64::MAX } else { 0 });
            let found: Vec<_> = view.pairs.iter().map(|slot| (slot.head, slot.payload)).collect();
            let range = if forward { edge..next } else { next..edge };
            assert_eq!(found, map.range(range).map(|(key, payload)| (*key, *payload)).collect::<Vec<_>>());
            assert!(!(changed && view.foreseen), "it has changed since");
            (leaves, foreseen) = (leaves + 1, foreseen + usize::from(view.foreseen));
            changed = false;
            if let (0, Some(slot)) = (leaves % 3, view.ahead.pairs.first()) {
                changed = true;
                map.insert(slot.head, slot.payload + 5_000);
                assert_eq!(grove.put(&root, slot.head, slot.payload + 5_000), Some(slot.payload));
            }
            match view.edge {
                Some(next) => edge = next,
                None => break,
            }
        }
        assert!(foreseen * 2 > leaves, "{foreseen} of {leaves} leaves were foreseen");
    }
}

#[test]
fn many_threads_lose_nothing() {
    let grove = grove();
    let root = grove.index.plant(&mut grove.quill.clock().check_in().expect("sound"), 0).expect("memory");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3u64)
            .map(|thread| {
                let (grove, root) = (&grove, &root);
                scope.spawn(move || {
                    for i in 0..30_000 {
                        assert_eq!(grove.put(root, mixed(i * 3 + thread), i), None);
                        if i % 5 == 4 {
                            let gone = mixed((i - 2) * 3 + thread);
                            assert_eq!(grove.remove(root, gone), Some(i - 2));
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                grove.quill.advance().expect("sound");
                std::thread::yield_now();
            }
        });
        scope.spawn(|| {
            let mut i = 0;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                i += 1;
                let thread = i % 3;
                let at = mixed(i) % 30_000;
                if let Some(payload) = grove.index.get(&root, mixed(at * 3 + thread)).payload {
                    assert_eq!(payload, at);
                }
            }
        });
        writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(root.pairs(), 3 * (30_000 - 6_000));
    assert_eq!(grove.index.audit(&root).faults, Vec::<String>::new());
}
