//! A tree as PiBench uses it, independent of its implementation.

use crate::settings::{Kind, Settings};
use crate::store::Store;
use crate::words::Words;
use anyhow::{Result, bail};
use std::path::Path;

/// The operations of PiBench. Keys and values have the sizes that the tree was created for.
pub(crate) trait Tree: Send + Sync {
    /// Copies the value of a key into `value`. Returns false if the key is absent.
    fn find(&self, key: &[u8], value: &mut [u8]) -> Result<bool>;
    /// Puts a value under a key, if the key's presence equals `wanted`. Returns whether it did.
    fn put(&self, key: &[u8], value: &[u8], wanted: bool) -> Result<bool>;
    fn remove(&self, key: &[u8]) -> Result<bool>;
    /// Appends the pairs from the key on to `pairs`, keys and values alternating. Returns their number.
    fn scan(&self, key: &[u8], count: usize, pairs: &mut Vec<u8>) -> Result<usize>;
    /// Returns the counters as text.
    fn counts(&self) -> Result<String>;
}

/// Bytes of a word.
pub(crate) const WORD: usize = 8;

/// Creates a new, empty tree. Files may be created at `path`.
pub(crate) fn open(sizes: [usize; 2], path: &Path, settings: Settings) -> Result<Box<dyn Tree>> {
    let [key, value] = sizes;
    if key == 0 || key > holm::MAX_KEY || value > holm::MAX_VALUE {
        let (most_key, most_value) = (holm::MAX_KEY, holm::MAX_VALUE);
        bail!("keys of {key} bytes and values of {value}: keys have 1 to {most_key}, values at most {most_value}");
    }
    if settings.kind != Kind::File && sizes == [WORD, WORD] {
        return Ok(Box::new(Words::open(path, settings)?));
    }
    Ok(Box::new(Store::open(sizes, path, settings)?))
}
