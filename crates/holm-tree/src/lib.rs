//! Persistent B+-trees whose leaves are exchangeable designs.
//!
//! A tree maps probes to payloads, both one word wide where it matters, over any medium of `holm-medium`. Leaves are
//! durable, everything above them is derived at open. Here are the traits, the forest, the nodes and the leaf that the
//! store uses; the leaves of the literature are in `holm-designs`. This crate hears of byte strings only through [`Keys`], and of stores not at all.
#![forbid(unsafe_code)]

mod audit;
mod berth;
mod design;
pub mod designs;
mod forest;
pub mod head;
mod index;
pub mod inner;
pub mod keys;
pub mod latch;
pub mod leaf;
mod load;
pub mod locks;
mod merge;
pub mod pair;
pub mod pairs;
mod reach;
mod rebuild;
mod renew;
mod restore;
mod shrink;
mod slab;
mod snapshot;
mod spine;
mod split;
pub mod sync;
mod tally;
pub mod texts;
mod uproot;

pub use audit::Audit;
pub use design::{Design, Entry};
pub use forest::Forest;
pub use index::{Glimpse, Index, Rebuilt, Root, Seal, Seen, Sighting, Toward, View};
pub use keys::{Keys, Role, Slot, Words};
pub use latch::{Held, Latch, Version};
pub use slab::Slab;
pub use snapshot::Snapshot;
pub use texts::Texts;
