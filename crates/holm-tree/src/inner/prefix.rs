//! What all separators of a node begin with, and the word that says it.

use crate::head::masked;
use crate::keys::Keys;
use crate::leaf::KeyRange;

/// The words of a prefix that are compared.
pub const PREFIX_WORDS: usize = 4;

/// The prefix of a node: what all its separators begin with.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct NodePrefix {
    /// Bytes that every key of the node's range begins with.
    pub assured: usize,
    /// Bytes after those that its separators begin with, and that other keys need not.
    pub extra: usize,
    /// The extra bytes, in words that order as the bytes do, padded with zeros.
    pub words: [u64; PREFIX_WORDS],
}

impl NodePrefix {
    /// Returns the prefix of ordered separators in a node with this range. It has no extra bytes if the heads determine
    /// all separators without them.
    pub fn of<K: Keys>(range: KeyRange<'_, K::Separator>, separators: &[K::Separator]) -> Self {
        let assured = K::common(range.low, range.high);
        let extra = match separators {
            [first, .., last] if separators.iter().any(|separator| K::as_long(separator, assured).is_some()) => {
                K::common(first, Some(last)).saturating_sub(assured).min(PREFIX_WORDS * 8)
            }
            _ => 0,
        };
        let word =
            |at: usize| masked(K::head(K::search_key(&separators[0]), assured + at * 8), extra.saturating_sub(at * 8));
        let words = std::array::from_fn(|at| if at * 8 < extra { word(at) } else { 0 });
        NodePrefix { assured, extra, words }
    }

    /// Returns the number of bytes that heads leave out.
    pub fn skip(&self) -> usize {
        self.assured + self.extra
    }

    /// Returns the bytes beyond the assured ones.
    pub fn bytes(&self) -> impl Iterator<Item = u8> {
        self.words.iter().flat_map(|word| word.to_be_bytes()).take(self.extra)
    }
}

/// What a node says of itself in one word, so that a single load is consistent.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The number of separators; never more than there is room for, whatever a writer is doing.
    pub len: usize,
    /// [`NodePrefix::assured`].
    pub assured: usize,
    /// [`NodePrefix::extra`].
    pub extra: usize,
    /// Whether any separator may be a long one.
    pub long: bool,
}

impl Shape {
    /// Returns the number of bytes that heads leave out.
    #[inline]
    pub fn skip(&self) -> usize {
        self.assured + self.extra
    }

    /// Returns whether the heads and the range's shared bytes determine every separator.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.extra == 0 && !self.long
    }
}
