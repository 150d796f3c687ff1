//! A medium that records what is asked of it, and the images that a crash may leave: per line, a prefix of the stores
//! to it that includes at least what a fence has completed.

use holm_medium::{Area, Image, LINE, Medium, Result, Word, parts};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Blocks of the images here: the storage's own, and nine of leaves.
pub const BLOCKS: usize = 10;
const WORDS: usize = BLOCKS * 64;

/// If a store has more images than this, the extremes and a sample stand for all.
const MOST_IMAGES: usize = 2000;

pub type Words = [u64; WORDS];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Write {
        word: usize,
        value: u64,
    },
    Flush {
        line: usize,
    },
    Fence,
    /// An operation has returned.
    Done,
}

pub struct Recorded {
    image: Arc<Image>,
    events: Mutex<Vec<Event>>,
}

impl Recorded {
    pub fn new() -> Self {
        Recorded { image: Arc::new(Image::heap(WORDS * 8, 0)), events: Mutex::default() }
    }

    /// The events since the last call.
    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.events.lock().expect("no panic under it"))
    }

    pub fn words(&self) -> &[Word] {
        self.image.words(Area::Leaves.at(0), WORDS).expect("as long as that")
    }

    pub fn snapshot(&self) -> Words {
        let mut words = [0; WORDS];
        words.iter_mut().zip(self.words()).for_each(|(to, from)| *to = from.read());
        words
    }

    pub fn note(&self, event: Event) {
        self.events.lock().expect("no panic under it").push(event);
    }
}

impl Medium for Recorded {
    fn image(&self) -> &Arc<Image> {
        &self.image
    }
    fn wrote(&self, word: &Word, value: u64) {
        self.note(Event::Write { word: parts(self.image.locate(word)).1 as usize / 8, value });
    }
    fn filled(&self, _: &[Word]) {
        unreachable!("the design stores in program order");
    }
    fn flush(&self, line: u64) {
        self.note(Event::Flush { line: (parts(line * LINE).1 / LINE) as usize });
    }
    fn fence(&self) {
        self.note(Event::Fence);
    }
    fn grow(&self, _: Area, _: u64) -> Result<()> {
        Ok(())
    }
}

/// The stores to one line, and the number of them that no crash loses.
#[derive(Default)]
struct Line {
    stores: Vec<(usize, u64)>,
    durable: usize,
}

/// Visits every image that a crash during `events` may leave of `start`. The visitor gets the number of operations that
/// had returned, and whether another one had begun.
pub fn crash(start: &Words, events: &[Event], mut visit: impl FnMut(&Words, usize, bool)) {
    let mut done = 0;
    let mut lines: BTreeMap<usize, Line> = BTreeMap::new();
    let mut flushed: Vec<(usize, usize)> = Vec::new();
    for event in events {
        match *event {
            Event::Write { word, value } => {
                lines.entry(word / 8).or_default().stores.push((word, value));
                // Every image without this store has been visited before.
                combine(start, &lines, Some(word / 8), &mut |image| visit(image, done, true));
            }
            Event::Flush { line } => flushed.push((line, lines.get(&line).map_or(0, |line| line.stores.len()))),
            Event::Fence => flushed.drain(..).for_each(|(line, count)| {
                if let Some(line) = lines.get_mut(&line) {
                    line.durable = line.durable.max(count);
                }
            }),
            Event::Done => {
                done += 1;
                combine(start, &lines, None, &mut |image| visit(image, done, false));
            }
        }
    }
}

/// The product of the lines' prefixes; line `whole` persists completely.
fn combine(start: &Words, lines: &BTreeMap<usize, Line>, whole: Option<usize>, visit: &mut dyn FnMut(&Words)) {
    let ranges: Vec<_> = lines
        .iter()
        .map(|(number, line)| {
            let least = if whole == Some(*number) { line.stores.len() } else { line.durable };
            (line, least, line.stores.len() - least + 1)
        })
        .collect();
    let apply = |choices: &mut dyn FnMut(usize, usize) -> usize| {
        let mut image = *start;
        for (index, (line, least, count)) in ranges.iter().enumerate() {
            let kept = least + choices(index, *count);
            line.stores[..kept].iter().for_each(|(word, value)| image[*word] = *value);
        }
        image
    };
    let total = ranges.iter().fold(1usize, |total, range| total.saturating_mul(range.2));
    if total <= MOST_IMAGES {
        for number in 0..total {
            let mut rest = number;
            visit(&apply(&mut |_, count| {
                let choice = rest % count;
                rest /= count;
                choice
            }));
        }
        return;
    }
    for line in 0..ranges.len() {
        visit(&apply(&mut |index, count| if index == line { count - 1 } else { 0 }));
        visit(&apply(&mut |index, count| if index == line { 0 } else { count - 1 }));
    }
    let mut seed = total as u64 | 1;
    for _ in 0..MOST_IMAGES / 50 {
        visit(&apply(&mut |_, count| {
            seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            (seed >> 33) as usize % count
        }));
    }
}
