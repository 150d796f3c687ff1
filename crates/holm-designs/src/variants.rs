//! The second list: designs that differ from one of [`crate::designs`] in a size, a search, the place of signs or
//! latches, or the nodes above the leaves. Measurements and proofs select them by name. The store knows none of them,
//! and few tests instantiate them.

use crate::guide::{Aside, Fingerprints, Halving, Inlaid, Linear, Scalar, SegmentVectors, Segments, Sentinels, Vector};
use crate::inner::{Contiguous, Durable};
use crate::leaf::bd_tree::{Chained, Mirrored};
use crate::leaf::fp_tree::FpTree;
use crate::leaf::isle::{Isle, node::IsleNode};
use crate::leaf::nv_tree::NvTree;
use crate::leaf::ss_tree::{MOVING, STAYING, SsTree};
use crate::leaf::{circ::Circ, fast_fair::FastFair, wb_tree::WbTree};
use crate::look::{ONE_BY_ONE, VECTORS};
use holm_tree::inner::{Halved, Interpolated, Sorted};
use holm_tree::leaf::buffered::{AsFound, Buffered, Fingerprints as Bytes, Triple};
use holm_tree::locks::{LockArray, PerLeaf};

holm_tree::designs! { $ for_each_variant:
    /// FAST and FAIR in nodes of 1 KiB.
    fast_fair_1k: leaf FastFair<63, Linear>, parent Sorted<8>, upper Sorted<8>;
    /// FAST and FAIR in nodes of 2 KiB.
    fast_fair_2k: leaf FastFair<127, Linear>, parent Sorted<8>, upper Sorted<8>;
    /// FAST and FAIR in nodes of 4 KiB.
    fast_fair_4k: leaf FastFair<255, Linear>, parent Sorted<8>, upper Sorted<8>;
    /// FAST and FAIR with binary search.
    fast_fair_halving: leaf FastFair<31, Halving>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 1 KiB.
    fast_fair_halving_1k: leaf FastFair<63, Halving>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 2 KiB.
    fast_fair_halving_2k: leaf FastFair<127, Halving>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 4 KiB.
    fast_fair_halving_4k: leaf FastFair<255, Halving>, parent Sorted<8>, upper Sorted<8>;
    /// FAST and FAIR with sentinels beside the block, in nodes of 1 KiB.
    fast_fair_sentinels_1k: leaf FastFair<63, Sentinels<Aside<16>, Vector>>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 2 KiB.
    fast_fair_sentinels_2k: leaf FastFair<127, Sentinels<Aside<32>, Vector>>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 4 KiB.
    fast_fair_sentinels_4k: leaf FastFair<255, Sentinels<Aside<64>, Vector>>, parent Sorted<8>, upper Sorted<8>;
    /// The same, searched one by one.
    fast_fair_sentinels_scalar_4k: leaf FastFair<255, Sentinels<Aside<64>, Scalar>>, parent Sorted<8>, upper Sorted<8>;
    /// FAST and FAIR with sentinels in the block, searched one by one: the paper's.
    fast_fair_sentinels_inlaid: leaf FastFair<31, Sentinels<Inlaid<8>, Scalar>>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 1 KiB.
    fast_fair_sentinels_inlaid_1k: leaf FastFair<63, Sentinels<Inlaid<16>, Scalar>>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 2 KiB.
    fast_fair_sentinels_inlaid_2k: leaf FastFair<127, Sentinels<Inlaid<32>, Scalar>>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 4 KiB.
    fast_fair_sentinels_inlaid_4k: leaf FastFair<255, Sentinels<Inlaid<64>, Scalar>>, parent Sorted<8>, upper Sorted<8>;
    /// FAST and FAIR with fingerprints beside the block, searched with vector instructions.
    fast_fair_fingerprints: leaf FastFair<31, Fingerprints<Aside<4>, Vector>>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 1 KiB.
    fast_fair_fingerprints_1k: leaf FastFair<63, Fingerprints<Aside<8>, Vector>>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 2 KiB.
    fast_fair_fingerprints_2k: leaf FastFair<127, Fingerprints<Aside<16>, Vector>>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 4 KiB.
    fast_fair_fingerprints_4k: leaf FastFair<255, Fingerprints<Aside<32>, Vector>>, parent Sorted<8>, upper Sorted<8>;
    /// The same, searched one by one.
    fast_fair_fingerprints_scalar_4k: leaf FastFair<255, Fingerprints<Aside<32>, Scalar>>,
        parent Sorted<8>, upper Sorted<8>;
    /// FAST and FAIR with fingerprints beside the block, searched one by one: the paper's.
    fast_fair_fingerprints_scalar: leaf FastFair<31, Fingerprints<Aside<4>, Scalar>>,
        parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 1 KiB.
    fast_fair_fingerprints_scalar_1k: leaf FastFair<63, Fingerprints<Aside<8>, Scalar>>,
        parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 2 KiB.
    fast_fair_fingerprints_scalar_2k: leaf FastFair<127, Fingerprints<Aside<16>, Scalar>>,
        parent Sorted<8>, upper Sorted<8>;
    /// FAST and FAIR with fingerprints in the block, searched one by one, in nodes of 4 KiB.
    fast_fair_fingerprints_inlaid_4k: leaf FastFair<255, Fingerprints<Inlaid<32>, Scalar>>,
        parent Sorted<8>, upper Sorted<8>;
    /// Circ-Tree in nodes of 1 KiB, searched by segments.
    circ_1k: leaf Circ<62, Segments>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 2 KiB.
    circ_2k: leaf Circ<126, Segments>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 4 KiB.
    circ_4k: leaf Circ<254, Segments>, parent Sorted<8>, upper Sorted<8>;
    /// Circ-Tree, whose lookups compare the heads of a segment with vectors.
    circ_vectors: leaf Circ<30, SegmentVectors>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 1 KiB.
    circ_vectors_1k: leaf Circ<62, SegmentVectors>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 2 KiB.
    circ_vectors_2k: leaf Circ<126, SegmentVectors>, parent Sorted<8>, upper Sorted<8>;
    /// Circ-Tree, searched linearly from the base.
    circ_linear: leaf Circ<30, Linear>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 1 KiB.
    circ_linear_1k: leaf Circ<62, Linear>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 2 KiB.
    circ_linear_2k: leaf Circ<126, Linear>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 4 KiB.
    circ_linear_4k: leaf Circ<254, Linear>, parent Sorted<8>, upper Sorted<8>;
    /// Circ-Tree with sentinels beside the block, searched with vector instructions.
    circ_sentinels: leaf Circ<30, Sentinels<Aside<8>, Vector>>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 1 KiB.
    circ_sentinels_1k: leaf Circ<62, Sentinels<Aside<16>, Vector>>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 2 KiB.
    circ_sentinels_2k: leaf Circ<126, Sentinels<Aside<32>, Vector>>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 4 KiB.
    circ_sentinels_4k: leaf Circ<254, Sentinels<Aside<64>, Vector>>, parent Sorted<8>, upper Sorted<8>;
    /// Circ-Tree with sentinels in the block, searched one by one: the paper's.
    circ_sentinels_inlaid: leaf Circ<30, Sentinels<Inlaid<8>, Scalar>>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 1 KiB.
    circ_sentinels_inlaid_1k: leaf Circ<62, Sentinels<Inlaid<16>, Scalar>>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 2 KiB.
    circ_sentinels_inlaid_2k: leaf Circ<126, Sentinels<Inlaid<32>, Scalar>>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 4 KiB.
    circ_sentinels_inlaid_4k: leaf Circ<254, Sentinels<Inlaid<64>, Scalar>>, parent Sorted<8>, upper Sorted<8>;
    /// Circ-Tree with fingerprints beside the block, searched with vector instructions.
    circ_fingerprints: leaf Circ<30, Fingerprints<Aside<4>, Vector>>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 1 KiB.
    circ_fingerprints_1k: leaf Circ<62, Fingerprints<Aside<8>, Vector>>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 2 KiB.
    circ_fingerprints_2k: leaf Circ<126, Fingerprints<Aside<16>, Vector>>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 4 KiB.
    circ_fingerprints_4k: leaf Circ<254, Fingerprints<Aside<32>, Vector>>, parent Sorted<8>, upper Sorted<8>;
    /// Circ-Tree with fingerprints beside the block, searched one by one: the paper's.
    circ_fingerprints_scalar: leaf Circ<30, Fingerprints<Aside<4>, Scalar>>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 1 KiB.
    circ_fingerprints_scalar_1k: leaf Circ<62, Fingerprints<Aside<8>, Scalar>>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 2 KiB.
    circ_fingerprints_scalar_2k: leaf Circ<126, Fingerprints<Aside<16>, Scalar>>, parent Sorted<8>, upper Sorted<8>;
    /// The same in nodes of 4 KiB.
    circ_fingerprints_scalar_4k: leaf Circ<254, Fingerprints<Aside<32>, Scalar>>, parent Sorted<8>, upper Sorted<8>;
    /// FAST and FAIR at all levels, with durable nodes above the leaves too: the paper's.
    fast_fair_all: leaf FastFair<31, Linear>, parent Durable<FastFair<31, Linear>>, upper Durable<FastFair<31, Linear>>;
    /// The same with six children per node: the tree becomes high with few pairs.
    fast_fair_all_narrow: leaf FastFair<31, Linear>,
        parent Durable<FastFair<7, Linear>>, upper Durable<FastFair<7, Linear>>;
    /// BD+Tree's leaf of up to three blocks.
    holm_three: leaf Buffered<3, (Triple, Bytes)>, parent Sorted<8>, upper Sorted<8>;
    /// BD+Tree's leaf of up to four blocks.
    holm_four: leaf Buffered<4, (Triple, Bytes)>, parent Sorted<8>, upper Sorted<8>;
    /// NV-Tree's leaf below inner nodes that split, as in the other designs.
    nv_tree_splitting: leaf NvTree<30, 1, 0, ONE_BY_ONE>, parent Sorted<8>, upper Sorted<8>;
    /// NV-Tree in leaves of 1 KiB: as many records as one word can count and mark.
    nv_tree_1k: leaf NvTree<58, 1, 8, ONE_BY_ONE>, parent Sorted<4>, upper Contiguous<8>;
    /// The same in leaves of 2 KiB, with three words that count.
    nv_tree_2k: leaf NvTree<125, 3, 0, ONE_BY_ONE>, parent Sorted<4>, upper Contiguous<8>;
    /// NV-Tree whose records are compared with vectors.
    nv_tree_vectors: leaf NvTree<30, 1, 0, VECTORS>, parent Sorted<4>, upper Contiguous<8>;
    /// The same in leaves of 1 KiB.
    nv_tree_vectors_1k: leaf NvTree<58, 1, 8, VECTORS>, parent Sorted<4>, upper Contiguous<8>;
    /// The same in leaves of 2 KiB.
    nv_tree_vectors_2k: leaf NvTree<125, 3, 0, VECTORS>, parent Sorted<4>, upper Contiguous<8>;
    /// FPTree whose fingerprints are compared one by one: the paper's.
    fp_tree_scalar: leaf FpTree<ONE_BY_ONE>, parent Sorted<8>, upper Sorted<8>;
    /// Isle-Tree in leaves of 1 KiB.
    isle_1k: leaf Isle<15, ONE_BY_ONE>, parent Sorted<8>, upper Sorted<8>;
    /// Isle-Tree in leaves of 2 KiB.
    isle_2k: leaf Isle<31, ONE_BY_ONE>, parent Sorted<8>, upper Sorted<8>;
    /// Isle-Tree whose lines are compared with vectors, in place of hops.
    isle_vectors: leaf Isle<7, VECTORS>, parent Sorted<8>, upper Sorted<8>;
    /// The same in leaves of 1 KiB.
    isle_vectors_1k: leaf Isle<15, VECTORS>, parent Sorted<8>, upper Sorted<8>;
    /// The same in leaves of 2 KiB.
    isle_vectors_2k: leaf Isle<31, VECTORS>, parent Sorted<8>, upper Sorted<8>;
    /// Isle-Tree with its leaves' latches in the nodes above them, one per child: the paper's lock array.
    isle_lock_array: leaf Isle<7, ONE_BY_ONE>, parent Sorted<8, LockArray<64>>, upper Sorted<8>;
    /// Isle-Tree with durable nodes above the leaves too: the paper's `Isle_all`.
    isle_all: leaf Isle<7, ONE_BY_ONE>, parent Durable<IsleNode<7>>, upper Durable<IsleNode<7>>;
    /// The same with five children per node.
    isle_all_narrow: leaf Isle<7, ONE_BY_ONE>, parent Durable<IsleNode<1>>, upper Durable<IsleNode<1>>;
    /// The same in nodes of 1 KiB.
    isle_all_1k: leaf Isle<15, ONE_BY_ONE>, parent Durable<IsleNode<15>>, upper Durable<IsleNode<15>>;
    /// The same in nodes of 2 KiB.
    isle_all_2k: leaf Isle<31, ONE_BY_ONE>, parent Durable<IsleNode<31>>, upper Durable<IsleNode<31>>;
    /// wB+-Tree in leaves of 1 KiB.
    wb_tree_1k: leaf WbTree<56, 14>, parent Sorted<8>, upper Sorted<8>;
    /// wB+-Tree in leaves of 2 KiB.
    wb_tree_2k: leaf WbTree<116, 22>, parent Sorted<8>, upper Sorted<8>;
    /// wB+-Tree at all levels, with durable nodes above the leaves too: the paper's.
    wb_tree_all: leaf WbTree<28, 6>, parent Durable<WbTree<28, 6>>, upper Durable<WbTree<28, 6>>;
    /// The same with four children per node.
    wb_tree_all_narrow: leaf WbTree<28, 6>, parent Durable<WbTree<4, 6>>, upper Durable<WbTree<4, 6>>;
    /// BD+Tree without fingerprints, and with links from leaf to leaf in their place, which recovery follows.
    bd_tree_chained: leaf Chained, parent Sorted<8>, upper Sorted<8>;
    /// BD+Tree's leaf whose fingerprints are searched in a copy beside the block: a lookup of an absent key reads no
    /// line of the block.
    buffered_prints_aside: leaf Buffered<1, (Triple, Mirrored)>, parent Sorted<8>, upper Sorted<8>;
    /// The same with one overflow block before a split.
    holm_prints_aside: leaf Buffered<2, (Triple, Mirrored)>, parent Sorted<8>, upper Sorted<8>;
    /// BD+Tree's leaf whose fresh blocks keep pairs in the order in which they come, not in key order.
    buffered_unsorted: leaf Buffered<1, (Triple, Bytes, AsFound)>, parent Sorted<8>, upper Sorted<8>;
    /// The same with one overflow block before a split.
    holm_unsorted: leaf Buffered<2, (Triple, Bytes, AsFound)>, parent Sorted<8>, upper Sorted<8>;
    /// BD+Tree's leaf below upper nodes with binary search.
    buffered_halved: leaf Buffered<1, (Triple, Bytes)>, parent Sorted<8>, upper Sorted<8, PerLeaf, Halved>;
    /// The same below upper nodes with interpolation search.
    buffered_interpolated: leaf Buffered<1, (Triple, Bytes)>, parent Sorted<8>, upper Sorted<8, PerLeaf, Interpolated>;
    /// BD+Tree's leaf below upper nodes of 16 KiB of heads: a million pairs need one upper node, the root.
    buffered_wide: leaf Buffered<1, (Triple, Bytes)>, parent Sorted<8>, upper Sorted<256>;
    /// The same, with binary search.
    buffered_wide_halved: leaf Buffered<1, (Triple, Bytes)>,
        parent Sorted<8>, upper Sorted<256, PerLeaf, Halved>;
    /// The same, with interpolation search.
    buffered_wide_interpolated: leaf Buffered<1, (Triple, Bytes)>,
        parent Sorted<8>, upper Sorted<256, PerLeaf, Interpolated>;
    /// SSTree with updates in the pair's place.
    ss_tree_staying: leaf SsTree<2, STAYING>, parent Sorted<8>, upper Sorted<8>;
    /// SSTree of three subnodes.
    ss_tree_three: leaf SsTree<3, MOVING>, parent Sorted<8>, upper Sorted<8>;
    /// SSTree of four subnodes.
    ss_tree_four: leaf SsTree<4, MOVING>, parent Sorted<8>, upper Sorted<8>;
}
