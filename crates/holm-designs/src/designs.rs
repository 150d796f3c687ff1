//! The list of designs: one line each, after the store's own. Every test, crash exploration, benchmark and report row
//! starts here. Designs that differ from one of these only in a size or a search are in [`crate::variants`].

use crate::guide::{Aside, Linear, Segments, Sentinels, Vector};
use crate::inner::Contiguous;
use crate::leaf::bd_tree::Literal;
use crate::leaf::ss_tree::{MOVING, SsTree};
use crate::leaf::{self, blackhole::Blackhole, circ::Circ, fast_fair::FastFair};
use holm_tree::inner::Sorted;
use holm_tree::leaf::buffered::{Buffered, NoFingerprints, Triple};

holm_tree::designs! { $ for_each_design after holm_tree::designs {buffered, holm}:
    /// BD+Tree without fingerprints, as in the paper.
    bd_tree: leaf Buffered<1, (Triple, NoFingerprints)>, parent Sorted<8>, upper Sorted<8>;
    /// BD+Tree without fingerprints, with the paper's own fields for the versions.
    bd_tree_literal: leaf Buffered<1, (Literal, NoFingerprints)>, parent Sorted<8>, upper Sorted<8>;
    /// FAST and FAIR: a sorted array, shifted word by word. Durable when an operation returns.
    fast_fair: leaf FastFair<31, Linear>, parent Sorted<8>, upper Sorted<8>;
    /// FAST and FAIR with sentinels beside the block, searched with vector instructions.
    fast_fair_sentinels: leaf FastFair<31, Sentinels<Aside<8>, Vector>>, parent Sorted<8>, upper Sorted<8>;
    /// Circ-Tree: a sorted ring, shifted on its shorter side. Searched by segments. Durable when an operation returns.
    circ: leaf Circ<30, Segments>, parent Sorted<8>, upper Sorted<8>;
    /// Borders: a pair counts if its key lies within the leaf's borders. Durable when an operation returns.
    borders: leaf leaf::borders::Borders, parent Sorted<8>, upper Sorted<8>;
    /// Isle-Tree: each line is sorted on its own and has a counter. Durable when an operation returns.
    isle: leaf leaf::isle::Isle, parent Sorted<8>, upper Sorted<8>;
    /// wB+-Tree: a bitmap, and an array of slots in key order. Durable when an operation returns.
    wb_tree: leaf leaf::wb_tree::WbTree, parent Sorted<8>, upper Sorted<8>;
    /// FPTree: a bitmap and fingerprints. Durable when an operation returns.
    fp_tree: leaf leaf::fp_tree::FpTree, parent Sorted<8>, upper Sorted<8>;
    /// NV-Tree: an append-only leaf in which the last record of a key decides. Its inner nodes lie in one array, which
    /// is rebuilt when a leaf parent is full. Durable when an operation returns.
    nv_tree: leaf leaf::nv_tree::NvTree, parent Sorted<4>, upper Contiguous<8>;
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

/// Designs with known bugs that the proof must catch, and one without a bug. They are in no list.
pub mod canaries {
    use crate::leaf::bd_tree::Forgetful;
    use crate::leaf::canary::Canary;
    use crate::leaf::ss_tree::{HASTY, SsTree};
    use holm_tree::Design;
    use holm_tree::inner::Sorted;
    use holm_tree::leaf::buffered::{Buffered, NoFingerprints};

    macro_rules! canaries {
        ($($(#[$doc:meta])* $name:ident: $bug:literal;)*) => {
            $(
                $(#[$doc])*
                #[allow(non_camel_case_types, reason = "a design's type is spelled as its name in reports")]
                pub struct $name;
                impl Design for $name {
                    const NAME: &'static str = stringify!($name);
                    type Leaf = Canary<$bug>;
                    type LeafParent = Sorted<8>;
                    type Upper = Sorted<8>;
                }
            )*
        };
    }

    /// Known bug: a subnode of SSTree is released before the link to it is durably gone, as in the published order of
    /// fences.
    #[allow(non_camel_case_types, reason = "a design's type is spelled as its name in reports")]
    pub struct ss_tree_hasty;
    impl Design for ss_tree_hasty {
        const NAME: &'static str = "ss_tree_hasty";
        type Leaf = SsTree<3, HASTY>;
        type LeafParent = Sorted<8>;
        type Upper = Sorted<8>;
    }

    /// Known bug: a slot of BD+Tree is reused while the state of two epochs before still names it.
    #[allow(non_camel_case_types, reason = "a design's type is spelled as its name in reports")]
    pub struct bd_tree_forgetful;
    impl Design for bd_tree_forgetful {
        const NAME: &'static str = "bd_tree_forgetful";
        type Leaf = Buffered<1, (Forgetful, NoFingerprints)>;
        type LeafParent = Sorted<8>;
        type Upper = Sorted<8>;
    }

    canaries! {
        /// No bug: this canary passes every scenario.
        canary_0: 0;
        /// A new pair is not flushed.
        canary_1: 1;
        /// The bitmap is published before the pair.
        canary_2: 2;
        /// Two words must change together.
        canary_3: 3;
        /// A leaf is truncated before the link to its right half is durable.
        canary_4: 4;
        /// A removal is not flushed.
        canary_5: 5;
        /// The wrong line is flushed.
        canary_6: 6;
        /// A leaf is linked before it is filled.
        canary_7: 7;
        /// A word of zero means "nothing".
        canary_8: 8;
        /// Recovery does not finish splits.
        canary_9: 9;
        /// Recovery's changes are not durable.
        canary_10: 10;
        /// A count in a word of its own, beside the bitmap.
        canary_11: 11;
        /// A moving pair is in both places for a time.
        canary_12: 12;
        /// A moving pair is in neither place for a time.
        canary_13: 13;
        /// A lock is still set after a crash.
        canary_14: 14;
        /// A released leaf comes back.
        canary_15: 15;
        /// A block is a leaf before it is durably empty.
        canary_16: 16;
        /// The chain leads into blocks that were reused.
        canary_17: 17;
        /// A payload of zero means "no pair".
        canary_18: 18;
        /// Equal payloads of neighbours mean "in transit".
        canary_19: 19;
        /// The greatest key means "no pair".
        canary_20: 20;
        /// A link is not flushed.
        canary_21: 21;
        /// One fence for two flushes that need an order.
        canary_22: 22;
        /// A removal leaves a second copy of the pair.
        canary_23: 23;
        /// Each run of recovery removes more.
        canary_24: 24;
        /// The leaf uses one slot more than it has.
        canary_25: 25;
        /// A leaf that became empty accepts no more pairs.
        canary_26: 26;
    }
}
