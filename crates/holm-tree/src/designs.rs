//! The list: one line per design. Every test, crash exploration, benchmark and report row starts here.

use crate::design::Design;
use crate::forest::Forest;
use crate::guide::{Aside, Fingerprints, Halving, Inlaid, Linear, Scalar, Segments, Sentinels, Vector};
use crate::index::Index;
use crate::inner::Sorted;
use crate::keys::Keys;
use crate::leaf::{Card, Leaf, blackhole::Blackhole, buffered::Buffered, circ::Circ, fast_fair::FastFair};
use holm_medium::{Medium, Quill};
use holm_search::Search;
use std::sync::Arc;

macro_rules! designs {
    ($d:tt $($(#[$doc:meta])* $name:ident: leaf $leaf:ty, twig $twig:ty, branch $branch:ty;)*) => {
        $(
            $(#[$doc])*
            #[allow(non_camel_case_types, reason = "a design's type is spelled as its name in reports")]
            pub struct $name;
            impl Design for $name {
                const NAME: &'static str = stringify!($name);
                type Leaf = $leaf;
                type Twig = $twig;
                type Branch = $branch;
            }
        )*

        /// Every design, by name, with its card.
        pub const CARDS: &[(&str, Card)] = &[$((stringify!($name), <<$name as Design>::Leaf as Leaf>::CARD)),*];

        /// The tree of a design over a medium, empty until [`Index::rebuild`]; `None` where no design has that name.
        pub fn open<M: Medium, K: Keys>(
            name: &str,
            quill: Arc<Quill<M>>,
            keys: K,
            search: Search,
        ) -> Option<Box<dyn Index<K>>> {
            match name {
                $(stringify!($name) => Some(Box::new(Forest::<M, $name, K>::new(quill, keys, search))),)*
                _ => None,
            }
        }

        /// Whether of two images of a block's first line (logged, found) the second is as late as the first; `None`
        /// where no design has that name.
        pub fn newer(name: &str) -> Option<fn(&[u64; 8], &[u64; 8]) -> bool> {
            match name {
                $(stringify!($name) => Some(<<$name as Design>::Leaf as Leaf>::newer),)*
                _ => None,
            }
        }

        /// Bytes of a design's leaf block; `None` where no design has that name.
        pub fn block_bytes(name: &str) -> Option<u32> {
            match name {
                $(stringify!($name) => Some(size_of::<<$name as Design>::Leaf>() as u32),)*
                _ => None,
            }
        }

        /// Calls a macro with the name of every design: what tests and benchmarks iterate with.
        #[macro_export]
        macro_rules! for_each_design {
            ($d then:path) => { $d then! { $($name)* } };
        }
    };
}

designs! { $
    /// BD+Tree: durability by epochs. The default of the store.
    buffered: leaf Buffered, twig Sorted<8>, branch Sorted<8>;
    /// FAST and FAIR: a sorted array, shifted word by word. Durable when an operation returns.
    fast_fair: leaf FastFair<31, Linear>, twig Sorted<8>, branch Sorted<8>;
    /// FAST and FAIR in nodes of 1 KiB.
    fast_fair_1k: leaf FastFair<63, Linear>, twig Sorted<8>, branch Sorted<8>;
    /// FAST and FAIR in nodes of 2 KiB.
    fast_fair_2k: leaf FastFair<127, Linear>, twig Sorted<8>, branch Sorted<8>;
    /// FAST and FAIR in nodes of 4 KiB.
    fast_fair_4k: leaf FastFair<255, Linear>, twig Sorted<8>, branch Sorted<8>;
    /// FAST and FAIR, searched by halves.
    fast_fair_halving: leaf FastFair<31, Halving>, twig Sorted<8>, branch Sorted<8>;
    /// The same in nodes of 4 KiB.
    fast_fair_halving_4k: leaf FastFair<255, Halving>, twig Sorted<8>, branch Sorted<8>;
    /// FAST and FAIR with sentinels beside the block, looked through by vectors.
    fast_fair_sentinels: leaf FastFair<31, Sentinels<Aside<8>, Vector>>, twig Sorted<8>, branch Sorted<8>;
    /// The same in nodes of 4 KiB.
    fast_fair_sentinels_4k: leaf FastFair<255, Sentinels<Aside<64>, Vector>>, twig Sorted<8>, branch Sorted<8>;
    /// The same, looked through one by one.
    fast_fair_sentinels_scalar_4k: leaf FastFair<255, Sentinels<Aside<64>, Scalar>>, twig Sorted<8>, branch Sorted<8>;
    /// FAST and FAIR with sentinels in the block, looked through one by one: the paper's.
    fast_fair_sentinels_inlaid: leaf FastFair<31, Sentinels<Inlaid<8>, Scalar>>, twig Sorted<8>, branch Sorted<8>;
    /// The same in nodes of 4 KiB.
    fast_fair_sentinels_inlaid_4k: leaf FastFair<255, Sentinels<Inlaid<64>, Scalar>>, twig Sorted<8>, branch Sorted<8>;
    /// FAST and FAIR with fingerprints beside the block, looked through by vectors.
    fast_fair_fingerprints: leaf FastFair<31, Fingerprints<Aside<4>, Vector>>, twig Sorted<8>, branch Sorted<8>;
    /// The same in nodes of 4 KiB.
    fast_fair_fingerprints_4k: leaf FastFair<255, Fingerprints<Aside<32>, Vector>>, twig Sorted<8>, branch Sorted<8>;
    /// The same, looked through one by one.
    fast_fair_fingerprints_scalar_4k: leaf FastFair<255, Fingerprints<Aside<32>, Scalar>>,
        twig Sorted<8>, branch Sorted<8>;
    /// Circ-Tree: a sorted ring, shifted on its shorter side. Searched by segments.
    circ: leaf Circ<30, Segments>, twig Sorted<8>, branch Sorted<8>;
    /// Circ-Tree, searched from the base on.
    circ_linear: leaf Circ<30, Linear>, twig Sorted<8>, branch Sorted<8>;
    /// The same in nodes of 4 KiB.
    circ_linear_4k: leaf Circ<254, Linear>, twig Sorted<8>, branch Sorted<8>;
    /// Circ-Tree with sentinels beside the block, looked through by vectors.
    circ_sentinels: leaf Circ<30, Sentinels<Aside<8>, Vector>>, twig Sorted<8>, branch Sorted<8>;
    /// The same in nodes of 4 KiB.
    circ_sentinels_4k: leaf Circ<254, Sentinels<Aside<64>, Vector>>, twig Sorted<8>, branch Sorted<8>;
    /// Circ-Tree with fingerprints beside the block, looked through by vectors.
    circ_fingerprints: leaf Circ<30, Fingerprints<Aside<4>, Vector>>, twig Sorted<8>, branch Sorted<8>;
    /// The same in nodes of 4 KiB.
    circ_fingerprints_4k: leaf Circ<254, Fingerprints<Aside<32>, Vector>>, twig Sorted<8>, branch Sorted<8>;
    /// Accepts all, stores nothing: prices the rest of the house.
    blackhole: leaf Blackhole, twig Sorted<8>, branch Sorted<8>;
}

/// Designs with known bugs, which the proof must catch, and the one without. In no list, and in no build that ships.
#[cfg(feature = "canary")]
pub mod canaries {
    use crate::design::Design;
    use crate::inner::Sorted;
    use crate::leaf::canary::Canary;

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
    }
}
