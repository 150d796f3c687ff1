//! Where a table reads: a keyspace, a snapshot of one, or a keyspace within a transaction.

use crate::error::Result;
use crate::iter::Iter;
use crate::keyspace::Keyspace;
use crate::slice::Slice;
use crate::snapshot::SnapshotKeyspace;
use crate::transaction::{Transaction, TransactionRange};
use std::ops::Bound;

/// Where a table reads. Only types of this crate are sources.
pub trait Source: Sealed {
    /// The iterator over its pairs.
    type Pairs<'a>: DoubleEndedIterator<Item = Result<(Slice, Slice)>>
    where
        Self: 'a;

    #[doc(hidden)]
    fn name(&self) -> &str;

    #[doc(hidden)]
    fn value(&self, key: &[u8]) -> Result<Option<Slice>>;

    #[doc(hidden)]
    fn has(&self, key: &[u8]) -> Result<bool>;

    #[doc(hidden)]
    fn pairs(&self, bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>)) -> Result<Self::Pairs<'_>>;
}

/// No other crate can name it.
pub trait Sealed {}

impl Sealed for Keyspace {}
impl Sealed for SnapshotKeyspace {}
impl Sealed for Within<'_> {}

/// A keyspace within a transaction: [`Table::within`](super::Table::within).
#[derive(Clone, Debug)]
pub struct Within<'t> {
    pub(super) transaction: &'t Transaction,
    pub(super) keyspace: Keyspace,
}

/// A handle that reads by itself, and whose ranges never fail before their first pair.
macro_rules! source {
    ($($handle:ty),*) => {$(
        impl Source for $handle {
            type Pairs<'a> = Iter;

            fn name(&self) -> &str {
                self.name()
            }

            fn value(&self, key: &[u8]) -> Result<Option<Slice>> {
                self.get(key)
            }

            fn has(&self, key: &[u8]) -> Result<bool> {
                self.contains_key(key)
            }

            fn pairs(&self, bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>)) -> Result<Iter> {
                Ok(self.range(bounds))
            }
        }
    )*};
}

source!(Keyspace, SnapshotKeyspace);

impl Source for Within<'_> {
    type Pairs<'a>
        = TransactionRange<'a>
    where
        Self: 'a;

    fn name(&self) -> &str {
        self.keyspace.name()
    }

    fn value(&self, key: &[u8]) -> Result<Option<Slice>> {
        self.transaction.get(&self.keyspace, key)
    }

    fn has(&self, key: &[u8]) -> Result<bool> {
        self.transaction.contains_key(&self.keyspace, key)
    }

    fn pairs(&self, bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>)) -> Result<TransactionRange<'_>> {
        self.transaction.range(&self.keyspace, bounds)
    }
}
