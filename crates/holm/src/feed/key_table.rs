//! Which keys an epoch has put: a hash table of indices, for as long as its changes are gathered.

use super::changes::{Entry, EpochChanges};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The entries that were put, by keyspace and key. Open addressing; at most half full.
pub(super) struct KeyTable {
    /// The upper half of a hash, and one more than the index of an entry; 0 where there is none.
    slots: Vec<(u32, u32)>,
}

fn hash(changes: &EpochChanges, entry: &Entry) -> u64 {
    xxh3_64_with_seed(changes.key(entry), u64::from(entry.keyspace))
}

impl KeyTable {
    /// The table of all that the changes put so far.
    pub(super) fn of(changes: &EpochChanges) -> Self {
        let mut table = KeyTable { slots: vec![(0, 0); (2 * changes.put.len()).next_power_of_two()] };
        for (index, entry) in changes.put.iter().enumerate() {
            let hash = hash(changes, entry);
            let free = table.probe(hash).find(|at| table.slots[*at].1 == 0).expect("half of the slots are free");
            table.slots[free] = ((hash >> 32) as u32, index as u32 + 1);
        }
        table
    }

    /// The slots in which a hash may be, in order.
    fn probe(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let mask = self.slots.len() - 1;
        (0..=mask).map(move |step| (hash as usize).wrapping_add(step) & mask)
    }

    /// Returns whether the key of an entry was put.
    pub(super) fn contains(&self, changes: &EpochChanges, entry: &Entry) -> bool {
        let hash = hash(changes, entry);
        let alike = |put: &Entry| put.keyspace == entry.keyspace && changes.key(put) == changes.key(entry);
        let filled = self.probe(hash).map(|at| self.slots[at]).take_while(|slot| slot.1 != 0);
        filled.filter(|slot| slot.0 == (hash >> 32) as u32).any(|slot| alike(&changes.put[slot.1 as usize - 1]))
    }
}
