//! All tests of trees in one program, so that every design is compiled once; compiling takes longer than running.

mod agree;
mod borders;
mod contiguous;
mod dropped_trees;
mod emptied;
mod fills;
mod fixture;
mod fronts;
mod levels;
mod linked;
mod locks;
mod names;
mod no_room;
mod recorded;
mod shifting;
mod snapshot;
mod ss_tree;
mod stage;
mod strict;
mod stuck;
mod variants;
mod words;
