//! All tests of whole trees in one program. It takes the trees from `holm-lab`, which compiles every design once; for
//! byte strings it compiles them itself.

mod agree;
mod borders;
mod borders_shared;
mod contiguous;
mod differences;
mod dropped_trees;
mod emptied;
mod fixture;
mod fronts;
mod levels;
mod linked;
mod locks;
#[path = "../crashes/names.rs"]
mod names;
mod no_room;
mod nodes_at_rest;
mod overview;
mod shifting;
mod ss_tree;
mod strict;
mod stuck;
mod variants;
mod words;
