//! What the papers' ideas give together: a leaf of segments with versions and fingerprints.

use crate::study::{Absent, Family};

const NO_TREE: &str = "no design of the list is that leaf";

pub(crate) const FAMILY: Family = Family {
    name: "Synthesis",
    paper: "the ideas of all five in one leaf, each against its own paper's metric",
    without: "",
    studies: &[],
    absent: &[
        Absent::new("SYN-S0", "Against sentinels: lines touched", NO_TREE),
        Absent::new("SYN-S1", "Against Isle-Tree: lines flushed", NO_TREE),
        Absent::new("SYN-S2", "Against BD+Tree: throughput, traffic", NO_TREE),
        Absent::new("SYN-S3", "Against SSTree: splits, tails", NO_TREE),
        Absent::new("SYN-S4", "Against MB+-tree: gets and puts", NO_TREE),
        Absent::new("SYN-A1", "Triples or literal bitmaps", NO_TREE),
        Absent::new("SYN-A2", "Without fingerprints", NO_TREE),
        Absent::new("SYN-A3", "One to four segments", NO_TREE),
        Absent::new("SYN-A4", "Fresh segments not sorted", NO_TREE),
        Absent::new("SYN-A5", "Fingerprints in memory", NO_TREE),
        Absent::new("SYN-A6", "Interpolation or halving at the root", NO_TREE),
        Absent::new("SYN-A7", "Length of an epoch", "for `buffered` it is BD-X5a"),
        Absent::new("SYN-A8", "Durable at once or by epochs", NO_TREE),
    ],
};
