//! Iteration in the order of keys, from both ends.

mod exclusive;
mod extracted;
mod owned;
mod shared;
mod walk;

pub use exclusive::{IterMut, RangeMut, ValuesMut};
pub use extracted::ExtractIf;
pub use owned::IntoIter;
pub use shared::{Iter, Keys, Range, Values};

pub(crate) use walk::{Reading, Removing, Walk, ends};
