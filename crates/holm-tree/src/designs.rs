//! The list: one line per design. Every test, crash exploration, benchmark and report row starts here; what differs
//! from a design in a size or a search alone has its line in [`crate::variants`].

use crate::guide::{Aside, Linear, Segments, Sentinels, Vector};
use crate::inner::{Contiguous, Sorted};
use crate::leaf::buffered::{Buffered, Fingerprints, Literal, Triple, Unprinted};
use crate::leaf::ss_tree::{MOVING, SsTree};
use crate::leaf::{blackhole::Blackhole, circ::Circ, fast_fair::FastFair};

/// Makes a list: its designs, what is asked of one by its name, and a macro of the given name that goes through all.
macro_rules! designs {
    ($d:tt $each:ident: $($(#[$doc:meta])* $name:ident: leaf $leaf:ty, twig $twig:ty, branch $branch:ty;)*) => {
        $(
            $(#[$doc])*
            #[allow(non_camel_case_types, reason = "a design's type is spelled as its name in reports")]
            pub struct $name;
            impl $crate::Design for $name {
                const NAME: &'static str = stringify!($name);
                type Leaf = $leaf;
                type Twig = $twig;
                type Branch = $branch;
            }
        )*

        /// Every design of the list, by name, with its card.
        pub const CARDS: &[(&str, $crate::leaf::Card)] =
            &[$((stringify!($name), <$name as $crate::Design>::CARD)),*];

        /// The tree of a design over a medium, empty until it is rebuilt; `None` where no design of the list has that
        /// name, or the one that has does not suit the keys.
        pub fn open<M: holm_medium::Medium, K: $crate::Keys>(
            name: &str,
            quill: std::sync::Arc<holm_medium::Quill<M>>,
            keys: K,
            search: holm_search::Search,
        ) -> Option<Box<dyn $crate::Index<K>>> {
            match name {
                $(stringify!($name) => {
                    let suits = <$name as $crate::Design>::CARD.suits::<K>();
                    let plant = || Box::new($crate::Forest::<M, $name, K>::new(quill, keys, search));
                    suits.then(|| plant() as Box<dyn $crate::Index<K>>)
                })*
                _ => None,
            }
        }

        /// Whether of two images of a block's first line (logged, found) the second is as late as the first; `None`
        /// where no design has that name.
        pub fn newer(name: &str) -> Option<fn(&[u64; 8], &[u64; 8]) -> bool> {
            match name {
                $(stringify!($name) => Some(<<$name as $crate::Design>::Leaf as $crate::leaf::Leaf>::newer),)*
                _ => None,
            }
        }

        /// Bytes of a design's leaf block; `None` where no design has that name.
        pub fn block_bytes(name: &str) -> Option<u32> {
            match name {
                $(stringify!($name) => Some(size_of::<<$name as $crate::Design>::Leaf>() as u32),)*
                _ => None,
            }
        }

        /// Calls a macro with the name of every design of the list: what tests and benchmarks iterate with.
        #[macro_export]
        macro_rules! $each {
            ($d then:path) => { $d then! { $($name)* } };
        }
    };
}
pub(crate) use designs;

designs! { $ for_each_design:
    /// BD+Tree: durability by epochs. The default of the store.
    buffered: leaf Buffered<1, (Triple, Fingerprints)>, twig Sorted<8>, branch Sorted<8>;
    /// BD+Tree's leaf with another block behind it before it is split: what the papers' leaves are together.
    holm: leaf Buffered<2, (Triple, Fingerprints)>, twig Sorted<8>, branch Sorted<8>;
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
    borders: leaf crate::leaf::borders::Borders, twig Sorted<8>, branch Sorted<8>;
    /// Isle-Tree: lines sorted each on its own, a counter for each. Durable when an operation returns.
    isle: leaf crate::leaf::isle::Isle, twig Sorted<8>, branch Sorted<8>;
    /// wB+-Tree: a bitmap, and an array of slots in order. Durable when an operation returns.
    wb_tree: leaf crate::leaf::wb_tree::WbTree, twig Sorted<8>, branch Sorted<8>;
    /// FPTree: a bitmap and fingerprints. Durable when an operation returns.
    fp_tree: leaf crate::leaf::fp_tree::FpTree, twig Sorted<8>, branch Sorted<8>;
    /// NV-Tree: records appended, the last one of a key decides; inner nodes in one array, made anew when a parent of
    /// leaves is full. Durable when an operation returns.
    nv_tree: leaf crate::leaf::nv_tree::NvTree, twig Sorted<4>, branch Contiguous<8>;
    /// LB+-Tree: fingerprints, and inserts into the header's line. Durable when an operation returns.
    lb_tree: leaf crate::leaf::lb_tree::LbTree, twig Sorted<8>, branch Sorted<8>;
    /// The strict leaf for byte strings: FPTree's fingerprints, LB+-Tree's inserts, and one word for bitmap and link.
    holm_strict: leaf crate::leaf::holm_strict::HolmStrict, twig Sorted<8>, branch Sorted<8>;
    /// SSTree: a leaf is a list of subnodes, two at most. Durable when an operation returns.
    ss_tree: leaf SsTree<2, MOVING>, twig Sorted<8>, branch Sorted<8>;
    /// Accepts all, stores nothing: prices the rest of the house.
    blackhole: leaf Blackhole, twig Sorted<8>, branch Sorted<8>;
}

/// Designs with known bugs, which the proof must catch, and the one without. In no list, and in no build that ships.
#[cfg(feature = "canary")]
pub mod canaries {
    use crate::design::Design;
    use crate::inner::Sorted;
    use crate::leaf::buffered::{Buffered, Forgetful, Unprinted};
    use crate::leaf::canary::Canary;
    use crate::leaf::ss_tree::{HASTY, SsTree};

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
