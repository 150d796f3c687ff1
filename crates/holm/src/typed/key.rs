//! Keys: how a type becomes bytes whose order is its own.

/// A type of keys: the order of the encoded bytes is the order of the values. [The module](super) lists the encodings.
///
/// A type of one's own is a key by the key that it consists of:
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// use holm::typed::{AsKey, Key, Table};
///
/// #[derive(Debug, PartialEq)]
/// struct Day { year: u16, day: u16 }
///
/// impl AsKey<Day> for Day {
///     fn encode(&self, bytes: &mut Vec<u8>, is_last: bool) {
///         (self.year, self.day).encode(bytes, is_last);
///     }
/// }
///
/// impl Key for Day {
///     fn decode(bytes: &mut &[u8], is_last: bool) -> Option<Self> {
///         <(u16, u16)>::decode(bytes, is_last).map(|(year, day)| Day { year, day })
///     }
/// }
///
/// let tides: Table<Day, String> = Table::new(db.keyspace("tides")?);
/// tides.insert(Day { year: 2026, day: 41 }, "high".to_owned())?;
/// assert_eq!(tides.first()?, Some((Day { year: 2026, day: 41 }, "high".into())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Key: Sized + AsKey<Self> {
    /// Takes a key off the beginning of the bytes; `None` if they do not begin with one. `is_last` as in
    /// [`AsKey::encode`].
    fn decode(bytes: &mut &[u8], is_last: bool) -> Option<Self>;
}

/// What stands for a key of type `K` in a call: a `K`, a reference to one, or what borrows it, as a `&str` borrows a
/// `String`. The bytes are those of the `K`.
pub trait AsKey<K: ?Sized> {
    /// Appends the key's bytes. `is_last` says that nothing follows, so that a string need not state where it ends.
    fn encode(&self, bytes: &mut Vec<u8>, is_last: bool);
}

impl<K: ?Sized, Q: AsKey<K> + ?Sized> AsKey<K> for &Q {
    fn encode(&self, bytes: &mut Vec<u8>, is_last: bool) {
        (**self).encode(bytes, is_last);
    }
}

/// The beginning of keys of type `K`: the first parts of a tuple, or the first characters or bytes of a string.
pub trait Prefix<K> {
    /// Appends the bytes with which these keys, and no others, begin.
    fn encode_prefix(&self, bytes: &mut Vec<u8>);
}

impl<K, P: Prefix<K> + ?Sized> Prefix<K> for &P {
    fn encode_prefix(&self, bytes: &mut Vec<u8>) {
        (**self).encode_prefix(bytes);
    }
}

/// Takes `N` bytes off the beginning.
pub(super) fn taken<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}
