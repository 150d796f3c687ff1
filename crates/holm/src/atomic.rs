//! Atomic operations on one key of a keyspace: each reads and writes the key at one instant.

use crate::error::{Error, Result};
use crate::expiry::Deadline;
use crate::keyspace::Keyspace;
use crate::slice::Slice;
use crate::update::{ClosureCalls, Decision, End};
use std::fmt;

/// Why [`Keyspace::compare_and_swap`] has changed nothing: the key has another value than was expected.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// let reefs = db.keyspace("reefs")?;
/// reefs.insert("north", "coral")?;
/// let refused = reefs.compare_and_swap("north", None, Some(b"sand"))?.expect_err("it is there");
/// assert_eq!(refused.to_string(), "found another value, of 5 bytes, than was expected");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompareAndSwapError {
    /// The value that the key had; `None` if it was absent.
    pub current: Option<Slice>,
}

/// What becomes of a key: [`Keyspace::update`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Update {
    /// It stays as it is.
    Keep,
    /// It has this value, and expires when it did.
    Put(Vec<u8>),
    /// It is absent.
    Remove,
}

impl From<Update> for Decision<Vec<u8>> {
    fn from(update: Update) -> Self {
        match update {
            Update::Keep => Decision::Keep,
            Update::Put(value) => Decision::Put(value),
            Update::Remove => Decision::Remove,
        }
    }
}

impl fmt::Display for CompareAndSwapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.current {
            Some(value) => write!(f, "found another value, of {} bytes, than was expected", value.len()),
            None => write!(f, "found no value, expected one"),
        }
    }
}

impl std::error::Error for CompareAndSwapError {}

/// Atomic operations. Each is linearizable: it takes effect at one instant between its call and its return. Each is as
/// durable as [`Keyspace::insert`], and O(log n).
///
/// Closures run without any lock. They may use the database, and a panic in one changes nothing. A closure runs again
/// if the key has been given another value meanwhile. After 1,000 calls for one update, [`Conflict`](Error::Conflict)
/// is returned, and the update has changed nothing: so ends a closure that writes its own key each time, or is slow
/// beside others that do so each time.
///
/// In a keyspace with expiry, an expired key is absent. `compare_and_swap`, `fetch_update`, `update_fetch` and
/// `increment` keep a present key's expiry; [`Keyspace::swap`] clears it, as [`Keyspace::insert`] does.
impl Keyspace {
    /// Replaces a key's value if it is the expected one; `None` stands for an absent key, on either side.
    ///
    /// # Errors
    /// As [`Keyspace::insert`]. The inner result is an error, with the value found, if that is not the expected one.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let reefs = db.keyspace("reefs")?;
    /// reefs.compare_and_swap("north", None, Some(b"coral"))?.expect("absent");
    /// reefs.compare_and_swap("north", Some(b"coral"), Some(b"sand"))?.expect("coral");
    /// let refused = reefs.compare_and_swap("north", Some(b"coral"), None)?.expect_err("it is sand now");
    /// assert_eq!(refused.current.as_deref(), Some(&b"sand"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compare_and_swap(
        &self,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<Result<(), CompareAndSwapError>> {
        let (current, swapped) = self.store().update(self.tree(), key.as_ref(), |current, _| {
            let swaps = current.map(|value| &**value) == expected;
            let change = match new {
                _ if !swaps => Decision::Keep,
                Some(value) => Decision::Put(value),
                None => Decision::Remove,
            };
            Ok((change, swaps))
        })?;
        Ok(if swapped { Ok(()) } else { Err(CompareAndSwapError { current }) })
    }

    /// Stores a value if the key is absent. Returns the present value otherwise, and `None` if it has stored.
    ///
    /// # Errors
    /// As [`Keyspace::insert`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// assert_eq!(reefs.insert_if_absent("north", "coral")?, None);
    /// assert_eq!(reefs.insert_if_absent("north", "sand")?.as_deref(), Some(&b"coral"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_if_absent(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        let value = value.as_ref();
        let decide = |current: Option<&Slice>, _| Ok((current.map_or(Decision::Put(value), |_| Decision::Keep), ()));
        Ok(self.store().update(self.tree(), key.as_ref(), decide)?.0)
    }

    /// Returns a key's value. If the key is absent, stores and returns what the closure makes.
    ///
    /// # Errors
    /// As [`Keyspace::insert`]; [`Conflict`](Error::Conflict).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// assert_eq!(*reefs.get_or_insert_with("north", || b"coral".to_vec())?, b"coral"[..]);
    /// assert_eq!(*reefs.get_or_insert_with("north", || b"sand".to_vec())?, b"coral"[..]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_or_insert_with(&self, key: impl AsRef<[u8]>, mut make: impl FnMut() -> Vec<u8>) -> Result<Slice> {
        let mut calls = ClosureCalls::default();
        let (current, made) = self.store().update(self.tree(), key.as_ref(), |current, _| match current {
            Some(_) => Ok((Decision::Keep, Slice::from(&[][..]))),
            None => {
                calls.count()?;
                let value = Slice::from(make());
                Ok((Decision::Put(value.clone()), value))
            }
        })?;
        Ok(current.unwrap_or(made))
    }

    /// Replaces a key's value by what the closure makes of it, and returns the value before. The closure gets `None`
    /// for an absent key, and returns `None` to remove it.
    ///
    /// # Errors
    /// As [`Keyspace::insert`]; [`Conflict`](Error::Conflict).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// let before = reefs.fetch_update("north", |value| Some([value?, b"s"].concat()))?;
    /// assert_eq!(before.as_deref(), Some(&b"coral"[..]));
    /// assert_eq!(reefs.get("north")?.as_deref(), Some(&b"corals"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fetch_update(
        &self,
        key: impl AsRef<[u8]>,
        update: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
    ) -> Result<Option<Slice>> {
        Ok(self.replace(key.as_ref(), update)?.0)
    }

    /// As [`Keyspace::fetch_update`], and returns the value after.
    ///
    /// # Errors
    /// As [`Keyspace::insert`]; [`Conflict`](Error::Conflict).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// let after = reefs.update_fetch("north", |value| Some([value.unwrap_or(b""), b"coral"].concat()))?;
    /// assert_eq!(after.as_deref(), Some(&b"coral"[..]));
    /// assert_eq!(reefs.update_fetch("north", |_| None)?, None);
    /// assert!(!reefs.contains_key("north")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_fetch(
        &self,
        key: impl AsRef<[u8]>,
        update: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
    ) -> Result<Option<Slice>> {
        Ok(self.replace(key.as_ref(), update)?.1)
    }

    fn replace(
        &self,
        key: &[u8],
        mut update: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
    ) -> Result<(Option<Slice>, Option<Slice>)> {
        let mut calls = ClosureCalls::default();
        self.store().update(self.tree(), key, |current, _| {
            calls.count()?;
            let after = update(current.map(|value| &**value)).map(Slice::from);
            Ok((after.clone().map_or(Decision::Remove, Decision::Put), after))
        })
    }

    /// Reads the value of a key, lets the closure decide what becomes of it, and returns the closure's answer. The key
    /// is read and changed at one instant: the closure is called again if the key has another value by then. It runs
    /// without a lock.
    ///
    /// # Errors
    /// As [`Keyspace::insert`]; [`Conflict`](Error::Conflict).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::Update;
    /// let reefs = db.keyspace("reefs")?;
    /// let append = |old: Option<&holm::Slice>| {
    ///     let new = [old.map_or(&b""[..], |old| old), b"x"].concat();
    ///     let length = new.len();
    ///     if length > 2 { (Update::Keep, None) } else { (Update::Put(new), Some(length)) }
    /// };
    /// assert_eq!(reefs.update("north", append)?, Some(1));
    /// assert_eq!(reefs.update("north", append)?, Some(2));
    /// assert_eq!(reefs.update("north", append)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update<T>(&self, key: impl AsRef<[u8]>, mut decide: impl FnMut(Option<&Slice>) -> (Update, T)) -> Result<T> {
        let mut calls = ClosureCalls::default();
        let (_, answer) = self.store().update(self.tree(), key.as_ref(), |current, _| {
            calls.count()?;
            let (update, answer) = decide(current);
            Ok((update.into(), answer))
        })?;
        Ok(answer)
    }

    /// Stores a value and returns the one before; `None` if the key was absent.
    ///
    /// # Errors
    /// As [`Keyspace::insert`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// assert_eq!(reefs.swap("north", "coral")?, None);
    /// assert_eq!(reefs.swap("north", "sand")?.as_deref(), Some(&b"coral"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn swap(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        let value = value.as_ref();
        let decide = |_: Option<&Slice>, _| Ok((Decision::PutUntil(value, Deadline::NEVER), ()));
        Ok(self.store().update(self.tree(), key.as_ref(), decide)?.0)
    }

    /// Removes a key and returns its value; `None` if it was absent.
    ///
    /// # Errors
    /// As [`Keyspace::remove`]; [`TooLarge`](Error::TooLarge) for a key that exceeds 64 KiB.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// assert_eq!(reefs.take("north")?.as_deref(), Some(&b"coral"[..]));
    /// assert_eq!(reefs.take("north")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take(&self, key: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        let decide = |_: Option<&Slice>, _| Ok((Decision::<&[u8]>::Remove, ()));
        Ok(self.store().update(self.tree(), key.as_ref(), decide)?.0)
    }

    /// Adds to a number and returns the sum. The value is an `i64` in eight little-endian bytes; an absent key counts
    /// as zero.
    ///
    /// # Errors
    /// As [`Keyspace::insert`]; [`Invalid`](Error::Invalid) if the value has another length, and
    /// [`Overflow`](Error::Overflow) if the sum does not fit. Nothing has changed then.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// assert_eq!(reefs.increment("fish", 3)?, 3);
    /// assert_eq!(reefs.increment("fish", -5)?, -2);
    /// assert_eq!(reefs.get("fish")?.as_deref(), Some(&(-2i64).to_le_bytes()[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn increment(&self, key: impl AsRef<[u8]>, by: i64) -> Result<i64> {
        let sum = |current: Option<&Slice>, _| {
            let bytes = current.map_or(Ok([0; 8]), |value| (&**value).try_into());
            let number = bytes.map(i64::from_le_bytes).map_err(|_| Error::Invalid {
                what: format!("a number of {} bytes, expected 8", current.map_or(0, |value| value.len())),
            })?;
            let sum = number.checked_add(by).ok_or(Error::Overflow { found: number, by })?;
            Ok((Decision::Put(sum.to_le_bytes()), sum))
        };
        Ok(self.store().update(self.tree(), key.as_ref(), sum)?.1)
    }

    /// Removes the pair with the least key and returns it; `None` if the keyspace is empty. Several threads may pop
    /// from one keyspace: each pair is returned once. O(log n), and O(1) more for each empty leaf before the pair.
    ///
    /// # Errors
    /// As [`Keyspace::remove`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let jobs = db.keyspace("jobs")?;
    /// jobs.insert(2u64.to_be_bytes(), "second")?;
    /// jobs.insert(1u64.to_be_bytes(), "first")?;
    /// assert_eq!(jobs.pop_first()?.map(|(_, job)| job.to_vec()), Some(b"first".to_vec()));
    /// assert_eq!(jobs.pop_last()?.map(|(_, job)| job.to_vec()), Some(b"second".to_vec()));
    /// assert_eq!(jobs.pop_first()?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pop_first(&self) -> Result<Option<(Slice, Slice)>> {
        self.store().pop(self.tree(), End::First)
    }

    /// As [`Keyspace::pop_first`], with the greatest key.
    ///
    /// # Errors
    /// As [`Keyspace::remove`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// reefs.insert("south", "sand")?;
    /// assert_eq!(reefs.pop_last()?.map(|(key, _)| key.to_vec()), Some(b"south".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pop_last(&self) -> Result<Option<(Slice, Slice)>> {
        self.store().pop(self.tree(), End::Last)
    }
}
