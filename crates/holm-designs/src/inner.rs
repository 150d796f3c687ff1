//! Nodes above the leaves that papers have of their own: durable ones in blocks, and one contiguous array.

pub mod contiguous;
pub mod durable;

pub use contiguous::Contiguous;
pub use durable::Durable;
