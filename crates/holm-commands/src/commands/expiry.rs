//! When keys expire.

use crate::arguments::Arguments;
use crate::context::{Context, Millis};
use crate::number::integer;
use crate::refusal::{Outcome, Refusal};
use crate::reply::Reply;

/// How a command states a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Millis,
    SecondsAt,
    MillisAt,
}

/// Returns the time that a number states. A time in the past is 0 at the earliest.
///
/// # Errors
/// The time is beyond all that a record can have.
pub(crate) fn deadline(context: &Context<'_>, number: i64, unit: Unit) -> Outcome<Millis> {
    let millis = match unit {
        Unit::Seconds | Unit::SecondsAt => number.checked_mul(1_000),
        Unit::Millis | Unit::MillisAt => Some(number),
    };
    let absolute = match unit {
        Unit::Seconds | Unit::Millis => millis.and_then(|millis| millis.checked_add(context.now as i64)),
        Unit::SecondsAt | Unit::MillisAt => millis,
    };
    let name = context.command.get();
    let refusal = || Refusal::of(format!("ERR invalid expire time in '{name}' command"));
    Ok(u64::try_from(absolute.ok_or_else(refusal)?).unwrap_or(0))
}

fn set_expiry(context: &Context<'_>, arguments: &Arguments<'_>, unit: Unit) -> Outcome<Reply> {
    let expiry = deadline(context, integer(&arguments[2])?, unit)?;
    let (mut nx, mut xx, mut gt, mut lt) = (false, false, false, false);
    for word in arguments.from(3) {
        match &word.to_ascii_uppercase()[..] {
            b"NX" => nx = true,
            b"XX" => xx = true,
            b"GT" => gt = true,
            b"LT" => lt = true,
            _ => return Err(Refusal::of(format!("ERR Unsupported option {}", word.escape_ascii()))),
        }
    }
    if nx && (xx || gt || lt) {
        return Err(Refusal::text("ERR NX and XX, GT or LT options at the same time are not compatible"));
    }
    if gt && lt {
        return Err(Refusal::text("ERR GT and LT options at the same time are not compatible"));
    }
    let entry = context.entry(&arguments[1])?;
    if entry.live().is_none() {
        return Ok(Reply::Integer(0));
    }
    // A key that never expires does so later than any other.
    let old = entry.expiry();
    let is_refused = nx && old.is_some()
        || xx && old.is_none()
        || gt && old.is_none_or(|old| expiry <= old)
        || lt && old.is_some_and(|old| expiry >= old);
    if is_refused {
        return Ok(Reply::Integer(0));
    }
    if expiry <= context.now {
        context.delete(&entry)?;
    } else if old != Some(expiry) {
        context.expire(&entry, Some(expiry))?;
    }
    Ok(Reply::Integer(1))
}

pub(crate) fn expire(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    set_expiry(context, arguments, Unit::Seconds)
}

pub(crate) fn pexpire(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    set_expiry(context, arguments, Unit::Millis)
}

pub(crate) fn expireat(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    set_expiry(context, arguments, Unit::SecondsAt)
}

pub(crate) fn pexpireat(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    set_expiry(context, arguments, Unit::MillisAt)
}

/// Answers -2 for an absent key, -1 for one that never expires, and otherwise what the closure makes of the time.
fn about_expiry(context: &Context<'_>, arguments: &Arguments<'_>, tell: impl Fn(Millis) -> u64) -> Outcome<Reply> {
    let entry = context.entry(&arguments[1])?;
    Ok(Reply::Integer(match (entry.live(), entry.expiry()) {
        (None, _) => -2,
        (Some(_), None) => -1,
        (Some(_), Some(expiry)) => tell(expiry) as i64,
    }))
}

pub(crate) fn ttl(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    about_expiry(context, arguments, |expiry| (expiry.saturating_sub(context.now) + 500) / 1_000)
}

pub(crate) fn pttl(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    about_expiry(context, arguments, |expiry| expiry.saturating_sub(context.now))
}

pub(crate) fn expiretime(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    about_expiry(context, arguments, |expiry| (expiry + 500) / 1_000)
}

pub(crate) fn pexpiretime(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    about_expiry(context, arguments, |expiry| expiry)
}

pub(crate) fn persist(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let entry = context.entry(&arguments[1])?;
    let would_expire = entry.expiry().is_some();
    if would_expire {
        context.expire(&entry, None)?;
    }
    Ok(Reply::flag(would_expire))
}
