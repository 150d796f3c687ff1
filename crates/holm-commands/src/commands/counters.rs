//! Counters: strings that hold numbers.

use crate::arguments::Arguments;
use crate::context::Context;
use crate::number::{add_decimals, integer, parse_float};
use crate::refusal::{Outcome, Refusal};
use crate::reply::Reply;

fn add(context: &Context<'_>, arguments: &Arguments<'_>, by: i64) -> Outcome<Reply> {
    let entry = context.entry(&arguments[1])?;
    let old = entry.string()?.map_or(Ok(0), integer)?;
    let overflow = Refusal::text("ERR increment or decrement would overflow");
    let sum = old.checked_add(by).ok_or(overflow)?;
    context.put_string(&entry, sum.to_string().as_bytes(), entry.expiry())?;
    Ok(Reply::Integer(sum))
}

pub(crate) fn incr(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    add(context, arguments, 1)
}

pub(crate) fn decr(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    add(context, arguments, -1)
}

pub(crate) fn incrby(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    add(context, arguments, integer(&arguments[2])?)
}

pub(crate) fn decrby(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let by = integer(&arguments[2])?.checked_neg().ok_or(Refusal::text("ERR decrement would overflow"))?;
    add(context, arguments, by)
}

pub(crate) fn incrbyfloat(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let entry = context.entry(&arguments[1])?;
    let old = entry.string()?.unwrap_or(b"0");
    let is_float = |text: &[u8]| parse_float(text).is_some();
    if !is_float(old) || !is_float(&arguments[2]) {
        return Err(Refusal::text("ERR value is not a valid float"));
    }
    let sum = add_decimals(old, &arguments[2])?;
    context.put_string(&entry, sum.as_bytes(), entry.expiry())?;
    Ok(Reply::bulk(sum))
}
