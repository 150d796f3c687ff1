//! Leaves of one and two kilobytes whose header differs from that of 512 bytes: every crash of every operation.

use crate::names::Names;
use crate::operations::{every_operation, some_operations};
use holm_designs::leaf::nv_tree::NvTree;
use holm_designs::leaf::wb_tree::WbTree;
use holm_designs::look::ONE_BY_ONE;
use holm_tree::Words;

/// The bitmap lies in a word of its own, the slot array in a line of its own.
#[test]
fn a_wb_tree_of_a_kilobyte_survives_every_crash() {
    every_operation::<WbTree<56, 14>, _>(&Words, 2);
    some_operations::<WbTree<56, 14>, _>(&Names::default(), 0, &[3, 13, 40, 53]);
}

/// The bitmap has two words, the slot array two lines: from 63 pairs on, both change.
#[test]
fn a_wb_tree_of_two_kilobytes_survives_every_crash() {
    some_operations::<WbTree<116, 22>, _>(&Words, 2, &[0, 1, 62, 63, 64, 115]);
    some_operations::<WbTree<116, 22>, _>(&Names::default(), 0, &[63]);
}

/// Three words count records. With 57 records, an update leaves one out.
#[test]
fn an_nv_tree_of_two_kilobytes_survives_every_crash() {
    some_operations::<NvTree<125, 3, 0, ONE_BY_ONE>, _>(&Words, 2, &[0, 1, 57, 58, 115, 116, 123]);
    some_operations::<NvTree<125, 3, 0, ONE_BY_ONE>, _>(&Names::default(), 0, &[57]);
}
