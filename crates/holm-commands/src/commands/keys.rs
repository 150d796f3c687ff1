//! Keys of any type.

use crate::arguments::Arguments;
use crate::context::Context;
use crate::entry::Entry;
use crate::glob::{literal_prefix, matches};
use crate::members::between;
use crate::number::{integer, parse_integer};
use crate::record::{Kind, Record};
use crate::refusal::{NO_SUCH_KEY, Outcome, Refusal, SYNTAX};
use crate::reply::{Bulks, Reply};
use crate::rows;
use crate::subcommand::{HELP, Subcommand, help};
use crate::walk::Bounds;
use std::ops::{Bound, ControlFlow};

pub(crate) fn del(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let mut count = 0;
    for key in arguments.from(1) {
        count += usize::from(context.delete(&context.entry(key)?)?);
    }
    Ok(Reply::count(count))
}

pub(crate) fn exists(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let mut count = 0;
    for key in arguments.from(1) {
        count += usize::from(context.entry(key)?.live().is_some());
    }
    Ok(Reply::count(count))
}

pub(crate) fn type_of(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let entry = context.entry(&arguments[1])?;
    Ok(Reply::Status(entry.live().map_or("none", |record| record.kind.name()).into()))
}

fn rename_to(context: &Context<'_>, arguments: &Arguments<'_>, only_if_absent: bool) -> Outcome<bool> {
    let from = context.entry(&arguments[1])?;
    if from.live().is_none() {
        return Err(NO_SUCH_KEY);
    }
    if arguments[1] == arguments[2] {
        return Ok(!only_if_absent);
    }
    let to = context.entry(&arguments[2])?;
    if only_if_absent && to.live().is_some() {
        return Ok(false);
    }
    context.transfer(&from, &to, false)?;
    context.note_event(context.database.get(), None, "rename_from", &arguments[1]);
    context.note_event(context.database.get(), None, "rename_to", &arguments[2]);
    signal_if_awaited(context, &from, &to);
    Ok(true)
}

/// Somebody may wait for the elements that a key has now.
fn signal_if_awaited(context: &Context<'_>, from: &Entry<'_>, to: &Entry<'_>) {
    if from.live().is_some_and(|record| matches!(record.kind, Kind::List | Kind::SortedSet)) {
        context.signal_in(to.database, &to.key);
    }
}

pub(crate) fn rename(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    rename_to(context, arguments, false).map(|_| Reply::OK)
}

pub(crate) fn renamenx(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    rename_to(context, arguments, true).map(Reply::flag)
}

/// Reads the number of a database.
pub(crate) fn database(context: &Context<'_>, text: &[u8]) -> Outcome<u32> {
    let number = parse_integer(text).ok_or(Refusal::text("ERR value is not an integer or out of range"))?;
    let number = u32::try_from(number).ok().filter(|number| *number < context.databases);
    number.ok_or(Refusal::text("ERR DB index is out of range"))
}

pub(crate) fn copy(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let (mut target, mut replaces) = (context.database.get(), false);
    let mut options = arguments.options(3);
    while let Some(word) = options.keyword() {
        match &word[..] {
            b"REPLACE" => replaces = true,
            b"DB" => target = database(context, options.word().ok_or(SYNTAX)?)?,
            _ => return Err(SYNTAX),
        }
    }
    if target == context.database.get() && arguments[1] == arguments[2] {
        return Err(Refusal::text("ERR source and destination objects are the same"));
    }
    let from = context.entry(&arguments[1])?;
    let to = context.uncounted(|| context.entry_in(target, &arguments[2]))?;
    if from.live().is_none() || to.live().is_some() && !replaces {
        return Ok(Reply::Integer(0));
    }
    context.transfer(&from, &to, true)?;
    context.note_event(target, None, "copy_to", &arguments[2]);
    signal_if_awaited(context, &from, &to);
    Ok(Reply::Integer(1))
}

pub(crate) fn move_key(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let target = database(context, &arguments[2])?;
    if target == context.database.get() {
        return Err(Refusal::text("ERR source and destination objects are the same"));
    }
    let (from, to) = (context.entry(&arguments[1])?, context.entry_in(target, &arguments[1])?);
    if from.live().is_none() || to.live().is_some() {
        return Ok(Reply::Integer(0));
    }
    context.transfer(&from, &to, false)?;
    context.note_event(context.database.get(), None, "move_from", &arguments[1]);
    context.note_event(target, None, "move_to", &arguments[1]);
    signal_if_awaited(context, &from, &to);
    Ok(Reply::Integer(1))
}

pub(crate) fn dbsize(context: &Context<'_>, _: &Arguments<'_>) -> Outcome<Reply> {
    Ok(Reply::Integer(context.store.len(context.database.get())? as i64))
}

/// Returns the bounds of the keys that can match a pattern.
pub(crate) fn bounds_of<'p>(pattern: &'p [u8], end: &'p mut Option<Vec<u8>>) -> Bounds<'p> {
    let prefix = literal_prefix(pattern);
    if prefix.is_empty() {
        return (Bound::Unbounded, Bound::Unbounded);
    }
    *end = rows::beyond(prefix);
    (Bound::Included(prefix), end.as_deref().map_or(Bound::Unbounded, Bound::Excluded))
}

pub(crate) fn keys(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let pattern = &arguments[1];
    let mut found = Bulks::default();
    context.visit_keys(bounds_of(pattern, &mut None), false, &mut |key, _, _| {
        if matches(pattern, key) {
            found.push(key);
        }
        ControlFlow::Continue(())
    })?;
    Ok(Reply::Bulks(found))
}

/// As many keys as this are all looked at, so that each is as likely as the others.
const FEW: usize = 128;

pub(crate) fn randomkey(context: &Context<'_>, _: &Arguments<'_>) -> Outcome<Reply> {
    let all = (Bound::Unbounded, Bound::Unbounded);
    let some = |bounds: Bounds<'_>, reverse, most: usize| {
        let mut found = Vec::new();
        context.visit_keys(bounds, reverse, &mut |key, _, _| {
            found.push(key.to_vec());
            if found.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Outcome::Ok(found)
    };
    let mut few = some(all, false, FEW)?;
    if few.len() < FEW {
        let index = context.random_below(few.len() as u64) as usize;
        return Ok(if few.is_empty() { Reply::Null } else { Reply::bulk(few.swap_remove(index)) });
    }
    let (Some(low), Some(high)) = (few.first(), some(all, true, 1)?.pop()) else { return Ok(Reply::Null) };
    let from = between(low, &high, context);
    // To either side, so that the first keys and the last are not left out.
    let back = context.random_below(2) == 1;
    let bounds =
        if back { (Bound::Unbounded, Bound::Included(&from[..])) } else { (Bound::Included(&from[..]), all.1) };
    Ok(Reply::bulk_or_null(some(bounds, back, 1 + context.random_below(16) as usize)?.pop()))
}

/// What is asked about a key.
pub(crate) const OF_OBJECT: &[Subcommand] = &[
    Subcommand::new("encoding", 3, "<key>", "Return how the value is kept: packed, or a row for each member."),
    Subcommand::new("freq", 3, "<key>", "Refuse: frequencies are not counted."),
    Subcommand::new("idletime", 3, "<key>", "Return 0: idle times are not noted."),
    Subcommand::new("refcount", 3, "<key>", "Return 1: values are not shared."),
    HELP,
];

pub(crate) fn object(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    if arguments.is(1, "help") {
        return Ok(help("object", OF_OBJECT));
    }
    let entry = context.entry(&arguments[2])?;
    let Some(record) = entry.live() else { return Ok(Reply::Null) };
    match &arguments[1].to_ascii_lowercase()[..] {
        b"encoding" => Ok(Reply::fixed(encoding(record))),
        b"refcount" => Ok(Reply::Integer(1)),
        b"idletime" => Ok(Reply::Integer(0)),
        _ => Err(Refusal::text("ERR An LFU maxmemory policy is not selected, access frequency not tracked.")),
    }
}

/// The name that clients know for how a value is kept.
fn encoding(record: &Record) -> &'static str {
    match record.kind {
        Kind::String if parse_integer(record.body()).is_some() => "int",
        Kind::String if record.body().len() <= 44 => "embstr",
        Kind::String => "raw",
        Kind::Hash | Kind::Set if record.in_rows => "hashtable",
        Kind::SortedSet if record.in_rows => "skiplist",
        Kind::List if record.in_rows => "quicklist",
        Kind::Hash | Kind::Set | Kind::SortedSet | Kind::List => "listpack",
    }
}

/// What is asked about memory. A server answers what is not about a key.
pub(crate) const OF_MEMORY: &[Subcommand] = &[
    Subcommand::new("doctor", 2, "", "Explain what takes much memory."),
    Subcommand::new("malloc-stats", 2, "", "Return that the allocator has no numbers."),
    Subcommand::new("purge", 2, "", "Do nothing: the system takes pages of files back itself."),
    Subcommand::new("stats", 2, "", "Return what the memory of the server is for."),
    Subcommand::new("usage", -3, "<key> [SAMPLES <count>]", "Return the bytes of a key and its value at rest."),
    HELP,
];

pub(crate) fn memory(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    match &arguments[1].to_ascii_lowercase()[..] {
        b"help" => return Ok(help("memory", OF_MEMORY)),
        b"purge" => return Ok(Reply::OK),
        b"doctor" | b"malloc-stats" | b"stats" => {
            return Err(Refusal::text("ERR a single server answers that, and not groups of keys"));
        }
        _ => {}
    }
    // All rows are counted, so the number of samples is checked and not used.
    let mut options = arguments.options(3);
    while let Some(word) = options.keyword() {
        let count = (word == *b"SAMPLES").then(|| options.word()).flatten().ok_or(SYNTAX)?;
        if integer(count)? < 0 {
            return Err(SYNTAX);
        }
    }
    // Those who ask what a key takes do not read it.
    let entry = context.uncounted(|| context.entry(&arguments[2]))?;
    let Some(record) = entry.live() else { return Ok(Reply::Null) };
    // Each record has a header of 16 bytes, and 16 in its leaf.
    let mut bytes = arguments[2].len() + record.len() + 32;
    if let Some(version) = record.version() {
        for family in rows::OF_VERSIONS {
            context.visit_rows(
                (family, version),
                (Bound::Unbounded, Bound::Unbounded),
                false,
                &mut |member, value| {
                    bytes += rows::PREFIX + member.len() + value.len() + 32;
                    ControlFlow::Continue(())
                },
            )?;
        }
    }
    Ok(Reply::count(bytes))
}
