//! The three models on small traces whose images can be counted by hand.

use super::*;
use crate::trace::Mark;
use rand::SeedableRng;
use std::collections::BTreeSet;
use std::panic::Location;

fn entry(thread: u32, event: Event) -> Entry {
    Entry { event, thread, place: Location::caller() }
}

fn write(loc: u64, value: u64) -> Event {
    Event::Write { loc, value }
}

fn base() -> Snapshot {
    Snapshot::of(&holm_medium::Image::heap(256, 0))
}

/// The first two words of the first two lines, for each image that a crash may leave after these events.
fn left(persistency: Persistency, events: &[(u32, Event)]) -> BTreeSet<[u64; 4]> {
    let mut crashes = Crashes::new(persistency, base());
    for (index, (thread, event)) in events.iter().enumerate() {
        crashes.pass(index, &entry(*thread, event.clone()));
    }
    let mut images = BTreeSet::new();
    let mut contents = BTreeSet::new();
    let bounds = Bounds { exhaustive: 1000, pairs: 0, random: 0 };
    let mut random = rand_pcg::Pcg64::seed_from_u64(1);
    let extent = crashes.visit(&bounds, &mut random, |choice| {
        let image = choice.snapshot();
        images.insert([image.word(0), image.word(8), image.word(64), image.word(72)]);
        contents.insert(choice.content);
        Ok::<(), ()>(())
    });
    assert_eq!(extent, Ok(Extent::Whole));
    assert_eq!(images.len(), contents.len(), "equal images have equal hashes, and only they");
    images
}

#[test]
fn a_line_persists_as_a_prefix_and_a_word_on_its_own() {
    let events = [(0, write(0, 1)), (0, write(8, 2)), (0, write(0, 3))];
    let line = [[0, 0, 0, 0], [1, 0, 0, 0], [1, 2, 0, 0], [3, 2, 0, 0]];
    assert_eq!(left(Persistency::Line, &events), BTreeSet::from(line));
    assert_eq!(left(Persistency::Word, &events).len(), 6);
    assert_eq!(left(Persistency::Visible, &events), BTreeSet::from([[1, 2, 0, 0], [3, 2, 0, 0]]));
}

#[test]
fn a_fence_completes_its_own_thread_s_flushes_only() {
    let flush = Event::Flush { line: 0 };
    let own = [(0, write(0, 1)), (0, flush.clone()), (0, write(8, 2)), (0, Event::Fence)];
    assert_eq!(left(Persistency::Line, &own), BTreeSet::from([[1, 0, 0, 0], [1, 2, 0, 0]]));
    let other = [(0, write(0, 1)), (0, flush), (1, Event::Fence)];
    assert_eq!(left(Persistency::Line, &other), BTreeSet::from([[0; 4], [1, 0, 0, 0]]));
}

#[test]
fn lines_are_independent() {
    let events = [(0, write(0, 1)), (0, write(64, 2))];
    assert_eq!(left(Persistency::Line, &events).len(), 4);
    let done = [(0, write(0, 1)), (0, write(64, 2)), (0, Event::Mark(Mark::Returned(0)))];
    assert_eq!(left(Persistency::Visible, &done), BTreeSet::from([[1, 0, 2, 0]]));
}

#[test]
fn filled_words_have_no_order() {
    let fill = [(0, Event::Fill { loc: 0, values: vec![1, 2] })];
    for persistency in Persistency::ALL {
        let all = [[0; 4], [1, 0, 0, 0], [0, 2, 0, 0], [1, 2, 0, 0]];
        assert_eq!(left(persistency, &fill), BTreeSet::from(all), "{persistency}");
    }
}

#[test]
fn too_many_images_are_sampled_and_reported() {
    let mut crashes = Crashes::new(Persistency::Word, Snapshot::of(&holm_medium::Image::heap(1024, 0)));
    (0..40).for_each(|word| crashes.pass(word, &entry(0, write(word as u64 * 8, 7))));
    let mut contents = BTreeSet::new();
    let bounds = Bounds { exhaustive: 1000, pairs: 10_000, random: 50 };
    let mut random = rand_pcg::Pcg64::seed_from_u64(1);
    let extent = crashes.visit(&bounds, &mut random, |choice| {
        contents.insert(choice.content);
        Ok::<(), ()>(())
    });
    assert_eq!(extent, Ok(Extent::Sampled));
    assert_eq!(contents.len(), 2 + 40 * 2 + 40 * 39 + 50, "extremes, singles, pairs, and random ones");
}

/// An opening whose next word depends on the value just read, three times.
fn wander(first: u64, word: impl Fn(u64) -> u64) -> (Vec<(u64, u64)>, u64) {
    let (mut reads, mut loc, mut sum) = (vec![], first, 0u64);
    for _ in 0..3 {
        let value = word(loc);
        if !reads.contains(&(loc, value)) {
            reads.push((loc, value));
        }
        sum = sum.wrapping_mul(31) ^ value;
        loc = value.wrapping_mul(5).wrapping_add(loc) % 24 * 8;
    }
    (reads, sum)
}

/// Opens images with `wander`, and counts the images of each outcome.
#[derive(Default)]
struct Wanderer {
    opened: u64,
    images: BTreeMap<u64, u128>,
}

impl Opener<u64> for Wanderer {
    type Stop = ();
    fn open(&mut self, choice: &Choice<'_>) -> (Vec<(u64, u64)>, u64) {
        self.opened += 1;
        let left = choice.snapshot();
        wander(8, |loc| left.word(loc))
    }
    fn judge(&mut self, choice: &Choice<'_>, came_to: &u64, images: u128) -> Result<(), ()> {
        assert_eq!(wander(8, |loc| choice.word(loc)).1, *came_to, "each image of a class comes to the same");
        *self.images.entry(*came_to).or_default() += images;
        Ok(())
    }
}

/// A trace of random stores to three lines, some flushed, some fenced.
fn noise(seed: u64) -> Vec<Entry> {
    let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
    let event = |_| match random.random_range(0..12) {
        0 => Event::Flush { line: random.random_range(0..3) },
        1 => Event::Fence,
        2 => Event::Fill { loc: random.random_range(0..3) * 64, values: vec![random.random_range(0..9); 2] },
        _ => write(random.random_range(0..24) * 8, random.random_range(0..4)),
    };
    (0..14).map(event).map(|event| entry(0, event)).collect()
}

#[test]
fn classes_cover_all_images_and_share_an_outcome() {
    let (mut opened, mut all) = (0, 0);
    for (seed, persistency) in (0..60).flat_map(|seed| Persistency::ALL.map(|persistency| (seed, persistency))) {
        let mut crashes = Crashes::new(persistency, base());
        let (mut known, mut random) = (Known::default(), rand_pcg::Pcg64::seed_from_u64(seed));
        for (index, entry) in noise(seed).iter().enumerate() {
            crashes.pass(index, entry);
            let window = crashes.window();
            let mut wanderer = Wanderer::default();
            assert_eq!(window.classes(&mut known, usize::MAX, &mut random, &mut wanderer), Ok(true));
            let mut images = BTreeMap::new();
            let bounds = Bounds { exhaustive: usize::MAX, pairs: 0, random: 0 };
            let every = window.visit(&bounds, &mut random, |choice| {
                let came_to = wander(8, |loc| choice.word(loc)).1;
                assert_eq!(known.find(|loc| choice.word(loc)), Some(&came_to));
                *images.entry(came_to).or_default() += 1u128;
                Ok::<(), ()>(())
            });
            assert_eq!((every, &wanderer.images), (Ok(Extent::Whole), &images), "seed {seed}, {persistency}");
            (opened, all) = (opened + wanderer.opened, all + window.images());
        }
    }
    assert!(u128::from(opened) * 20 < all, "{opened} of {all}");
}

#[test]
fn a_walk_of_too_many_classes_stops() {
    let mut crashes = Crashes::new(Persistency::Word, base());
    (0..3).for_each(|value| crashes.pass(value as usize, &entry(0, write(8, value + 1))));
    let mut wanderer = Wanderer::default();
    let mut random = rand_pcg::Pcg64::seed_from_u64(1);
    assert_eq!(crashes.window().classes(&mut Known::default(), 2, &mut random, &mut wanderer), Ok(false));
    assert_eq!(wanderer.images.values().sum::<u128>(), 2);
}

#[test]
#[should_panic(expected = "like it so far, read 0x8")]
fn an_opening_that_is_no_function_of_its_reads_panics() {
    let mut known = Known::default();
    known.learn(&[(0, 1), (8, 2)], "one");
    known.learn(&[(0, 1), (16, 2)], "another");
}
