//! A whole tree set at tiny size: writers, a reader and epoch ends over two to nine leaves, through splits of leaves,
//! leaf parents and roots, and through merges. Later gets see what a finished put has put, and the audit at the end
//! finds no errors.

use crate::explore::{caught, explore};
use holm_designs::inner::Contiguous;
use holm_medium::{Epoch, FIRST_EPOCH, Flush, Guard, Mapped, MappedOptions, Storage, StorageOps, Word, Writer};
use holm_search::Search;
use holm_tree::inner::Sorted;
use holm_tree::leaf::RecoveryPoint;
use holm_tree::leaf::buffered::{Buffered, Fingerprints, Triple};
use holm_tree::locks::{LockArray, Locks};
use holm_tree::{Design, Index, ManyPuts, SeekTarget, Superseded, TreeRoot, TreeSet, Words};
use shuttle::rand::RngCore as _;
use shuttle::thread;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The default design with eight children per node.
struct Tiny;

impl Design for Tiny {
    const NAME: &'static str = "tiny";
    type Leaf = Buffered<1, (Triple, Fingerprints)>;
    type LeafParent = Sorted<1>;
    type Upper = Sorted<1>;
}

/// The same with its leaves' latches in the leaf parents: two in each, or one, so that most leaves share theirs.
struct Locked<L>(std::marker::PhantomData<L>);

impl<L: Locks> Design for Locked<L> {
    const NAME: &'static str = "locked";
    type Leaf = Buffered<1, (Triple, Fingerprints)>;
    type LeafParent = Sorted<1, L>;
    type Upper = Sorted<1>;
}

/// The same, but a full leaf parent causes a rebuild of all leaf parents.
struct Renewed;

impl Design for Renewed {
    const NAME: &'static str = "renewed";
    type Leaf = Buffered<1, (Triple, Fingerprints)>;
    type LeafParent = Sorted<1>;
    type Upper = Contiguous<1>;
}

type TreeFixture = FixtureOf<Tiny>;

struct FixtureOf<D: Design> {
    writer: Arc<Writer<Mapped>>,
    tree_set: TreeSet<Mapped, D, Words>,
    root: TreeRoot,
    /// What finished operations have left, key by key. A key that is being written is absent, so it is not compared.
    settled: Mutex<BTreeMap<u64, Option<u64>>>,
    /// Every operation with its label, noted before it unpins its epoch; for each key in its order.
    labelled: Mutex<Vec<(Epoch, u64, Option<u64>)>>,
}

type Pairs = BTreeMap<u64, u64>;

fn bare<D: Design>() -> (Arc<Writer<Mapped>>, TreeSet<Mapped, D, Words>) {
    let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
    let writer = Arc::new(Storage::open(Mapped::heap(24 << 10, 4 << 10, options), FIRST_EPOCH).expect("memory"));
    (writer.clone(), TreeSet::new(writer, Words, Search::all_available()[0]))
}

fn pairs<D: Design>(tree_set: &TreeSet<Mapped, D, Words>, root: &TreeRoot) -> Pairs {
    let mut all = BTreeMap::new();
    let mut edge = 0;
    loop {
        let cursor = tree_set.cursor_at(root, SeekTarget::Holding(edge));
        all.extend(cursor.pairs.iter().map(|slot| (slot.head, slot.payload)));
        match cursor.edge {
            Some(high) => edge = high,
            None => return all,
        }
    }
}

impl<D: Design> FixtureOf<D> {
    /// A fixture with these keys, each of which is its own payload.
    fn new(keys: impl Iterator<Item = u64>) -> Self {
        let (writer, tree_set) = bare();
        let root = tree_set.create_tree(&mut writer.clock().pin().expect("sound"), 0).expect("memory");
        let fixture = FixtureOf { writer, tree_set, root, settled: Mutex::default(), labelled: Mutex::default() };
        keys.for_each(|key| fixture.put(key, key));
        fixture
    }

    fn settle(&self, key: u64, payload: Option<Option<u64>>) -> Option<Option<u64>> {
        let mut settled = self.settled.lock().expect("no panic");
        match payload {
            Some(payload) => settled.insert(key, payload),
            None => settled.remove(&key),
        }
    }

    fn label(&self, guard: &Guard<'_>, key: u64, payload: Option<u64>) {
        self.labelled.lock().expect("no panic").push((guard.epoch(), key, payload));
    }

    fn put(&self, key: u64, payload: u64) {
        let before = self.settle(key, None).flatten();
        let mut guard = self.writer.clock().pin().expect("sound");
        let old = self.tree_set.put(&self.root, &mut guard, key, payload).expect("memory");
        self.label(&guard, key, Some(payload));
        assert_eq!(old.map(|old| old.payload), before, "what put {key} found");
        self.settle(key, Some(Some(payload)));
    }

    /// Puts one payload under several keys, in one call.
    fn put_many(&self, keys: &[u64], payload: u64) {
        let before: Vec<_> = keys.iter().map(|key| self.settle(*key, None).flatten()).collect();
        let mut guard = self.writer.clock().pin().expect("sound");
        let mut found = Vec::new();
        let mut done = |epoch, old: Option<Superseded>| {
            self.labelled.lock().expect("no panic").push((epoch, keys[found.len()], Some(payload)));
            found.push(old.map(|old| old.payload));
        };
        let puts = ManyPuts { search_keys: keys, payloads: &vec![payload; keys.len()], done: &mut done };
        self.tree_set.put_many(&self.root, &mut guard, puts).expect("memory");
        assert_eq!(found, before, "what put {keys:?} found");
        drop(guard);
        for key in keys {
            self.settle(*key, Some(Some(payload)));
        }
    }

    fn remove(&self, key: u64) {
        let before = self.settle(key, None).flatten();
        let mut guard = self.writer.clock().pin().expect("sound");
        let old = self.tree_set.remove(&self.root, &mut guard, key).expect("memory");
        self.label(&guard, key, None);
        assert_eq!(old.map(|old| old.payload), before, "what remove {key} found");
        self.settle(key, Some(None));
    }

    /// Gets a key, alone or in a group; its value is known only if no operation wrote it meanwhile.
    fn get(&self, key: u64) {
        let known = || self.settled.lock().expect("no panic").get(&key).copied();
        let before = known();
        let payload = if shuttle::rand::thread_rng().next_u32() % 2 == 0 {
            self.tree_set.get(&self.root, key).payload
        } else {
            let mut found = Vec::new();
            self.tree_set.get_many(&self.root, &[key], &mut found);
            found[0].payload
        };
        if before.is_some() && before == known() {
            assert_eq!(payload, before.flatten(), "what get {key} found");
        }
    }

    fn tick(&self) {
        self.writer.end_epoch().expect("sound");
    }

    /// A crash: another storage gets these words, as many of each as had reached the medium, and recovers to the
    /// recovery point.
    fn recovered(words: Vec<u64>, recovery_point: RecoveryPoint, epoch: Epoch) -> Pairs {
        let (writer, tree_set) = bare::<D>();
        let image = writer.image().words(0, words.len()).expect("they came from an image of that size");
        writer.begin_write_at(epoch).fill(image, words.into_iter());
        let rebuilt = tree_set.rebuild(recovery_point, epoch, 1).expect("sound leaves");
        rebuilt.roots.first().map(|root| pairs(&tree_set, root)).unwrap_or_default()
    }

    /// Copies the leaf area word by word, and returns the epoch that was durable during the whole copy, if one was. Any
    /// word may reach the medium at any time, so a crash at the end of the copy could have left exactly this.
    fn photograph(&self) -> Option<(Vec<u64>, Epoch)> {
        let durable = self.writer.clock().durable();
        let blocks = self.writer.space().block_frontier() as usize;
        let image = self.writer.image().words(0, blocks * 64).expect("blocks lie in the image");
        let words = image.iter().map(Word::read).collect();
        (self.writer.clock().durable() == durable).then_some((words, durable))
    }

    /// What was labelled with this epoch or an earlier one.
    fn as_of(&self, epoch: Epoch) -> Pairs {
        let labelled = self.labelled.lock().expect("no panic");
        let mut pairs = BTreeMap::new();
        for (_, key, payload) in labelled.iter().filter(|(label, ..)| *label <= epoch) {
            match payload {
                Some(payload) => pairs.insert(*key, *payload),
                None => pairs.remove(key),
            };
        }
        pairs
    }

    /// Power is lost while the other threads work.
    fn lose_power(&self) {
        if let Some((words, durable)) = self.photograph() {
            let found = Self::recovered(words, RecoveryPoint::At(durable), durable + 1);
            assert_eq!(found, self.as_of(durable), "power lost after epoch {durable}");
        }
    }

    /// Everything is present and in order, also after the death of the process and after a loss of power; then an
    /// audit.
    fn end(&self) {
        let settled = self.settled.lock().expect("no panic").clone();
        let kept: Pairs = settled.into_iter().filter_map(|(key, payload)| Some((key, payload?))).collect();
        assert_eq!(pairs(&self.tree_set, &self.root), kept);
        assert_eq!(self.tree_set.audit(&self.root).faults, Vec::<String>::new());
        self.lose_power();
        let (words, _) = self.photograph().expect("nobody ticks");
        let found = Self::recovered(words, RecoveryPoint::Visible, self.writer.clock().active());
        assert_eq!(found, kept, "the process died");
    }
}

/// One leaf, two slots short of full: two writers and an epoch end meet in its split, and a reader passes through.
fn split<D: Design>() {
    let fixture = FixtureOf::<D>::new((0..26).map(|key| key * 10));
    thread::scope(|scope| {
        scope.spawn(|| [31, 32].into_iter().for_each(|key| fixture.put(key, 1)));
        scope.spawn(|| {
            fixture.put(201, 2);
            fixture.remove(0);
            fixture.put(10, 3);
        });
        scope.spawn(|| [31, 201, 130, 10].into_iter().for_each(|key| fixture.get(key)));
        scope.spawn(|| fixture.tick());
    });
    fixture.end();
}

#[test]
fn a_leaf_splits_among_writers_a_reader_and_a_tick() {
    explore(1_500, split::<Tiny>);
}

/// The same with ascending keys, which share a latch until the leaf is full, and then those of the fresh leaves. Power
/// is lost between any two stores.
fn split_in_a_run<D: Design>() {
    let fixture = FixtureOf::<D>::new((0..24).map(|key| key * 10));
    thread::scope(|scope| {
        scope.spawn(|| fixture.put_many(&[30, 31, 32, 40, 41, 120, 121, 230, 231, 232], 1));
        scope.spawn(|| {
            fixture.put(201, 2);
            fixture.remove(0);
            fixture.put_many(&[1, 2, 10, 11], 3);
        });
        scope.spawn(|| [31, 201, 130, 232, 10].into_iter().for_each(|key| fixture.get(key)));
        scope.spawn(|| {
            fixture.tick();
            fixture.lose_power();
        });
    });
    fixture.end();
}

#[test]
fn a_leaf_splits_in_a_run_among_writers_a_reader_and_a_tick() {
    explore(1_500, split_in_a_run::<Tiny>);
}

/// Splits below a full leaf parent. Ascending keys leave half-full leaves behind: fourteen keys each, and the last one
/// is full.
fn split_above<D: Design>(leaves: u64) {
    let keys = (leaves - 1) * 14 + 28;
    let fixture = FixtureOf::<D>::new((0..keys).map(|key| key * 10));
    let low = (keys - 8) * 10;
    thread::scope(|scope| {
        scope.spawn(|| [low + 1, 11].into_iter().for_each(|key| fixture.put(key, 1)));
        scope.spawn(|| [low + 2, low + 3].into_iter().for_each(|key| fixture.put(key, 2)));
        scope.spawn(|| [low + 1, 0, low + 50, low - 150].into_iter().for_each(|key| fixture.get(key)));
    });
    fixture.end();
}

/// A full leaf below a full leaf parent that is the root: its split needs a split of the leaf parent, and that needs a
/// new root.
#[test]
fn a_root_splits_among_writers_and_a_reader() {
    explore(800, || split_above::<Tiny>(8));
}

/// The same below an upper node: the first leaf parent has four leaves since the root's split, and the second is full
/// again.
#[test]
fn a_leaf_parent_splits_among_writers_and_a_reader() {
    explore(600, || split_above::<Tiny>(12));
}

/// The same, but every leaf parent is rebuilt: the first ones, and then, beside readers below an upper node, all again.
#[test]
fn leaf_parents_are_rebuilt_among_writers_and_a_reader() {
    explore(500, || split_above::<Renewed>(8));
    explore(400, || split_above::<Renewed>(12));
}

/// Two leaves, one of which is about to be sparse: writers meet in the merge, one with a pair for the leaf that is
/// merged away.
fn merge<D: Design>() {
    let fixture = FixtureOf::<D>::new((0..29).map(|key| key * 10));
    (0..7).chain(14..22).for_each(|key| fixture.remove(key * 10));
    thread::scope(|scope| {
        scope.spawn(|| [70, 80].into_iter().for_each(|key| fixture.remove(key)));
        scope.spawn(|| {
            fixture.put(221, 1);
            fixture.remove(220);
        });
        scope.spawn(|| [70, 220, 130, 280].into_iter().for_each(|key| fixture.get(key)));
        scope.spawn(|| fixture.tick());
    });
    fixture.end();
}

#[test]
fn leaves_merge_among_writers_a_reader_and_a_tick() {
    explore(1_500, merge::<Tiny>);
}

/// A leaf parent of three leaves, and one of four. Of the three leaves, the first is empty, the second holds seven
/// pairs and the third six. When the second leaf loses one more pair, two leaves merge, then the two leaf parents, and
/// the tree loses a level.
fn shrunk<D: Design>() -> FixtureOf<D> {
    let fixture = FixtureOf::<D>::new((0..28 * 9).map(|key| key * 10));
    let gone = (0..49).chain(28 * 3..28 * 4).chain(56..78).chain(28 * 7..28 * 9 - 6);
    gone.for_each(|key| fixture.remove(key * 10));
    assert_eq!((fixture.tree_set.fills(&fixture.root), fixture.tree_set.height(&fixture.root)), (vec![3, 4], 2));
    fixture
}

/// The last removal before the merges meets writers to the leaves and the leaf parent that are merged away, a reader of
/// them, and a scan.
fn shrink<D: Design>() {
    let fixture = shrunk::<D>();
    thread::scope(|scope| {
        scope.spawn(|| fixture.remove(490));
        scope.spawn(|| {
            fixture.put(31, 1);
            fixture.remove(1_130);
            fixture.put(520, 2);
        });
        scope.spawn(|| [500, 31, 780, 1_130, 490].into_iter().for_each(|key| fixture.get(key)));
        scope.spawn(|| {
            let seen = pairs(&fixture.tree_set, &fixture.root);
            let untouched = [500, 780, 1_120, 2_510];
            assert!(untouched.iter().all(|key| seen.get(key) == Some(key)), "a scan misses nothing: {seen:?}");
        });
    });
    fixture.end();
}

#[test]
fn leaves_and_then_leaf_parents_merge_until_the_root_has_one_level_less() {
    explore(1, || {
        let fixture = shrunk::<Tiny>();
        fixture.remove(490);
        assert_eq!((fixture.tree_set.fills(&fixture.root), fixture.tree_set.height(&fixture.root)), (vec![6], 1));
        fixture.end();
    });
    explore(300, shrink::<Tiny>);
}

#[test]
fn leaf_parents_with_lock_arrays_merge() {
    explore(200, shrink::<Locked<LockArray<2>>>);
}

/// A neighbour has taken over an emptied leaf's range. A recovery point before the last removal still needs the leaf's
/// block.
#[test]
fn power_is_lost_while_leaves_and_leaf_parents_merge() {
    explore(200, || {
        let fixture = shrunk::<Tiny>();
        thread::scope(|scope| {
            scope.spawn(|| {
                fixture.remove(490);
                fixture.put(31, 1);
            });
            scope.spawn(|| (0..2).for_each(|_| fixture.tick()));
            scope.spawn(|| (0..2).for_each(|_| fixture.lose_power()));
        });
        fixture.end();
    });
}

/// With two latches for the leaves of a leaf parent, and with one: both halves of a split, and both leaves of a merge,
/// may share one.
#[test]
fn leaves_of_one_lock_split_and_merge() {
    explore(500, split::<Locked<LockArray<2>>>);
    explore(500, merge::<Locked<LockArray<2>>>);
    explore(500, merge::<Locked<LockArray<1>>>);
}

/// The upper half's leaves have their locks in another node afterwards.
#[test]
fn leaf_parents_with_lock_arrays_split() {
    explore(400, || split_above::<Locked<LockArray<2>>>(8));
    explore(300, || split_above::<Locked<LockArray<2>>>(12));
}

/// A leaf in which the two epochs before pin every slot: refreshing it makes room, not splitting.
#[test]
fn versions_fill_a_leaf_among_writers_and_ticks() {
    explore(500, || {
        let fixture = TreeFixture::new((0..9).map(|key| key * 10));
        thread::scope(|scope| {
            scope.spawn(|| (0..3).for_each(|_| fixture.tick()));
            for thread in 0..2 {
                let fixture = &fixture;
                scope.spawn(move || {
                    for round in 1..4 {
                        (0..4).for_each(|key| fixture.put((key * 2 + thread) * 10, round));
                    }
                });
            }
        });
        fixture.end();
    });
}

/// A split or merge began before an epoch ended, and finds pairs that were written to its leaves afterwards. It must
/// not carry them into the epoch that ended.
fn overtaken(fixture: &TreeFixture, first: impl Fn() + Send, second: impl Fn() + Send) {
    thread::scope(|scope| {
        scope.spawn(first);
        scope.spawn(second);
        scope.spawn(|| {
            fixture.tick();
            fixture.lose_power();
        });
    });
    fixture.end();
}

#[test]
fn a_split_is_overtaken_by_a_tick() {
    explore(2_000, || {
        let fixture = TreeFixture::new((0..28).map(|key| key * 10));
        overtaken(&fixture, || fixture.put(5, 1), || fixture.remove(20));
    });
}

#[test]
fn a_merge_is_overtaken_by_a_tick() {
    explore(1_500, || {
        let fixture = TreeFixture::new((0..29).map(|key| key * 10));
        (0..7).chain(14..22).for_each(|key| fixture.remove(key * 10));
        overtaken(&fixture, || fixture.remove(70), || fixture.remove(280));
    });
}

/// An epoch releases a block that a recovery point before it needs: the next epoch's split must not get it yet.
#[test]
fn a_block_is_not_reused_while_a_recovery_point_may_need_it() {
    explore(2_000, || {
        let fixture = TreeFixture::new((0..42).map(|key| key * 10).chain((0..14).map(|key| key * 10 + 5)));
        (0..2).for_each(|_| fixture.tick());
        thread::scope(|scope| {
            scope.spawn(|| {
                fixture.put(1, 1);
                fixture.put(301, 1);
            });
            scope.spawn(|| fixture.tick());
            scope.spawn(|| fixture.lose_power());
        });
        fixture.end();
    });
}

/// Power is lost at any moment among splits, merges and epoch ends. What was labelled up to the durable epoch is
/// present completely, and nothing else is.
#[test]
fn power_is_lost_among_writers_and_ticks() {
    explore(600, || {
        let fixture = TreeFixture::new((0..29).map(|key| key * 10));
        (0..7).chain(14..22).for_each(|key| fixture.remove(key * 10));
        thread::scope(|scope| {
            scope.spawn(|| [70, 80].into_iter().for_each(|key| fixture.remove(key)));
            scope.spawn(|| (230..240).for_each(|key| fixture.put(key, 1)));
            scope.spawn(|| (0..3).for_each(|_| fixture.tick()));
            scope.spawn(|| (0..2).for_each(|_| fixture.lose_power()));
        });
        fixture.end();
    });
}

/// A reader that follows a pointer and does not validate its leaf: what it read may have moved.
#[test]
fn a_reader_that_does_not_validate_is_caught() {
    caught(200, "seen at once", || {
        let fixture = TreeFixture::new((0..4).map(|key| key * 10));
        thread::scope(|scope| {
            scope.spawn(|| [0, 10].into_iter().for_each(|key| fixture.put(key, 77)));
            scope.spawn(|| {
                let first = fixture.tree_set.get(&fixture.root, 0);
                let second = fixture.tree_set.get(&fixture.root, 10);
                assert!(first.payload == Some(77) || second.payload != Some(77), "not what was seen at once");
            });
        });
    });
}
