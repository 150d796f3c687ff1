//! The bytes of DUMP and RESTORE, which Redis has: a value as in its files, a version and a sum. Values are written in
//! the plain forms, which each Redis since 4.0 reads. What is read may have any form that Redis 4.0 to 7.2 writes.
//!
//! ```text
//! type 1 | value | version 2, little end first | CRC64 8, little end first
//! ```

use crate::payload_packed::{int_set, list_pack, zip_list};
use crc::{CRC_64_REDIS, Crc};

/// The version of files in which scores are binary.
const VERSION: u16 = 8;
/// The latest version that is read.
const LATEST: u16 = 11;
/// The most bytes that a payload may stand for: a few of its own can stand for many. Packed strings count twice, as
/// what they lie in and by themselves.
const MOST: usize = 128 << 20;
/// What a string counts beside its bytes, which may be none.
const STRING_COST: usize = 16;
/// The most bytes of a packed form, whose entries of two bytes each become a string. Redis packs far fewer.
const MOST_PACKED: usize = 4 << 20;

const STRING: u8 = 0;
const LIST: u8 = 1;
const SET: u8 = 2;
const HASH: u8 = 4;
const SORTED_SET: u8 = 5;

type Strings = Vec<Vec<u8>>;

/// A value without its key.
#[derive(Debug, PartialEq)]
pub(crate) enum Value {
    String(Vec<u8>),
    List(Strings),
    Set(Strings),
    /// Fields and values in turns.
    Hash(Strings),
    SortedSet(Vec<(Vec<u8>, f64)>),
}

const SUM: Crc<u64> = Crc::<u64>::new(&CRC_64_REDIS);

fn sum(bytes: &[u8]) -> u64 {
    SUM.checksum(bytes)
}

fn push_length(bytes: &mut Vec<u8>, length: usize) {
    match length {
        0..64 => bytes.push(length as u8),
        64..16_384 => bytes.extend((length as u16 | 0x4000).to_be_bytes()),
        _ => {
            bytes.push(0x80);
            bytes.extend((length as u32).to_be_bytes());
        }
    }
}

fn push_string(bytes: &mut Vec<u8>, string: &[u8]) {
    push_length(bytes, string.len());
    bytes.extend_from_slice(string);
}

/// Returns a value as DUMP answers it.
pub(crate) fn encode(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (kind, strings, each) = match value {
        Value::String(string) => (STRING, std::slice::from_ref(string), 0),
        Value::List(elements) => (LIST, &elements[..], 1),
        Value::Set(members) => (SET, &members[..], 1),
        Value::Hash(fields) => (HASH, &fields[..], 2),
        Value::SortedSet(_) => (SORTED_SET, &[][..], 0),
    };
    bytes.push(kind);
    if let Some(count) = strings.len().checked_div(each) {
        push_length(&mut bytes, count);
    }
    strings.iter().for_each(|string| push_string(&mut bytes, string));
    if let Value::SortedSet(members) = value {
        push_length(&mut bytes, members.len());
        for (member, score) in members {
            push_string(&mut bytes, member);
            bytes.extend(score.to_le_bytes());
        }
    }
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(sum(&bytes).to_le_bytes());
    bytes
}

/// What is left of a payload.
struct Reader<'a> {
    rest: &'a [u8],
    /// The bytes that may still come out.
    budget: usize,
}

/// A length, or a special form of a string.
enum Length {
    Plain(usize),
    Special(u8),
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn length_or_form(&mut self) -> Option<Length> {
        let [first] = self.array()?;
        let low = usize::from(first & 63);
        Some(Length::Plain(match (first >> 6, first) {
            (0, _) => low,
            (1, _) => low << 8 | usize::from(self.array::<1>()?[0]),
            (2, 0x80) => u32::from_be_bytes(self.array()?) as usize,
            (2, 0x81) => usize::try_from(u64::from_be_bytes(self.array()?)).ok()?,
            (3, _) => return Some(Length::Special(first & 63)),
            _ => return None,
        }))
    }

    fn length(&mut self) -> Option<usize> {
        match self.length_or_form()? {
            Length::Plain(length) => Some(length),
            Length::Special(_) => None,
        }
    }

    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.budget = self.budget.checked_sub(bytes)?;
        Some(())
    }

    fn string(&mut self) -> Option<Vec<u8>> {
        self.spend(STRING_COST)?;
        let number = |number: i64| Some(number.to_string().into_bytes());
        match self.length_or_form()? {
            Length::Plain(length) => {
                self.spend(length)?;
                self.take(length).map(<[u8]>::to_vec)
            }
            Length::Special(0) => number(i8::from_le_bytes(self.array()?).into()),
            Length::Special(1) => number(i16::from_le_bytes(self.array()?).into()),
            Length::Special(2) => number(i32::from_le_bytes(self.array()?).into()),
            Length::Special(3) => {
                let (packed, whole) = (self.length()?, self.length()?);
                self.spend(whole)?;
                decompress(self.take(packed)?, whole)
            }
            Length::Special(_) => None,
        }
    }

    /// Reads a number, and as many strings, times `each`.
    fn strings(&mut self, each: usize) -> Option<Strings> {
        let count = self.length()?.checked_mul(each)?;
        (0..count).map(|_| self.string()).collect()
    }

    /// Reads a string that has strings in one of the packed forms.
    fn packed(&mut self, unpack: fn(&[u8]) -> Option<Strings>) -> Option<Strings> {
        let packed = self.string().filter(|packed| packed.len() <= MOST_PACKED)?;
        let strings = unpack(&packed)?;
        self.spend(strings.iter().map(|string| string.len() + STRING_COST).sum())?;
        Some(strings)
    }

    /// Reads the parts of a list. From a version on, each begins with its form: an element, or packed elements.
    fn list(&mut self, has_forms: bool) -> Option<Strings> {
        let mut elements = Vec::new();
        for _ in 0..self.length()? {
            match if has_forms { self.length()? } else { 0 } {
                0 => elements.append(&mut self.packed(zip_list)?),
                1 => elements.push(self.string()?),
                2 => elements.append(&mut self.packed(list_pack)?),
                _ => return None,
            }
        }
        Some(elements)
    }

    /// Reads members with their scores, as text or as binary numbers.
    fn sorted_set(&mut self, is_binary: bool) -> Option<Vec<(Vec<u8>, f64)>> {
        let score = |reader: &mut Self| match is_binary {
            true => Some(f64::from_le_bytes(reader.array()?)),
            false => match reader.array::<1>()?[0] {
                254 => Some(f64::INFINITY),
                255 => Some(f64::NEG_INFINITY),
                length => std::str::from_utf8(reader.take(length.into())?).ok()?.parse().ok(),
            },
        };
        (0..self.length()?).map(|_| Some((self.string()?, score(self)?))).collect()
    }
}

/// Undoes LZF: runs of bytes, and references to what has come out already.
fn decompress(mut packed: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    while let Some((control, rest)) = packed.split_first() {
        packed = rest;
        let control = usize::from(*control);
        if control < 32 {
            let (run, rest) = packed.split_at_checked(control + 1)?;
            whole.extend_from_slice(run);
            packed = rest;
        } else {
            let mut count = (control >> 5) + 2;
            if control >> 5 == 7 {
                let (more, rest) = packed.split_first()?;
                count += usize::from(*more);
                packed = rest;
            }
            let (low, rest) = packed.split_first()?;
            packed = rest;
            let from = whole.len().checked_sub(((control & 31) << 8 | usize::from(*low)) + 1)?;
            // The bytes may overlap those that they become.
            (from..from + count).for_each(|at| whole.push(whole[at]));
        }
        if whole.len() > length {
            return None;
        }
    }
    (whole.len() == length).then_some(whole)
}

/// Divides strings into members and their scores.
fn scored(strings: &[Vec<u8>]) -> Option<Vec<(Vec<u8>, f64)>> {
    let (pairs, []) = strings.as_chunks::<2>() else { return None };
    let score = |text: &[u8]| std::str::from_utf8(text).ok()?.parse().ok();
    pairs.iter().map(|[member, text]| Some((member.clone(), score(text)?))).collect()
}

/// Returns the value of a payload whose version and sum are right. `None` within it: what is there is no value.
pub(crate) fn decode(payload: &[u8]) -> Option<Option<Value>> {
    let (summed, expected) = payload.split_last_chunk()?;
    let (content, version) = summed.split_last_chunk()?;
    if u16::from_le_bytes(*version) > LATEST || sum(summed) != u64::from_le_bytes(*expected) {
        return None;
    }
    Some(value(content))
}

fn value(content: &[u8]) -> Option<Value> {
    let (kind, rest) = content.split_first()?;
    let mut reader = Reader { rest, budget: MOST };
    let value = match *kind {
        STRING => Value::String(reader.string()?),
        LIST => Value::List(reader.strings(1)?),
        10 => Value::List(reader.packed(zip_list)?),
        14 => Value::List(reader.list(false)?),
        18 => Value::List(reader.list(true)?),
        SET => Value::Set(reader.strings(1)?),
        11 => Value::Set(reader.packed(int_set)?),
        20 => Value::Set(reader.packed(list_pack)?),
        HASH => Value::Hash(reader.strings(2)?),
        13 => Value::Hash(reader.packed(zip_list)?),
        16 => Value::Hash(reader.packed(list_pack)?),
        3 => Value::SortedSet(reader.sorted_set(false)?),
        SORTED_SET => Value::SortedSet(reader.sorted_set(true)?),
        12 => Value::SortedSet(scored(&reader.packed(zip_list)?)?),
        17 => Value::SortedSet(scored(&reader.packed(list_pack)?)?),
        _ => return None,
    };
    let is_right = match &value {
        Value::String(_) => true,
        Value::List(strings) | Value::Set(strings) => !strings.is_empty(),
        Value::Hash(strings) => !strings.is_empty() && strings.len().is_multiple_of(2),
        Value::SortedSet(members) => !members.is_empty() && members.iter().all(|(_, score)| !score.is_nan()),
    };
    (is_right && reader.rest.is_empty()).then_some(value)
}

#[cfg(test)]
#[path = "payload_tests.rs"]
mod tests;
