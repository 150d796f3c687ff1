//! Linked designs: recovery follows the chain of leaves of each keyspace.

use super::leaves::LiveLeaf;
use crate::keys::Keys;
use crate::leaf::{BlockByte, Pairs, damaged_in};
use holm_medium::Result;

/// The links of leaves, by number. Repairs are durable once they are fenced.
pub(super) trait Links<K: Keys> {
    /// Returns the bytes of a block.
    fn block_bytes(&self) -> usize;
    /// Returns the lower end of a leaf's range, if the leaf keeps it durably.
    fn low(&self, number: u32) -> Result<Option<K::Separator>>;
    /// Returns the next leaf; 0 is none.
    fn next(&self, number: u32) -> u32;
    /// Repairs a leaf against its right neighbour, rebuilds its volatile side, and copies its pairs.
    fn repair(&mut self, number: u32, pairs: &mut Pairs) -> Result<()>;
    /// Makes `next` the right neighbour of a leaf.
    fn relink(&mut self, number: u32, next: u32) -> Result<()>;
    /// Makes the repairs so far durable.
    fn fence(&mut self);
}

/// Returns the leaves of all chains, in chain order, each repaired against its right neighbour.
pub(super) fn follow<K: Keys>(links: &mut dyn Links<K>, live: &[LiveLeaf], keeps_empty: bool) -> Result<Vec<LiveLeaf>> {
    let mut reached = Vec::new();
    for first in live.iter().filter(|live| live.first) {
        chain(links, live, *first, keeps_empty, &mut reached)?;
    }
    // The fence precedes reuse of leaves that were passed over, and changes of repaired leaves. Without it, a crash
    // keeps a chain that leads into a reused block, or half of a split that no recovery can match.
    links.fence();
    Ok(reached)
}

/// Follows one chain and takes empty leaves out of it: a bulk-loaded tree has no place for them, so no operation would
/// ever fill or free them. The first leaf stays, because the chain is found through it. All leaves stay where durable
/// nodes lead to empty ones, too.
fn chain<K: Keys>(
    links: &mut dyn Links<K>,
    live: &[LiveLeaf],
    first: LiveLeaf,
    keeps_empty: bool,
    reached: &mut Vec<LiveLeaf>,
) -> Result<()> {
    let mut left: Option<u32> = None;
    let mut pairs = Pairs::default();
    let (mut at, mut low) = (first.number, None);
    let mut steps = 0;
    while at != 0 {
        steps += 1;
        let wrong = |what, found: &str, expected: &str| {
            damaged_in(links.block_bytes(), BlockByte::first_of(at), what, found, expected)
        };
        if steps > live.len() {
            return Err(wrong("the chain of leaves", "a circle", "an end"));
        }
        // `live` is in ascending order of numbers.
        let known = live.binary_search_by_key(&at, |live| live.number).ok();
        if known.is_none_or(|index| live[index].keyspace != first.keyspace) {
            return Err(wrong("the chain of leaves", "a block that is no leaf of the keyspace", "one that is"));
        }
        let before = std::mem::replace(&mut low, links.low(at)?);
        if low.is_some() && before >= low {
            return Err(wrong("where a leaf's range starts", "no more than where the one before does", "more"));
        }
        let next = links.next(at);
        links.repair(at, &mut pairs)?;
        if at == first.number || !pairs.is_empty() || keeps_empty {
            if let Some(left) = left.filter(|left| links.next(*left) != at) {
                links.relink(left, at)?;
            }
            reached.push(LiveLeaf { number: at, first: at == first.number, ..first });
            left = Some(at);
        }
        at = next;
    }
    if let Some(left) = left.filter(|left| links.next(*left) != 0) {
        links.relink(left, 0)?;
    }
    Ok(())
}
