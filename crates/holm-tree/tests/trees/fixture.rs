//! A storage in memory that flushes nothing, and an empty tree set of a design over it.

use holm_medium::{FIRST_EPOCH, Flush, Mapped, MappedOptions, Storage, Writer};
use holm_search::Search;
use holm_tree::{Design, TreeSet, Words};
use std::sync::Arc;

pub(crate) fn tree_set<D: Design>() -> (Arc<Writer<Mapped>>, TreeSet<Mapped, D, Words>) {
    let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
    let medium = Mapped::anonymous(options).expect("address space");
    let writer = Arc::new(Storage::open(medium, FIRST_EPOCH).expect("memory"));
    (writer.clone(), TreeSet::new(writer, Words, Search::detect()))
}
