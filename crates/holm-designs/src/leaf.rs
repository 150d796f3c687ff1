//! The leaf designs: each implements a way to keep pairs in a block of persistent lines. Each file in this folder is a
//! design. The trait's documentation states what a leaf guarantees: [`holm_tree::leaf`].

pub mod bd_tree;
pub mod blackhole;
pub mod borders;
pub mod borders_shared;
pub mod canary;
pub mod circ;
pub mod fast_fair;
pub mod fp_tree;
pub mod holm_strict;
pub mod isle;
pub mod lb_tree;
pub mod lined;
pub mod nv_tree;
pub mod ss_tree;
pub mod wb_tree;
