//! What must be true of every recovered tree, whatever the crash: checked by inspection, and by further operations.

use crate::crashes::Persistency;
use crate::fixture::TreeFixture;
use crate::model::{Contents, History, Step};
use crate::trace::Event;
use holm_medium::Result;
use std::collections::BTreeSet;

/// Payloads of the operations after a recovery; no script uses them.
const LATER: u64 = 1 << 48;

/// Inspects a recovered tree and executes operations on it; returns its contents before these operations.
///
/// # Errors
/// A description of the first thing that is wrong.
pub fn inspect(fixture: &mut TreeFixture, crash: Persistency) -> std::result::Result<Contents, String> {
    let (found, leaves) = said(fixture.contents())?;
    sound(fixture)?;
    let (tree, root) = fixture.tree();
    let nodes = tree.nodes(root);
    let blocks: BTreeSet<_> = leaves.iter().flat_map(|leaf| tree.blocks_of(*leaf)).collect();
    for block in said(fixture.free_blocks())? {
        if blocks.contains(&block) || nodes.contains(&block) {
            return Err(format!("block {block} is a leaf's or a node of the tree, and free"));
        }
    }
    again(fixture, crash, &found)?;
    if fixture.subject().capabilities.stores_pairs {
        go_on(fixture, &found)?;
    }
    Ok(found)
}

fn said<T>(result: Result<T>) -> std::result::Result<T, String> {
    result.map_err(|error| error.to_string())
}

/// The tree's own audit: get finds every key, each key lies in its leaf's range, and each occurs once.
fn sound(fixture: &TreeFixture) -> std::result::Result<(), String> {
    let (tree, root) = fixture.tree();
    let faults = tree.audit(root).faults;
    if faults.is_empty() { Ok(()) } else { Err(format!("the audit says: {}", faults.join("; "))) }
}

/// Recovers again: it has nothing left to do, and finds the same.
fn again(fixture: &mut TreeFixture, crash: Persistency, found: &Contents) -> std::result::Result<(), String> {
    let trace = fixture.medium().take();
    said(fixture.recover_again(crash))?;
    let wrote = fixture.medium().take();
    let planted = found.is_empty();
    if let Some(entry) = wrote.iter().find(|entry| matches!(entry.event, Event::Write { .. } | Event::Fill { .. }))
        && !planted
    {
        return Err(format!("a second recovery still had to write: {entry}; the first made {} events", trace.len()));
    }
    let (anew, _) = said(fixture.contents())?;
    if anew != *found {
        return Err(format!("a second recovery found other contents: {anew:?} after {found:?}"));
    }
    Ok(())
}

/// One more operation of each kind.
fn go_on(fixture: &TreeFixture, found: &Contents) -> std::result::Result<(), String> {
    let mut history = History::from(found);
    let last = found.last().map_or(10, |pair| pair.0);
    let middle = found.get(found.len() / 2).map_or(10, |pair| pair.0);
    let steps = [
        Step::Put(last.wrapping_add(5), LATER),
        Step::Put(middle, LATER + 1),
        Step::Remove(last),
        Step::Put(4, LATER + 2),
    ];
    for step in steps {
        said(fixture.step(step, &mut history))?;
    }
    let (now, _) = said(fixture.contents())?;
    if now != *history.now() {
        return Err(format!("after {steps:?} the tree holds {now:?}, expected {:?}", history.now()));
    }
    sound(fixture)
}
