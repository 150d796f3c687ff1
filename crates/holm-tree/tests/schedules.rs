//! Schedules of the tree's volatile side, from the latch up to a whole tree set at tiny size, under every order of
//! steps that a few seeds draw. Beside each guarantee stands a caller or a double that breaks it, and the test must
//! catch it.
//!
//! `cargo xtask schedules` runs these; without `--cfg shuttle` this program is empty.

#![cfg(shuttle)]
#![forbid(unsafe_code)]

#[path = "../../holm-medium/tests/schedules/explore.rs"]
mod explore;

#[path = "schedules/latch.rs"]
mod latch;
#[path = "schedules/slab.rs"]
mod slab;
#[path = "schedules/tree.rs"]
mod tree;
