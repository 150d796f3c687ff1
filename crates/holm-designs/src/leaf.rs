//! The leaves: one way each to keep pairs in a block of persistent lines. A file in this folder *is* a design. What
//! they promise is said where the trait is: [`holm_tree::leaf`].

pub mod bd_tree;
pub mod blackhole;
pub mod borders;
pub mod canary;
pub mod circ;
pub mod fast_fair;
pub mod fp_tree;
pub mod holm_strict;
pub mod isle;
pub mod lb_tree;
pub mod nv_tree;
pub mod ss_tree;
pub mod wb_tree;
