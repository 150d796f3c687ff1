//! The arguments of a command: byte strings that lie in the buffer which they were received in.

use std::ops::Index;

/// Where an argument begins and ends.
pub type Place = (usize, usize);

/// The words of a command; the first is its name. Cheap to copy.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    bytes: &'a [u8],
    places: &'a [Place],
}

impl<'a> Arguments<'a> {
    /// Returns the words that lie at places of a buffer. Places beyond the buffer read as empty words.
    pub fn new(bytes: &'a [u8], places: &'a [Place]) -> Self {
        Arguments { bytes, places }
    }

    /// Returns the number of words, the name included.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns whether there is no word at all.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns a word; `None` beyond the last.
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        let (from, to) = *self.places.get(index)?;
        Some(self.bytes.get(from..to).unwrap_or_default())
    }

    /// Returns the word at an index, or an empty one beyond the last.
    pub fn at(&self, index: usize) -> &'a [u8] {
        self.get(index).unwrap_or_default()
    }

    /// Iterates over the words from an index on.
    pub fn from(
        &self,
        index: usize,
    ) -> impl DoubleEndedIterator<Item = &'a [u8]> + ExactSizeIterator + Clone + use<'a> {
        let Arguments { bytes, places } = *self;
        places[index.min(places.len())..].iter().map(move |(from, to)| bytes.get(*from..*to).unwrap_or_default())
    }

    /// Returns the words from an index on as a command of their own.
    pub fn tail(&self, index: usize) -> Arguments<'a> {
        Arguments { bytes: self.bytes, places: &self.places[index.min(self.places.len())..] }
    }

    /// Returns the options from an index on.
    pub fn options(&self, index: usize) -> Options<'a> {
        Options { arguments: *self, next: index }
    }

    /// Returns whether a word is this one, whatever its case.
    pub fn is(&self, index: usize, word: &str) -> bool {
        self.get(index).is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    }
}

impl Index<usize> for Arguments<'_> {
    type Output = [u8];

    fn index(&self, index: usize) -> &[u8] {
        self.get(index).unwrap_or_default()
    }
}

/// A walk over the options of a command.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    arguments: Arguments<'a>,
    next: usize,
}

impl<'a> Options<'a> {
    /// Returns the next word as it is.
    pub fn word(&mut self) -> Option<&'a [u8]> {
        let word = self.arguments.get(self.next)?;
        self.next += 1;
        Some(word)
    }

    /// Returns the next word in capital letters.
    pub fn keyword(&mut self) -> Option<Vec<u8>> {
        self.word().map(<[u8]>::to_ascii_uppercase)
    }

    /// Returns how many words are left.
    pub fn left(&self) -> usize {
        self.arguments.len().saturating_sub(self.next)
    }

    /// Returns the index of the next word.
    pub fn position(&self) -> usize {
        self.next
    }
}

/// Words with a buffer of their own: a command that waits in a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnedArguments {
    bytes: Vec<u8>,
    places: Vec<Place>,
}

impl OwnedArguments {
    /// Adds a word.
    pub fn push(&mut self, word: &[u8]) {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(word);
        self.places.push((from, self.bytes.len()));
    }

    /// Returns the words.
    pub fn lend(&self) -> Arguments<'_> {
        Arguments { bytes: &self.bytes, places: &self.places }
    }

    /// Returns the bytes that are held.
    pub fn size(&self) -> usize {
        self.bytes.len() + self.places.len() * size_of::<Place>()
    }
}

impl<'a> From<Arguments<'a>> for OwnedArguments {
    fn from(arguments: Arguments<'a>) -> Self {
        arguments.from(0).collect()
    }
}

impl<W: AsRef<[u8]>> FromIterator<W> for OwnedArguments {
    fn from_iter<I: IntoIterator<Item = W>>(words: I) -> Self {
        let mut owned = OwnedArguments::default();
        words.into_iter().for_each(|word| owned.push(word.as_ref()));
        owned
    }
}
