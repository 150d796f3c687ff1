//! Tables with types: keys and values that are not byte strings.
//!
//! A [`Table`] is a keyspace whose keys and values have types. Keys are encoded so that the order of the bytes is the
//! order of the values, so ranges and prefixes mean what they mean in a `BTreeMap`. Values are encoded by a [`Codec`].
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let db = holm::Database::open(folder.path().join("sea.holm"))?;
//! use holm::typed::Table;
//!
//! // The temperature of a reef, by its name and the day.
//! let temperatures: Table<(String, u32), f64> = Table::new(db.keyspace("temperatures")?);
//! temperatures.insert(("north", 1_u32), 19.5)?;
//! temperatures.insert(("north", 2_u32), 19.75)?;
//! temperatures.insert(("south", 1_u32), 24.0)?;
//! assert_eq!(temperatures.get(("north", 2_u32))?, Some(19.75));
//!
//! let north = temperatures.prefix(("north",)).collect::<holm::Result<Vec<_>>>()?;
//! assert_eq!(north, [(("north".into(), 1), 19.5), (("north".into(), 2), 19.75)]);
//! let days = temperatures.range(("north", 2)..=("south", 1)).count();
//! assert_eq!(days, 2);
//!
//! // In a transaction, and in a snapshot.
//! db.transact(|transaction| {
//!     let temperatures = temperatures.within(transaction);
//!     let today = temperatures.get(("north", 2_u32))?.unwrap_or_default();
//!     temperatures.insert(("north", 3_u32), today + 0.5)
//! })?;
//! let then = temperatures.at(&db.snapshot()?).expect("the keyspace exists");
//! assert_eq!(then.last()?, Some((("south".into(), 1), 24.0)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Encodings
//!
//! | type | bytes |
//! |---|---|
//! | `u8` to `u128`, `usize` | big-endian; `usize` has eight bytes |
//! | `i8` to `i128`, `isize` | big-endian, with the highest bit flipped |
//! | `f32`, `f64` | big-endian bits, flipped so that they sort as `total_cmp` does: -NaN, -inf, -0.0, 0.0, inf, NaN |
//! | `bool` | 0 or 1 |
//! | `char` | big-endian, four bytes |
//! | `String`, `Vec<u8>`, [`Slice`] | their bytes; within a key, 00 is `00 ff`, and `00 01` follows the last byte |
//! | `[u8; N]` | their bytes |
//! | `Option` | 0, or 1 and the value: `None` sorts first |
//! | [`Reverse`](std::cmp::Reverse) | every bit flipped: the greatest sorts first |
//! | [`Duration`](std::time::Duration) | seconds as `u64`, nanoseconds as `u32` |
//! | [`SystemTime`](std::time::SystemTime) | seconds since 1970 as `i64`, nanoseconds after them as `u32` |
//! | `uuid::Uuid`, with the feature `uuid` | its sixteen bytes |
//! | tuples of up to six | one after the other |
//!
//! The encodings never change. A string that is the whole key, or the last part of a tuple, is stored as it is, so a
//! `Table<String, _>` has the bytes of the keyspace.

mod codec;
mod key;
mod numbers;
mod pairs;
mod source;
mod texts;
mod times;
mod tuples;

#[cfg(test)]
mod tests;

#[cfg(feature = "json")]
pub use codec::Json;
#[cfg(feature = "postcard")]
pub use codec::Postcard;
pub use codec::{Codec, Ordered, Raw};
pub use key::{AsKey, Key, Prefix};
pub use pairs::Pairs;
pub use source::{Source, Within};

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::iter::of_prefix;
use crate::keyspace::Keyspace;
use crate::slice::Slice;
use crate::snapshot::{Snapshot, SnapshotKeyspace};
use crate::transaction::Transaction;
use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

/// Types that a value has to do with, and does not contain.
type Types<K, V, C> = PhantomData<fn() -> (K, V, C)>;

/// A keyspace with types: keys of type `K`, values of type `V` that the codec `C` encodes. `S` is where it reads: a
/// [`Keyspace`], a snapshot, or a transaction. [The module](self) has an example.
///
/// Nothing at rest says which types a keyspace has. One that was written with others is read as far as its bytes fit,
/// and is [`Error::Encoding`] where they do not.
pub struct Table<K, V, C = Ordered, S = Keyspace> {
    source: S,
    types: Types<K, V, C>,
}

impl<K, V, C, S: Clone> Clone for Table<K, V, C, S> {
    fn clone(&self) -> Self {
        Table::of(self.source.clone())
    }
}

impl<K, V, C, S: fmt::Debug> fmt::Debug for Table<K, V, C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Table").field(&self.source).finish()
    }
}

impl<K, V, C, S> Table<K, V, C, S> {
    fn of(source: S) -> Self {
        Table { source, types: PhantomData }
    }

    /// The bytes of a key.
    fn key(key: &impl AsKey<K>) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(32);
        key.encode(&mut bytes, true);
        bytes
    }
}

/// Reads. A pair that does not have the table's types is an [`Error::Encoding`]. Other errors are those of the same
/// functions of [`Keyspace`], [`SnapshotKeyspace`] or [`Transaction`].
impl<K: Key, V, C: Codec<V>, S: Source> Table<K, V, C, S> {
    /// The bytes of a value.
    fn encoded(&self, value: &V) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        C::encode(value, &mut bytes).map_err(|what| Error::Encoding { keyspace: self.source.name().into(), what })?;
        Ok(bytes)
    }

    fn decoded(&self, value: Slice) -> Result<V> {
        C::decode(value).map_err(|what| Error::Encoding { keyspace: self.source.name().into(), what })
    }

    /// Returns the value of a key. O(log n).
    ///
    /// # Errors
    /// [`Encoding`](Error::Encoding) if the bytes are not those of a `V`. Otherwise as [`Keyspace::get`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::typed::Table;
    /// let depths: Table<String, i32> = Table::new(db.keyspace("depths")?);
    /// depths.insert("north", -12)?;
    /// assert_eq!((depths.get("north")?, depths.get("south")?), (Some(-12), None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&self, key: impl AsKey<K>) -> Result<Option<V>> {
        self.source.value(&Self::key(&key))?.map(|value| self.decoded(value)).transpose()
    }

    /// Returns whether a key is present. O(log n).
    ///
    /// # Errors
    /// As [`Keyspace::contains_key`].
    pub fn contains_key(&self, key: impl AsKey<K>) -> Result<bool> {
        self.source.has(&Self::key(&key))
    }

    /// Iterates over the pairs of a range of keys, from either end.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::typed::Table;
    /// let depths: Table<i32, String> = Table::new(db.keyspace("depths")?);
    /// for depth in [-30, -10, 0, 10] {
    ///     depths.insert(depth, format!("{depth} m"))?;
    /// }
    /// let keys: Vec<_> = depths.range(-10..).keys().rev().collect::<holm::Result<_>>()?;
    /// assert_eq!(keys, [10, 0, -10]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn range<Q: AsKey<K>>(&self, range: impl RangeBounds<Q>) -> Pairs<K, V, C, S::Pairs<'_>> {
        self.pairs((range.start_bound().map(Self::key), range.end_bound().map(Self::key)))
    }

    /// Iterates over the pairs whose keys begin with these parts, from either end. Of a table of strings, the keys that
    /// begin with a string.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::typed::Table;
    /// let dives: Table<(u16, u8, String), u32> = Table::new(db.keyspace("dives")?);
    /// dives.insert((2026_u16, 5_u8, "north"), 31)?;
    /// dives.insert((2026_u16, 6_u8, "north"), 12)?;
    /// assert_eq!(dives.prefix((2026_u16,)).count(), 2);
    /// assert_eq!(dives.prefix((2026_u16, 6_u8)).count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prefix(&self, prefix: impl Prefix<K>) -> Pairs<K, V, C, S::Pairs<'_>> {
        let mut bytes = Vec::with_capacity(32);
        prefix.encode_prefix(&mut bytes);
        self.pairs(of_prefix(&bytes))
    }

    /// Iterates over all pairs, from either end.
    pub fn iter(&self) -> Pairs<K, V, C, S::Pairs<'_>> {
        self.pairs((Bound::Unbounded, Bound::Unbounded))
    }

    fn pairs(&self, bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>)) -> Pairs<K, V, C, S::Pairs<'_>> {
        Pairs::new(self.source.name(), self.source.pairs(bounds))
    }

    /// Returns the pair with the least key; `None` if there is none. O(log n).
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn first(&self) -> Result<Option<(K, V)>> {
        self.iter().next().transpose()
    }

    /// Returns the pair with the greatest key; `None` if there is none. O(log n).
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn last(&self) -> Result<Option<(K, V)>> {
        self.iter().next_back().transpose()
    }
}

/// Writes, and tables that read elsewhere. As durable as those of [`Keyspace`].
impl<K: Key, V, C: Codec<V>> Table<K, V, C> {
    /// Gives a keyspace types.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::typed::Table;
    /// let depths: Table<u64, String> = Table::new(db.keyspace("depths")?);
    /// assert!(depths.iter().next().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(keyspace: Keyspace) -> Self {
        Table::of(keyspace)
    }

    /// Returns the keyspace, for what a table does not have.
    pub fn keyspace(&self) -> &Keyspace {
        &self.source
    }

    /// Stores a value under a key; replaces the one before.
    ///
    /// # Errors
    /// [`Encoding`](Error::Encoding) if the codec cannot encode the value. Otherwise as [`Keyspace::insert`].
    pub fn insert(&self, key: impl AsKey<K>, value: impl Borrow<V>) -> Result<()> {
        self.source.insert(Self::key(&key), self.encoded(value.borrow())?)
    }

    /// Stores a value under a key, and returns the one before, at one instant.
    ///
    /// # Errors
    /// As [`Table::insert`]; [`Encoding`](Error::Encoding) also if the value before is not a `V`: it has been replaced.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::typed::Table;
    /// let depths: Table<String, u32> = Table::new(db.keyspace("depths")?);
    /// assert_eq!(depths.swap("north", 12)?, None);
    /// assert_eq!(depths.swap("north", 15)?, Some(12));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn swap(&self, key: impl AsKey<K>, value: impl Borrow<V>) -> Result<Option<V>> {
        let value = self.encoded(value.borrow())?;
        self.source.swap(Self::key(&key), value)?.map(|before| self.decoded(before)).transpose()
    }

    /// Removes a key; returns whether it was present.
    ///
    /// # Errors
    /// As [`Keyspace::remove`].
    pub fn remove(&self, key: impl AsKey<K>) -> Result<bool> {
        self.source.remove(Self::key(&key))
    }

    /// Removes a key, and returns its value, at one instant.
    ///
    /// # Errors
    /// As [`Keyspace::take`]; [`Encoding`](Error::Encoding) if the value is not a `V`: it has been removed.
    pub fn take(&self, key: impl AsKey<K>) -> Result<Option<V>> {
        self.source.take(Self::key(&key))?.map(|before| self.decoded(before)).transpose()
    }

    /// Appends the insertion of a pair to a batch.
    ///
    /// # Errors
    /// [`Encoding`](Error::Encoding) if the codec cannot encode the value; the batch is dropped then.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::typed::Table;
    /// let depths: Table<String, u32> = Table::new(db.keyspace("depths")?);
    /// let names: Table<u32, String> = Table::new(db.keyspace("names")?);
    /// let batch = depths.insert_into(db.batch(), "north", 12)?;
    /// names.insert_into(batch, 12_u32, "north".to_owned())?.commit()?;
    /// assert_eq!(names.get(12_u32)?.as_deref(), Some("north"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_into(&self, batch: Batch, key: impl AsKey<K>, value: impl Borrow<V>) -> Result<Batch> {
        let value = self.encoded(value.borrow())?;
        Ok(batch.insert(&self.source, Self::key(&key), value))
    }

    /// Appends the removal of a key to a batch.
    pub fn remove_from(&self, batch: Batch, key: impl AsKey<K>) -> Batch {
        batch.remove(&self.source, Self::key(&key))
    }

    /// Returns this table within a transaction: it sees and makes the transaction's writes.
    pub fn within<'t>(&self, transaction: &'t Transaction) -> Table<K, V, C, Within<'t>> {
        Table::of(Within { transaction, keyspace: self.source.clone() })
    }

    /// Returns this table as it was at a snapshot; `None` if its keyspace did not exist.
    pub fn at(&self, snapshot: &Snapshot) -> Option<Table<K, V, C, SnapshotKeyspace>> {
        snapshot.keyspace(self.source.name()).map(Table::of)
    }
}

/// Writes of a transaction: they take effect when it commits.
impl<K: Key, V, C: Codec<V>> Table<K, V, C, Within<'_>> {
    /// Stores a value under a key; replaces the one before.
    ///
    /// # Errors
    /// [`Encoding`](Error::Encoding) if the codec cannot encode the value. Otherwise as [`Transaction::insert`].
    pub fn insert(&self, key: impl AsKey<K>, value: impl Borrow<V>) -> Result<()> {
        let Within { transaction, keyspace } = &self.source;
        transaction.insert(keyspace, Self::key(&key), self.encoded(value.borrow())?)
    }

    /// Removes a key, which may be absent.
    ///
    /// # Errors
    /// As [`Transaction::remove`].
    pub fn remove(&self, key: impl AsKey<K>) -> Result<()> {
        self.source.transaction.remove(&self.source.keyspace, Self::key(&key))
    }

    /// Removes a key, and returns its value.
    ///
    /// # Errors
    /// As [`Transaction::take`], and as [`Table::get`].
    pub fn take(&self, key: impl AsKey<K>) -> Result<Option<V>> {
        let Within { transaction, keyspace } = &self.source;
        transaction.take(keyspace, Self::key(&key))?.map(|before| self.decoded(before)).transpose()
    }
}
