//! The controls of the table: designs with one known bug each, and the change at which a table like that of the designs
//! finds it. If no change does, a test of the bug's own finds it.

use super::{Change, cell};
use crate::crashes::{Bounds, Persistency};
use crate::subject::Subject;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A design with a bug, under one model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Control {
    /// The design.
    pub design: &'static str,
    /// The model.
    pub persistency: Persistency,
    /// The first change, in the order of the columns, at which a crash shows the bug.
    pub caught: Option<Change>,
}

/// These designs with known bugs, under every model.
pub fn controls(subjects: &[&'static Subject], bounds: Bounds) -> Vec<Control> {
    let under = |persistency| subjects.iter().map(move |subject| control(subject, persistency, bounds));
    Persistency::ALL.into_iter().flat_map(under).collect()
}

fn control(subject: &'static Subject, persistency: Persistency, bounds: Bounds) -> Control {
    // A commit is the store's, and a root is one of two hundred leaves: these bugs are those of a leaf.
    let of_a_leaf = |change: &Change| !matches!(change, Change::Commit | Change::Root);
    let explored = |change: Change| cell(subject, change, &change.scripts(subject), &change.plan(persistency, bounds));
    // Some bugs panic, without any crash.
    let found =
        |change: &Change| catch_unwind(AssertUnwindSafe(|| explored(*change))).map_or(true, |found| found.is_err());
    Control { design: subject.name, persistency, caught: Change::ALL.into_iter().filter(of_a_leaf).find(found) }
}
