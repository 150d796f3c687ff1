//! Trees of the papers' figures that are here for comparison only. No crash of them has been explored, so they are no
//! designs: a rival is a file, a line here, and its place in the figures that count it.

mod utree;

use crate::measured_tree::TreeSetup;
use holm_lab::measured::MeasuredTree;
use holm_medium::Result;

/// Returns an empty rival; `None` if none has that name.
pub(crate) fn create(name: &str, setup: TreeSetup) -> Option<Result<Box<dyn MeasuredTree>>> {
    match name {
        "utree" => Some(utree::UTree::new(setup).map(|tree| Box::new(tree) as Box<dyn MeasuredTree>)),
        _ => None,
    }
}
