//! What transactions and snapshots read of the lists.

use super::{ALL, Board, LEAF, MOST_LEAVES, decode};
use crate::cycles::{Lists, Step};
use holm::{Keyspace, ReadTransaction, Result, Slice, SnapshotKeyspace, Transaction};
use rand::Rng;
use rand_pcg::Pcg64;
use std::ops::Range;

/// The pairs of a range, from either end.
type Pairs<'r> = Box<dyn DoubleEndedIterator<Item = Result<(Slice, Slice)>> + 'r>;

/// What sees the database as it is at one instant.
pub(super) trait Reading {
    fn value(&self, of: &Keyspace, key: Vec<u8>) -> Result<Option<Slice>>;
    fn pairs(&self, of: &Keyspace, keys: Range<Vec<u8>>) -> Result<Pairs<'_>>;
}

impl Reading for Transaction {
    fn value(&self, of: &Keyspace, key: Vec<u8>) -> Result<Option<Slice>> {
        self.get(of, key)
    }

    fn pairs(&self, of: &Keyspace, keys: Range<Vec<u8>>) -> Result<Pairs<'_>> {
        Ok(Box::new(self.range(of, keys)?))
    }
}

impl Reading for ReadTransaction {
    fn value(&self, of: &Keyspace, key: Vec<u8>) -> Result<Option<Slice>> {
        self.get(of, key)
    }

    fn pairs(&self, of: &Keyspace, keys: Range<Vec<u8>>) -> Result<Pairs<'_>> {
        Ok(Box::new(self.range(of, keys)?))
    }
}

impl Reading for SnapshotKeyspace {
    fn value(&self, _: &Keyspace, key: Vec<u8>) -> Result<Option<Slice>> {
        self.get(key)
    }

    fn pairs(&self, _: &Keyspace, keys: Range<Vec<u8>>) -> Result<Pairs<'_>> {
        Ok(Box::new(self.range(keys)))
    }
}

impl Board {
    /// Reads a list.
    pub(super) fn read(&self, on: &dyn Reading, key: u64, steps: &mut Vec<Step>) -> Result<Vec<u64>> {
        let list = on.value(&self.space, self.name(key))?.map_or_else(Vec::new, |value| decode(&value));
        steps.push(Step::Read { key, list: list.clone() });
        Ok(list)
    }

    /// Now and then, reads many leaves that nobody writes, if transactions are long.
    pub(super) fn read_many(&self, on: &dyn Reading, random: &mut Pcg64) -> Result<()> {
        if let Some(other) = self.other.as_ref().filter(|_| random.random_ratio(1, 8)) {
            for leaf in 0..MOST_LEAVES {
                on.value(other, (leaf * LEAF).to_be_bytes().to_vec())?;
            }
        }
        Ok(())
    }

    /// Scans some lists, from either end; now and then only up to the first one that is there.
    pub(super) fn scan(&self, on: &dyn Reading, random: &mut Pcg64, steps: &mut Vec<Step>) -> Result<()> {
        let first = random.random_range(0..ALL);
        let mut keys = first..random.random_range(first + 1..=ALL);
        let (forward, stops) = (random.random_bool(0.5), random.random_ratio(1, 4));
        let mut pairs = on.pairs(&self.space, self.names(&keys))?;
        let mut found = Lists::new();
        while let Some(pair) = if forward { pairs.next() } else { pairs.next_back() } {
            let (name, value) = pair?;
            // The keys beside the lists are longer.
            let Ok(name) = <[u8; 8]>::try_from(&name[..]) else { continue };
            let key = u64::from_be_bytes(name) - u64::from_be_bytes(self.name(0).try_into().unwrap_or_default());
            found.insert(key, decode(&value));
            if stops {
                keys = if forward { keys.start..key + 1 } else { key..keys.end };
                break;
            }
        }
        steps.push(Step::Scan { keys, found });
        Ok(())
    }
}
