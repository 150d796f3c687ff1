//! RESTORE of the first edition, whose payloads are those of the DUMP of its time. No client asks for it any more: it
//! is for entries of a log that were written before, and for those of nodes that know no other one.
//!
//! ```text
//! "holm" | version 1 | kind 1 | (length 4, member, length 4, value)* | CRC32C 4
//! ```

use crate::arguments::Arguments;
use crate::commands::expiry::{Unit, deadline};
use crate::context::Context;
use crate::list::{List, Side};
use crate::members::Members;
use crate::number::parse_integer;
use crate::record::Kind;
use crate::refusal::{Outcome, Refusal, SYNTAX};
use crate::reply::Reply;
use crate::walk::Pair;
use crc::{CRC_32_ISCSI, Crc};

const SUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);
const HEAD: &[u8] = b"holm\x01";
const BAD: Refusal = Refusal::text("ERR DUMP payload version or checksum are wrong");

/// Reads a dump: the kind, and the parts.
fn parse(bytes: &[u8]) -> Option<(u8, Vec<&[u8]>)> {
    let (content, sum) = bytes.split_last_chunk::<4>()?;
    if SUM.checksum(content) != u32::from_be_bytes(*sum) {
        return None;
    }
    let (kind, mut rest) = content.strip_prefix(HEAD)?.split_first()?;
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let (length, tail) = rest.split_first_chunk::<4>()?;
        let (part, tail) = tail.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        parts.push(part);
        rest = tail;
    }
    Some((*kind, parts))
}

fn pairs(parts: &[&[u8]]) -> Option<Vec<Pair>> {
    let whole = parts.len().is_multiple_of(2) && !parts.is_empty();
    whole.then(|| parts.chunks_exact(2).map(|pair| (pair[0].to_vec(), pair[1].to_vec())).collect())
}

pub(crate) fn restore(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let (mut replaces, mut is_absolute) = (false, false);
    let mut options = arguments.options(4);
    while let Some(word) = options.keyword() {
        match &word[..] {
            b"REPLACE" => replaces = true,
            b"ABSTTL" => is_absolute = true,
            b"IDLETIME" | b"FREQ" => drop(options.word().ok_or(SYNTAX)?),
            _ => return Err(SYNTAX),
        }
    }
    let time = parse_integer(&arguments[2]).filter(|time| *time >= 0);
    let time = time.ok_or(Refusal::text("ERR Invalid TTL value, must be >= 0"))?;
    let unit = if is_absolute { Unit::MillisAt } else { Unit::Millis };
    let expiry = if time == 0 { None } else { Some(deadline(context, time, unit)?) };
    let entry = context.entry(&arguments[1])?;
    if entry.live().is_some() && !replaces {
        return Err(Refusal::text("BUSYKEY Target key name already exists."));
    }
    let (kind, parts) = parse(&arguments[3]).ok_or(BAD)?;
    if expiry.is_some_and(|expiry| expiry <= context.now) {
        context.delete(&entry)?;
        return Ok(Reply::OK);
    }
    match kind {
        1 => context.put_string(&entry, parts.first().ok_or(BAD)?, expiry)?,
        2..=4 => {
            let kind = [Kind::Hash, Kind::Set, Kind::SortedSet][usize::from(kind - 2)];
            let mut members = Members::fresh(context, &arguments[1], kind)?;
            for (member, value) in pairs(&parts).ok_or(BAD)? {
                if kind == Kind::SortedSet && value.len() != 8 {
                    return Err(BAD);
                }
                members.insert(&member, &value)?;
            }
            members.save_with(expiry)?;
        }
        5 if !parts.is_empty() => {
            context.delete(&entry)?;
            let mut list = List::open(context, &arguments[1])?;
            parts.iter().try_for_each(|element| list.push(Side::Right, element))?;
            list.save()?;
            context.expire(&context.entry(&arguments[1])?, expiry)?;
        }
        _ => return Err(BAD),
    }
    Ok(Reply::OK)
}
