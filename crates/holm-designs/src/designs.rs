//! The list of designs: one line each, after the store's own. Every test, crash exploration, benchmark and report row
//! starts here. Designs that differ from one of these only in a size or a search are in [`crate::variants`].

use crate::guide::{Aside, Linear, Segments, Sentinels, Vector};
use crate::inner::Contiguous;
use crate::leaf::bd_tree::Literal;
use crate::leaf::ss_tree::{MOVING, SsTree};
use crate::leaf::{self, blackhole::Blackhole, circ::Circ, fast_fair::FastFair};
use crate::look::{ONE_BY_ONE, VECTORS};
use holm_tree::inner::Sorted;
use holm_tree::leaf::buffered::{Buffered, NoFingerprints, Triple};

holm_tree::designs! { $ for_each_design after holm_tree::designs {buffered, holm}:
    /// BD+Tree without fingerprints, as in the paper.
    bd_tree: leaf Buffered<1, (Triple, NoFingerprints)>, parent Sorted<8>, upper Sorted<8>;
    /// BD+Tree without fingerprints, with the paper's own fields for the versions.
    bd_tree_literal: leaf Buffered<1, (Literal, NoFingerprints)>, parent Sorted<8>, upper Sorted<8>;
    /// BD+Tree's versions line by line: a put dirties one line, and a search reads one.
    lined: leaf leaf::lined::Lined, parent Sorted<8>, upper Sorted<8>;
    /// FAST and FAIR: a sorted array, shifted word by word. Durable when an operation returns.
    fast_fair: leaf FastFair<31, Linear>, parent Sorted<8>, upper Sorted<8>;
    /// FAST and FAIR with sentinels beside the block, searched with vector instructions.
    fast_fair_sentinels: leaf FastFair<31, Sentinels<Aside<8>, Vector>>, parent Sorted<8>, upper Sorted<8>;
    /// Circ-Tree: a sorted ring, shifted on its shorter side. Searched by segments. Durable when an operation returns.
    circ: leaf Circ<30, Segments>, parent Sorted<8>, upper Sorted<8>;
    /// Borders: a pair counts if its key lies within the leaf's borders. Durable when an operation returns.
    borders: leaf leaf::borders::Borders, parent Sorted<8>, upper Sorted<8>;
    /// Borders whose splits copy nothing: leaves share the blocks in which their pairs were. Durable when an operation
    /// returns.
    borders_shared: leaf leaf::borders_shared::BordersShared, parent Sorted<8>, upper Sorted<8>;
    /// Isle-Tree: each line is sorted on its own and has a counter. Durable when an operation returns.
    isle: leaf leaf::isle::Isle<7, ONE_BY_ONE>, parent Sorted<8>, upper Sorted<8>;
    /// wB+-Tree: a bitmap, and an array of slots in key order. Durable when an operation returns.
    wb_tree: leaf leaf::wb_tree::WbTree<28, 6>, parent Sorted<8>, upper Sorted<8>;
    /// FPTree: a bitmap and fingerprints. Durable when an operation returns.
    fp_tree: leaf leaf::fp_tree::FpTree<VECTORS>, parent Sorted<8>, upper Sorted<8>;
    /// NV-Tree: an append-only leaf in which the last record of a key decides. Its inner nodes lie in one array, which
    /// is rebuilt when a leaf parent is full. Durable when an operation returns.
    nv_tree: leaf leaf::nv_tree::NvTree<30, 1, 0, ONE_BY_ONE>,
        parent Sorted<4>, upper Contiguous<8>;
    /// LB+-Tree: fingerprints, and inserts into the header's line. Durable when an operation returns.
    lb_tree: leaf leaf::lb_tree::LbTree, parent Sorted<8>, upper Sorted<8>;
    /// The strict leaf for byte strings: FPTree's fingerprints, LB+-Tree's inserts, and one word for bitmap and link.
    /// Durable when an operation returns.
    holm_strict: leaf leaf::holm_strict::HolmStrict, parent Sorted<8>, upper Sorted<8>;
    /// SSTree: a leaf is a list of at most two subnodes. Durable when an operation returns.
    ss_tree: leaf SsTree<2, MOVING>, parent Sorted<8>, upper Sorted<8>;
    /// Accepts everything and stores nothing: it measures the cost of the rest of the tree.
    blackhole: leaf Blackhole, parent Sorted<8>, upper Sorted<8>;
}

/// Designs with known bugs that the proof must catch. They are in no list.
pub mod faulty {
    use crate::guide::Linear;
    use crate::leaf::bd_tree::Forgetful;
    use crate::leaf::canary::Canary;
    use crate::leaf::fast_fair::{Published, Shifting};
    use crate::leaf::ss_tree::{HASTY, SsTree};
    use holm_tree::inner::Sorted;
    use holm_tree::leaf::buffered::{Buffered, NoFingerprints};

    holm_tree::designs! { $ for_each_faulty_design:
        /// Has the bug that the number of a tree's keyspace names: see [`Bug`](crate::leaf::canary::Bug).
        canary: leaf Canary, parent Sorted<8>, upper Sorted<8>;
        /// A subnode of SSTree is released before the link to it is durably gone, as in the published order of fences.
        ss_tree_hasty: leaf SsTree<3, HASTY>, parent Sorted<8>, upper Sorted<8>;
        /// FAST and FAIR with the published marks and flushes.
        fast_fair_published: leaf Shifting<31, Published<Linear>>, parent Sorted<8>, upper Sorted<8>;
        /// A slot of BD+Tree is reused while the state of two epochs before still names it.
        bd_tree_forgetful: leaf Buffered<1, (Forgetful, NoFingerprints)>, parent Sorted<8>, upper Sorted<8>;
    }
}
