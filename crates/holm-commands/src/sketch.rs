//! HyperLogLog: how many distinct elements there were, in 12 KiB or less, with an error of about one percent.
//!
//! The bytes are those that Redis stores, so that a value may be copied from there and back:
//!
//! ```text
//! "HYLL" 4 | form 1 | unused 3 | a cached count 8, not used here | registers
//! ```
//!
//! The form 0 has 16,384 registers of six bits each, the low bits of a byte first. The form 1 has runs: `00llllll`
//! and `01llllll llllllll` are registers of 0, `1vvvvvll` are registers of one value; lengths and values are stored
//! less one. The estimate is that of Otmar Ertl, *New cardinality estimation algorithms for HyperLogLog sketches*.

use crate::refusal::{Outcome, Refusal};

const INDEX_BITS: u32 = 14;
/// The number of registers.
pub(crate) const REGISTERS: usize = 1 << INDEX_BITS;
/// The bits of a hash from which a rank is made.
const RANK_BITS: u32 = 64 - INDEX_BITS;
const MAGIC: &[u8; 4] = b"HYLL";
const HEADER: usize = 16;
const DENSE_LEN: usize = HEADER + REGISTERS * 6 / 8;
const DENSE: u8 = 0;
const SPARSE: u8 = 1;
/// Runs longer than this are stored as registers.
const MOST_RUN_BYTES: usize = 3_000;
/// The largest register that a run can have.
const MOST_IN_RUN: u8 = 32;
/// The longest run of registers that are 0, and that have one other value.
const LONGEST_ZEROS: usize = 1 << 14;
const SHORT_ZEROS: usize = 64;
const LONGEST_RUN: usize = 4;

const CORRUPT: Refusal = Refusal::text("INVALIDOBJ Corrupted HLL object detected");

/// The registers of a HyperLogLog.
#[derive(Debug)]
pub(crate) struct Sketch {
    registers: Vec<u8>,
    was_dense: bool,
}

impl Sketch {
    pub(crate) fn new() -> Self {
        Sketch { registers: vec![0; REGISTERS], was_dense: false }
    }

    /// Reads a stored value.
    ///
    /// # Errors
    /// The bytes are no HyperLogLog.
    pub(crate) fn decode(bytes: &[u8]) -> Outcome<Self> {
        let not_one = Refusal::text("WRONGTYPE Key is not a valid HyperLogLog string value.");
        let (header, body) = bytes.split_at_checked(HEADER).ok_or(not_one.clone())?;
        match (header.starts_with(MAGIC), header[4]) {
            (true, DENSE) if bytes.len() == DENSE_LEN => {
                Ok(Sketch { registers: (0..REGISTERS).map(|index| packed(body, index)).collect(), was_dense: true })
            }
            (true, SPARSE) => Ok(Sketch { registers: runs(body)?, was_dense: false }),
            _ => Err(not_one),
        }
    }

    /// Returns the bytes to be stored. A value that has become registers stays so.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let form = |form: u8| {
            let mut bytes = MAGIC.to_vec();
            // The last bit of the cached count states that there is none.
            bytes.extend([form, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80]);
            bytes
        };
        if !self.was_dense && self.registers.iter().all(|value| *value <= MOST_IN_RUN) {
            let mut bytes = form(SPARSE);
            self.append_runs(&mut bytes);
            if bytes.len() <= MOST_RUN_BYTES {
                return bytes;
            }
        }
        let mut bytes = form(DENSE);
        bytes.resize(DENSE_LEN, 0);
        for (index, value) in self.registers.iter().enumerate() {
            pack(&mut bytes[HEADER..], index, *value);
        }
        bytes
    }

    fn append_runs(&self, bytes: &mut Vec<u8>) {
        for run in self.registers.chunk_by(|one, other| one == other) {
            let mut left = run.len();
            while left > 0 {
                let length = left.min(if run[0] == 0 { LONGEST_ZEROS } else { LONGEST_RUN });
                let stored = length - 1;
                match run[0] {
                    0 if length <= SHORT_ZEROS => bytes.push(stored as u8),
                    0 => bytes.extend([0x40 | (stored >> 8) as u8, stored as u8]),
                    value => bytes.push(0x80 | (value - 1) << 2 | stored as u8),
                }
                left -= length;
            }
        }
    }

    /// Adds an element. Returns whether a register has changed.
    pub(crate) fn add(&mut self, element: &[u8]) -> bool {
        let hash = hash(element);
        let index = (hash & (REGISTERS as u64 - 1)) as usize;
        let rank = ((hash >> INDEX_BITS | 1 << RANK_BITS).trailing_zeros() + 1) as u8;
        let grows = rank > self.registers[index];
        if grows {
            self.registers[index] = rank;
        }
        grows
    }

    /// Adds all elements of another.
    pub(crate) fn merge(&mut self, other: &Sketch) {
        self.was_dense |= other.was_dense;
        self.registers.iter_mut().zip(&other.registers).for_each(|(one, other)| *one = (*one).max(*other));
    }

    /// Lets the value be stored as registers.
    pub(crate) fn make_dense(&mut self) {
        self.was_dense = true;
    }

    pub(crate) fn registers(&self) -> &[u8] {
        &self.registers
    }

    /// Returns about how many distinct elements were added.
    pub(crate) fn estimate(&self) -> u64 {
        let mut counts = [0u32; 64];
        self.registers.iter().for_each(|value| counts[usize::from(*value)] += 1);
        let of = |rank: u32| f64::from(counts[rank as usize]);
        let all = REGISTERS as f64;
        let mut sum = all * tau((all - of(RANK_BITS + 1)) / all);
        for rank in (1..=RANK_BITS).rev() {
            sum = (sum + of(rank)) * 0.5;
        }
        sum += all * sigma(of(0) / all);
        (0.5 / std::f64::consts::LN_2 * all * all / sum).round() as u64
    }
}

/// Returns whether a stored value has registers rather than runs.
pub(crate) fn is_dense(bytes: &[u8]) -> bool {
    bytes.get(4) == Some(&DENSE)
}

/// A series of the paper, for the registers that are 0.
fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut factor, mut sum) = (1.0, x);
    // The terms shrink by more than half, so some 60 rounds reach the end of a float's digits.
    for _ in 0..1_100 {
        x *= x;
        let before = sum;
        sum += x * factor;
        factor += factor;
        if sum == before {
            break;
        }
    }
    sum
}

/// A series of the paper, for the registers that have the greatest rank.
fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut factor, mut sum) = (1.0, 1.0 - x);
    for _ in 0..1_100 {
        x = x.sqrt();
        factor *= 0.5;
        let before = sum;
        sum -= (1.0 - x) * (1.0 - x) * factor;
        if sum == before {
            break;
        }
    }
    sum / 3.0
}

/// Reads a register of six bits.
fn packed(body: &[u8], index: usize) -> u8 {
    let (byte, shift) = (index * 6 / 8, index * 6 % 8);
    let next = body.get(byte + 1).copied().unwrap_or_default();
    (u16::from_le_bytes([body[byte], next]) >> shift & 0x3f) as u8
}

/// Writes a register of six bits that is 0 so far.
fn pack(body: &mut [u8], index: usize, value: u8) {
    let (byte, shift) = (index * 6 / 8, index * 6 % 8);
    let [low, high] = (u16::from(value) << shift).to_le_bytes();
    body[byte] |= low;
    if let Some(next) = body.get_mut(byte + 1) {
        *next |= high;
    }
}

/// Reads runs, which must give as many registers as there are.
fn runs(mut body: &[u8]) -> Outcome<Vec<u8>> {
    let mut registers = Vec::with_capacity(REGISTERS);
    while let [first, rest @ ..] = body {
        let (value, length, rest) = match (first >> 6, rest) {
            (0, _) => (0, usize::from(*first) + 1, rest),
            (1, [second, rest @ ..]) => (0, (usize::from(first & 0x3f) << 8 | usize::from(*second)) + 1, rest),
            (1, []) => return Err(CORRUPT),
            _ => ((first >> 2 & 0x1f) + 1, usize::from(first & 3) + 1, rest),
        };
        if registers.len() + length > REGISTERS {
            return Err(CORRUPT);
        }
        registers.resize(registers.len() + length, value);
        body = rest;
    }
    if registers.len() == REGISTERS { Ok(registers) } else { Err(CORRUPT) }
}

/// The seed with which Redis hashes elements.
const SEED: u64 = 0xadc8_3b19;
const FACTOR: u64 = 0xc6a4_a793_5bd1_e995;

/// MurmurHash64A of Austin Appleby, as Redis uses it.
fn hash(element: &[u8]) -> u64 {
    let mix = |word: u64| {
        let word = word.wrapping_mul(FACTOR);
        (word ^ word >> 47).wrapping_mul(FACTOR)
    };
    let mut hash = SEED ^ (element.len() as u64).wrapping_mul(FACTOR);
    let words = element.chunks_exact(8);
    let tail = words.remainder();
    for word in words {
        let word = word.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        hash = (hash ^ mix(word)).wrapping_mul(FACTOR);
    }
    if !tail.is_empty() {
        hash ^= tail.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        hash = hash.wrapping_mul(FACTOR);
    }
    hash = (hash ^ hash >> 47).wrapping_mul(FACTOR);
    hash ^ hash >> 47
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(elements: std::ops::Range<u32>) -> Sketch {
        let mut sketch = Sketch::new();
        for element in elements {
            sketch.add(&element.to_be_bytes());
        }
        sketch
    }

    #[test]
    fn estimates_are_within_a_few_percent_and_small_ones_exact() {
        assert_eq!(Sketch::new().estimate(), 0);
        for count in [1, 5, 10, 100] {
            assert_eq!(of(0..count).estimate(), u64::from(count));
        }
        for count in [1_000u32, 10_000, 100_000, 1_000_000] {
            let estimate = of(0..count).estimate() as f64;
            let error = (estimate / f64::from(count) - 1.0).abs();
            assert!(error < 0.03, "{count}: {estimate}");
        }
    }

    #[test]
    fn both_forms_read_back_and_runs_become_registers() {
        for count in [0, 1, 50, 700, 5_000, 200_000] {
            let sketch = of(0..count);
            let bytes = sketch.encode();
            let read = Sketch::decode(&bytes).expect("what was encoded decodes");
            assert_eq!(read.registers, sketch.registers);
            assert_eq!(is_dense(&bytes), count >= 5_000, "{count}");
        }
    }

    #[test]
    fn a_union_counts_each_element_once() {
        let mut one = of(0..600);
        one.merge(&of(300..900));
        assert_eq!(one.registers, of(0..900).registers);
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let good = of(0..100).encode();
        assert!(Sketch::decode(&[&good[..], b"hello"].concat()).is_err());
        assert!(Sketch::decode(&good[..good.len() - 1]).is_err());
        assert!(Sketch::decode(b"HYLL").is_err());
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut damaged = good.clone();
                damaged[at] ^= 1 << bit;
                // No panic, and an estimate if it is read at all.
                let _ = Sketch::decode(&damaged).map(|sketch| sketch.estimate());
            }
        }
    }
}
