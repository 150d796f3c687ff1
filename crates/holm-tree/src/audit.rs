//! The audit checks every invariant of a tree: the order of keys within and across leaves, ranges, routing, counts.

use crate::index::{Index, SeekTarget, TreeRoot};
use crate::keys::Keys;

/// What an audit read, and which faults it found.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// Leaves visited.
    pub leaves: u64,
    /// Pairs in them.
    pub pairs: u64,
    /// The payloads of all pairs, so that the caller can check their records.
    pub payloads: Vec<u64>,
    /// A description of each fault; empty if there is none.
    pub faults: Vec<String>,
}

/// Works on a tree of any design, so it is compiled once for all designs.
pub(crate) fn audit<K: Keys>(tree: &dyn Index<K>, keys_of: &K, root: &TreeRoot) -> Audit {
    let mut audit = Audit::default();
    let mut edge = K::Separator::default();
    loop {
        let cursor = tree.cursor_at(root, SeekTarget::Holding(K::search_key(&edge)));
        audit.leaves += 1;
        audit.pairs += cursor.pairs.len() as u64;
        let number = cursor.leaf_version.leaf;
        let keys: Vec<_> = cursor.pairs.iter().map(|slot| keys_of.key(*slot)).collect();
        for (slot, key) in cursor.pairs.iter().zip(&keys) {
            audit.payloads.push(slot.payload);
            let Some(key) = key else {
                audit.faults.push(format!("leaf {number}: payload {:#x} leads to no record", slot.payload));
                continue;
            };
            if *key < edge || cursor.edge.as_ref().is_some_and(|high| key >= high) {
                let range = (&edge, &cursor.edge);
                audit.faults.push(format!("leaf {number}: key {key:?} lies outside its range {range:?}"));
            }
            if tree.get(root, K::search_key(key)).payload != Some(slot.payload) {
                audit.faults.push(format!("leaf {number}: key {key:?} is there and cannot be got"));
            }
            if K::head(K::search_key(key), cursor.skip) != slot.head {
                audit.faults.push(format!("leaf {number}: the head of key {key:?} is {:#x}", slot.head));
            }
        }
        if !keys.is_sorted_by(|a, b| a < b) {
            audit.faults.push(format!("leaf {number}: keys are out of order or twice there"));
        }
        match cursor.edge {
            Some(high) if high > edge => edge = high,
            Some(high) => {
                audit.faults.push(format!("leaf {number}: its range ends at {high:?}, before it starts"));
                break;
            }
            None => break,
        }
    }
    if audit.pairs != root.pairs() {
        audit.faults.push(format!("{} pairs counted, {} found", root.pairs(), audit.pairs));
    }
    audit
}
