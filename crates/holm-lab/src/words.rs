//! Trees with keys and payloads of eight bytes, over media that flush.

use holm_designs::{designs, variants};
use holm_medium::{Mapped, Writer};
use holm_search::Search;
use holm_tree::{Index, Words};
use std::sync::Arc;

/// Returns the tree of a design of the list; `None` if no design has that name. The tree is empty until it is rebuilt
/// from the leaves of its storage.
pub fn design(name: &str, writer: Arc<Writer<Mapped>>, search: Search) -> Option<Box<dyn Index<Words>>> {
    designs::open(name, writer, Words, search)
}

/// The same for a design or a variant.
pub fn design_or_variant(name: &str, writer: Arc<Writer<Mapped>>, search: Search) -> Option<Box<dyn Index<Words>>> {
    design(name, writer.clone(), search).or_else(|| variants::open(name, writer, Words, search))
}
