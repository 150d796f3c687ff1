//! Strings as arrays of bits.

use crate::arguments::Arguments;
use crate::commands::strings::{MOST_BYTES, check_size, span};
use crate::context::Context;
use crate::number::{integer, parse_integer};
use crate::refusal::{Outcome, Refusal, SYNTAX};
use crate::reply::Reply;

const WRONG_OFFSET: Refusal = Refusal::text("ERR bit offset is not an integer or out of range");
const WRONG_BIT: Refusal = Refusal::text("ERR bit is not an integer or out of range");

/// The bytes among which commands that only read look for bits, as in Redis. No value has as many.
pub(super) const MOST_READ: usize = 512 << 20;

/// Reads the number of a bit, which lies within this number of bytes.
fn offset(text: &[u8], most_bytes: usize) -> Outcome<usize> {
    let offset = parse_integer(text).and_then(|offset| usize::try_from(offset).ok());
    offset.filter(|offset| offset / 8 < most_bytes).ok_or(WRONG_OFFSET)
}

fn bit(text: &[u8]) -> Outcome<bool> {
    match text {
        b"0" => Ok(false),
        b"1" => Ok(true),
        _ => Err(WRONG_BIT),
    }
}

fn bit_at(bytes: &[u8], index: usize) -> bool {
    bytes.get(index / 8).is_some_and(|byte| byte >> (7 - index % 8) & 1 == 1)
}

pub(crate) fn setbit(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let (offset, bit) = (offset(&arguments[2], MOST_BYTES)?, bit(&arguments[3])?);
    let entry = context.entry(&arguments[1])?;
    let mut value = entry.string()?.unwrap_or_default().to_vec();
    let old = bit_at(&value, offset);
    if value.len() <= offset / 8 {
        value.resize(offset / 8 + 1, 0);
    }
    check_size(value.len())?;
    let mask = 0x80 >> (offset % 8);
    if bit {
        value[offset / 8] |= mask;
    } else {
        value[offset / 8] &= !mask;
    }
    context.put_string(&entry, &value, entry.expiry())?;
    Ok(Reply::flag(old))
}

pub(crate) fn getbit(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let offset = offset(&arguments[2], MOST_READ)?;
    let entry = context.entry(&arguments[1])?;
    Ok(Reply::flag(bit_at(entry.string()?.unwrap_or_default(), offset)))
}

/// Returns the first and the last bit that a command means.
fn bits(arguments: &Arguments<'_>, at: usize, len: usize) -> Outcome<Option<(usize, usize)>> {
    let from = integer(&arguments[at])?;
    let to = arguments.get(at + 1).map_or(Ok(-1), integer)?;
    let by_bits = match arguments.get(at + 2).map(<[u8]>::to_ascii_uppercase).as_deref() {
        None | Some(b"BYTE") => false,
        Some(b"BIT") => true,
        Some(_) => return Err(SYNTAX),
    };
    if by_bits { Ok(span(from, to, len * 8)) } else { Ok(span(from, to, len).map(|(from, to)| (from * 8, to * 8 + 7))) }
}

pub(crate) fn bitcount(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    if arguments.len() == 3 || arguments.len() > 5 {
        return Err(SYNTAX);
    }
    let entry = context.entry(&arguments[1])?;
    let value = entry.string()?.unwrap_or_default();
    if arguments.len() == 2 {
        return Ok(Reply::Integer(value.iter().map(|byte| i64::from(byte.count_ones())).sum()));
    }
    let Some((from, to)) = bits(arguments, 2, value.len())? else { return Ok(Reply::Integer(0)) };
    let mut count = 0;
    for (index, byte) in value.iter().enumerate().take(to / 8 + 1).skip(from / 8) {
        let mut byte = *byte;
        if index == from / 8 {
            byte &= 0xff >> (from % 8);
        }
        if index == to / 8 {
            byte &= 0xff << (7 - to % 8);
        }
        count += i64::from(byte.count_ones());
    }
    Ok(Reply::Integer(count))
}

pub(crate) fn bitpos(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    if arguments.len() > 6 {
        return Err(SYNTAX);
    }
    let wanted = match integer(&arguments[2])? {
        0 => false,
        1 => true,
        _ => return Err(Refusal::text("ERR The bit argument must be 1 or 0.")),
    };
    let entry = context.entry(&arguments[1])?;
    let Some(value) = entry.string()? else { return Ok(Reply::Integer(if wanted { -1 } else { 0 })) };
    let span = if arguments.len() == 3 {
        value.len().checked_mul(8).filter(|bits| *bits > 0).map(|bits| (0, bits - 1))
    } else {
        bits(arguments, 3, value.len())?
    };
    let Some((from, to)) = span else { return Ok(Reply::Integer(-1)) };
    let mut index = from;
    let whole = if wanted { 0x00 } else { 0xff };
    while index <= to {
        if index % 8 == 0 && value.get(index / 8) == Some(&whole) {
            index += 8;
            continue;
        }
        if bit_at(value, index) == wanted {
            return Ok(Reply::count(index));
        }
        index += 1;
    }
    // Zeros go on behind a string whose end was not stated.
    Ok(Reply::Integer(if !wanted && arguments.len() < 5 { (to + 1) as i64 } else { -1 }))
}

pub(crate) fn bitop(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let operation = arguments[1].to_ascii_uppercase();
    let combine: fn(u8, u8) -> u8 = match &operation[..] {
        b"AND" => |one, other| one & other,
        b"OR" => |one, other| one | other,
        b"XOR" => |one, other| one ^ other,
        b"NOT" if arguments.len() == 4 => |one, _| one,
        b"NOT" => return Err(Refusal::text("ERR BITOP NOT must be called with a single source key.")),
        _ => return Err(SYNTAX),
    };
    let mut sources = Vec::new();
    for key in arguments.from(3) {
        sources.push(context.entry(key)?.string()?.unwrap_or_default().to_vec());
    }
    let len = sources.iter().map(Vec::len).max().unwrap_or(0);
    let byte = |index: usize| {
        let mut bytes = sources.iter().map(|source| source.get(index).copied().unwrap_or(0));
        let first = bytes.next().unwrap_or(0);
        let combined = bytes.fold(first, combine);
        if operation == b"NOT" { !combined } else { combined }
    };
    let result: Vec<u8> = (0..len).map(byte).collect();
    let target = context.uncounted(|| context.entry(&arguments[2]))?;
    if result.is_empty() {
        context.delete(&target)?;
    } else {
        context.put_string(&target, &result, None)?;
    }
    Ok(Reply::count(len))
}
