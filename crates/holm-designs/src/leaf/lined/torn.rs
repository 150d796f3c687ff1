//! One block through many epochs, and every kind of image that a power cut can leave of it: of each line a prefix of
//! the stores to it, at least those until the end of the recovery point.
//!
//! The bug that these images have caught: a slot with an older copy got another key's pair before the older states had
//! given it up.

use super::*;
use holm_medium::{Area, FIRST_EPOCH, Flush, Image, Loc, Mapped, MappedOptions, Storage, Word, Writer};
use holm_search::Search;
use holm_tree::leaf::{Home, KeyRange, RoomFor};
use holm_tree::{Words, leaf::LeafRef};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const BLOCKS: u64 = 8;
const WORDS: usize = 64;

type Words64 = [u64; WORDS];
type Contents = BTreeMap<u64, u64>;

/// A generator of numbers that is the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (self.0 >> 33) % end
    }
}

/// A medium that keeps the stores to block 1, in their order.
struct Traced {
    memory: Mapped,
    stores: Mutex<Vec<(usize, u64)>>,
}

impl Medium for Traced {
    fn image(&self) -> &Arc<Image> {
        self.memory.image()
    }

    fn wrote(&self, word: &Word, value: u64) {
        let words = self.image().words(Area::Leaves.at(512), WORDS).expect("inside");
        let place = |word: &Word| std::ptr::from_ref(word).addr() / size_of::<Word>();
        let place = place(word).wrapping_sub(place(&words[0]));
        if place < WORDS {
            self.stores.lock().expect("no panic").push((place, value));
        }
    }

    fn flush(&self, _line: u64) {}

    fn fence(&self) {}

    fn grow(&self, area: Area, len: u64) -> Result<()> {
        self.memory.grow(area, len)
    }
}

struct Bench {
    writer: Writer<Traced>,
    image: Arc<Image>,
    volatiles: [Known; 3],
}

impl Bench {
    fn new() -> Self {
        let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
        let memory = Mapped::heap(BLOCKS as usize * 512, 64, options);
        let writer = Storage::open(Traced { memory, stores: Mutex::default() }, FIRST_EPOCH).expect("memory");
        let image = writer.storage().medium_image();
        Bench { writer, image, volatiles: Default::default() }
    }

    fn stores(&self) -> std::sync::MutexGuard<'_, Vec<(usize, u64)>> {
        self.writer.storage().medium.stores.lock().expect("no panic")
    }

    fn block(&self, number: u64) -> &Lined {
        self.image.at::<Lined>(Loc::new(Area::Leaves, number * 512)).expect("as many blocks")
    }

    fn read(&self, number: usize) -> ReadContext<'_, Known, Words> {
        let volatile = &self.volatiles[number];
        ReadContext { volatile, keys: &Words, search: Search::portable(), image: Some(&*self.image) }
    }

    fn words(&self, number: u64) -> Words64 {
        let words = self.image.words(Area::Leaves.at(number * 512), WORDS).expect("inside");
        std::array::from_fn(|word| words[word].read())
    }

    fn set(&self, number: u64, words: &Words64) {
        let mut handle = self.writer.begin_write_at(FIRST_EPOCH);
        let places = self.image.words(Area::Leaves.at(number * 512), WORDS).expect("inside");
        places.iter().zip(words).for_each(|(place, word)| handle.write(place, *word));
    }

    fn contents(&self, number: usize) -> Contents {
        let (mut pairs, context) = (Pairs::default(), self.read(number));
        self.block(number as u64).block_pairs(context.volatile, &mut pairs);
        pairs.iter().map(|slot| (slot.head, slot.payload)).collect()
    }
}

/// Of the end of each epoch: how many stores to the block there had been, its words, and its contents.
type Ends = BTreeMap<Epoch, (usize, Words64, Contents)>;

/// Runs operations of one epoch on block 1. Stops at the first that finds no room.
fn epoch_of(bench: &Bench, random: &mut Random, epoch: Epoch, keys: u64, model: &mut Contents, ends: &mut Ends) {
    for _ in 0..random.below(6) {
        let mut handle = bench.writer.begin_write_at(epoch);
        let (key, payload) = (1 + random.below(keys), random.below(1 << 30) << 20 | epoch);
        let mut context = WriteContext { read: bench.read(1), handle: &mut handle };
        if random.below(8) == 0 {
            let gone = bench.block(1).remove(&mut context, key).map(|old| old.payload);
            assert_eq!(gone, model.remove(&key));
        } else if let Ok(old) = bench.block(1).insert(&mut context, key, payload) {
            assert_eq!(old.map(|old| old.payload), model.insert(key, payload));
        }
        drop(handle);
        assert_eq!(&bench.contents(1), model, "epoch {epoch}");
    }
    ends.insert(epoch, (bench.stores().len(), bench.words(1), model.clone()));
}

/// Opens an image of a power cut. Each line has some prefix of its stores, and at least those of the epoch `kept`.
fn cut(bench: &Bench, random: &mut Random, kept: Epoch, ends: &Ends) {
    let (durable, mut torn, contents) = ends[&kept].clone();
    for line in 0..LINES {
        let stores = bench.stores();
        let reached = durable + random.below((stores.len() - durable) as u64 + 1) as usize;
        let of_line = stores[durable..reached].iter().filter(|(word, _)| word / 8 == line);
        of_line.for_each(|(word, value)| torn[*word] = *value);
    }
    bench.set(2, &torn);
    for turn in 0..2 {
        let mut handle = bench.writer.begin_write_at(kept + 1);
        let recovered = bench.block(2).recover(2, &bench.volatiles[2], &mut handle, RecoveryPoint::At(kept), &|_| None);
        recovered.expect("sound");
        drop(handle);
        assert_eq!(bench.contents(2), contents, "recovery {turn} to {kept}");
    }
}

fn run(seed: u64, keys: u64) {
    let (bench, mut random) = (Bench::new(), Random(seed));
    let mut handle = bench.writer.begin_write_at(FIRST_EPOCH);
    bench.block(1).format(&bench.volatiles[1], &mut handle, Home { keyspace: 5, skip: 0, first: false });
    drop(handle);
    let (mut model, mut ends) = (Contents::new(), Ends::new());
    ends.insert(FIRST_EPOCH, (bench.stores().len(), bench.words(1), Contents::new()));
    for epoch in FIRST_EPOCH + 1..FIRST_EPOCH + 60 {
        epoch_of(&bench, &mut random, epoch, keys, &mut model, &mut ends);
        for kept in [epoch - 1, epoch.saturating_sub(2).max(FIRST_EPOCH)] {
            (0..4).for_each(|_| cut(&bench, &mut random, kept, &ends));
        }
    }
}

#[test]
fn each_torn_image_has_the_contents_of_its_recovery_point() {
    // A few keys are updated in every epoch; more fill the lines, so that copies lie in other lines.
    for (seed, keys) in (0..200).flat_map(|seed| [3, 8, 16, 22].map(|keys| (seed, keys))) {
        run(seed, keys);
    }
}

/// The bound of the design: with room for copies in each line, a put of a key changes one line in its epoch.
#[test]
fn an_update_changes_one_line() {
    let bench = Bench::new();
    let put = |epoch: Epoch, key: u64| {
        let before = bench.words(1);
        let mut handle = bench.writer.begin_write_at(epoch);
        let mut context = WriteContext { read: bench.read(1), handle: &mut handle };
        assert!(bench.block(1).insert(&mut context, key, epoch).is_ok(), "room");
        drop(handle);
        let after = bench.words(1);
        (0..LINES).filter(|line| before[8 * line..8 * line + 8] != after[8 * line..8 * line + 8]).count()
    };
    let mut handle = bench.writer.begin_write_at(FIRST_EPOCH);
    bench.block(1).format(&bench.volatiles[1], &mut handle, Home { keyspace: 5, skip: 0, first: false });
    drop(handle);
    for (number, key) in (1..=16).enumerate() {
        assert_eq!(put(FIRST_EPOCH + 3 * number as u64, key), 1);
    }
    for round in 1..20 {
        for key in 1..=16 {
            assert_eq!(put(FIRST_EPOCH + 100 * round + 3 * key, key), 1, "key {key} in round {round}");
        }
    }
}

/// A merge and a split move pairs, not copies of them.
#[test]
fn a_renewed_leaf_has_one_copy_of_each_key() {
    let bench = Bench::new();
    let mut handle = bench.writer.begin_write_at(FIRST_EPOCH);
    bench.block(1).format(&bench.volatiles[1], &mut handle, Home { keyspace: 5, skip: 0, first: false });
    drop(handle);
    let full = (FIRST_EPOCH..FIRST_EPOCH + 400).find(|epoch| {
        let mut handle = bench.writer.begin_write_at(*epoch);
        let mut context = WriteContext { read: bench.read(1), handle: &mut handle };
        (0..9).any(|key| bench.block(1).insert(&mut context, key, *epoch).is_err())
    });
    let epoch = full.expect("nine keys take more than 24 slots");
    let mut handle = bench.writer.begin_write_at(epoch);
    let fresh = LeafRef { number: 2, leaf: bench.block(2), volatile: &bench.volatiles[2] };
    let spare = LeafRef { number: 0, leaf: bench.block(0), volatile: &bench.volatiles[0] };
    let request = SplitRequest {
        own: 1,
        fresh: [fresh, spare],
        spare: &[],
        range: KeyRange { low: &0, high: None },
        previous: None,
        room_for: RoomFor::Any,
    };
    let split = bench.block(1).split(&mut WriteContext { read: bench.read(1), handle: &mut handle }, request);
    assert_eq!(split.leaves().collect::<Vec<_>>(), [2]);
    let copies = bench.volatiles[2].copies();
    assert_eq!((copies.newest.count_ones(), copies.stale), (9, 0));
}
