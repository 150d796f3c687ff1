//! A tree as PiBench uses one, whatever keeps it.

use crate::settings::{Kind, Settings};
use crate::store::Store;
use crate::words::Words;
use anyhow::{Result, bail};
use std::path::Path;

/// What PiBench asks of a tree. Keys and values have the sizes that the tree was made for.
pub(crate) trait Tree: Send + Sync {
    /// Copies the value out.
    fn find(&self, key: &[u8], value: &mut [u8]) -> Result<bool>;
    /// Puts a value under a key, if it is present or absent as wanted.
    fn put(&self, key: &[u8], value: &[u8], wanted: bool) -> Result<bool>;
    fn remove(&self, key: &[u8]) -> Result<bool>;
    /// Pairs from the key on, key and value by turns, at the end of `pairs`; their number.
    fn scan(&self, key: &[u8], count: usize, pairs: &mut Vec<u8>) -> Result<usize>;
    /// What was counted, for people.
    fn counts(&self) -> Result<String>;
}

/// Bytes of a word.
pub(crate) const WORD: usize = 8;

/// A new, empty tree; `path` is where files may be put.
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
