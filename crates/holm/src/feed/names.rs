//! The keyspaces at the end of an epoch, by number.

use crate::expiry::{DEADLINE_BYTES, ValueFormat};
use crate::keyspace_options::KeyspaceOptions;
use std::collections::HashMap;
use std::sync::Arc;

/// A keyspace that the catalog names.
#[derive(Clone, Debug)]
pub(crate) struct NamedKeyspace {
    pub(crate) name: Arc<str>,
    pub(crate) options: KeyspaceOptions,
}

impl NamedKeyspace {
    pub(crate) fn new(name: &str, options: KeyspaceOptions) -> Self {
        NamedKeyspace { name: name.into(), options }
    }

    /// Bytes at the beginning of each value in this keyspace's records that do not belong to the value: its deadline.
    pub(super) fn value_prefix(&self) -> usize {
        match self.options.format() {
            ValueFormat::Plain => 0,
            ValueFormat::Expiring => DEADLINE_BYTES,
        }
    }
}

/// The keyspaces that the catalog names at the end of an epoch.
pub(crate) type Names = HashMap<u32, NamedKeyspace>;
