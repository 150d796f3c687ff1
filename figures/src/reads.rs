//! Counts the lines of leaves that an operation reads, in a build whose words report reads
//! (`cargo xtask figures --reads`).
//!
//! All words of a vector kernel's arguments count as read, and a line counts once per operation. Latches, inner nodes
//! and volatile state of leaves lie elsewhere and are not counted.

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
        lines += watched(tree, || work(*key))?;
    }
    Ok(lines as f64 / keys.len() as f64)
}

#[cfg(any(test, feature = "reads"))]
fn watched(tree: &dyn MeasuredTree, work: impl FnOnce() -> Result<()>) -> Result<usize> {
    use holm_medium::{LINE, Word, observed::ReadObserver};
    let words = tree.words(TAKEN);
    ReadObserver::begin(words, 0..words.len(), false);
    let done = work();
    let mut lines: Vec<_> =
        ReadObserver::end().into_iter().map(|word| word * size_of::<Word>() / LINE as usize).collect();
    done?;
    lines.sort_unstable();
    lines.dedup();
    Ok(lines.len())
}

#[cfg(not(any(test, feature = "reads")))]
fn watched(tree: &dyn MeasuredTree, work: impl FnOnce() -> Result<()>) -> Result<usize> {
    let _ = tree.words(TAKEN);
    work().map(|()| 0)
}
