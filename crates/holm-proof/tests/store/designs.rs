//! The designs that the store is tested over: those that ship with it. `HOLM_DESIGN=reef` in the environment of the
//! build adds that one of the list.

use holm::laboratory::Records;
use holm_medium::Journaled;
use holm_tree::Entry;
use std::sync::LazyLock;

/// The design of a store that names none.
pub(crate) const DEFAULT: &str = "buffered";

/// A design, and whether the store accepts it over a shared image.
pub(crate) struct Tested {
    pub(crate) name: &'static str,
    pub(crate) per_epoch: bool,
}

macro_rules! chosen {
    ($($name:ident)*) => {
        /// The design that the build names.
        fn chosen() -> Vec<Entry<Journaled, Records>> {
            vec![$(#[cfg($name)] Entry::of::<holm_designs::designs::$name>()),*]
        }
    };
}
holm_designs::for_each_design!(chosen);

/// The table for builders.
pub(crate) fn table() -> Vec<Entry<Journaled, Records>> {
    let shipped = holm_tree::designs::entries();
    let chosen = chosen().into_iter().filter(|entry| shipped.iter().all(|other| other.name != entry.name));
    let chosen: Vec<_> = chosen.filter(|entry| entry.capabilities.stores_pairs).collect();
    shipped.into_iter().chain(chosen).filter(|entry| entry.capabilities.supports::<Records>()).collect()
}

/// The designs of the table.
pub(crate) fn tested() -> &'static [Tested] {
    static TESTED: LazyLock<Vec<Tested>> = LazyLock::new(|| {
        table().iter().map(|entry| Tested { name: entry.name, per_epoch: entry.capabilities.per_epoch }).collect()
    });
    &TESTED
}
