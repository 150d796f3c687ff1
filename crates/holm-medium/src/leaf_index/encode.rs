//! The bytes of a leaf index.

use super::{
    BESIDE_WRITERS, BOUND, EarlierIndex, HEADER, IndexedTree, LeafIndex, MAGIC, RecordSpace, SUMMED, VERSION, binding,
};
use crate::superblock::Superblock;

impl LeafIndex {
    /// Returns the bytes of the file, for the database that this superblock describes once it is clean. O(leaves).
    pub fn encode(&self, clean: &Superblock) -> Vec<u8> {
        encode(&binding(clean), &self.trees, &self.records)
    }
}

impl EarlierIndex {
    /// Returns the bytes of the file, for the database of this superblock. `leaves` is the length of that file.
    /// O(leaves).
    pub fn encode(&self, superblock: &Superblock, leaves: u64) -> Vec<u8> {
        let (epoch, lengths) = (self.epoch, [leaves, BESIDE_WRITERS]);
        let bound = binding(&Superblock { epoch, lengths, leaves_sum: 0, ..superblock.clone() });
        encode(&bound, &self.trees, &RecordSpace::default())
    }
}

fn encode(bound: &[u8; BOUND - SUMMED], trees: &[IndexedTree], records: &RecordSpace) -> Vec<u8> {
    let leaves: usize = trees.iter().map(IndexedTree::len).sum();
    let RecordSpace { frontier, live, free } = records;
    let mut out = Vec::with_capacity(HEADER + 24 * leaves + 8 * free.len());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(bound);
    [*frontier, *live].iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    out.extend_from_slice(&(trees.len() as u32).to_le_bytes());
    out.extend_from_slice(&(leaves as u32).to_le_bytes());
    out.extend_from_slice(&(free.len() as u64).to_le_bytes());
    trees.iter().for_each(|tree| put_tree(&mut out, tree));
    let mut end = 0;
    for (offset, bytes) in free {
        varint(&mut out, (offset - end) / 8);
        varint(&mut out, bytes / 8);
        end = offset + bytes;
    }
    let sum = crc32c::crc32c(&out[SUMMED..]);
    out[12..SUMMED].copy_from_slice(&sum.to_le_bytes());
    out
}

fn put_tree(out: &mut Vec<u8>, tree: &IndexedTree) {
    out.extend_from_slice(&tree.keyspace.to_le_bytes());
    out.extend_from_slice(&(tree.len() as u32).to_le_bytes());
    out.extend_from_slice(&tree.pairs.to_le_bytes());
    let (mut before, mut last): (&[u8], u32) = (&[], 0);
    for (separator, leaf) in tree.leaves() {
        let shared = before.iter().zip(separator).take_while(|(a, b)| a == b).count();
        varint(out, shared as u64);
        varint(out, (separator.len() - shared) as u64);
        out.extend_from_slice(&separator[shared..]);
        let difference = i64::from(leaf.number) - i64::from(last);
        varint(out, (difference << 1 ^ difference >> 63) as u64);
        out.extend_from_slice(&leaf.sum.to_le_bytes());
        (before, last) = (separator, leaf.number);
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
