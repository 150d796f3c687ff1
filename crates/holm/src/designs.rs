//! The leaf designs that a database may be opened with: those that ship with the store, or a table given to the
//! builder. The designs of the papers are in such a table, in a crate that users of the store do not compile.

use crate::error::{Error, Result};
use crate::keys::Records;
use holm_medium::{Journaled, Medium, MediumError};
use holm_tree::leaf::Capabilities;
use holm_tree::{Entry, designs};

/// A table of designs over ordinary files.
pub type Table = fn() -> Vec<Entry<Journaled, Records>>;

/// The design of a new database for which none is chosen.
pub(crate) const DEFAULT: &str = "buffered";

/// The designs that ship with the store.
pub(crate) fn shipped() -> Vec<Entry<Journaled, Records>> {
    designs::entries()
}

/// Looks up the design that a builder asks for.
///
/// # Errors
/// `Invalid` if the table has no design of that name; `Unsupported` if its slots need whole keys.
pub(crate) fn chosen(table: Table, name: &str) -> Result<Entry<Journaled, Records>> {
    look_up(table, name, |_| Error::Invalid { what: format!("there is no design named {name:?}") })
}

/// Looks up the design that a database was created with.
///
/// # Errors
/// `Geometry` if the table has no design of that name; `Unsupported` if its slots need whole keys.
pub(crate) fn found(table: Table, name: &str) -> Result<Entry<Journaled, Records>> {
    look_up(table, name, |table| {
        let supports = |capabilities: Capabilities| capabilities.supports::<Records>();
        let names = table.iter().filter(|entry| supports(entry.capabilities)).map(|entry| entry.name);
        let expected = format!("one of {}", names.collect::<Vec<_>>().join(", "));
        MediumError::Geometry { what: "design", found: name.into(), expected }.into()
    })
}

fn look_up(
    table: Table,
    name: &str,
    missing: impl FnOnce(&[Entry<Journaled, Records>]) -> Error,
) -> Result<Entry<Journaled, Records>> {
    let mut table = table();
    let index = table.iter().position(|entry| entry.name == name).ok_or_else(|| missing(&table))?;
    let entry = table.swap_remove(index);
    suitable(&entry)?;
    Ok(entry)
}

/// Refuses a design that cannot hold the store's keys.
///
/// # Errors
/// `Unsupported`.
pub(crate) fn suitable<M: Medium>(entry: &Entry<M, Records>) -> Result<()> {
    if entry.capabilities.supports::<Records>() {
        return Ok(());
    }
    let name = entry.name;
    let what = format!("the design {name:?} needs whole keys in its slots, and the store's are byte strings");
    Err(Error::Unsupported { what })
}
