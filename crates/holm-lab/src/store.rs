//! The designs for a store: the table for a builder that opens a database of any design of the list.
//!
//! ```
//! use holm_lab::store::Laboratory;
//! let folder = tempfile::tempdir()?;
//! let options = holm::Database::builder().laboratory().design("lb_tree").image(holm::ImageMode::Private);
//! let db = options.open(folder.path())?;
//! db.keyspace("reefs")?.insert("north", "coral")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use holm::laboratory::Records;
use holm::{Builder, Database, Durability, Error, Result};
use holm_designs::{designs, variants};
use holm_medium::{Journaled, Mapped, Writer};
use holm_tree::Entry;
use std::sync::Arc;

/// Extends a builder to open databases of any design.
pub trait Laboratory {
    /// Makes every design of the list available, in place of the default ones.
    #[must_use = "options do nothing until `open`"]
    fn laboratory(self) -> Self;
}

impl Laboratory for Builder {
    fn laboratory(self) -> Self {
        self.designs(over_files)
    }
}

/// Returns every design over ordinary files, for byte strings.
pub fn over_files() -> Vec<Entry<Journaled, Records>> {
    designs::entries()
}

/// Returns the variants in leaves of 4 KiB that a database over a medium that flushes can have.
fn wide() -> Vec<Entry<Mapped, Records>> {
    vec![
        Entry::of::<variants::fast_fair_4k>(),
        Entry::of::<variants::fast_fair_sentinels_4k>(),
        Entry::of::<variants::circ_linear_4k>(),
        Entry::of::<variants::circ_sentinels_4k>(),
    ]
}

/// Creates an empty database over a medium that flushes, of a design or of one of FAST-FAIR and Circ-Tree in leaves of
/// 4 KiB, with or without sentinels. The caller ends the epochs.
///
/// # Errors
/// `Invalid` if no design has that name; otherwise as [`Database::over`].
pub fn over_mapped(writer: Arc<Writer<Mapped>>, design: &str, durability: Durability) -> Result<Database> {
    let mut entries = designs::entries::<Mapped, Records>().into_iter().chain(wide());
    let entry = entries.find(|entry| entry.name == design);
    let entry = entry.ok_or_else(|| Error::Invalid { what: format!("there is no design named {design:?}") })?;
    Database::over(writer, &entry, durability)
}
