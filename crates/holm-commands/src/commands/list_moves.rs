//! Elements that go from one list to another, and pops that wait for elements.

use crate::arguments::Arguments;
use crate::commands::sets::key_count;
use crate::commands::sorted_sets::count_option;
use crate::context::Context;
use crate::list::{List, Side};
use crate::number::parse_float;
use crate::record::Kind;
use crate::refusal::{Outcome, Refusal, SYNTAX};
use crate::reply::Reply;

/// Reads a timeout in seconds. Returns milliseconds; 0 is for ever.
pub(crate) fn timeout(text: &[u8]) -> Outcome<u64> {
    let seconds = parse_float(text).ok_or(Refusal::text("ERR timeout is not a float or out of range"))?;
    if seconds < 0.0 {
        return Err(Refusal::text("ERR timeout is negative"));
    }
    let millis = (seconds * 1_000.0).ceil();
    if millis > (i64::MAX / 1_000) as f64 {
        return Err(Refusal::text("ERR timeout is out of range"));
    }
    Ok(millis as u64)
}

fn side(text: &[u8]) -> Outcome<Side> {
    match &text.to_ascii_uppercase()[..] {
        b"LEFT" => Ok(Side::Left),
        b"RIGHT" => Ok(Side::Right),
        _ => Err(SYNTAX),
    }
}

/// The event of a pop.
fn popped(side: Side) -> &'static str {
    if side == Side::Left { "lpop" } else { "rpop" }
}

/// The event of a push.
fn pushed(side: Side) -> &'static str {
    if side == Side::Left { "lpush" } else { "rpush" }
}

/// Moves one element; `None` if there is none.
fn move_one<'c>(context: &'c Context<'c>, keys: (&[u8], &[u8]), (from, to): (Side, Side)) -> Outcome<Option<Vec<u8>>> {
    let mut source = List::open(context, keys.0)?;
    if source.len() == 0 {
        return Ok(None);
    }
    if keys.0 == keys.1 {
        let element = source.pop(from)?.unwrap_or_default();
        source.push(to, &element)?;
        context.next_event(pushed(to));
        source.save()?;
        context.note_event(context.database.get(), Some(Kind::List), popped(from), keys.0);
        context.signal(keys.1);
        return Ok(Some(element));
    }
    let mut target = List::open(context, keys.1)?;
    let element = source.pop(from)?.unwrap_or_default();
    target.push(to, &element)?;
    // As Redis has it: others hear of the push first.
    context.next_event(pushed(to));
    target.save()?;
    context.next_event(popped(from));
    source.save()?;
    context.signal(keys.1);
    Ok(Some(element))
}

pub(crate) fn lmove<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let sides = (side(&arguments[3])?, side(&arguments[4])?);
    Ok(Reply::bulk_or_null(move_one(context, (&arguments[1], &arguments[2]), sides)?))
}

pub(crate) fn rpoplpush<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(Reply::bulk_or_null(move_one(context, (&arguments[1], &arguments[2]), (Side::Right, Side::Left))?))
}

pub(crate) fn blmove<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let sides = (side(&arguments[3])?, side(&arguments[4])?);
    let timeout = timeout(&arguments[5])?;
    Ok(move_one(context, (&arguments[1], &arguments[2]), sides)?.map_or(Reply::Wait(timeout), Reply::bulk))
}

pub(crate) fn brpoplpush<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let timeout = timeout(&arguments[3])?;
    let moved = move_one(context, (&arguments[1], &arguments[2]), (Side::Right, Side::Left))?;
    Ok(moved.map_or(Reply::Wait(timeout), Reply::bulk))
}

fn pop_waiting<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>, side: Side) -> Outcome<Reply> {
    let timeout = timeout(arguments.at(arguments.len() - 1))?;
    for key in arguments.from(1).take(arguments.len() - 2) {
        let mut list = List::open(context, key)?;
        if let Some(element) = list.pop(side)? {
            context.next_event(popped(side));
            list.save()?;
            return Ok(Reply::bulks([key, &element]));
        }
    }
    Ok(Reply::Wait(timeout))
}

pub(crate) fn blpop<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    pop_waiting(context, arguments, Side::Left)
}

pub(crate) fn brpop<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    pop_waiting(context, arguments, Side::Right)
}

/// Pops from the first key of several that has elements; `None` if none has.
fn pop_of_several<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>, at: usize) -> Outcome<Option<Reply>> {
    let keys = key_count(arguments, at)?;
    let side = side(arguments.at(at + keys + 1))?;
    let count = count_option(arguments, at + keys + 2)?;
    for key in arguments.from(at + 1).take(keys) {
        let mut list = List::open(context, key)?;
        let mut elements = Vec::new();
        while elements.len() < count
            && let Some(element) = list.pop(side)?
        {
            elements.push(element);
        }
        if !elements.is_empty() {
            context.next_event(popped(side));
            list.save()?;
            return Ok(Some(Reply::Array(vec![Reply::bulk(key), Reply::bulks(elements)])));
        }
    }
    Ok(None)
}

pub(crate) fn lmpop<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(pop_of_several(context, arguments, 1)?.unwrap_or(Reply::NullArray))
}

pub(crate) fn blmpop<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let timeout = timeout(&arguments[1])?;
    Ok(pop_of_several(context, arguments, 2)?.unwrap_or(Reply::Wait(timeout)))
}
