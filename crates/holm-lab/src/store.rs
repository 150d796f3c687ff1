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

use holm::Builder;
use holm::laboratory::Records;
use holm_designs::designs;
use holm_medium::{Journaled, Mapped};
use holm_tree::Entry;

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

/// Returns every design over a medium that flushes, for byte strings.
pub fn over_mapped() -> Vec<Entry<Mapped, Records>> {
    designs::entries()
}
