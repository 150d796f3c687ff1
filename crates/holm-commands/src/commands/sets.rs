//! Sets of members, and what they have in common.

use crate::arguments::Arguments;
use crate::commands::hashes::{choose, random_count};
use crate::context::Context;
use crate::members::Members;
use crate::number::{count, parse_integer};
use crate::record::Kind;
use crate::refusal::{Outcome, Refusal, SYNTAX};
use crate::reply::Reply;
use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow};

fn open<'c, 'k>(context: &'c Context<'c>, key: &'k [u8]) -> Outcome<Members<'c, 'k>> {
    Members::open(context, key, Kind::Set)
}

pub(crate) fn sadd<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let mut set = open(context, &arguments[1])?;
    let mut added = 0;
    for member in arguments.from(2) {
        if !set.contains(member)? {
            set.insert_over(member, &[], None)?;
            added += 1;
        }
    }
    set.save()?;
    Ok(Reply::count(added))
}

pub(crate) fn srem<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let mut set = open(context, &arguments[1])?;
    let removed = set.remove_each(arguments.from(2))?;
    set.save()?;
    Ok(Reply::count(removed))
}

pub(crate) fn sismember<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(Reply::flag(open(context, &arguments[1])?.contains(&arguments[2])?))
}

pub(crate) fn smismember<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let set = open(context, &arguments[1])?;
    Ok(Reply::Array(arguments.from(2).map(|member| Ok(Reply::flag(set.contains(member)?))).collect::<Outcome<_>>()?))
}

pub(crate) fn smembers<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let all = open(context, &arguments[1])?.all()?;
    Ok(Reply::Set(all.into_iter().map(|(member, _)| Reply::bulk(member)).collect()))
}

pub(crate) fn scard<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(Reply::count(open(context, &arguments[1])?.len()))
}

pub(crate) fn spop<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    if arguments.len() > 3 {
        return Err(SYNTAX);
    }
    let wanted = arguments.get(2).map(count).transpose()?;
    let mut set = open(context, &arguments[1])?;
    let chosen: Vec<_> = match wanted {
        None => set.random()?.into_iter().collect(),
        Some(wanted) => choose(context, &set, (wanted, false))?,
    };
    for (member, _) in &chosen {
        set.remove(member)?;
    }
    set.save()?;
    let mut members = chosen.into_iter().map(|(member, _)| member);
    match wanted {
        None => Ok(Reply::bulk_or_null(members.next())),
        Some(_) => Ok(Reply::Set(members.map(Reply::bulk).collect())),
    }
}

pub(crate) fn srandmember<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    if arguments.len() > 3 {
        return Err(SYNTAX);
    }
    let wanted = arguments.get(2).map(|text| random_count(text, false)).transpose()?;
    let set = open(context, &arguments[1])?;
    match wanted {
        None => Ok(Reply::bulk_or_null(set.random()?.map(|(member, _)| member))),
        Some(wanted) => Ok(Reply::bulks(choose(context, &set, wanted)?.into_iter().map(|(member, _)| member))),
    }
}

pub(crate) fn smove<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let mut from = open(context, &arguments[1])?;
    // Without a source the kind of the destination is not asked.
    if !from.exists() {
        return Ok(Reply::Integer(0));
    }
    let mut to = open(context, &arguments[2])?;
    let member = &arguments[3];
    if !from.contains(member)? {
        return Ok(Reply::Integer(0));
    }
    if arguments[1] != arguments[2] {
        from.remove(member)?;
        context.next_event("srem");
        from.save()?;
        if !to.contains(member)? {
            to.insert(member, &[])?;
            context.next_event("sadd");
            to.save()?;
        }
    }
    Ok(Reply::Integer(1))
}

/// How sets are combined.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Combination {
    Intersection,
    Union,
    Difference,
}

fn combine<'c, 'k>(
    context: &'c Context<'c>,
    keys: impl Iterator<Item = &'k [u8]>,
    how: Combination,
    most: usize,
) -> Outcome<BTreeSet<Vec<u8>>> {
    let mut sets = keys.map(|key| open(context, key)).collect::<Outcome<Vec<_>>>()?;
    if how == Combination::Intersection {
        sets.sort_by_key(Members::len);
    }
    let mut result = BTreeSet::new();
    let Some((first, others)) = sets.split_first() else { return Ok(result) };
    if how == Combination::Union {
        for set in &sets {
            result.extend(set.all()?.into_iter().map(|(member, _)| member));
        }
        return Ok(result);
    }
    let (mut failure, keeps_common) = (None, how == Combination::Intersection);
    first.visit((Bound::Unbounded, Bound::Unbounded), false, &mut |member, _| {
        let is_kept = if keeps_common {
            others.iter().try_fold(true, |kept, other| Ok(kept && other.contains(member)?))
        } else {
            others.iter().try_fold(true, |kept, other| Ok(kept && !other.contains(member)?))
        };
        match is_kept {
            Ok(true) => drop(result.insert(member.to_vec())),
            Ok(false) => {}
            Err(refusal) => failure = Some(refusal),
        }
        if failure.is_some() || result.len() >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    failure.map_or(Ok(result), Err)
}

fn reply_with(members: BTreeSet<Vec<u8>>) -> Reply {
    Reply::Set(members.into_iter().map(Reply::bulk).collect())
}

fn combined<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>, how: Combination) -> Outcome<Reply> {
    Ok(reply_with(combine(context, arguments.from(1), how, usize::MAX)?))
}

fn store_combined<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>, how: Combination) -> Outcome<Reply> {
    let members = combine(context, arguments.from(2), how, usize::MAX)?;
    let mut target = Members::fresh(context, &arguments[1], Kind::Set)?;
    for member in &members {
        target.insert(member, &[])?;
    }
    target.save_with(None)?;
    Ok(Reply::count(members.len()))
}

pub(crate) fn sinter<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    combined(context, arguments, Combination::Intersection)
}

pub(crate) fn sunion<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    combined(context, arguments, Combination::Union)
}

pub(crate) fn sdiff<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    combined(context, arguments, Combination::Difference)
}

pub(crate) fn sinterstore<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    store_combined(context, arguments, Combination::Intersection)
}

pub(crate) fn sunionstore<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    store_combined(context, arguments, Combination::Union)
}

pub(crate) fn sdiffstore<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    store_combined(context, arguments, Combination::Difference)
}

/// Reads the number of keys that follow it, at least one.
pub(crate) fn key_count(arguments: &Arguments<'_>, at: usize) -> Outcome<usize> {
    let count = parse_integer(arguments.at(at)).filter(|count| *count > 0);
    let count = count.ok_or(Refusal::text("ERR numkeys should be greater than 0"))? as usize;
    if count > arguments.len().saturating_sub(at + 1) {
        return Err(Refusal::text("ERR Number of keys can't be greater than number of args"));
    }
    Ok(count)
}

/// Reads the option LIMIT of the commands that only count.
pub(crate) fn limit_option(arguments: &Arguments<'_>, at: usize) -> Outcome<usize> {
    let mut most = 0;
    let mut options = arguments.options(at);
    while let Some(word) = options.keyword() {
        if word != b"LIMIT" {
            return Err(SYNTAX);
        }
        let limit = parse_integer(options.word().ok_or(SYNTAX)?).and_then(|limit| usize::try_from(limit).ok());
        most = limit.ok_or(Refusal::text("ERR LIMIT can't be negative"))?;
    }
    Ok(if most == 0 { usize::MAX } else { most })
}

pub(crate) fn sintercard<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let count = key_count(arguments, 1)?;
    let most = limit_option(arguments, 2 + count)?;
    let found = combine(context, arguments.from(2).take(count), Combination::Intersection, most)?;
    Ok(Reply::count(found.len()))
}
