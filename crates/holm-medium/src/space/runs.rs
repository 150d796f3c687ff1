//! Summaries of free runs: of one line of bits, and of equal spans side by side.
//!
//! ```text
//! span     ..XXX.....XX...X....      X in use
//! Runs     first 2, longest 5, last 4
//! ```
//!
//! The [`Runs`] of adjacent spans join into the runs of both. A [`Tree`] of them finds the first run of a given length
//! in one walk from its root, as the page allocator of Go does; here the unit is a word of the record area.

/// Children of a node.
const FAN: usize = 8;

/// Levels below the root.
const DEPTH: u32 = 3;

/// Spans at the bottom of a tree.
pub(super) const LEAVES: usize = FAN.pow(DEPTH);

/// Nodes above the bottom.
const INNER: usize = 1 + FAN + FAN * FAN;

/// Words of bits in a line.
pub(super) const LINE: usize = 8;

/// The free words of a span: those that it begins with, the longest run, and those that it ends with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Runs {
    pub(super) first: u32,
    pub(super) longest: u32,
    pub(super) last: u32,
}

impl Runs {
    /// Nothing is free.
    pub(super) const NONE: Runs = Runs { first: 0, longest: 0, last: 0 };

    /// The runs of a line of bits; a set bit is free.
    pub(super) fn of_line(bits: &[u64; LINE]) -> Runs {
        let (mut first, mut longest, mut run) = (None, 0, 0);
        for &word in bits {
            if word == u64::MAX {
                run += 64;
                continue;
            }
            run += word.trailing_ones();
            first.get_or_insert(run);
            longest = longest_within(word, longest.max(run));
            run = word.leading_ones();
        }
        Runs { first: first.unwrap_or(run), longest: longest.max(run), last: run }
    }

    /// The runs of spans side by side, each of `words`.
    fn join(spans: &[Runs], words: u32) -> Runs {
        let (mut first, mut longest, mut run) = (None, 0, 0);
        for span in spans {
            if span.first == words {
                run += words;
                continue;
            }
            run += span.first;
            first.get_or_insert(run);
            longest = span.longest.max(longest).max(run);
            run = span.last;
        }
        Runs { first: first.unwrap_or(run), longest: longest.max(run), last: run }
    }
}

/// The longest run of set bits in a word, or `least` if that is longer.
fn longest_within(word: u64, least: u32) -> u32 {
    let (mut left, mut covers, wanted) = (word, 1, least.min(64) + 1);
    // A bit that stays set has `covers - 1` set bits below it, so runs that are too short disappear in a few steps.
    while covers < wanted && left != 0 {
        let step = covers.min(wanted - covers);
        left &= left.checked_shl(step).unwrap_or(0);
        covers += step;
    }
    let mut longest = least;
    while left != 0 {
        left &= left << 1;
        longest += 1;
    }
    longest
}

/// Where a long enough run begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Spot {
    /// At this word of the tree: it begins in one span and ends in another, or begins with a span.
    At(u32),
    /// Somewhere within this span.
    Within(usize),
}

/// The runs of 512 spans of equal length, and of all nodes that join them.
pub(super) struct Tree {
    /// Words of a span.
    span: u32,
    /// The root, its eight children, their children, and so on.
    nodes: Box<[Runs; INNER + LEAVES]>,
}

impl Tree {
    /// Nothing is free. The whole must have fewer than 2^32 words.
    pub(super) fn new(span: u32) -> Self {
        Tree { span, nodes: Box::new([Runs::NONE; INNER + LEAVES]) }
    }

    /// The runs of all spans together.
    pub(super) fn all(&self) -> Runs {
        self.nodes[0]
    }

    /// Sets each span from `first` to `last` to what `runs_of` returns, and joins the nodes above them.
    pub(super) fn set(&mut self, first: usize, last: usize, mut runs_of: impl FnMut(usize) -> Runs) {
        debug_assert!(first <= last && last < LEAVES, "spans {first}..={last} of {LEAVES}");
        let mut changed = false;
        for span in first..=last {
            let runs = runs_of(span);
            debug_assert!(
                runs.first.max(runs.last) <= runs.longest && runs.longest <= self.span,
                "{runs:?} in a span of {} words",
                self.span
            );
            changed |= std::mem::replace(&mut self.nodes[INNER + span], runs) != runs;
        }
        let (mut low, mut high, mut words) = (INNER + first, INNER + last, self.span);
        while changed && low > 0 {
            (low, high) = ((low - 1) / FAN, (high - 1) / FAN);
            changed = false;
            for node in low..=high {
                let runs = Runs::join(&self.nodes[FAN * node + 1..][..FAN], words);
                changed |= std::mem::replace(&mut self.nodes[node], runs) != runs;
            }
            words *= FAN as u32;
        }
    }

    /// Finds the first run of at least `words` words.
    pub(super) fn find(&self, words: u32) -> Option<Spot> {
        if self.all().longest < words {
            return None;
        }
        let (mut node, mut base, mut size) = (0, 0, self.span * FAN.pow(DEPTH) as u32);
        while node < INNER {
            size /= FAN as u32;
            // The free words that end where the child begins.
            let mut run = 0;
            let mut within = None;
            for child in 0..FAN {
                let (runs, here) = (self.nodes[FAN * node + 1 + child], base + child as u32 * size);
                if run + runs.first >= words {
                    return Some(Spot::At(here - run));
                }
                if runs.longest >= words {
                    within = Some((FAN * node + 1 + child, here));
                    break;
                }
                run = if runs.first == size { run + size } else { runs.last };
            }
            (node, base) = within?;
        }
        Some(Spot::Within(node - INNER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(bits: &[bool]) -> Runs {
        let run = |bits: &mut dyn Iterator<Item = &bool>| bits.take_while(|bit| **bit).count() as u32;
        let longest = bits.split(|bit| !bit).map(<[bool]>::len).max().unwrap_or(0);
        Runs { first: run(&mut bits.iter()), longest: longest as u32, last: run(&mut bits.iter().rev()) }
    }

    #[test]
    fn runs_of_lines_and_of_their_neighbours_are_those_of_the_bits() {
        let mut seed = 1u64;
        let mut chance = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed >> 33
        };
        for round in 0..400u64 {
            let lines: Vec<[u64; LINE]> = (0..FAN)
                .map(|_| {
                    std::array::from_fn(|_| match (chance() % 4 + round) % 5 {
                        0 => 0,
                        1 | 2 => u64::MAX,
                        3 => u64::MAX << (chance() % 64),
                        _ => chance() << 31 | chance() | chance() << 60,
                    })
                })
                .collect();
            let bits: Vec<bool> =
                lines.iter().flatten().flat_map(|word| (0..64).map(move |bit| word >> bit & 1 == 1)).collect();
            let runs: Vec<_> = lines.iter().map(Runs::of_line).collect();
            for (runs, bits) in runs.iter().zip(bits.chunks(512)) {
                assert_eq!(*runs, expected(bits), "round {round}");
            }
            assert_eq!(Runs::join(&runs, 512), expected(&bits), "round {round}");
        }
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "Runs { first: 5, longest: 4, last: 0 } in a span of 10 words")]
    fn a_first_run_longer_than_the_longest_is_refused() {
        Tree::new(10).set(0, 0, |_| Runs { first: 5, longest: 4, last: 0 });
    }

    #[test]
    fn the_first_run_that_is_long_enough_is_found_across_spans() {
        let mut tree = Tree::new(10);
        assert_eq!(tree.find(1), None);
        let runs = |first, longest, last| Runs { first, longest, last };
        tree.set(3, 3, |_| runs(0, 4, 2));
        tree.set(63, 65, |span| [runs(0, 6, 6), runs(10, 10, 10), runs(3, 3, 0)][span - 63]);
        assert_eq!(tree.find(4), Some(Spot::Within(3)));
        assert_eq!(tree.find(5), Some(Spot::Within(63)));
        assert_eq!(tree.find(7), Some(Spot::At(634)), "over the border of two eights");
        assert_eq!(tree.find(19), Some(Spot::At(634)));
        assert_eq!(tree.find(20), None);
        tree.set(0, LEAVES - 1, |_| runs(10, 10, 10));
        assert_eq!(tree.find(5120), Some(Spot::At(0)));
    }
}
