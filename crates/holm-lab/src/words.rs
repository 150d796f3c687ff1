//! Trees of words, keys and payloads of eight bytes, over media that flush.

use holm_designs::designs;
use holm_medium::{Mapped, Quill};
use holm_search::Search;
use holm_tree::{Index, Words};
use std::sync::Arc;

/// The tree of a design of the list, empty until it is rebuilt; `None` where no design has that name.
pub fn design(name: &str, quill: Arc<Quill<Mapped>>, search: Search) -> Option<Box<dyn Index<Words>>> {
    designs::open(name, quill, Words, search)
}
