//! Pairs of a range, with types.

use super::Types;
use super::codec::{Codec, whole};
use super::key::Key;
use crate::error::{Error, Result};
use crate::slice::Slice;
use std::marker::PhantomData;

/// An iterator over pairs with types, from both ends: [`Table::range`](super::Table::range).
///
/// A pair that does not have the types is an [`Error::Encoding`], and the next pair follows it.
#[must_use = "iterators do nothing unless they are consumed"]
pub struct Pairs<K, V, C, I> {
    keyspace: String,
    /// `Err` if the range could not be read: its error, until it is returned.
    pairs: Result<I, Option<Error>>,
    types: Types<K, V, C>,
}

impl<K, V, C, I: std::fmt::Debug> std::fmt::Debug for Pairs<K, V, C, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pairs").field("keyspace", &self.keyspace).finish_non_exhaustive()
    }
}

impl<K: Key, V, C: Codec<V>, I> Pairs<K, V, C, I> {
    pub(super) fn new(keyspace: &str, pairs: Result<I>) -> Self {
        Pairs { keyspace: keyspace.into(), pairs: pairs.map_err(Some), types: PhantomData }
    }

    /// Iterates over the keys alone; no value is decoded.
    pub fn keys(self) -> impl DoubleEndedIterator<Item = Result<K>>
    where
        I: DoubleEndedIterator<Item = Result<(Slice, Slice)>>,
    {
        let Pairs { keyspace, pairs, .. } = self;
        let (pairs, failed) = match pairs {
            Ok(pairs) => (Some(pairs), None),
            Err(error) => (None, error),
        };
        let keys = pairs.into_iter().flatten().map(move |pair| key(&keyspace, &pair?.0));
        keys.chain(failed.map(Err))
    }

    fn typed(&self, pair: Result<(Slice, Slice)>) -> Result<(K, V)> {
        let (found, value) = pair?;
        let value = C::decode(value).map_err(|what| Error::Encoding { keyspace: self.keyspace.clone(), what })?;
        Ok((key(&self.keyspace, &found)?, value))
    }
}

fn key<K: Key>(keyspace: &str, bytes: &[u8]) -> Result<K> {
    whole(bytes).map_err(|what| Error::Encoding { keyspace: keyspace.into(), what })
}

impl<K: Key, V, C: Codec<V>, I: Iterator<Item = Result<(Slice, Slice)>>> Iterator for Pairs<K, V, C, I> {
    type Item = Result<(K, V)>;

    fn next(&mut self) -> Option<Self::Item> {
        let pair = match &mut self.pairs {
            Ok(pairs) => pairs.next()?,
            Err(error) => return error.take().map(Err),
        };
        Some(self.typed(pair))
    }
}

impl<K: Key, V, C: Codec<V>, I: DoubleEndedIterator<Item = Result<(Slice, Slice)>>> DoubleEndedIterator
    for Pairs<K, V, C, I>
{
    fn next_back(&mut self) -> Option<Self::Item> {
        let pair = match &mut self.pairs {
            Ok(pairs) => pairs.next_back()?,
            Err(error) => return error.take().map(Err),
        };
        Some(self.typed(pair))
    }
}
