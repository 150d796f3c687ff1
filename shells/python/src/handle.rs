//! A keyspace that can be read: as it is, as a database that is open for reading has it, or as it was. Only the first
//! can be written.

use crate::bytes::Bytes;
use crate::failure::Failure;
use holm::{Expiry, Iter, Keyspace, ReadOnlyKeyspace, SnapshotKeyspace};
use std::ops::Bound;

/// A handle of a keyspace.
pub(crate) enum Handle {
    Live(Keyspace),
    ReadOnly(ReadOnlyKeyspace),
    Past(SnapshotKeyspace),
}

/// A range of keys: the low end is in it, the high end is not.
#[derive(Clone, Default)]
pub(crate) struct Bounds {
    pub(crate) low: Vec<u8>,
    pub(crate) high: Option<Vec<u8>>,
}

impl Bounds {
    /// The keys from `start` up to and without `stop`; `None` is an open end.
    pub(crate) fn between(start: Option<Bytes<'_>>, stop: Option<Bytes<'_>>) -> Self {
        let end = |end: Option<Bytes<'_>>| end.map(|end| end.as_ref().to_vec());
        Bounds { low: end(start).unwrap_or_default(), high: end(stop) }
    }

    /// The keys that begin with a prefix.
    pub(crate) fn of_prefix(prefix: &[u8]) -> Self {
        let mut high = prefix.to_vec();
        while high.last() == Some(&u8::MAX) {
            high.pop();
        }
        if let Some(last) = high.last_mut() {
            *last += 1;
        }
        Bounds { low: prefix.to_vec(), high: (!high.is_empty()).then_some(high) }
    }

    pub(crate) fn as_range(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (Bound::Included(&self.low), self.high.as_deref().map_or(Bound::Unbounded, Bound::Excluded))
    }

    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        key >= &self.low[..] && self.high.as_deref().is_none_or(|high| key < high)
    }
}

impl Handle {
    /// Returns the keyspace, if it can be written.
    pub(crate) fn live(&self) -> Result<&Keyspace, Failure> {
        match self {
            Handle::Live(keyspace) => Ok(keyspace),
            Handle::ReadOnly(_) => Err(Failure::ReadOnly("a database that is open for reading")),
            Handle::Past(_) => Err(Failure::ReadOnly("a snapshot")),
        }
    }

    /// Copies a value into the buffer; returns whether the key is present.
    #[inline]
    pub(crate) fn get_into(&self, key: &[u8], into: &mut Vec<u8>) -> holm::Result<bool> {
        match self {
            Handle::Live(keyspace) => keyspace.get_into(key, into),
            Handle::ReadOnly(keyspace) => keyspace.get_into(key, into),
            Handle::Past(keyspace) => {
                into.clear();
                let found = keyspace.get(key)?;
                into.extend_from_slice(found.as_deref().unwrap_or_default());
                Ok(found.is_some())
            }
        }
    }

    /// Lends the value of each key.
    pub(crate) fn get_many_with(&self, keys: &[&[u8]], mut give: impl FnMut(Option<&[u8]>)) -> holm::Result<()> {
        match self {
            Handle::Live(keyspace) => keyspace.get_many_with(keys, give),
            Handle::ReadOnly(keyspace) => {
                keys.iter().try_for_each(|key| keyspace.get(key).map(|it| give(it.as_deref())))
            }
            Handle::Past(keyspace) => keys.iter().try_for_each(|key| keyspace.get(key).map(|it| give(it.as_deref()))),
        }
    }

    pub(crate) fn contains_key(&self, key: &[u8]) -> holm::Result<bool> {
        match self {
            Handle::Live(keyspace) => keyspace.contains_key(key),
            Handle::ReadOnly(keyspace) => keyspace.contains_key(key),
            Handle::Past(keyspace) => keyspace.contains_key(key),
        }
    }

    pub(crate) fn len(&self) -> holm::Result<u64> {
        match self {
            Handle::Live(keyspace) => keyspace.len(),
            Handle::ReadOnly(keyspace) => keyspace.len(),
            Handle::Past(keyspace) => keyspace.len(),
        }
    }

    pub(crate) fn range(&self, bounds: &Bounds) -> Iter {
        match self {
            Handle::Live(keyspace) => keyspace.range::<&[u8]>(bounds.as_range()),
            Handle::ReadOnly(keyspace) => keyspace.range::<&[u8]>(bounds.as_range()),
            Handle::Past(keyspace) => keyspace.range::<&[u8]>(bounds.as_range()),
        }
    }

    pub(crate) fn expiry(&self, key: &[u8]) -> holm::Result<Option<Expiry>> {
        match self {
            Handle::Live(keyspace) => keyspace.expiry(key),
            Handle::ReadOnly(keyspace) => keyspace.expiry(key),
            Handle::Past(keyspace) => keyspace.expiry(key),
        }
    }

    pub(crate) fn has_expiry(&self) -> bool {
        match self {
            Handle::Live(keyspace) => keyspace.options(),
            Handle::ReadOnly(keyspace) => keyspace.options(),
            Handle::Past(keyspace) => keyspace.options(),
        }
        .has_expiry()
    }
}
