//! Copies of records that lie in leaf blocks: a leaf that gives way takes its records along.

use super::changed_payload::ChangedPayload;
use crate::keys::Records;
use crate::record::{self, Place};
use holm_medium::{Area, Word};
use std::collections::HashMap;

/// A record in a leaf block: its keyspace and its words.
type Copied = (u32, Vec<u64>);

/// Returns the block that has a payload's record, and the record; `None` if it lies in the record area.
fn in_block(keys: &Records, block_bytes: u64, changed: ChangedPayload) -> Option<(u64, Copied)> {
    let place = Place::of(changed.payload());
    if place.area != Area::Leaves {
        return None;
    }
    let words = record::words(&keys.image, changed.payload())?;
    Some((place.offset / block_bytes, (changed.keyspace, words.iter().map(Word::read).collect())))
}

/// Removes from both lists what has moved: a record that has come to one block as it went from another. A put of the
/// value that the key had counts as a move if its leaf has given way in the same epoch.
pub(super) fn cancel_copies(
    keys: &Records,
    block_bytes: u64,
    came: &mut Vec<ChangedPayload>,
    went: &mut Vec<ChangedPayload>,
) {
    let left = went.iter().enumerate().filter_map(|(at, changed)| Some((at, in_block(keys, block_bytes, *changed)?)));
    let mut left: HashMap<Copied, (usize, u64)> = left.map(|(at, (block, copied))| (copied, (at, block))).collect();
    if left.is_empty() {
        return;
    }
    let mut moved = vec![false; went.len()];
    came.retain(|changed| {
        let Some((block, copied)) = in_block(keys, block_bytes, *changed) else { return true };
        let Some((at, _)) = left.get(&copied).copied().filter(|(_, from)| *from != block) else { return true };
        left.remove(&copied);
        moved[at] = true;
        false
    });
    let mut moved = moved.into_iter();
    went.retain(|_| !moved.next().unwrap_or_default());
}
