//! The tests of whole trees of the store's designs, in one program: each design is compiled once for all of them.

#![forbid(unsafe_code)]

mod commit;
mod conditional;
mod dropped;
mod emptied;
mod ended_labels;
mod fixture;
mod remove_range;
