//! The checksum of the leaves of a closed database.
//!
//! Opening without an index reads the file for it. Closing knows the checksums of most blocks, and combines them: it
//! reads only what is no leaf.

#![forbid(unsafe_code)]

use super::data_files::area_path;
use crate::error::{MediumError, Result};
use crate::leaf_index::LeafIndex;
use crate::loc::Area;
use crate::vfs::{VfsFile, read_exact_at};
use std::io;
use std::ops::Range;
use std::path::Path;

/// Bytes that are read at once.
const PIECE: u64 = 1 << 20;

/// CRC32C of the first `len` bytes of the leaves, while no thread changes them. The blocks that an index has are not
/// read: it says what they contain.
pub(super) fn sum_leaves(
    dir: &Path,
    files: &[Box<dyn VfsFile>; 2],
    len: u64,
    block: u64,
    index: Option<&LeafIndex>,
) -> Result<u32> {
    let file = &*files[Area::Leaves as usize];
    let sums = index.map_or(Vec::new(), |index| index.sums((len / block) as usize));
    let sum = if sums.is_empty() {
        append(file, 0, 0..len)
    } else {
        combined(len, block, &sums, |sum, bytes| append(file, sum, bytes))
    };
    sum.map_err(|error| MediumError::io("reading", &area_path(dir, Area::Leaves), error))
}

/// The checksum of `len` bytes whose blocks have these checksums. Where they are not known, `append` reads the bytes.
fn combined(
    len: u64,
    block: u64,
    sums: &[Option<u32>],
    append: impl Fn(u32, Range<u64>) -> io::Result<u32>,
) -> io::Result<u32> {
    let append_block = AppendBlock::of(block);
    let (mut sum, mut at) = (0, 0);
    while at < len {
        let known = |at: u64| sums.get((at / block) as usize).copied().flatten();
        if let Some(known) = known(at) {
            sum = append_block.to(sum) ^ known;
            at += block;
        } else {
            let unknown = (at..len).step_by(block as usize).take_while(|at| known(*at).is_none()).count() as u64;
            let end = (at + unknown * block).min(len);
            sum = append(sum, at..end)?;
            at = end;
        }
    }
    Ok(sum)
}

/// The checksum of what has the checksum `sum`, and of these bytes of a file after it.
fn append(file: &dyn VfsFile, mut sum: u32, bytes: Range<u64>) -> io::Result<u32> {
    file.expect_reading(bytes.start, bytes.end - bytes.start);
    let mut buffer = vec![0; (bytes.end - bytes.start).min(PIECE) as usize];
    let mut at = bytes.start;
    while at < bytes.end {
        let count = (bytes.end - at).min(PIECE) as usize;
        read_exact_at(file, &mut buffer[..count], at)?;
        sum = crc32c::crc32c_append(sum, &buffer[..count]);
        at += count as u64;
    }
    Ok(sum)
}

/// What a checksum becomes by as many bytes as a block has, apart from what these bytes are. Linear over the checksum's
/// bits, so four tables give it: computing it anew for each block would take longer than to read the block.
struct AppendBlock([[u32; 256]; 4]);

impl AppendBlock {
    fn of(block: u64) -> Self {
        let bits: [u32; 32] = std::array::from_fn(|bit| crc32c::crc32c_combine(1 << bit, 0, block as usize));
        let of_byte = |byte: usize, value: usize| {
            let set = (0..8).filter(|bit| value >> bit & 1 == 1);
            set.fold(0, |sum, bit| sum ^ bits[byte * 8 + bit])
        };
        AppendBlock(std::array::from_fn(|byte| std::array::from_fn(|value| of_byte(byte, value))))
    }

    fn to(&self, sum: u32) -> u32 {
        let bytes = sum.to_le_bytes();
        self.0.iter().zip(bytes).fold(0, |out, (table, byte)| out ^ table[usize::from(byte)])
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn known_checksums_give_that_of_the_whole_file() {
        let bytes: Vec<u8> = (0..5_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let read =
            |sum, range: Range<u64>| Ok(crc32c::crc32c_append(sum, &bytes[range.start as usize..range.end as usize]));
        let whole = crc32c::crc32c(&bytes);
        for block in [64, 512, 1000] {
            let blocks: Vec<_> = bytes.chunks_exact(block).map(|block| Some(crc32c::crc32c(block))).collect();
            for known in [0..0, 0..blocks.len(), 1..3, 2..blocks.len()] {
                let sum = |number: usize| blocks[number].filter(|_| known.contains(&number));
                let sums: Vec<_> = (0..blocks.len()).map(sum).collect();
                assert_eq!(combined(5_000, block as u64, &sums, read).expect("readable"), whole, "{block} {known:?}");
            }
        }
    }
}
