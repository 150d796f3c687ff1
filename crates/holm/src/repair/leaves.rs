//! The leaf blocks of a damaged database, in the order of their epochs, each in the state that is believed.

use super::area::Source;
use super::evidence::{Belief, Evidence};
use super::found::Found;
use super::report::RepairReport;
use crate::error::Result;
use holm_medium::{Area, BLOCK, Epoch, LAST_EPOCH};
use holm_tree::leaf::{CopiedBlock, CopiedSlot, ReadBlock};

/// Blocks that are read from the file at once.
const BLOCKS_AT_ONCE: u64 = 512;

/// The state of a block that is believed, and the one that the other source has.
pub(super) struct TwoStates {
    /// The source of the first one.
    pub(super) source: Source,
    believed: CopiedBlock,
    other: CopiedBlock,
}

impl TwoStates {
    /// Returns the bytes that heads leave out.
    pub(super) fn skip(&self) -> usize {
        self.believed.skip
    }

    /// Returns the live slots, those that older states also name first. A key that is found twice in a block thus
    /// keeps its later pair.
    pub(super) fn slots(&self) -> impl Iterator<Item = &CopiedSlot> {
        let of_age = |older: bool| self.believed.slots.iter().filter(move |slot| slot.older == older);
        of_age(true).chain(of_age(false))
    }

    /// Returns what the other source has in a slot, if that is another pair of the same range.
    pub(super) fn elsewhere(&self, slot: &CopiedSlot) -> Option<&CopiedSlot> {
        let is_alike = (self.other.keyspace, self.other.skip) == (self.believed.keyspace, self.believed.skip);
        let other = self.other.slots.iter().find(|other| other.index == slot.index);
        other.filter(|other| is_alike && (other.slot, other.fingerprint) != (slot.slot, slot.fingerprint))
    }
}

/// All blocks.
pub(super) struct Leaves<'a> {
    evidence: &'a Evidence,
    read: ReadBlock,
    block_bytes: u64,
}

impl<'a> Leaves<'a> {
    pub(super) fn new(evidence: &'a Evidence, read: ReadBlock, block_bytes: u64) -> Self {
        Leaves { evidence, read, block_bytes }
    }

    /// Passes each block of the file to `look`, with its number.
    fn each_in_file(&self, mut look: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        let in_file = self.blocks_in_file();
        let mut buffer = vec![0; (BLOCKS_AT_ONCE * self.block_bytes) as usize];
        let mut number = self.first();
        while number < in_file {
            let count = (in_file - number).min(BLOCKS_AT_ONCE);
            let bytes = &mut buffer[..(count * self.block_bytes) as usize];
            self.evidence.read(Source::File, Area::Leaves, number * self.block_bytes, bytes)?;
            for (block, number) in bytes.chunks_exact(self.block_bytes as usize).zip(number..) {
                look(number, block)?;
            }
            number += count;
        }
        Ok(())
    }

    /// The first block that can be a leaf.
    fn first(&self) -> u64 {
        BLOCK.div_ceil(self.block_bytes)
    }

    fn blocks_in_file(&self) -> u64 {
        self.evidence.area(Area::Leaves).len() / self.block_bytes
    }

    /// Returns a block of the file whose states are all later than the last entry of the log, if there is one.
    pub(super) fn beyond_the_log(&self) -> Result<Option<u64>> {
        let Belief::In(Source::Log, until) = self.evidence.belief else { return Ok(None) };
        let mut found = None;
        self.each_in_file(|number, bytes| {
            found = found.or_else(|| self.decode(bytes, until).is_beyond.then_some(number));
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns the blocks with pairs, in the order of their epochs. O(n log n) for n blocks, and 24 bytes for each.
    pub(super) fn find(&self, report: &mut RepairReport) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        self.each_in_file(|number, bytes| self.add(number, bytes, &mut found))?;
        let logged = self.evidence.lines.blocks(Area::Leaves, self.block_bytes);
        let zeros = vec![0; self.block_bytes as usize];
        let behind = self.blocks_in_file().max(self.first());
        for number in logged.into_iter().filter(|number| *number >= behind) {
            self.add(number, &zeros, &mut found)?;
        }
        report.leaves = found.len() as u64;
        found.sort_unstable();
        Ok(found)
    }

    fn add(&self, number: u64, in_file: &[u8], found: &mut Vec<Found>) -> Result<()> {
        let states = self.states_with(number, in_file)?;
        let CopiedBlock { epoch, keyspace, slots, .. } = &states.believed;
        if !slots.is_empty() {
            let is_logged = self.evidence.is_logged(Area::Leaves, number * self.block_bytes, self.block_bytes);
            found.push(Found { epoch: *epoch, number, keyspace: *keyspace, is_logged });
        }
        Ok(())
    }

    /// Returns the states of a block.
    pub(super) fn states(&self, number: u64) -> Result<TwoStates> {
        let mut in_file = vec![0; self.block_bytes as usize];
        self.evidence.read(Source::File, Area::Leaves, number * self.block_bytes, &mut in_file)?;
        self.states_with(number, &in_file)
    }

    fn states_with(&self, number: u64, in_file: &[u8]) -> Result<TwoStates> {
        let offset = number * self.block_bytes;
        let (first, until) = match self.evidence.belief {
            Belief::In(source, until) => (Some(source), until),
            Belief::InTheLater => (None, LAST_EPOCH),
        };
        let file = self.decode(in_file, until);
        if !self.evidence.is_logged(Area::Leaves, offset, self.block_bytes) {
            return Ok(TwoStates {
                source: self.evidence.source_of_unlogged(file.epoch),
                believed: file,
                other: CopiedBlock::default(),
            });
        }
        let mut bytes = vec![0; self.block_bytes as usize];
        self.evidence.read(Source::Log, Area::Leaves, offset, &mut bytes)?;
        let log = self.decode(&bytes, until);
        let log_first = match first {
            Some(Source::Log) => true,
            // The file has lost writes that the log has.
            Some(Source::File) => log.epoch > file.epoch,
            None => log.epoch >= file.epoch,
        };
        Ok(match log_first {
            true => TwoStates { source: Source::Log, believed: log, other: file },
            false => TwoStates { source: Source::File, believed: file, other: log },
        })
    }

    fn decode(&self, bytes: &[u8], until: Epoch) -> CopiedBlock {
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        (self.read)(&words, until)
    }
}
