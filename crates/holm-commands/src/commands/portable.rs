//! Keys as byte strings, to be stored elsewhere and restored: DUMP and RESTORE. The bytes are those of Redis: see
//! `payload`.

use crate::arguments::Arguments;
use crate::commands::expiry::{Unit, deadline};
use crate::commands::former_restore;
use crate::commands::sorted_sets::score_of;
use crate::context::Context;
use crate::edition::Edition;
use crate::list::{List, Side};
use crate::members::Members;
use crate::number::{integer, sortable};
use crate::payload::{Value, decode, encode};
use crate::record::Kind;
use crate::refusal::{Outcome, Refusal, SYNTAX};
use crate::reply::Reply;

const BAD_SUM: Refusal = Refusal::text("ERR DUMP payload version or checksum are wrong");
const BAD_VALUE: Refusal = Refusal::text("ERR Bad data format");

pub(crate) fn dump(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let entry = context.entry(&arguments[1])?;
    let Some(record) = entry.live() else { return Ok(Reply::Null) };
    let members = || context.uncounted(|| Members::open(context, &arguments[1], record.kind)?.all());
    let value = match record.kind {
        Kind::String => Value::String(record.body().to_vec()),
        Kind::List => {
            let list = context.uncounted(|| List::open(context, &arguments[1]))?;
            Value::List(list.range(0, usize::MAX)?.iter().map(|element| element.to_vec()).collect())
        }
        Kind::Set => Value::Set(members()?.into_iter().map(|(member, _)| member).collect()),
        Kind::Hash => Value::Hash(members()?.into_iter().flat_map(|(field, value)| [field, value]).collect()),
        Kind::SortedSet => {
            Value::SortedSet(members()?.into_iter().map(|(member, score)| (member, score_of(&score))).collect())
        }
    };
    Ok(Reply::bulk(encode(&value)))
}

/// Stores members in place of what the key has. A payload that has one twice is refused.
fn store<'m>(
    context: &Context<'_>,
    (key, kind): (&[u8], Kind),
    expiry: Option<u64>,
    pairs: impl Iterator<Item = (&'m [u8], Vec<u8>)>,
) -> Outcome<()> {
    let mut members = Members::fresh(context, key, kind)?;
    for (member, value) in pairs {
        if !members.insert(member, &value)? {
            return Err(BAD_VALUE);
        }
    }
    members.save_with(expiry)
}

/// Reads the number behind an option whose effect other servers have.
fn checked(word: Option<&[u8]>, most: i64, refusal: &'static str) -> Outcome<()> {
    let number = integer(word.ok_or(SYNTAX)?)?;
    if (0..=most).contains(&number) { Ok(()) } else { Err(Refusal::text(refusal)) }
}

pub(crate) fn restore(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    if context.edition == Edition::First {
        return former_restore::restore(context, arguments);
    }
    let (mut replaces, mut is_absolute) = (false, false);
    let mut options = arguments.options(4);
    while let Some(word) = options.keyword() {
        match &word[..] {
            b"REPLACE" => replaces = true,
            b"ABSTTL" => is_absolute = true,
            b"IDLETIME" => checked(options.word(), i64::MAX, "ERR Invalid IDLETIME value, must be >= 0")?,
            b"FREQ" => checked(options.word(), 255, "ERR Invalid FREQ value, must be >= 0 and <= 255")?,
            _ => return Err(SYNTAX),
        }
    }
    let time = integer(&arguments[2])?;
    if time < 0 {
        return Err(Refusal::text("ERR Invalid TTL value, must be >= 0"));
    }
    let unit = if is_absolute { Unit::MillisAt } else { Unit::Millis };
    let expiry = if time == 0 { None } else { Some(deadline(context, time, unit)?) };
    let entry = context.entry(&arguments[1])?;
    if entry.live().is_some() && !replaces {
        return Err(Refusal::text("BUSYKEY Target key name already exists."));
    }
    let value = decode(&arguments[3]).ok_or(BAD_SUM)?.ok_or(BAD_VALUE)?;
    if expiry.is_some_and(|expiry| expiry <= context.now) {
        context.delete(&entry)?;
        return Ok(Reply::OK);
    }
    let key = &arguments[1];
    match &value {
        Value::String(string) => context.put_string(&entry, string, expiry)?,
        Value::Set(members) => {
            store(context, (key, Kind::Set), expiry, members.iter().map(|member| (&member[..], Vec::new())))?;
        }
        Value::Hash(fields) => {
            let pairs = fields.as_chunks().0.iter().map(|[field, value]| (&field[..], value.clone()));
            store(context, (key, Kind::Hash), expiry, pairs)?;
        }
        Value::SortedSet(members) => {
            let pairs = members.iter().map(|(member, score)| (&member[..], sortable(*score).to_vec()));
            store(context, (key, Kind::SortedSet), expiry, pairs)?;
        }
        Value::List(elements) => {
            context.delete(&entry)?;
            let mut list = List::open(context, key)?;
            elements.iter().try_for_each(|element| list.push(Side::Right, element))?;
            list.save()?;
            context.expire(&context.entry(key)?, expiry)?;
        }
    }
    if matches!(value, Value::SortedSet(_) | Value::List(_)) {
        context.signal(key);
    }
    Ok(Reply::OK)
}
