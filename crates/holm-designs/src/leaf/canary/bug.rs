//! The canary's known bugs, and where a tree's bug is noted.
//!
//! A bug is a value, so the canary is compiled once for all bugs. It is part of the number of the keyspace that a tree
//! is created with. Each leaf of the tree has that number in its home word: operations, recovery on any thread, and
//! every opening of an image find the same bug there, and trees of one process may have different ones.

use holm_tree::leaf::Home;

/// The bits of a keyspace's number below its bug.
const NUMBER_BITS: u32 = 16;

macro_rules! bugs {
    ($($(#[$doc:meta])* $bug:ident),* $(,)?) => {
        /// What the canary does wrong.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Bug {
            $($(#[$doc])* $bug),*
        }

        impl Bug {
            /// All bugs, in the order of their numbers.
            const ALL: &[Bug] = &[$(Bug::$bug),*];
        }
    };
}

bugs! {
    /// Nothing: the canary passes every scenario.
    None,
    /// A new pair's line is not flushed: as in FAST and FAIR's removal, P-HOT, P-CLHT.
    Unflushed,
    /// The bitmap is durable before the pair is written: as in Level Hashing.
    Early,
    /// A change counts only if two words changed: as in WOART, CCEH, P-ART.
    Torn,
    /// The old leaf is truncated before the link to the new one is durable: as in FAST and FAIR's root, P-Masstree.
    Lost,
    /// A removal is not flushed: as in FAST and FAIR, whose condition was copied from the insert.
    UnflushedRemoval,
    /// The wrong line is flushed: as in P-HOT (a temporary's) and P-CLHT (the wrong pointer's).
    Misaimed,
    /// The link is durable before the pairs of the leaf to which it leads: as in P-HOT, Level Hashing.
    Hollow,
    /// A word of zero means "nothing": as in FAST and FAIR, whose values must not be null.
    Zero,
    /// Recovery does not finish a split: as in the artifacts of FAST and FAIR, LB+Tree, NBTree.
    Unmended,
    /// Recovery finishes a split, but not durably: the class for which XFDetector looks.
    Fleeting,
    /// A word of its own counts the next free slot: as in P-ART, which drops an insert after the crash.
    Counted,
    /// A moving pair is in both places for a time: as in Level Hashing.
    Twice,
    /// A moving pair is in neither place for a time: as in Level Hashing.
    Nowhere,
    /// A lock among the durable words, which nothing releases after a crash: as in CCEH, LB+Tree.
    Stuck,
    /// A leaf's release is not durable: as in P-Masstree, whose list of deletions is volatile.
    Undead,
    /// A fresh leaf can be found before it is durably empty: as in the constructor of FAST and FAIR.
    Unswept,
    /// Recovery reuses blocks before the chain durably passes over them: as in SSTree's reclamation.
    Dangling,
    /// A payload of zero means "no pair": as in FAST and FAIR, where a null pointer ends the array.
    Null,
    /// A pair whose payload equals that of the pair before it counts as in transit: as in FAST and FAIR.
    Equal,
    /// The greatest key means "no more keys": as in programs that end their scans so.
    Greatest,
    /// The link to a new leaf is not flushed: as in P-BwTree, whose allocator's tail is not, and P-CLHT's chain.
    Unlinked,
    /// Pair and bitmap are flushed with one fence behind both: as in Montage's first advance of an epoch.
    Unfenced,
    /// A moving pair may be in two slots after a crash. Readers handle that and removals do not: as in FAST and FAIR,
    /// where a removed key comes back.
    Resurrects,
    /// Each run of recovery undoes an insert that had begun: as in systems that never crash recovery itself.
    Erodes,
    /// The leaf counts one free slot more than there is: as in CCEH and PACTree, which fail at an untested size.
    Brim,
    /// A leaf that lost all its pairs accepts no more: as in uTree, whose removals lock each other out.
    Barren,
}

impl Bug {
    /// The number of a keyspace whose leaves have the bug.
    #[must_use]
    pub const fn keyspace(self, number: u32) -> u32 {
        assert!(number < 1 << NUMBER_BITS, "the bug's number lies above");
        (self as u32) << NUMBER_BITS | number
    }

    /// The bug of a leaf. A block that is no leaf, or damaged, has none.
    pub(super) fn of(home: Home) -> Self {
        Bug::ALL.get((home.keyspace >> NUMBER_BITS) as usize).copied().unwrap_or(Bug::None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leaf_has_the_bug_of_its_keyspace() {
        for bug in Bug::ALL {
            let home = Home { keyspace: bug.keyspace(9), skip: 0, first: true };
            assert_eq!(Bug::of(home), *bug);
        }
        assert_eq!(Bug::None.keyspace(9), 9, "a keyspace without a bug has the usual numbers");
    }

    #[test]
    fn a_block_that_is_no_leaf_has_no_bug() {
        assert_eq!(Bug::of(Home { keyspace: u32::MAX, skip: 0, first: false }), Bug::None);
    }
}
