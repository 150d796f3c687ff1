//! Lists: elements in the order in which they were pushed.

use crate::arguments::Arguments;
use crate::commands::strings::span;
use crate::context::Context;
use crate::list::{List, Side};
use crate::number::{count, integer};
use crate::refusal::{NO_SUCH_KEY, Outcome, Refusal, SYNTAX};
use crate::reply::{Bulks, Reply};
use std::ops::ControlFlow;

fn push<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>, side: Side, only_if_present: bool) -> Outcome<Reply> {
    let mut list = List::open(context, &arguments[1])?;
    if only_if_present && list.len() == 0 {
        return Ok(Reply::Integer(0));
    }
    for element in arguments.from(2) {
        list.push(side, element)?;
    }
    let len = list.len();
    list.save()?;
    context.signal(&arguments[1]);
    Ok(Reply::count(len))
}

pub(crate) fn lpush<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    push(context, arguments, Side::Left, false)
}

pub(crate) fn rpush<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    push(context, arguments, Side::Right, false)
}

pub(crate) fn lpushx<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    push(context, arguments, Side::Left, true)
}

pub(crate) fn rpushx<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    push(context, arguments, Side::Right, true)
}

fn pop<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>, side: Side) -> Outcome<Reply> {
    if arguments.len() > 3 {
        return Err(Refusal::of(format!("ERR wrong number of arguments for '{}' command", context.command.get())));
    }
    let wanted = arguments.get(2).map(count).transpose()?;
    let mut list = List::open(context, &arguments[1])?;
    if list.len() == 0 {
        return Ok(if wanted.is_some() { Reply::NullArray } else { Reply::Null });
    }
    let Some(wanted) = wanted else {
        let element = list.pop(side)?;
        list.save()?;
        return Ok(Reply::bulk_or_null(element));
    };
    let mut elements = Bulks::default();
    while elements.len() < wanted
        && let Some(element) = list.pop(side)?
    {
        elements.push(&element);
    }
    list.save()?;
    Ok(Reply::Bulks(elements))
}

pub(crate) fn lpop<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    pop(context, arguments, Side::Left)
}

pub(crate) fn rpop<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    pop(context, arguments, Side::Right)
}

pub(crate) fn llen<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(Reply::count(List::open(context, &arguments[1])?.len()))
}

pub(crate) fn lindex<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let index = integer(&arguments[2])?;
    let list = List::open(context, &arguments[1])?;
    match list.index(index) {
        Some(index) => Ok(Reply::bulk_or_null(list.get(index)?)),
        None => Ok(Reply::Null),
    }
}

pub(crate) fn lset<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let mut list = List::open(context, &arguments[1])?;
    if list.len() == 0 {
        return Err(NO_SUCH_KEY);
    }
    let index = list.index(integer(&arguments[2])?).ok_or(Refusal::text("ERR index out of range"))?;
    list.set(index, &arguments[3])?;
    list.save()?;
    Ok(Reply::OK)
}

pub(crate) fn lrange<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let (from, to) = (integer(&arguments[2])?, integer(&arguments[3])?);
    let list = List::open(context, &arguments[1])?;
    let mut found = Bulks::default();
    if let Some((from, to)) = span(from, to, list.len()) {
        list.visit_range(from, to, |element| found.push(element))?;
    }
    Ok(Reply::Bulks(found))
}

pub(crate) fn ltrim<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let (from, to) = (integer(&arguments[2])?, integer(&arguments[3])?);
    let mut list = List::open(context, &arguments[1])?;
    let len = list.len();
    // Nothing that is left lies behind everything.
    let (before, behind) = span(from, to, len).map_or((len, 0), |(from, to)| (from, len - 1 - to));
    for _ in 0..before {
        list.pop(Side::Left)?;
    }
    for _ in 0..behind {
        list.pop(Side::Right)?;
    }
    list.save()?;
    Ok(Reply::OK)
}

pub(crate) fn linsert<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let behind = match &arguments[2].to_ascii_uppercase()[..] {
        b"BEFORE" => 0,
        b"AFTER" => 1,
        _ => return Err(SYNTAX),
    };
    let mut list = List::open(context, &arguments[1])?;
    if list.len() == 0 {
        return Ok(Reply::Integer(0));
    }
    let mut elements = list.range(0, usize::MAX)?;
    let Some(at) = elements.iter().position(|element| *element == arguments[3]) else {
        list.save()?;
        return Ok(Reply::Integer(-1));
    };
    elements.insert(at + behind, arguments[4].to_vec());
    let len = elements.len();
    list.assign(elements)?;
    list.save()?;
    Ok(Reply::count(len))
}

pub(crate) fn lrem<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let wanted = integer(&arguments[2])?;
    let mut list = List::open(context, &arguments[1])?;
    let mut elements = list.range(0, usize::MAX)?;
    let before = elements.len();
    let mut left = if wanted == 0 { u64::MAX } else { wanted.unsigned_abs() };
    let mut keeps = |element: &Vec<u8>| {
        let removes = left > 0 && *element == arguments[3];
        left -= u64::from(removes);
        !removes
    };
    if wanted < 0 {
        elements.reverse();
        elements.retain(&mut keeps);
        elements.reverse();
    } else {
        elements.retain(&mut keeps);
    }
    let removed = before - elements.len();
    if removed > 0 {
        list.assign(elements)?;
    }
    list.save()?;
    Ok(Reply::count(removed))
}

pub(crate) fn lpos<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let (mut rank, mut wanted, mut most) = (1, None, 0);
    let mut options = arguments.options(3);
    while let Some(word) = options.keyword() {
        let number = integer(options.word().ok_or(SYNTAX)?)?;
        match &word[..] {
            b"RANK" if number == 0 || number == i64::MIN => {
                return Err(Refusal::text(
                    "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... \
                     or use negative to start from the end of the list",
                ));
            }
            b"RANK" => rank = number,
            b"COUNT" if number < 0 => return Err(Refusal::text("ERR COUNT can't be negative")),
            b"COUNT" => wanted = Some(number as usize),
            b"MAXLEN" if number < 0 => return Err(Refusal::text("ERR MAXLEN can't be negative")),
            b"MAXLEN" => most = number as usize,
            _ => return Err(SYNTAX),
        }
    }
    let list = List::open(context, &arguments[1])?;
    let (mut found, mut skip, mut seen) = (Vec::new(), rank.unsigned_abs() - 1, 0);
    let enough = match wanted {
        None => 1,
        Some(0) => usize::MAX,
        Some(wanted) => wanted,
    };
    let from = if rank < 0 { list.len().saturating_sub(1) } else { 0 };
    list.visit(from, rank < 0, &mut |index, element| {
        if *element == arguments[2] {
            if skip == 0 {
                found.push(Reply::count(index));
            } else {
                skip -= 1;
            }
        }
        seen += 1;
        if found.len() == enough || seen == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(match wanted {
        Some(_) => Reply::Array(found),
        None => found.pop().unwrap_or(Reply::Null),
    })
}
