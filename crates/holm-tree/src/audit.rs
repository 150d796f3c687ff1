//! The audit checks every invariant of a tree: the order of keys within and across leaves, ranges, routing, counts.
//!
//! One leaf can be audited beside writers. What it shows then counts only if the leaf's version is still valid.

use crate::index::{Index, LeafVersion, SeekTarget, TreeRoot};
use crate::keys::Keys;
use std::fmt;

/// What an audit read, and which faults it found.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// Leaves visited.
    pub leaves: u64,
    /// Blocks that these leaves have. A block that several of them share counts once.
    pub blocks: u64,
    /// Pairs in them.
    pub pairs: u64,
    /// The payloads of all pairs, so that the caller can check their records.
    pub payloads: Vec<u64>,
    /// A description of each fault; empty if there is none.
    pub faults: Vec<String>,
}

/// A fault of a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafFault<S> {
    /// The leaf's number.
    pub leaf: u32,
    /// The key concerned, if it is known.
    pub key: Option<S>,
    /// What is wrong.
    pub what: String,
}

impl<S> fmt::Display for LeafFault<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "leaf {}: {}", self.leaf, self.what)
    }
}

/// What the audit of one leaf found.
#[derive(Clone, Debug)]
pub struct LeafAudit<S> {
    /// The version at which the leaf was copied.
    pub leaf_version: LeafVersion,
    /// The pairs, in key order: the payload, and the key if the payload leads to one.
    pub pairs: Vec<(u64, Option<S>)>,
    /// The faults, in no order.
    pub faults: Vec<LeafFault<S>>,
    /// Where the next leaf begins; `None` after the last one, and where the leaf's range ends before it starts.
    pub next: Option<S>,
}

/// Works on a tree of any design, so it is compiled once for all designs.
pub(crate) fn audit<K: Keys>(tree: &dyn Index<K>, root: &TreeRoot) -> Audit {
    let mut audit = Audit::default();
    let mut blocks = Vec::new();
    let mut low = Some(K::Separator::default());
    while let Some(edge) = low {
        let leaf = tree.audit_leaf(root, &edge);
        audit.leaves += 1;
        tree.blocks_of_several(leaf.leaf_version.leaf(), &mut blocks);
        audit.pairs += leaf.pairs.len() as u64;
        audit.payloads.extend(leaf.pairs.iter().map(|(payload, _)| *payload));
        audit.faults.extend(leaf.faults.iter().map(ToString::to_string));
        low = leaf.next;
    }
    blocks.sort_unstable();
    blocks.dedup();
    audit.blocks = if blocks.is_empty() { audit.leaves } else { blocks.len() as u64 };
    if audit.pairs != root.pairs() {
        audit.faults.push(format!("{} pairs counted, {} found", root.pairs(), audit.pairs));
    }
    audit
}

/// Audits the leaf whose range holds a key.
pub(crate) fn audit_leaf<K: Keys>(
    tree: &dyn Index<K>,
    keys_of: &K,
    root: &TreeRoot,
    low: &K::Separator,
) -> LeafAudit<K::Separator> {
    let cursor = tree.cursor_at(root, SeekTarget::Holding(K::search_key(low)));
    let leaf = cursor.leaf_version.leaf;
    let mut faults = Vec::new();
    let mut fault = |key: Option<&K::Separator>, what| faults.push(LeafFault { leaf, key: key.cloned(), what });
    let keys: Vec<_> = cursor.pairs.iter().map(|slot| keys_of.key(*slot)).collect();
    for (slot, key) in cursor.pairs.iter().zip(&keys) {
        let Some(key) = key else {
            fault(None, format!("payload {:#x} leads to no record", slot.payload));
            continue;
        };
        // The lower end is not known: the leaf may have been merged with the one before it since `low` was its end. A
        // key that belongs before it cannot be got.
        if let Some(high) = cursor.edge.as_ref().filter(|high| key >= *high) {
            fault(Some(key), format!("key {key:?} lies outside its range, which ends at {high:?}"));
        }
        if tree.get(root, K::search_key(key)).payload != Some(slot.payload) {
            fault(Some(key), format!("key {key:?} is there and cannot be got"));
        }
        if K::head(K::search_key(key), cursor.skip) != slot.head {
            fault(Some(key), format!("the head of key {key:?} is {:#x}", slot.head));
        }
    }
    if !keys.is_sorted_by(|a, b| a < b) {
        fault(None, "keys are out of order or twice there".into());
    }
    if let Some(high) = cursor.edge.as_ref().filter(|high| *high <= low) {
        fault(None, format!("its range ends at {high:?}, before it starts"));
    }
    let next = cursor.edge.filter(|high| high > low);
    let pairs = cursor.current.pairs.iter().map(|slot| slot.payload).zip(keys).collect();
    LeafAudit { leaf_version: cursor.current.leaf_version, pairs, faults, next }
}
