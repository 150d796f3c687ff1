//! Which words of the record area are free: a bit for each word, and the runs that they form.
//!
//! ```text
//! line     8 words of bits    4 KiB of records
//! region   512 lines          2 MiB of records; 39 KiB of memory, allocated at the first free in it
//! stretch  512 regions        1 GiB of records
//! ```
//!
//! Adjacent bits are one run, so freeing joins and taking splits without a separate step. The search is first fit in
//! the order of addresses, which keeps the end of the area free. Memory is bounded by 1.9 % of the area, into however
//! many pieces its free space is divided. A region in which nothing was ever freed takes none.

use super::runs::{LEAVES, LINE, Runs, Spot, Tree};
use crate::region::LARGE_PAGE;

/// Words of records in a line of bits.
const LINE_WORDS: u64 = 64 * LINE as u64;

/// Words of records in a region: those of a large page.
pub(super) const REGION: u64 = LINE_WORDS * LEAVES as u64;

/// Words of records in a stretch.
const STRETCH: u64 = REGION * LEAVES as u64;

const _: () = assert!(REGION * 8 == LARGE_PAGE as u64 && STRETCH < 1 << 32);

struct Region {
    lines: Box<[[u64; LINE]; LEAVES]>,
    runs: Tree,
    /// The number of its free words.
    free: u64,
}

/// Free words, by their number in the record area.
pub(super) struct FreeMap {
    regions: Vec<Option<Region>>,
    stretches: Vec<Tree>,
    /// Whether [`FreeMap::find`] skips the first region.
    hidden: bool,
}

impl FreeMap {
    /// Nothing is free.
    pub(super) fn new() -> Self {
        FreeMap { regions: Vec::new(), stretches: Vec::new(), hidden: false }
    }

    /// Frees `words` words from `word` on; some of them may be free already.
    pub(super) fn free(&mut self, word: u64, words: u64) {
        self.change(word, words, true);
    }

    /// Takes `words` words from `word` on; all of them are free.
    pub(super) fn take(&mut self, word: u64, words: u64) {
        self.change(word, words, false);
    }

    /// From now on only [`FreeMap::find_hidden`] finds what is free in the first region.
    pub(super) fn hide(&mut self) {
        self.hidden = true;
        self.publish(0);
    }

    /// The first word of the first free run of at least `words` words.
    pub(super) fn find(&self, words: u64) -> Option<u64> {
        let wanted = u32::try_from(words).ok()?;
        let mut run = 0;
        for (index, stretch) in self.stretches.iter().enumerate() {
            let (all, here) = (stretch.all(), index as u64 * STRETCH);
            if run + u64::from(all.first) >= words {
                return Some(here - run);
            }
            if all.longest >= wanted {
                return match stretch.find(wanted)? {
                    Spot::At(word) => Some(here + u64::from(word)),
                    Spot::Within(region) => self.find_within(index * LEAVES + region, wanted),
                };
            }
            run = if u64::from(all.first) == STRETCH { run + STRETCH } else { all.last.into() };
        }
        None
    }

    /// The same, in the first region only.
    pub(super) fn find_hidden(&self, words: u64) -> Option<u64> {
        self.find_within(0, u32::try_from(words).ok()?)
    }

    /// The number of free words from here on, up to `most`.
    pub(super) fn run_at(&self, word: u64, most: u64) -> u64 {
        let mut at = word;
        while at < word + most {
            let used = !self.bits(at / 64) >> (at % 64);
            let free = u64::from(used.trailing_zeros()).min(64 - at % 64);
            at += free;
            if !at.is_multiple_of(64) || free == 0 {
                break;
            }
        }
        (at - word).min(most)
    }

    /// The number of free words that end here.
    pub(super) fn run_before(&self, word: u64) -> u64 {
        let mut at = word;
        while at > 0 {
            let last = (at - 1) % 64;
            let used = !self.bits((at - 1) / 64) << (63 - last);
            let free = u64::from(used.leading_zeros()).min(last + 1);
            at -= free;
            if !at.is_multiple_of(64) || free == 0 {
                break;
            }
        }
        word - at
    }

    /// The number of free words in each region, up to the last region in which anything was ever freed.
    pub(super) fn free_by_region(&self) -> impl Iterator<Item = u64> {
        self.regions.iter().map(|region| region.as_ref().map_or(0, |region| region.free))
    }

    /// Takes a region that is free as a whole.
    pub(super) fn take_region(&mut self, index: usize) {
        self.take(index as u64 * REGION, REGION);
        // Its bits take memory, and it may stay without a record for long.
        self.regions[index] = None;
    }

    /// Passes on each free run: its first word, and its length. O(regions in which anything was ever freed).
    pub(super) fn each_run(&self, each: &mut dyn FnMut(u64, u64)) {
        let (mut start, mut end) = (0, 0);
        for (index, region) in self.regions.iter().enumerate() {
            let words = region.iter().flat_map(|region| region.lines.as_flattened().iter().enumerate());
            for (word, &bits) in words.filter(|(_, bits)| **bits != 0) {
                let base = index as u64 * REGION + word as u64 * 64;
                let mut at = 0;
                while at < 64 && bits >> at != 0 {
                    at += (bits >> at).trailing_zeros();
                    let ones = (!(bits >> at)).trailing_zeros().min(64 - at);
                    if base + u64::from(at) != end {
                        if start < end {
                            each(start, end - start);
                        }
                        start = base + u64::from(at);
                    }
                    at += ones;
                    end = base + u64::from(at);
                }
            }
        }
        if start < end {
            each(start, end - start);
        }
    }

    /// The bits of the 64 words from `index * 64` on.
    fn bits(&self, index: u64) -> u64 {
        let region = self.regions.get((index * 64 / REGION) as usize).and_then(Option::as_ref);
        let within = (index % (REGION / 64)) as usize;
        region.map_or(0, |region| region.lines[within / LINE][within % LINE])
    }

    fn find_within(&self, index: usize, words: u32) -> Option<u64> {
        let region = self.regions.get(index)?.as_ref()?;
        let base = index as u64 * REGION;
        match region.runs.find(words)? {
            Spot::At(word) => Some(base + u64::from(word)),
            Spot::Within(line) => Some(base + line as u64 * LINE_WORDS + first_fit(&region.lines[line], words)?),
        }
    }

    fn change(&mut self, word: u64, words: u64, free: bool) {
        let mut at = word;
        while at < word + words {
            let index = (at / REGION) as usize;
            let upto = (word + words).min((index as u64 + 1) * REGION);
            if index >= self.regions.len() {
                self.regions.resize_with(index + 1, || None);
            }
            let region = self.regions[index].get_or_insert_with(|| Region {
                lines: Box::new([[0; LINE]; LEAVES]),
                runs: Tree::new(LINE_WORDS as u32),
                free: 0,
            });
            region.change(at % REGION, upto - index as u64 * REGION, free);
            self.publish(index);
            at = upto;
        }
    }

    /// Updates the stretch with the runs of a region.
    fn publish(&mut self, index: usize) {
        let stretch = index / LEAVES;
        if stretch >= self.stretches.len() {
            self.stretches.resize_with(stretch + 1, || Tree::new(REGION as u32));
        }
        let region = self.regions.get(index).and_then(Option::as_ref).filter(|_| index > 0 || !self.hidden);
        let runs = region.map_or(Runs::NONE, |region| region.runs.all());
        self.stretches[stretch].set(index % LEAVES, index % LEAVES, |_| runs);
    }
}

impl Region {
    fn change(&mut self, from: u64, upto: u64, free: bool) {
        let mut at = from;
        while at < upto {
            let end = upto.min((at / 64 + 1) * 64);
            let mask = (u64::MAX >> (64 - (end - at))) << (at % 64);
            let word = &mut self.lines[(at / LINE_WORDS) as usize][(at / 64) as usize % LINE];
            // Damaged leaves may refer to one record twice, and free it twice: it becomes free once.
            debug_assert!(free || *word & mask == mask, "words {mask:#x} are taken of which {word:#x} are free");
            let before = u64::from(word.count_ones());
            *word = if free { *word | mask } else { *word & !mask };
            self.free = self.free + u64::from(word.count_ones()) - before;
            at = end;
        }
        let lines = &self.lines;
        self.runs
            .set((from / LINE_WORDS) as usize, ((upto - 1) / LINE_WORDS) as usize, |line| Runs::of_line(&lines[line]));
    }
}

/// The first word of the first run of at least `words` words within a line.
fn first_fit(line: &[u64; LINE], words: u32) -> Option<u64> {
    let (mut start, mut run) = (0, 0);
    for (index, &bits) in line.iter().enumerate() {
        let mut at = 0;
        while at < 64 {
            let ones = (!(bits >> at)).trailing_zeros().min(64 - at);
            run += ones;
            if run >= words {
                return Some(start);
            }
            at += ones;
            if at < 64 {
                // The run ends here; the next one begins behind the words in use.
                at += (bits >> at).trailing_zeros().min(64 - at);
                (start, run) = (index as u64 * 64 + u64::from(at), 0);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The reference model of the map: runs by their beginnings, joined.
    #[derive(Default)]
    struct Model(BTreeMap<u64, u64>);

    impl Model {
        fn free(&mut self, word: u64, words: u64) {
            let (mut start, mut end) = (word, word + words);
            if let Some((&before, &len)) = self.0.range(..word).next_back()
                && before + len == word
            {
                start = before;
            }
            if let Some(len) = self.0.remove(&end) {
                end += len;
            }
            self.0.insert(start, end - start);
        }

        fn take(&mut self, word: u64, words: u64) {
            let (&start, &len) = self.0.range(..=word).next_back().expect("it is free");
            self.0.remove(&start);
            if start < word {
                self.0.insert(start, word - start);
            }
            if start + len > word + words {
                self.0.insert(word + words, start + len - word - words);
            }
        }

        fn find(&self, words: u64) -> Option<u64> {
            self.0.iter().find(|(_, len)| **len >= words).map(|(start, _)| *start)
        }
    }

    #[test]
    fn the_map_finds_what_a_map_of_joined_runs_finds() {
        let mut seed = 7u64;
        let mut chance = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let (mut map, mut model) = (FreeMap::new(), Model::default());
        // Across a border of regions and one of stretches.
        for base in [REGION - 3000, STRETCH - 3 * REGION] {
            let mut taken = vec![(base, 6 * REGION)];
            for step in 0..6000 {
                if chance(2) == 0 && !taken.is_empty() {
                    let (word, words) = taken.swap_remove(chance(taken.len() as u64) as usize);
                    let part = if words > 4 { 1 + chance(words.min(6000) - 1) } else { words };
                    if part < words {
                        taken.push((word + part, words - part));
                    }
                    map.free(word, part);
                    model.free(word, part);
                } else {
                    let magnitude = chance(14);
                    let words = 1 + chance(1 << magnitude);
                    assert_eq!(map.find(words), model.find(words), "step {step}: {words} words");
                    if let Some(word) = model.find(words) {
                        let run = model.0[&word];
                        assert_eq!(map.run_at(word, u64::MAX >> 8), run);
                        assert_eq!(map.run_before(word + run), run);
                        map.take(word, words);
                        model.take(word, words);
                        taken.push((word, words));
                    }
                }
            }
        }
        assert_eq!(map.find(STRETCH + 1), None);
        let mut runs = Vec::new();
        map.each_run(&mut |word, words| runs.push((word, words)));
        assert_eq!(runs, model.0.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn runs_longer_than_a_stretch_are_found() {
        let mut map = FreeMap::new();
        map.free(STRETCH - 5, STRETCH + 10);
        assert_eq!(map.find(STRETCH + 10), Some(STRETCH - 5));
        assert_eq!(map.find(STRETCH + 11), None);
        map.take(STRETCH + 7, 1);
        assert_eq!((map.find(12), map.find(13)), (Some(STRETCH - 5), Some(STRETCH + 8)));
    }

    #[test]
    fn a_hidden_region_is_found_when_asked_for() {
        let mut map = FreeMap::new();
        map.free(8, 100);
        map.free(REGION + 1, 50);
        map.hide();
        assert_eq!((map.find(10), map.find(51)), (Some(REGION + 1), None));
        assert_eq!((map.find_hidden(51), map.find_hidden(101)), (Some(8), None));
        map.free(200, 300);
        assert_eq!((map.find(51), map.find_hidden(101)), (None, Some(200)));
    }

    #[test]
    fn what_is_freed_twice_is_free_once() {
        let mut map = FreeMap::new();
        map.free(100, 20);
        map.free(110, 20);
        assert_eq!(map.find(30), Some(100));
        map.take(100, 30);
        assert_eq!(map.find(1), None);
    }
}
