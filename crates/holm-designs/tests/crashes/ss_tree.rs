//! SSTree's crashes with other parameters than the list's.

use crate::names::Names;
use crate::operations::every_operation;
use holm_designs::leaf::ss_tree::{MOVING, STAYING, SsTree};
use holm_tree::Words;

#[test]
fn longer_lists_survive_every_crash() {
    every_operation::<SsTree<3, MOVING>, _>(&Words, 2);
    every_operation::<SsTree<4, MOVING>, _>(&Names::default(), 0);
}

#[test]
fn updates_that_stay_survive_every_crash() {
    every_operation::<SsTree<2, STAYING>, _>(&Words, 2);
}
