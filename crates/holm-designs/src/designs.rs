//! The list: one line per design, after those of the store. Every test, crash exploration, benchmark and report row
//! starts here; what differs from a design in a size or a search alone has its line in [`crate::variants`].

use crate::guide::{Aside, Linear, Segments, Sentinels, Vector};
use crate::inner::Contiguous;
use crate::leaf::bd_tree::Literal;
use crate::leaf::ss_tree::{MOVING, SsTree};
use crate::leaf::{self, blackhole::Blackhole, circ::Circ, fast_fair::FastFair};
use holm_tree::inner::Sorted;
use holm_tree::leaf::buffered::{Buffered, Triple, Unprinted};

holm_tree::designs! { $ for_each_design after holm_tree::designs {buffered, holm}:
    /// BD+Tree without fingerprints, as the paper has it.
    bd_tree: leaf Buffered<1, (Triple, Unprinted)>, twig Sorted<8>, branch Sorted<8>;
    /// The same with the paper's own fields for the versions.
    bd_tree_literal: leaf Buffered<1, (Literal, Unprinted)>, twig Sorted<8>, branch Sorted<8>;
    /// FAST and FAIR: a sorted array, shifted word by word. Durable when an operation returns.
    fast_fair: leaf FastFair<31, Linear>, twig Sorted<8>, branch Sorted<8>;
    /// FAST and FAIR with sentinels beside the block, looked through by vectors.
    fast_fair_sentinels: leaf FastFair<31, Sentinels<Aside<8>, Vector>>, twig Sorted<8>, branch Sorted<8>;
    /// Circ-Tree: a sorted ring, shifted on its shorter side. Searched by segments.
    circ: leaf Circ<30, Segments>, twig Sorted<8>, branch Sorted<8>;
    /// A pair counts if its key lies within the leaf's borders. Durable when an operation returns.
    borders: leaf leaf::borders::Borders, twig Sorted<8>, branch Sorted<8>;
    /// Isle-Tree: lines sorted each on its own, a counter for each. Durable when an operation returns.
    isle: leaf leaf::isle::Isle, twig Sorted<8>, branch Sorted<8>;
    /// wB+-Tree: a bitmap, and an array of slots in order. Durable when an operation returns.
    wb_tree: leaf leaf::wb_tree::WbTree, twig Sorted<8>, branch Sorted<8>;
    /// FPTree: a bitmap and fingerprints. Durable when an operation returns.
    fp_tree: leaf leaf::fp_tree::FpTree, twig Sorted<8>, branch Sorted<8>;
    /// NV-Tree: records appended, the last one of a key decides; inner nodes in one array, made anew when a parent of
    /// leaves is full. Durable when an operation returns.
    nv_tree: leaf leaf::nv_tree::NvTree, twig Sorted<4>, branch Contiguous<8>;
    /// LB+-Tree: fingerprints, and inserts into the header's line. Durable when an operation returns.
    lb_tree: leaf leaf::lb_tree::LbTree, twig Sorted<8>, branch Sorted<8>;
    /// The strict leaf for byte strings: FPTree's fingerprints, LB+-Tree's inserts, and one word for bitmap and link.
    holm_strict: leaf leaf::holm_strict::HolmStrict, twig Sorted<8>, branch Sorted<8>;
    /// SSTree: a leaf is a list of subnodes, two at most. Durable when an operation returns.
    ss_tree: leaf SsTree<2, MOVING>, twig Sorted<8>, branch Sorted<8>;
    /// Accepts all, stores nothing: prices the rest of the house.
    blackhole: leaf Blackhole, twig Sorted<8>, branch Sorted<8>;
}

/// Designs with known bugs, which the proof must catch, and the one without. In no list.
pub mod canaries {
    use crate::leaf::bd_tree::Forgetful;
    use crate::leaf::canary::Canary;
    use crate::leaf::ss_tree::{HASTY, SsTree};
    use holm_tree::Design;
    use holm_tree::inner::Sorted;
    use holm_tree::leaf::buffered::{Buffered, Unprinted};

    macro_rules! canaries {
        ($($(#[$doc:meta])* $name:ident: $bug:literal;)*) => {
            $(
                $(#[$doc])*
                #[allow(non_camel_case_types, reason = "a design's type is spelled as its name in reports")]
                pub struct $name;
                impl Design for $name {
                    const NAME: &'static str = stringify!($name);
                    type Leaf = Canary<$bug>;
                    type Twig = Sorted<8>;
                    type Branch = Sorted<8>;
                }
            )*
        };
    }

    /// A subnode of SSTree is given up before the way to it is durably gone: the published order of fences.
    #[allow(non_camel_case_types, reason = "a design's type is spelled as its name in reports")]
    pub struct ss_tree_hasty;
    impl Design for ss_tree_hasty {
        const NAME: &'static str = "ss_tree_hasty";
        type Leaf = SsTree<3, HASTY>;
        type Twig = Sorted<8>;
        type Branch = Sorted<8>;
    }

    /// A slot of BD+Tree is used again while the state of two epochs before names it.
    #[allow(non_camel_case_types, reason = "a design's type is spelled as its name in reports")]
    pub struct bd_tree_forgetful;
    impl Design for bd_tree_forgetful {
        const NAME: &'static str = "bd_tree_forgetful";
        type Leaf = Buffered<1, (Forgetful, Unprinted)>;
        type Twig = Sorted<8>;
        type Branch = Sorted<8>;
    }

    canaries! {
        /// No bug: passes everything.
        canary_0: 0;
        /// The pair is not flushed.
        canary_1: 1;
        /// The bitmap is published before the pair.
        canary_2: 2;
        /// Two words must change together.
        canary_3: 3;
        /// Truncated before the link is durable.
        canary_4: 4;
        /// A removal is not flushed.
        canary_5: 5;
        /// Another line is flushed.
        canary_6: 6;
        /// Linked before it is filled.
        canary_7: 7;
        /// Zero stands for nothing.
        canary_8: 8;
        /// No recovery of splits.
        canary_9: 9;
        /// Recovery that is not durable.
        canary_10: 10;
        /// A count beside the bitmap.
        canary_11: 11;
        /// A pair that moves is there twice.
        canary_12: 12;
        /// A pair that moves is gone for a while.
        canary_13: 13;
        /// A lock that stays taken.
        canary_14: 14;
        /// A leaf given up comes back.
        canary_15: 15;
        /// A leaf before it is empty.
        canary_16: 16;
        /// A chain that leads into blocks given out again.
        canary_17: 17;
        /// A payload of zero is none.
        canary_18: 18;
        /// Equal payloads are taken for one.
        canary_19: 19;
        /// The greatest key is none.
        canary_20: 20;
        /// A link is not flushed.
        canary_21: 21;
        /// One fence behind two flushes.
        canary_22: 22;
        /// A removal that leaves a second copy.
        canary_23: 23;
        /// Recovery that takes more each time.
        canary_24: 24;
        /// A slot too many.
        canary_25: 25;
        /// A leaf that stays empty.
        canary_26: 26;
    }
}
