//! Persistent B+-trees whose leaves are exchangeable designs.
//!
//! A tree maps probes to payloads, both one word wide where it matters, over any medium of `holm-medium`. Leaves are
//! durable, everything above them is derived at open. A design is one line in `designs.rs`; a new leaf is one file in
//! `leaf/` and that line. This crate hears of byte strings only through [`Keys`], and of stores not at all.
#![forbid(unsafe_code)]

mod audit;
mod berth;
mod design;
pub mod designs;
mod forest;
pub mod guide;
pub mod head;
mod index;
pub mod inner;
mod keys;
mod latch;
pub mod leaf;
mod lineage;
mod load;
pub mod locks;
mod pair;
mod pairs;
mod printed;
mod reach;
mod rebuild;
mod renew;
mod restore;
mod roster;
mod row;
mod slab;
mod snapshot;
mod spine;
mod split;
mod sync;
mod tally;
mod texts;
mod uproot;
pub mod variants;

pub use audit::Audit;
pub use design::Design;
pub use forest::Forest;
pub use index::{Glimpse, Index, Rebuilt, Root, Seal, Seen, Sighting, Toward, View};
pub use keys::{Keys, Role, Slot, Words};
pub use latch::{Held, Latch, Version};
pub use slab::Slab;
pub use snapshot::Snapshot;
pub use texts::Texts;
