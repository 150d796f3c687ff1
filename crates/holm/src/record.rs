//! Key and value at rest. A record is written before a leaf leads to it; readers copy it out and never borrow it.
//!
//! ```text
//! word 0   key length 17 | value length 31 | lower half of the checksum 16
//! then     key bytes, value bytes, zeros
//! last     in the upper 16 bits of the last word: the upper half of the checksum
//! ```
//!
//! In a keyspace with expiry, the value's first eight bytes are its deadline: see [`crate::expiry`].
//!
//! A payload states where a record lies and how long it is, in one word: 39 bits of offset (in words), one bit for
//! the area, and 24 bits of length. So a reader knows which lines to fetch and how much buffer to reserve before the
//! record's cache miss. A length that had to come out of that miss would stop consecutive gets from overlapping.

use crate::expiry::{DEADLINE_BYTES, Deadline, ReadView, StoredValue};
use crate::slice::{HERE, Slice};
use crate::{MAX_KEY, MAX_VALUE};
use holm_medium::{Area, Image, Word, copy_words};
use holm_search::Search;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The bits of a payload that say where the record lies.
const PLACE_BITS: u32 = 40;

/// This bit of the place means that the record lies in a leaf block, and not in the record area.
const IN_LEAF: u64 = 1 << (PLACE_BITS - 1);

/// The bits of a payload above the place.
pub(crate) const LENGTH_BITS: u32 = u64::BITS - PLACE_BITS;

/// This bit of the length field means that the length counts pages of 512 words.
const LONG: u64 = 1 << 23;
const PAGE_WORDS: u64 = 512;

/// The lengths of a record, and half of its checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub(crate) key: usize,
    pub(crate) value: usize,
    check: u16,
}

/// The bytes of a record beside its key and value: its header, and the other half of the checksum.
const EXTRA_BYTES: usize = 8 + 2;

/// Returns the words of a record, before any padding to whole pages.
fn words_of(key: usize, value: usize) -> usize {
    (EXTRA_BYTES + key + value).div_ceil(8)
}

impl Header {
    fn pack(self) -> u64 {
        self.key as u64 | (self.value as u64) << 17 | u64::from(self.check) << 48
    }

    fn unpack(word: u64) -> Self {
        Header {
            key: (word & 0x1_ffff) as usize,
            value: (word >> 17 & 0x7fff_ffff) as usize,
            check: (word >> 48) as u16,
        }
    }

    /// Reads the header of a record of `words.len()` words. `None` means that no record is here: damage, or a race that
    /// validation detects.
    #[inline]
    pub(crate) fn read(words: &[Word]) -> Option<Self> {
        let header = Header::possible(words.first()?.read())?;
        (words_of(header.key, header.value) <= words.len()).then_some(header)
    }

    /// Unpacks a header; `None` if no record has these lengths.
    #[inline]
    fn possible(word: u64) -> Option<Self> {
        let header = Header::unpack(word);
        (header.key <= MAX_KEY && header.value <= MAX_VALUE + DEADLINE_BYTES).then_some(header)
    }
}

fn checksum(key: &[u8], value: &[u8]) -> u32 {
    // The value's hash seeds the key's hash, so moving a byte from one to the other changes the checksum.
    xxh3_64_with_seed(key, xxh3_64_with_seed(value, key.len() as u64)) as u32
}

/// Where the last word has the upper half of the checksum.
const UPPER_SHIFT: u32 = 48;

/// Encodes a record into `words`.
#[inline]
pub(crate) fn encode(key: &[u8], value: StoredValue<'_>, words: &mut Vec<u64>) {
    let len = words_of(key.len(), value.len());
    words.clear();
    words.resize(padded(len as u64) as usize, 0);
    let body: &mut [u8] = &mut bytemuck::cast_slice_mut(words)[8..][..key.len() + value.len()];
    let (key_bytes, value_bytes) = body.split_at_mut(key.len());
    key_bytes.copy_from_slice(key);
    value.copy_to(value_bytes);
    let check = checksum(key, value_bytes);
    words[0] = Header { key: key.len(), value: value.len(), check: check as u16 }.pack();
    words[len - 1] |= u64::from(check >> 16) << UPPER_SHIFT;
}

fn padded(words: u64) -> u64 {
    if words < LONG { words } else { words.next_multiple_of(PAGE_WORDS) }
}

/// Returns the payload of a record at an offset in the record area, in bytes.
pub(crate) fn payload(offset: u64, words: usize) -> u64 {
    let words = words as u64;
    let len = if words < LONG { words } else { LONG | (words / PAGE_WORDS) };
    (offset / 8) | (len << PLACE_BITS)
}

/// Returns the payload of a record in a leaf block, at an offset in the leaf area.
pub(crate) fn payload_in_leaf(offset: u64, words: u32) -> u64 {
    payload(offset, words as usize) | IN_LEAF
}

/// Where a record lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) area: Area,
    /// In bytes.
    pub(crate) offset: u64,
    pub(crate) words: u32,
}

impl Place {
    /// Returns the place to which a payload leads.
    #[inline]
    pub(crate) fn of(payload: u64) -> Self {
        let len = payload >> PLACE_BITS;
        let words = if len & LONG == 0 { len } else { (len & !LONG) * PAGE_WORDS };
        let area = if payload & IN_LEAF == 0 { Area::Records } else { Area::Leaves };
        Place { area, offset: (payload & (IN_LEAF - 1)) * 8, words: words as u32 }
    }

    /// Returns the location of its first word.
    #[inline]
    pub(crate) fn location(self) -> u64 {
        self.area.at(self.offset)
    }

    pub(crate) fn bytes(self) -> u64 {
        u64::from(self.words) * 8
    }

    /// Returns the name of the file that has it.
    pub(crate) fn file(self) -> &'static str {
        match self.area {
            Area::Leaves => "leaves",
            Area::Records => "records",
        }
    }
}

/// Returns the offset in the record area (bytes) and the length (words) of a payload's record; `None` if a leaf block
/// has it, whose space it shares.
#[inline]
pub(crate) fn extent(payload: u64) -> Option<(u64, u32)> {
    let place = Place::of(payload);
    (place.area == Area::Records).then_some((place.offset, place.words))
}

/// Returns the words of a payload's record; `None` if it leads outside the area.
#[inline]
pub(crate) fn words(image: &Image, payload: u64) -> Option<&[Word]> {
    let place = Place::of(payload);
    if place.words == 0 {
        return None;
    }
    image.words(place.location(), place.words as usize)
}

/// A payload leads to no record: damage, or a race that validation detects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoRecord;

/// What a reader copies from a record: nothing of one that has expired.
pub(crate) type Copied<T> = Result<Option<T>, NoRecord>;

/// Where the parts of a visible record lie, in bytes from its first word.
struct Located {
    key: usize,
    start: usize,
    len: usize,
    deadline: Deadline,
}

/// Locates the value of a record; `None` if the record has expired.
#[inline]
fn locate(words: &[Word], view: ReadView) -> Copied<Located> {
    let header = Header::read(words).ok_or(NoRecord)?;
    let (key, start, len) = (header.key, 8 + header.key, header.value);
    match view {
        ReadView::Stored => Ok(Some(Located { key, start, len, deadline: Deadline::NEVER })),
        ReadView::At(now) => {
            let deadline = deadline_of(words, header)?;
            let located = Located { key, start: start + DEADLINE_BYTES, len: len - DEADLINE_BYTES, deadline };
            Ok((!deadline.is_over(now)).then_some(located))
        }
    }
}

/// Reads the deadline before a record's value.
fn deadline_of(words: &[Word], header: Header) -> Result<Deadline, NoRecord> {
    if header.value < DEADLINE_BYTES {
        return Err(NoRecord);
    }
    let (at, shift) = ((8 + header.key) / 8, header.key % 8);
    // Two words where the eight bytes straddle them.
    let straddled = [at, at + 1].map(|at| words.get(at).map_or(0, Word::read));
    let bytes: &[u8] = bytemuck::cast_slice(&straddled);
    bytes[shift..].first_chunk().map(|bytes| Deadline::from_bytes(*bytes)).ok_or(NoRecord)
}

/// Returns the deadline of a record, expired or not, in a keyspace with expiry.
pub(crate) fn deadline(image: &Image, payload: u64) -> Result<Deadline, NoRecord> {
    let words = words(image, payload).ok_or(NoRecord)?;
    deadline_of(words, Header::read(words).ok_or(NoRecord)?)
}

/// Where records are read, and by which instructions.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) image: &'a Image,
    pub(crate) search: Search,
}

/// What has at most this number of words is copied by way of the stack.
const NEAR_WORDS: usize = 17;

impl Source<'_> {
    /// Copies at most [`NEAR_WORDS`].
    #[inline]
    fn near(self, words: &[Word]) -> [u64; NEAR_WORDS] {
        let mut near = [0; NEAR_WORDS];
        copy_words(self.search, words, &mut near);
        near
    }

    /// Copies words to as many bytes.
    #[inline]
    fn copy(self, words: &[Word], into: &mut [u8]) {
        // Every allocator aligns bytes as words, and none promises it.
        if let Ok(into) = bytemuck::try_cast_slice_mut(into) {
            return copy_words(self.search, words, into);
        }
        for (bytes, word) in into.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *bytes = word.read().to_le_bytes();
        }
    }
}

/// Copies the words of a short value: it lies in at most five of them and needs no heap buffer.
#[inline]
fn near(words: &[Word], start: usize) -> [u64; HERE.div_ceil(8) + 1] {
    let mut near = [0; HERE.div_ceil(8) + 1];
    for (near, word) in near.iter_mut().zip(&words[start / 8..]) {
        *near = word.read();
    }
    near
}

/// Copies a longer value to the heap, with all words of its record.
#[inline]
fn far(words: &[Word], start: usize, len: usize) -> Slice {
    // Word by word into the memory itself: vectors need memory that is filled, and cost more than they gain.
    let copy: Arc<[u64]> = words.iter().map(|word| word.read()).collect();
    Slice::shared(copy, start, len)
}

/// Copies a record's value and deadline.
#[inline]
pub(crate) fn copy_value_and_deadline(source: Source<'_>, payload: u64, view: ReadView) -> Copied<(Slice, Deadline)> {
    let words = words(source.image, payload).ok_or(NoRecord)?;
    let Some(Located { start, len, deadline, .. }) = locate(words, view)? else { return Ok(None) };
    if len <= HERE {
        let near = near(words, start);
        let here = Slice::here(&bytemuck::cast_slice(&near)[start % 8..start % 8 + len]);
        return Ok(here.map(|here| (here, deadline)));
    }
    Ok(Some((far(words, start, len), deadline)))
}

/// Copies a record's value.
#[inline]
pub(crate) fn copy_value(source: Source<'_>, payload: u64, view: ReadView) -> Copied<Slice> {
    Ok(copy_value_and_deadline(source, payload, view)?.map(|(value, _)| value))
}

/// Copies a record's value to a place of its own, where it stays.
#[inline]
pub(crate) fn copy_value_to(source: Source<'_>, payload: u64, view: ReadView, to: &mut Option<Slice>) -> Copied<()> {
    let words = words(source.image, payload).ok_or(NoRecord)?;
    let Some(Located { start, len, .. }) = locate(words, view)? else { return Ok(None) };
    if len <= HERE {
        let near = near(words, start);
        Slice::place_here(&bytemuck::cast_slice(&near)[start % 8..start % 8 + len], to);
    } else {
        *to = Some(far(words, start, len));
    }
    Ok(Some(()))
}

/// Copies a record's deadline.
pub(crate) fn copy_deadline(source: Source<'_>, payload: u64, view: ReadView) -> Copied<Deadline> {
    let words = words(source.image, payload).ok_or(NoRecord)?;
    Ok(locate(words, view)?.map(|located| located.deadline))
}

/// Copies a record's key and value.
pub(crate) fn copy_pair(source: Source<'_>, payload: u64, view: ReadView) -> Copied<(Slice, Slice)> {
    let words = words(source.image, payload).ok_or(NoRecord)?;
    let Some(Located { key, start, len, .. }) = locate(words, view)? else { return Ok(None) };
    let copy: Vec<u64> = words.iter().map(Word::read).collect();
    Ok(Some((Slice::copied(&copy, 8, key), Slice::copied(&copy, start, len))))
}

/// Copies a record's value into the caller's buffer.
#[inline]
pub(crate) fn copy_value_into(source: Source<'_>, payload: u64, view: ReadView, into: &mut Vec<u8>) -> Copied<()> {
    let words = words(source.image, payload).ok_or(NoRecord)?;
    let Some(Located { start, len, .. }) = locate(words, view)? else { return Ok(None) };
    // Copies whole words, because each must be read at once, and then moves the value to the front.
    let words = &words[start / 8..(start + len).div_ceil(8)];
    let within = start % 8..start % 8 + len;
    if words.len() <= NEAR_WORDS {
        into.clear();
        into.extend_from_slice(&bytemuck::cast_slice(&source.near(words))[within]);
        return Ok(Some(()));
    }
    into.resize(words.len() * 8, 0);
    source.copy(words, into);
    into.copy_within(within, 0);
    into.truncate(len);
    Ok(Some(()))
}

/// Appends a record's key, and its value if wanted, to a buffer. Returns their lengths in bytes; the value's is 0 if it
/// is not wanted.
pub(crate) fn append(image: &Image, payload: u64, value: bool, into: &mut Vec<u8>) -> Option<(u32, u32)> {
    let words = words(image, payload)?;
    let header = Header::read(words)?;
    let value = if value { header.value } else { 0 };
    let (start, len) = (into.len(), header.key + value);
    let body = &words[1..][..len.div_ceil(8)];
    into.resize(start + body.len() * 8, 0);
    for (bytes, word) in into[start..].as_chunks_mut::<8>().0.iter_mut().zip(body) {
        *bytes = word.read().to_le_bytes();
    }
    into.truncate(start + len);
    Some((header.key as u32, value as u32))
}

/// Returns a record's key and value if the checksum holds, else a description of the fault.
pub(crate) fn read(image: &Image, payload: u64) -> Result<(Vec<u8>, Vec<u8>), String> {
    verify(image, payload)?;
    let words = words(image, payload).unwrap_or_default();
    let header = Header::read(words).ok_or("it has changed")?;
    let bytes: Vec<u8> = words[1..].iter().flat_map(|word| word.read().to_le_bytes()).collect();
    let (key, rest) = bytes.split_at(header.key);
    Ok((key.to_vec(), rest[..header.value].to_vec()))
}

/// Records up to this many words are copied on the stack.
const FEW_WORDS: usize = 64;

/// Verifies a record against its checksum; the error describes the fault.
pub(crate) fn verify(image: &Image, payload: u64) -> Result<(), String> {
    let place = Place::of(payload);
    let (offset, len, file) = (place.offset, place.words, place.file());
    let Some(words) = words(image, payload) else {
        return Err(format!("record at {offset:#x} of {file}, of {len} words, lies outside the file"));
    };
    let Some(header) = Header::read(words) else {
        return Err(format!("record at {offset:#x} of {file}: its lengths do not fit its {len} words"));
    };
    // Open verifies every record in doubt this way, so most are copied without an allocation.
    let (mut few, mut many) = ([0; FEW_WORDS], vec![]);
    let copy = match few.get_mut(..words.len()) {
        Some(few) => few,
        None => {
            many.resize(words.len(), 0);
            &mut many[..]
        }
    };
    copy.iter_mut().zip(words).for_each(|(copy, word)| *copy = word.read());
    compare(copy, header).map_err(|(found, expected)| {
        format!("record at {offset:#x} of {file}: checksum {found:#010x}, expected {expected:#010x}")
    })
}

/// Compares the checksum of a record's words with the one that they have; the error is both.
fn compare(words: &[u64], header: Header) -> Result<(), (u32, u32)> {
    let upper = words[words_of(header.key, header.value) - 1] >> UPPER_SHIFT;
    let expected = (upper as u32) << 16 | u32::from(header.check);
    let (key, value) = bytemuck::cast_slice(words)[8..8 + header.key + header.value].split_at(header.key);
    let found = checksum(key, value);
    if found == expected { Ok(()) } else { Err((found, expected)) }
}

/// Whether a copy of a record's words has its checksum.
pub(crate) fn is_sound(words: &[u64]) -> bool {
    let header = words.first().and_then(|first| Header::possible(*first));
    header.is_some_and(|header| words_of(header.key, header.value) <= words.len() && compare(words, header).is_ok())
}

/// A record that was read from a copy of its words.
#[derive(Debug)]
pub(crate) struct ReadRecord {
    pub(crate) key: Vec<u8>,
    /// As the record has it.
    pub(crate) value: Vec<u8>,
}

/// Returns the words of the record that a first word begins; `None` if no record begins so.
pub(crate) fn words_of_header(word: u64) -> Option<u64> {
    let header = Header::possible(word)?;
    Some(padded(words_of(header.key, header.value) as u64))
}

/// Returns whether the record to which a payload leads has the length that the payload states, by its header.
pub(crate) fn is_as_long(image: &Image, payload: u64) -> bool {
    let found = words(image, payload).and_then(|words| words_of_header(words.first()?.read()));
    found == Some(u64::from(Place::of(payload).words))
}

/// Reads a record from a copy of all its words, and no more of them; the error describes the fault.
pub(crate) fn read_copy(words: &[u64]) -> Result<ReadRecord, String> {
    let first = *words.first().ok_or("it has no words")?;
    let header = Header::possible(first).filter(|_| words_of_header(first) == Some(words.len() as u64));
    let header = header.ok_or_else(|| format!("its lengths are not {} words", words.len()))?;
    compare(words, header).map_err(|(found, expected)| format!("checksum {found:#010x}, expected {expected:#010x}"))?;
    let (key, rest) = bytemuck::cast_slice(words)[8..].split_at(header.key);
    Ok(ReadRecord { key: key.to_vec(), value: rest[..header.value].to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_carry_offset_and_length() {
        for words in [1, 2, 100, LONG - 1, LONG, LONG + 1, (MAX_VALUE as u64 + MAX_KEY as u64 + 8).div_ceil(8)] {
            let words = padded(words);
            for offset in [8, 64, (1 << 42) - 8] {
                assert_eq!(extent(payload(offset, words as usize)), Some((offset, words as u32)));
                let in_leaf = payload_in_leaf(offset, words as u32);
                assert_eq!(Place::of(in_leaf), Place { area: Area::Leaves, offset, words: words as u32 });
                assert_eq!(extent(in_leaf), None);
            }
        }
    }

    /// The greatest value of a keyspace with expiry has its deadline besides.
    #[test]
    fn the_longest_record_has_a_header_and_a_payload() {
        for value in [MAX_VALUE, MAX_VALUE + DEADLINE_BYTES] {
            let header = Header { key: MAX_KEY, value, check: 0xabcd };
            assert_eq!(Header::unpack(header.pack()), header);
            let words = padded(words_of(MAX_KEY, value) as u64) as usize;
            assert_eq!(extent(payload(64, words)), Some((64, words as u32)));
            assert!(words * 8 >= EXTRA_BYTES + MAX_KEY + value);
        }
    }

    #[test]
    fn the_checksum_has_32_bits() {
        let mut words = vec![];
        // Values whose last bytes share the last word with the checksum, and some that leave it a word of its own.
        for len in 0..17 {
            encode(b"north", StoredValue::verbatim(&vec![0x5a; len]), &mut words);
            assert_eq!(words.len(), (8 + 5 + len + 2).div_ceil(8), "{len}");
            let header = Header::unpack(words[0]);
            assert_eq!(compare(&words, header), Ok(()));
            for bit in (48..(8 + 5 + len) * 8).chain(words.len() * 64 - 16..words.len() * 64) {
                let mut flipped = words.clone();
                flipped[bit / 64] ^= 1 << (bit % 64);
                assert!(compare(&flipped, Header::unpack(flipped[0])).is_err(), "bit {bit} of a value of {len} bytes");
            }
        }
    }

    #[test]
    fn a_copy_is_read_as_it_was_encoded_and_not_with_a_word_more() {
        let mut words = vec![];
        encode(b"north", StoredValue::verbatim(b"a coral reef"), &mut words);
        let read = read_copy(&words).expect("it is whole");
        assert_eq!((&read.key[..], &read.value[..]), (&b"north"[..], &b"a coral reef"[..]));
        assert_eq!(words_of_header(words[0]), Some(words.len() as u64));
        assert!(read_copy(&words[..3]).is_err() && read_copy(&[]).is_err());
        words.push(0);
        assert!(read_copy(&words).is_err());
        assert_eq!(words_of_header(u64::MAX), None);
    }

    #[test]
    fn a_flipped_bit_is_found() {
        let image = Image::heap(0, 4096);
        let mut words = vec![];
        encode(b"north", StoredValue::verbatim(b"a coral reef"), &mut words);
        assert_eq!(words.len(), 4);
        let at = payload(64, words.len());
        assert!(verify(&image, at).is_err(), "zeros are no such record");
        assert_ne!(checksum(b"ab", b"c"), checksum(b"a", b"bc"));
    }
}
