//! A leaf index from its bytes. Every number is checked; nothing that the bytes say decides how much memory is taken.

use super::{
    BOUND, EarlierIndex, HEADER, IndexedLeaf, IndexedTree, LeafIndex, MAGIC, RecordSpace, SUMMED, TREE, VERSION,
    binding, bound_superblock,
};
use crate::loc::LINE;
use crate::superblock::Superblock;

/// The least bytes of a leaf.
const LEAST_LEAF: usize = 7;

/// Bytes that are still to be read.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    #[inline]
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn word(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    fn half(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    #[inline]
    fn varint(&mut self) -> Option<u64> {
        match self.0 {
            // Nearly all are small.
            [byte, rest @ ..] if byte & 0x80 == 0 => {
                self.0 = rest;
                Some(u64::from(*byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for (index, byte) in self.0.iter().take(10).enumerate() {
            if index == 9 && *byte > 1 {
                return None;
            }
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                self.0 = &self.0[index + 1..];
                return Some(value);
            }
        }
        None
    }
}

impl LeafIndex {
    /// Returns the index in a file's bytes, if it is that of the clean database with this superblock. Otherwise states
    /// why it does not count. `first` is the number of the first leaf block. O(leaves).
    ///
    /// # Errors
    /// A description of what was found.
    pub fn decode(bytes: &[u8], clean: &Superblock, first: u32) -> Result<LeafIndex, &'static str> {
        if read_header(bytes)? != binding(clean) {
            return Err("it belongs to another session, or to another database");
        }
        let mut used = Used::default();
        read_contents(bytes, clean, first, &mut |number| used.claim(number))
    }
}

impl EarlierIndex {
    /// Returns the index in a file's bytes, if it is of an earlier moment of the database with this superblock.
    /// Otherwise as [`LeafIndex::decode`]. O(leaves).
    ///
    /// # Errors
    /// A description of what was found.
    pub fn decode(bytes: &[u8], superblock: &Superblock, first: u32) -> Result<EarlierIndex, &'static str> {
        let bound = bound_superblock(read_header(bytes)?, superblock);
        let is_same = bound.uuid == superblock.uuid && bound.geometry == superblock.geometry;
        if !is_same || bound.boot_generation > superblock.boot_generation {
            return Err("it belongs to another database, or to a later moment");
        }
        let LeafIndex { trees, .. } = read_contents(bytes, &bound, first, &mut |_| Some(()))?;
        Ok(EarlierIndex { trees, epoch: bound.epoch })
    }
}

/// The blocks that leaves of an index have.
#[derive(Default)]
struct Used(Vec<u64>);

impl Used {
    /// Notes a block; `None` if another leaf has it. The number lies within the file.
    fn claim(&mut self, number: u32) -> Option<()> {
        let (at, bit) = (number as usize / 64, 1 << (number % 64));
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        (self.0[at] & bit == 0).then(|| self.0[at] |= bit)
    }
}

/// Decides whether a leaf may have a block of this number.
type Claim<'a> = dyn FnMut(u32) -> Option<()> + 'a;

/// Checks the fields before the contents, and returns those that bind the index to a database.
fn read_header(bytes: &[u8]) -> Result<[u8; BOUND - SUMMED], &'static str> {
    if bytes.len() < HEADER || bytes[..8] != MAGIC {
        return Err("it is too short, or no index");
    }
    if bytes[8..12] != VERSION.to_le_bytes() {
        return Err("it has another format");
    }
    let header = bytes[SUMMED..BOUND].try_into();
    header.map_err(|_| "it is too short, or no index")
}

fn read_contents(
    bytes: &[u8],
    bound: &Superblock,
    first: u32,
    claim: &mut Claim<'_>,
) -> Result<LeafIndex, &'static str> {
    if bytes[12..SUMMED] != crc32c::crc32c(&bytes[SUMMED..]).to_le_bytes() {
        return Err("its checksum is wrong");
    }
    let block = u64::from(bound.geometry.leaf_block).max(1);
    let blocks = u32::try_from(bound.lengths[0] / block).unwrap_or(u32::MAX);
    let claim = &mut |number| (first..blocks).contains(&number).then(|| claim(number))?;
    contents(Bytes(&bytes[BOUND..]), claim, bound.lengths[1]).ok_or("its contents contradict themselves")
}

fn contents(mut bytes: Bytes<'_>, claim: &mut Claim<'_>, most: u64) -> Option<LeafIndex> {
    let (frontier, live) = (bytes.word()?, bytes.word()?);
    let (trees, leaves, runs) = (bytes.half()?, bytes.half()?, bytes.word()?);
    if frontier > most || !frontier.is_multiple_of(8) || live > frontier {
        return None;
    }
    let mut index = LeafIndex::default();
    for _ in 0..trees {
        let tree = tree(&mut bytes, claim)?;
        if index.trees.last().is_some_and(|last| last.keyspace >= tree.keyspace) {
            return None;
        }
        index.trees.push(tree);
    }
    let mut free = Vec::with_capacity((runs as usize).min(bytes.0.len()));
    let mut end = 0u64;
    for _ in 0..runs {
        let offset = end.checked_add(bytes.varint()?.checked_mul(8)?)?;
        let length = bytes.varint()?.checked_mul(8)?;
        end = offset.checked_add(length).filter(|end| offset >= LINE && *end <= frontier && length > 0)?;
        free.push((offset, length));
    }
    index.records = RecordSpace { frontier, live, free };
    (bytes.0.is_empty() && index.trees.iter().map(IndexedTree::len).sum::<usize>() == leaves as usize).then_some(index)
}

fn tree(bytes: &mut Bytes<'_>, claim: &mut Claim<'_>) -> Option<IndexedTree> {
    let mut head = Bytes(bytes.take(TREE)?);
    let (keyspace, leaves, pairs) = (head.half()?, head.half()? as usize, head.word()?);
    // A tree has a leaf.
    if leaves == 0 || leaves > bytes.0.len() / LEAST_LEAF {
        return None;
    }
    let mut tree = IndexedTree { keyspace, pairs, leaves: Vec::with_capacity(leaves), separators: Vec::new() };
    let (mut start, mut last) = (0, 0i64);
    for index in 0..leaves {
        let (shared, rest) = (bytes.varint()? as usize, bytes.varint()? as usize);
        let (end, rest) = (tree.separators.len(), bytes.take(rest)?);
        if shared > end - start || index == 0 && !rest.is_empty() {
            return None;
        }
        // The byte after the shared ones decides. Each separator is above the one before.
        let rises = match tree.separators.get(start + shared..end).and_then(<[u8]>::first) {
            Some(before) => rest.first().is_some_and(|byte| byte > before),
            None => index == 0 || !rest.is_empty(),
        };
        if !rises {
            return None;
        }
        tree.separators.extend_from_within(start..start + shared);
        tree.separators.extend_from_slice(rest);
        start = end;
        let zigzag = bytes.varint()?;
        last = last.checked_add((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))?;
        let number = u32::try_from(last).ok()?;
        claim(number)?;
        let separator = u32::try_from(tree.separators.len() - end).ok()?;
        tree.leaves.push(IndexedLeaf { number, sum: bytes.half()?, separator });
    }
    Some(tree)
}
