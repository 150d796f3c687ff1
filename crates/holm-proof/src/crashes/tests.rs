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

/// The first words of the first two lines of each image that a crash may leave after these events.
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
fn too_many_images_are_sampled_and_it_is_said() {
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
