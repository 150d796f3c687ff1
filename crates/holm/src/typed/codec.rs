//! Codecs: how a value becomes bytes.

use super::key::Key;
use crate::slice::Slice;

/// Encodes values of type `V`. A codec is a type without values: `Table<u64, Reef, Json>`.
///
/// The error of both functions says what is wrong, and becomes an [`Error::Encoding`](crate::Error::Encoding).
pub trait Codec<V> {
    /// Appends the bytes of a value.
    ///
    /// # Errors
    /// The format has no such value.
    fn encode(value: &V, bytes: &mut Vec<u8>) -> Result<(), String>;

    /// Returns the value of all these bytes.
    ///
    /// # Errors
    /// They are not those of a `V`.
    fn decode(bytes: Slice) -> Result<V, String>;
}

/// Encodes values as keys are encoded: numbers, strings, times, options and tuples of them. The default.
#[derive(Clone, Copy, Debug)]
pub enum Ordered {}

impl<V: Key> Codec<V> for Ordered {
    fn encode(value: &V, bytes: &mut Vec<u8>) -> Result<(), String> {
        value.encode(bytes, true);
        Ok(())
    }

    fn decode(bytes: Slice) -> Result<V, String> {
        whole(&bytes)
    }
}

/// Returns the key that all of these bytes are.
pub(super) fn whole<K: Key>(bytes: &[u8]) -> Result<K, String> {
    let mut rest = bytes;
    K::decode(&mut rest, true).filter(|_| rest.is_empty()).ok_or_else(|| {
        let expected = std::any::type_name::<K>();
        format!("found {:?} ({} bytes), expected a {expected}", Slice::from(bytes), bytes.len())
    })
}

/// Leaves values as they are: `Slice`, which is not copied once more, and `Vec<u8>`.
#[derive(Clone, Copy, Debug)]
pub enum Raw {}

impl Codec<Slice> for Raw {
    fn encode(value: &Slice, bytes: &mut Vec<u8>) -> Result<(), String> {
        bytes.extend_from_slice(value);
        Ok(())
    }

    fn decode(bytes: Slice) -> Result<Slice, String> {
        Ok(bytes)
    }
}

impl Codec<Vec<u8>> for Raw {
    fn encode(value: &Vec<u8>, bytes: &mut Vec<u8>) -> Result<(), String> {
        bytes.extend_from_slice(value);
        Ok(())
    }

    fn decode(bytes: Slice) -> Result<Vec<u8>, String> {
        Ok(bytes.into())
    }
}

/// Encodes values as JSON: legible, and open to new fields. With the feature `json`.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// use holm::typed::{Json, Table};
///
/// #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
/// struct Reef { depth: u32, kind: String }
///
/// let reefs: Table<String, Reef, Json> = Table::new(db.keyspace("reefs")?);
/// let north = Reef { depth: 12, kind: "coral".into() };
/// reefs.insert("north", &north)?;
/// assert_eq!(reefs.get("north")?, Some(north));
/// assert_eq!(reefs.keyspace().get("north")?.as_deref(), Some(&br#"{"depth":12,"kind":"coral"}"#[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "json")]
#[derive(Clone, Copy, Debug)]
pub enum Json {}

#[cfg(feature = "json")]
impl<V: serde::Serialize + serde::de::DeserializeOwned> Codec<V> for Json {
    fn encode(value: &V, bytes: &mut Vec<u8>) -> Result<(), String> {
        serde_json::to_writer(bytes, value).map_err(|error| error.to_string())
    }

    fn decode(bytes: Slice) -> Result<V, String> {
        serde_json::from_slice(&bytes).map_err(|error| error.to_string())
    }
}

/// Encodes values in the format of `postcard`: short, and without names of fields. With the feature `postcard`.
///
/// A field that is added, removed or moved makes what was stored before unreadable.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// use holm::typed::{Postcard, Table};
///
/// let depths: Table<u32, Vec<(String, i32)>, Postcard> = Table::new(db.keyspace("depths")?);
/// depths.insert(7_u32, vec![("north".to_owned(), -12)])?;
/// assert_eq!(depths.get(7_u32)?, Some(vec![("north".into(), -12)]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "postcard")]
#[derive(Clone, Copy, Debug)]
pub enum Postcard {}

#[cfg(feature = "postcard")]
impl<V: serde::Serialize + serde::de::DeserializeOwned> Codec<V> for Postcard {
    fn encode(value: &V, bytes: &mut Vec<u8>) -> Result<(), String> {
        let mut all = postcard::to_extend(value, std::mem::take(bytes)).map_err(|error| error.to_string())?;
        std::mem::swap(bytes, &mut all);
        Ok(())
    }

    fn decode(bytes: Slice) -> Result<V, String> {
        match postcard::take_from_bytes(&bytes) {
            Ok((value, [])) => Ok(value),
            Ok((_, rest)) => Err(format!("{} bytes are left", rest.len())),
            Err(error) => Err(error.to_string()),
        }
    }
}
