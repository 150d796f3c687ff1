//! SSTree: subnodes that are linked before a leaf splits.

use crate::study::{Absent, Family};

const NO_TREE: &str = "no design of the list is SSTree";
const NO_RIVALS: &str = "neither SSTree nor uTree, PACTree and LB+Tree are here";

pub(crate) const FAMILY: Family = Family {
    name: "SSTree",
    paper: "subnodes that are linked before a leaf splits, beside uTree, PACTree and LB+Tree",
    studies: &[],
    absent: &[
        Absent::new("SS-F1a", "Where LB+Tree's time goes", NO_RIVALS),
        Absent::new("SS-F1b", "Throughput with and without splits", NO_RIVALS),
        Absent::new("SS-F1c", "Persistent reads and writes of splits", NO_RIVALS),
        Absent::new("SS-F1d", "Tail latency of splits", NO_RIVALS),
        Absent::new("SS-F6", "Write throughput by threads", NO_RIVALS),
        Absent::new("SS-F7", "Tail latency by percentile", NO_RIVALS),
        Absent::new("SS-F8", "Search and scan throughput", NO_RIVALS),
        Absent::new("SS-F9", "Lines written an operation", NO_TREE),
        Absent::new("SS-F10", "Lines read an operation", NO_TREE),
        Absent::new("SS-F11", "Memory after a load and a mix", NO_RIVALS),
        Absent::new("SS-T1", "By number of subnodes", NO_TREE),
        Absent::new("SS-T2", "Moving items or not", NO_TREE),
        Absent::new("SS-R1", "Recovery by threads", NO_TREE),
        Absent::new("SS-F12", "Sequential load in other memory", NO_RIVALS),
        Absent::new("SS-X1", "The crash matrix of reclamation", NO_TREE),
    ],
};
