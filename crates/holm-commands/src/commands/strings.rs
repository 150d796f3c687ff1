//! Strings: storing, reading and changing them.

use crate::arguments::{Arguments, Options};
use crate::commands::expiry::{Unit, deadline};
use crate::context::{Context, Millis};
use crate::edition::Edition;
use crate::entry::Entry;
use crate::number::integer;
use crate::record::{Kind, Record};
use crate::refusal::{Outcome, Refusal, SYNTAX, WRONG_TYPE};
use crate::reply::{Bytes, Reply};

/// The longest string that SETRANGE and APPEND make: what one transaction holds.
pub(crate) const MOST_BYTES: usize = 63 << 20;

fn string_reply(record: Option<Record>) -> Outcome<Reply> {
    match record {
        None => Ok(Reply::Null),
        Some(record) if record.kind == Kind::String => {
            let (bytes, body) = record.into_parts();
            Ok(Reply::Bulk(Bytes::Stored(bytes, body)))
        }
        Some(_) => Err(WRONG_TYPE),
    }
}

pub(crate) fn get(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    string_reply(context.entry(&arguments[1])?.into_live())
}

/// When a string is to expire.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expire {
    /// Never, unless the option KEEPTTL keeps the time that it has.
    Never,
    Keep,
    At(Millis),
}

impl Expire {
    fn at(self, entry: &Entry<'_>) -> Option<Millis> {
        match self {
            Expire::Never => None,
            Expire::Keep => entry.expiry(),
            Expire::At(time) => Some(time),
        }
    }
}

/// Reads the option that states a time, if the word is one.
fn time_option(context: &Context<'_>, word: &[u8], options: &mut Options<'_>) -> Outcome<Option<Millis>> {
    let unit = match word {
        b"EX" => Unit::Seconds,
        b"PX" => Unit::Millis,
        b"EXAT" => Unit::SecondsAt,
        b"PXAT" => Unit::MillisAt,
        _ => return Ok(None),
    };
    let number = integer(options.word().ok_or(SYNTAX)?)?;
    if number <= 0 {
        return Err(invalid_expire(context));
    }
    deadline(context, number, unit).map(Some)
}

fn invalid_expire(context: &Context<'_>) -> Refusal {
    Refusal::of(format!("ERR invalid expire time in '{}' command", context.command.get()))
}

pub(crate) fn set(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let (mut expire, mut if_absent, mut if_present, mut get) = (None, false, false, false);
    let mut options = arguments.options(3);
    while let Some(word) = options.keyword() {
        match &word[..] {
            b"NX" if !if_present => if_absent = true,
            b"XX" if !if_absent => if_present = true,
            b"GET" => get = true,
            b"KEEPTTL" if expire.is_none() => expire = Some(Expire::Keep),
            b"KEEPTTL" if matches!(expire, Some(Expire::Keep)) && context.edition >= Edition::Second => {}
            _ if expire.is_some() => return Err(SYNTAX),
            _ => expire = Some(Expire::At(time_option(context, &word, &mut options)?.ok_or(SYNTAX)?)),
        }
    }
    let entry = context.entry(&arguments[1])?;
    if get {
        context.count_lookup(&entry);
        entry.string()?;
    }
    let is_present = entry.live().is_some();
    let is_done = !(if_absent && is_present || if_present && !is_present);
    if is_done {
        let is_given = matches!(expire, Some(Expire::At(_)));
        let expiry = expire.unwrap_or(Expire::Never).at(&entry);
        store_until(context, &entry, &arguments[2], expiry)?;
        if is_given {
            note_same_time(context, &entry, expiry);
        }
    }
    match (get, is_done) {
        (true, _) => string_reply(entry.into_live()),
        (false, true) => Ok(Reply::OK),
        (false, false) => Ok(Reply::Null),
    }
}

/// Stores a string; one whose time is over already is no key.
fn store_until(context: &Context<'_>, entry: &Entry<'_>, value: &[u8], expiry: Option<Millis>) -> Outcome<()> {
    if expiry.is_some_and(|expiry| expiry <= context.now) {
        return context.delete(entry).map(drop);
    }
    context.put_string(entry, value, expiry)
}

/// Notes that a time was given that the key had before: each time that is given is an event.
fn note_same_time(context: &Context<'_>, entry: &Entry<'_>, expiry: Option<Millis>) {
    if expiry.is_some_and(|expiry| expiry > context.now) && expiry == entry.expiry() {
        context.note_event(entry.database, None, "expire", &entry.key);
    }
}

pub(crate) fn setnx(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let entry = context.entry(&arguments[1])?;
    let is_absent = entry.live().is_none();
    if is_absent {
        context.put_string(&entry, &arguments[2], None)?;
    }
    Ok(Reply::flag(is_absent))
}

fn set_for(context: &Context<'_>, arguments: &Arguments<'_>, unit: Unit) -> Outcome<Reply> {
    let number = integer(&arguments[2])?;
    if number <= 0 {
        return Err(invalid_expire(context));
    }
    let expiry = deadline(context, number, unit)?;
    let entry = context.entry(&arguments[1])?;
    context.put_string(&entry, &arguments[3], Some(expiry))?;
    note_same_time(context, &entry, Some(expiry));
    Ok(Reply::OK)
}

pub(crate) fn setex(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    set_for(context, arguments, Unit::Seconds)
}

pub(crate) fn psetex(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    set_for(context, arguments, Unit::Millis)
}

pub(crate) fn getset(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let entry = context.entry(&arguments[1])?;
    entry.string()?;
    context.put_string(&entry, &arguments[2], None)?;
    string_reply(entry.into_live())
}

pub(crate) fn getdel(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let entry = context.entry(&arguments[1])?;
    if entry.string()?.is_some() {
        context.delete(&entry)?;
    }
    string_reply(entry.into_live())
}

pub(crate) fn getex(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let mut expire = None;
    let mut options = arguments.options(2);
    while let Some(word) = options.keyword() {
        match &word[..] {
            _ if expire.is_some() => return Err(SYNTAX),
            b"PERSIST" => expire = Some(Expire::Never),
            _ => expire = Some(Expire::At(time_option(context, &word, &mut options)?.ok_or(SYNTAX)?)),
        }
    }
    let entry = context.entry(&arguments[1])?;
    if let (Some(value), Some(expire)) = (entry.string()?, expire) {
        let expiry = expire.at(&entry);
        if expiry == entry.expiry() {
            note_same_time(context, &entry, expiry);
        } else {
            store_until(context, &entry, value, expiry)?;
        }
    }
    string_reply(entry.into_live())
}

pub(crate) fn mget(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let get = |key| match string_reply(context.entry(key)?.into_live()) {
        Err(Refusal::Text(_)) => Ok(Reply::Null),
        found => found,
    };
    Ok(Reply::Array(arguments.from(1).map(get).collect::<Outcome<_>>()?))
}

fn set_all(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<()> {
    for index in (1..arguments.len()).step_by(2) {
        context.put_string(&context.entry(&arguments[index])?, &arguments[index + 1], None)?;
    }
    Ok(())
}

fn check_pairs(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<()> {
    if arguments.len().is_multiple_of(2) {
        let name = context.command.get();
        return Err(Refusal::of(format!("ERR wrong number of arguments for '{name}' command")));
    }
    Ok(())
}

pub(crate) fn mset(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    check_pairs(context, arguments)?;
    set_all(context, arguments)?;
    Ok(Reply::OK)
}

pub(crate) fn msetnx(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    check_pairs(context, arguments)?;
    for key in arguments.from(1).step_by(2) {
        if context.entry(key)?.live().is_some() {
            return Ok(Reply::Integer(0));
        }
    }
    set_all(context, arguments)?;
    Ok(Reply::Integer(1))
}

pub(crate) fn check_size(bytes: usize) -> Outcome<()> {
    if bytes > MOST_BYTES {
        return Err(Refusal::text("ERR string exceeds maximum allowed size (63 MiB)"));
    }
    Ok(())
}

pub(crate) fn append(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let entry = context.entry(&arguments[1])?;
    let old = entry.string()?.unwrap_or_default();
    check_size(old.len() + arguments[2].len())?;
    let whole = [old, &arguments[2]].concat();
    context.put_string(&entry, &whole, entry.expiry())?;
    Ok(Reply::count(whole.len()))
}

pub(crate) fn strlen(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(Reply::count(context.entry(&arguments[1])?.string()?.map_or(0, <[u8]>::len)))
}

pub(crate) fn getrange(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let (from, to) = (integer(&arguments[2])?, integer(&arguments[3])?);
    let entry = context.entry(&arguments[1])?;
    let value = entry.string()?.unwrap_or_default();
    Ok(Reply::bulk(span(from, to, value.len()).map_or(&[][..], |(from, to)| &value[from..=to])))
}

/// Returns the first and the last index that a client means; negative ones count from the end.
pub(crate) fn span(from: i64, to: i64, len: usize) -> Option<(usize, usize)> {
    let len = len as i64;
    let from = if from < 0 { (from.saturating_add(len)).max(0) } else { from };
    let to = if to < 0 { to.saturating_add(len) } else { to.min(len - 1) };
    (from <= to && from < len).then_some((from as usize, to as usize))
}

pub(crate) fn setrange(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let offset = integer(&arguments[2])?;
    let offset = usize::try_from(offset).map_err(|_| Refusal::text("ERR offset is out of range"))?;
    let entry = context.entry(&arguments[1])?;
    let mut value = entry.string()?.unwrap_or_default().to_vec();
    let part = &arguments[3];
    if part.is_empty() {
        return Ok(Reply::count(value.len()));
    }
    let end = offset.saturating_add(part.len());
    check_size(end)?;
    if value.len() < end {
        value.resize(end, 0);
    }
    value[offset..end].copy_from_slice(part);
    context.put_string(&entry, &value, entry.expiry())?;
    Ok(Reply::count(value.len()))
}
