//! Inner nodes that papers define themselves: durable nodes in blocks, and one contiguous array.

pub mod contiguous;
pub mod durable;

pub use contiguous::Contiguous;
pub use durable::Durable;
