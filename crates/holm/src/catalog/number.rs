//! The number of the catalog's own tree.

/// The keyspace number of the catalog's own tree.
pub(crate) const CATALOG: u32 = 0;
