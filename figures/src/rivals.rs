//! Trees of the papers' figures that are here for comparison only. No crash of them has been explored, so they are no
//! designs: a rival is a file that implements `Rival`, a line here, and its place in the figures that count it.

mod blocks;
mod montage;
mod pactree;
mod rival;
mod utree;

use crate::measured_tree::TreeSetup;
use holm_lab::measured::MeasuredTree;
use holm_medium::Result;
use rival::{Measured, Rival};

/// Creates an empty rival.
type Create = fn(TreeSetup) -> Result<Box<dyn MeasuredTree>>;

/// Every rival by its name.
const ALL: [(&str, Create); 4] = [
    ("utree", |setup| measured(utree::UTree::new(setup))),
    ("pactree", |setup| measured(pactree::PacTree::new(setup))),
    ("montage", |setup| measured(montage::Montage::new(setup))),
    ("montage_two_lines", |setup| measured(montage::Montage::of_two_lines(setup))),
];

fn measured<R: Rival>(rival: Result<R>) -> Result<Box<dyn MeasuredTree>> {
    rival.map(|rival| Box::new(Measured(rival)) as Box<dyn MeasuredTree>)
}

/// Returns an empty rival; `None` if none has that name.
pub(crate) fn create(name: &str, setup: TreeSetup) -> Option<Result<Box<dyn MeasuredTree>>> {
    ALL.iter().find(|(rival, _)| *rival == name).map(|(_, create)| create(setup))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured_tree::counted;
    use crate::traces::all;
    use std::collections::BTreeMap;

    /// Counts do not depend on the machine. PACTree reads the two lines of a header, which have the fingerprints, and a
    /// pair. While its search layer lags, it sometimes reads the header of the node before, too. A program without
    /// debug assertions sees no reads.
    #[test]
    fn lines_of_lookups_are_these() {
        let expected = [("utree", 1_000), ("montage", 1_000), ("pactree", 3_252)];
        let read = |name: &str| {
            let (tree, keys) = (crate::measured_tree::create(name, counted(2_000)).expect("memory"), all(2_000));
            tree.put(&keys, 1).expect("memory");
            (tree.lines_got(&keys[..1_000]).expect("a build with reads") * 1_000.0) as u64
        };
        if cfg!(debug_assertions) {
            assert_eq!(expected.map(|(name, _)| (name, read(name))), expected);
        }
    }

    /// Flushes and fences of some work.
    pub(super) fn spent(tree: &dyn MeasuredTree, work: impl FnOnce() -> Result<()>) -> [u64; 2] {
        let before = tree.counts();
        work().expect("memory");
        let spent = tree.counts() - before;
        [spent.flushes, spent.fences]
    }

    /// Compares a rival with a map, through many operations and some epochs. Returns another one, empty.
    pub(super) fn agrees_with_a_map(name: &str) -> Box<dyn MeasuredTree> {
        let create = || create(name, counted(4_000)).expect("a rival of that name").expect("memory");
        let (tree, mut map, keys) = (create(), BTreeMap::new(), all(3_000));
        for (turn, key) in (0..12_000).map(|turn: usize| (turn, keys[turn * 7 % 3_000])) {
            if turn % 5 < 3 {
                tree.put(&[key], turn as u64).expect("memory");
                map.insert(key, key ^ turn as u64);
            } else {
                tree.remove(&[key]).expect("memory");
                map.remove(&key);
            }
            if turn % 400 == 399 {
                tree.end_epoch().expect("memory");
                let sum = |pairs: &mut dyn Iterator<Item = &u64>| pairs.fold(0, |sum: u64, it| sum.wrapping_add(*it));
                assert_eq!(tree.pairs(), map.len() as u64, "{name}");
                tree.rebuild(1, &mut |pairs| assert_eq!(pairs, map.len() as u64, "{name}")).expect("memory");
                assert_eq!(tree.get(&keys), sum(&mut map.values()), "{name}");
                assert_eq!(tree.scan(&[0], 3_000), (map.len(), sum(&mut map.values())), "{name}");
                let some: Vec<_> = map.range(key..).take(50).map(|(_, payload)| payload).collect();
                assert_eq!(tree.scan(&[key], 50), (some.len(), sum(&mut some.into_iter())), "{name}");
            }
        }
        create()
    }
}
