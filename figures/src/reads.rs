//! Counts the lines of leaves that an operation reads, in a build whose words report reads
//! (`cargo xtask figures --reads`).
//!
//! All words of a vector kernel's arguments count as read, and a line counts once per operation. Latches, inner nodes
//! and volatile state of leaves lie elsewhere and are not counted. The same reads, and the stores, go through a model
//! of their costs.

use crate::read_model::ReadModel;
use anyhow::{Result, ensure};
use holm_lab::measured::MeasuredTree;

/// Whether this build counts reads. Times measured in such a build mean nothing.
pub(crate) const SEES: bool = cfg!(all(feature = "reads", debug_assertions));

/// Blocks that one operation may allocate.
const TAKEN: u32 = 16;

/// Returns the lines read by the work of each key, on average.
pub(crate) fn lines_read(
    tree: &dyn MeasuredTree,
    keys: &[u64],
    mut work: impl FnMut(u64) -> Result<()>,
) -> Result<f64> {
    ensure!(!keys.is_empty() && (SEES || cfg!(test)), "reads are counted only in a build with `--reads`");
    let mut lines = 0;
    for key in keys {
        lines += watched(tree, false, || work(*key))?.len();
    }
    Ok(lines as f64 / keys.len() as f64)
}

/// Runs the work of each key through the model, as an operation that reads or stores to lines.
pub(crate) fn through(
    model: &mut ReadModel,
    tree: &dyn MeasuredTree,
    keys: &[u64],
    mut work: impl FnMut(u64) -> Result<()>,
) -> Result<()> {
    ensure!(!keys.is_empty() && (SEES || cfg!(test)), "reads are counted only in a build with `--reads`");
    keys.iter().try_for_each(|key| {
        model.operation(&watched(tree, true, || work(*key))?);
        Ok(())
    })
}

/// Returns the lines that the work reads in the order of first reads; with `stores`, those that it stores to as well.
#[cfg(any(test, feature = "reads"))]
fn watched(tree: &dyn MeasuredTree, stores: bool, work: impl FnOnce() -> Result<()>) -> Result<Vec<u64>> {
    use holm_medium::{LINE, Word, observed::ReadObserver};
    let words = tree.words(TAKEN);
    ReadObserver::begin(words, 0..words.len(), stores);
    let done = work();
    let all = ReadObserver::end().into_iter().map(|word| (word * size_of::<Word>()) as u64 / LINE);
    done?;
    let mut lines = Vec::new();
    for line in all {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    Ok(lines)
}

#[cfg(not(any(test, feature = "reads")))]
fn watched(tree: &dyn MeasuredTree, _: bool, work: impl FnOnce() -> Result<()>) -> Result<Vec<u64>> {
    let _ = tree.words(TAKEN);
    work().map(|()| Vec::new())
}
