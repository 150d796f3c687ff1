//! The leaf index: what opening derives from the leaves of a closed database, and which leaves there are.
//!
//! Closing writes it to the file `index`. An opening that finds it valid builds the inner levels and the free space
//! from it, and reads no leaf. It is a cache: what it says can always be derived from the leaves, and a file that is
//! missing, torn, damaged, of another session or of another database means that opening reads the leaves. For each leaf
//! it has the checksum of the leaf's block, which the first reader of the leaf compares.
//!
//! After a crash, an index of an earlier moment still describes the leaves that have its checksums: see
//! [`EarlierIndex`]. Checkpoints write such an index, too, which no closed database is opened by.
//!
//! ```text
//!   0  magic "HolmIndx"                    8 bytes     all numbers little-endian
//!   8  format version                      4
//!  12  CRC32C of all that follows it       4
//!  16  uuid                               16           from here to 80: as the superblock of the clean database
//!  32  boot generation 8, epoch 8
//!  48  bytes of `leaves`, of `records`, 8 each
//!  64  CRC32C of `leaves`                  4
//!  68  bytes of a leaf block               4
//!  72  end of the last record, bytes of all records, 8 each
//!  88  trees 4, leaves 4, free runs 8
//! 104  the trees, in ascending order of keyspace:
//!        keyspace 4 | leaves 4 | pairs 8
//!        per leaf, in key order: bytes shared with the separator before | bytes of the rest | the rest
//!                                | number, as the zigzag difference from the number before | CRC32C of the block, 4
//!      the free runs of `records`, in ascending order: words in use before it | words of it
//! ```
//!
//! Numbers without a length are varints (LEB128). A tree's first separator is empty. The body is decoded with every
//! number checked: a valid checksum over a body that makes no sense is refused, too.

#![forbid(unsafe_code)]

mod decode;
mod encode;
#[cfg(test)]
mod tests;

use crate::epoch::Epoch;
use crate::superblock::Superblock;
use crate::word::Word;

/// The format that this program reads and writes.
const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"HolmIndx";
/// Bytes before the trees.
const HEADER: usize = 104;
/// Where the bytes begin that the checksum covers.
const SUMMED: usize = 16;
/// Where the fields end that a superblock has, too.
const BOUND: usize = 72;
/// Bytes of a tree before its leaves.
const TREE: usize = 16;

/// The trees and the free record space of a closed database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeafIndex {
    /// The trees, in ascending order of keyspace.
    pub trees: Vec<IndexedTree>,
    /// The record space.
    pub records: RecordSpace,
}

/// The leaf index of an earlier moment of a database: of a close, or made beside writers.
///
/// It says of each leaf only what was so when that leaf was read, and a leaf may be in it more than once. Of two leaves
/// that follow each other, the first had the lower range, and its upper end was the second one's lower end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EarlierIndex {
    /// The trees, in ascending order of keyspace.
    pub trees: Vec<IndexedTree>,
    /// An epoch that was durable. A leaf that has changed after it has changed since the index, whatever its checksum.
    pub epoch: Epoch,
}

/// Makes a leaf index beside writers; `None` if the leaves have none, or change too fast. The checkpoint thread calls
/// it, and takes no checkpoint meanwhile.
pub type MakeEarlierIndex = dyn Fn() -> Option<EarlierIndex> + Send + Sync;

/// One tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexedTree {
    /// Its keyspace.
    pub keyspace: u32,
    /// The number of its pairs.
    pub pairs: u64,
    leaves: Vec<IndexedLeaf>,
    /// The separators, one after the other.
    separators: Vec<u8>,
}

/// One leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedLeaf {
    /// The number of its block.
    pub number: u32,
    /// CRC32C of the block.
    pub sum: u32,
    /// Bytes of its separator.
    separator: u32,
}

/// Which part of the record area is in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordSpace {
    /// Where the last record ends, in bytes.
    pub frontier: u64,
    /// Bytes of all records.
    pub live: u64,
    /// Where free runs begin, and their bytes, in ascending order.
    pub free: Vec<(u64, u64)>,
}

impl IndexedTree {
    /// Returns a tree without leaves.
    pub fn new(keyspace: u32) -> Self {
        IndexedTree { keyspace, ..IndexedTree::default() }
    }

    /// Adds the next leaf in key order, and the separator at which its range begins.
    pub fn push(&mut self, separator: &[u8], number: u32, sum: u32) {
        self.separators.extend_from_slice(separator);
        self.leaves.push(IndexedLeaf { number, sum, separator: separator.len() as u32 });
    }

    /// Returns the number of leaves.
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Returns whether the tree has no leaf.
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// Returns the leaves in key order, each with the separator at which its range begins.
    pub fn leaves(&self) -> impl ExactSizeIterator<Item = (&[u8], IndexedLeaf)> {
        let mut rest = &self.separators[..];
        self.leaves.iter().map(move |leaf| {
            let (separator, after) = rest.split_at(leaf.separator as usize);
            rest = after;
            (separator, *leaf)
        })
    }
}

impl LeafIndex {
    /// Returns the checksums of the leaves' blocks, by number: those of the first `blocks` blocks.
    pub(crate) fn sums(&self, blocks: usize) -> Vec<Option<u32>> {
        let mut sums = vec![None; blocks];
        for leaf in self.trees.iter().flat_map(|tree| &tree.leaves) {
            if let Some(place) = sums.get_mut(leaf.number as usize) {
                *place = Some(leaf.sum);
            }
        }
        sums
    }

    /// Returns the numbers of all leaves.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.trees.iter().flat_map(|tree| tree.leaves.iter().map(|leaf| leaf.number))
    }
}

/// CRC32C of these words, as their file has them.
pub fn sum_words(words: &[Word]) -> u32 {
    let mut copy = [[0; 8]; 64];
    words.chunks(copy.len()).fold(0, |sum, words| {
        copy.iter_mut().zip(words).for_each(|(place, word)| *place = word.read().to_le_bytes());
        crc32c::crc32c_append(sum, copy[..words.len()].as_flattened())
    })
}

/// What binds an index to the one clean database that it belongs to. The checksum of the leaves is among it, so an
/// index of another copy with the same past counts only if that copy has the same leaves.
fn binding(superblock: &Superblock) -> [u8; BOUND - SUMMED] {
    let mut bytes = [0; BOUND - SUMMED];
    bytes[..16].copy_from_slice(&superblock.uuid);
    let words = [superblock.boot_generation, superblock.epoch, superblock.lengths[0], superblock.lengths[1]];
    for (place, word) in bytes[16..48].as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
    bytes[48..52].copy_from_slice(&superblock.leaves_sum.to_le_bytes());
    bytes[52..].copy_from_slice(&superblock.geometry.leaf_block.to_le_bytes());
    bytes
}

/// The length of `records` in an index that was made beside writers: no database is closed with it.
const BESIDE_WRITERS: u64 = u64::MAX;

/// The inverse of [`binding`]: the superblock of the database when the index was made, as far as the index has it, and
/// otherwise `like`.
fn bound_superblock(bytes: [u8; BOUND - SUMMED], like: &Superblock) -> Superblock {
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]));
    let half = |at: usize| u32::from_le_bytes(std::array::from_fn(|index| bytes[at + index]));
    let mut bound = like.clone();
    bound.uuid.copy_from_slice(&bytes[..16]);
    (bound.boot_generation, bound.epoch, bound.lengths) = (word(16), word(24), [word(32), word(40)]);
    (bound.leaves_sum, bound.geometry.leaf_block) = (half(48), half(52));
    bound
}
