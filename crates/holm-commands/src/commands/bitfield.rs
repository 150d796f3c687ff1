//! Strings as arrays of integers of any number of bits.

use crate::arguments::Arguments;
use crate::commands::bits::MOST_READ;
use crate::commands::strings::{MOST_BYTES, check_size};
use crate::context::Context;
use crate::number::{integer, parse_integer};
use crate::refusal::{Outcome, Refusal, SYNTAX};
use crate::reply::Reply;

/// What becomes of a result that its bits cannot hold.
#[derive(Clone, Copy)]
enum Overflow {
    Wrap,
    Saturate,
    Fail,
}

/// An integer within a string.
#[derive(Clone, Copy)]
struct Field {
    signed: bool,
    bits: u32,
    /// The index of its first bit.
    at: usize,
}

#[derive(Clone, Copy)]
enum Action {
    Get,
    Set(i64),
    Add(i64),
}

fn field(kind: &[u8], offset: &[u8], most_bytes: usize) -> Outcome<Field> {
    let wrong_kind = Refusal::text(
        "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
    );
    let (sign, bits) = kind.split_first().ok_or(wrong_kind.clone())?;
    let signed = match sign {
        b'i' => true,
        b'u' => false,
        _ => return Err(wrong_kind),
    };
    let most = if signed { 64 } else { 63 };
    let bits = parse_integer(bits).filter(|bits| (1..=most).contains(bits)).ok_or(wrong_kind)? as u32;
    let wrong_offset = Refusal::text("ERR bit offset is not an integer or out of range");
    let (number, factor) = offset.strip_prefix(b"#").map_or((offset, 1), |number| (number, i64::from(bits)));
    let at = parse_integer(number).and_then(|number| number.checked_mul(factor));
    let at = at.and_then(|at| usize::try_from(at).ok()).filter(|at| *at / 8 < most_bytes);
    Ok(Field { signed, bits, at: at.ok_or(wrong_offset)? })
}

impl Field {
    fn read(self, bytes: &[u8]) -> i64 {
        let bit = |index: usize| bytes.get(index / 8).map_or(0, |byte| i64::from(byte >> (7 - index % 8) & 1));
        let value = (self.at..self.at + self.bits as usize).fold(0i64, |value, index| value << 1 | bit(index));
        if self.signed { value << (64 - self.bits) >> (64 - self.bits) } else { value }
    }

    fn write(self, bytes: &mut Vec<u8>, value: i64) {
        let end = self.at + self.bits as usize;
        if bytes.len() < end.div_ceil(8) {
            bytes.resize(end.div_ceil(8), 0);
        }
        for index in self.at..end {
            let mask = 0x80 >> (index % 8);
            if value >> (end - 1 - index) & 1 == 1 {
                bytes[index / 8] |= mask;
            } else {
                bytes[index / 8] &= !mask;
            }
        }
    }

    /// Returns what is stored for a value; `None` if it does not fit and the command is to do nothing then.
    fn fit(self, value: i128, overflow: Overflow) -> Option<i64> {
        let (least, most) = match self.signed {
            true => (-(1i128 << (self.bits - 1)), (1i128 << (self.bits - 1)) - 1),
            false => (0, (1i128 << self.bits) - 1),
        };
        let fitting = match overflow {
            _ if (least..=most).contains(&value) => value,
            Overflow::Fail => return None,
            Overflow::Saturate => value.clamp(least, most),
            Overflow::Wrap => {
                let wrapped = value & ((1i128 << self.bits) - 1);
                if self.signed && wrapped > most { wrapped - (1i128 << self.bits) } else { wrapped }
            }
        };
        Some(fitting as i64)
    }
}

/// Reads the operations of a command.
fn operations(arguments: &Arguments<'_>, only_reads: bool) -> Outcome<Vec<(Field, Action, Overflow)>> {
    let (mut found, mut overflow) = (Vec::new(), Overflow::Wrap);
    let most_bytes = if only_reads { MOST_READ } else { MOST_BYTES };
    let mut options = arguments.options(2);
    while let Some(word) = options.keyword() {
        if word == b"OVERFLOW" {
            overflow = match options.keyword().as_deref() {
                Some(b"WRAP") => Overflow::Wrap,
                Some(b"SAT") => Overflow::Saturate,
                Some(b"FAIL") => Overflow::Fail,
                Some(_) => return Err(Refusal::text("ERR Invalid OVERFLOW type specified")),
                None => return Err(SYNTAX),
            };
            continue;
        }
        let words = if word == b"GET" { 2 } else { 3 };
        if !matches!(&word[..], b"GET" | b"SET" | b"INCRBY") || options.left() < words {
            return Err(SYNTAX);
        }
        let field = field(options.word().ok_or(SYNTAX)?, options.word().ok_or(SYNTAX)?, most_bytes)?;
        let mut number = || integer(options.word().unwrap_or_default());
        let action = match &word[..] {
            b"GET" => Action::Get,
            _ if only_reads => return Err(Refusal::text("ERR BITFIELD_RO only supports the GET subcommand")),
            b"SET" => Action::Set(number()?),
            _ => Action::Add(number()?),
        };
        found.push((field, action, overflow));
    }
    Ok(found)
}

fn run(context: &Context<'_>, arguments: &Arguments<'_>, only_reads: bool) -> Outcome<Reply> {
    let operations = operations(arguments, only_reads)?;
    let entry = context.entry(&arguments[1])?;
    let mut bytes = entry.string()?.unwrap_or_default().to_vec();
    let (mut replies, mut has_changed) = (Vec::new(), false);
    for (field, action, overflow) in operations {
        let old = field.read(&bytes);
        let new = match action {
            Action::Get => {
                replies.push(Reply::Integer(old));
                continue;
            }
            // The bits of a negative number are those of a large one.
            Action::Set(value) if !field.signed => field.fit(i128::from(value as u64), overflow),
            Action::Set(value) => field.fit(i128::from(value), overflow),
            Action::Add(by) => field.fit(i128::from(old) + i128::from(by), overflow),
        };
        let Some(new) = new else {
            replies.push(Reply::Null);
            continue;
        };
        check_size(field.at / 8 + 8)?;
        field.write(&mut bytes, new);
        has_changed = true;
        replies.push(Reply::Integer(if matches!(action, Action::Set(_)) { old } else { new }));
    }
    if has_changed {
        context.put_string(&entry, &bytes, entry.expiry())?;
    }
    Ok(Reply::Array(replies))
}

pub(crate) fn bitfield(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    run(context, arguments, false)
}

pub(crate) fn bitfield_ro(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    run(context, arguments, true)
}
