//! Persistent B+-trees whose leaves are exchangeable designs.
//!
//! A tree maps search keys to payloads, each one word wide where it matters, over any medium of `holm-medium`. Leaves
//! are durable; everything above them is derived at open. This crate has the traits, the tree set, the nodes and the
//! leaf that the store uses; the leaves of the literature are in `holm-designs`. The crate handles byte strings only
//! through [`Keys`], and knows nothing of stores.
#![forbid(unsafe_code)]

mod audit;
mod block_difference;
mod collapse;
mod commit;
mod conditional;
mod copy_leaf;
mod departure;
mod descent;
mod descriptor;
mod design;
pub mod designs;
mod drop_tree;
mod earlier_index;
mod full_leaf;
mod group;
pub mod head;
mod index;
pub mod inner;
mod inner_levels;
pub mod keys;
pub mod latch;
pub mod leaf;
mod leaf_index;
pub mod levels;
mod load;
pub mod locks;
pub mod long_separators;
mod merge;
pub mod pair;
pub mod pairs;
mod postponed;
mod pre_image_filter;
mod pre_images;
mod put_record;
mod reachable;
mod read_at;
mod rebuild;
mod rebuild_levels;
mod remove_range;
mod restore;
mod run;
mod shape;
mod sharded_counter;
mod shrink;
mod slab;
mod split;
mod split_node;
mod superseded;
pub mod sync;
mod tree_set;
mod wait;
mod wanted;

pub use audit::{Audit, LeafAudit, LeafFault};
pub use block_difference::{BlockDifference, ReadDifference};
pub use commit::{CommitObserver, CommitRequest, Committed, TreeWrite};
pub use conditional::{Conditional, Seen};
pub use design::{Design, Entry};
pub use group::ManyPuts;
pub use index::{Evidence, Index, LeafCopy, LeafCursor, LeafVersion, Lookup, LookupAt, Rebuilt, SeekTarget, TreeRoot};
pub use keys::{Keys, Role, Slot, Words};
pub use latch::{Latch, LatchGuard, Version};
pub use long_separators::LongSeparators;
pub use pre_images::Released;
pub use put_record::PutRecord;
pub use remove_range::RangeRemoval;
pub use slab::Slab;
pub use superseded::{Reuse, Superseded};
pub use tree_set::TreeSet;
pub use wait::back_off;
pub use wanted::Wanted;
