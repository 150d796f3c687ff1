//! Sorted sets: members with scores.

use crate::arguments::Arguments;
use crate::commands::hashes::{choose, random_count};
use crate::commands::list_moves::timeout;
use crate::commands::sets::key_count;
use crate::context::Context;
use crate::members::Members;
use crate::number::{from_sortable, parse_float, sortable};
use crate::record::Kind;
use crate::refusal::{Outcome, Refusal, SYNTAX};
use crate::reply::Reply;
use std::ops::{Bound, ControlFlow};

pub(crate) const NOT_FLOAT: Refusal = Refusal::text("ERR value is not a valid float");

pub(crate) fn open<'c, 'k>(context: &'c Context<'c>, key: &'k [u8]) -> Outcome<Members<'c, 'k>> {
    Members::open(context, key, Kind::SortedSet)
}

/// Reads the score that a member has as its value.
pub(crate) fn score_of(value: &[u8]) -> f64 {
    from_sortable(value.try_into().unwrap_or_default())
}

/// Splits a sortable score with the member behind it.
pub(crate) fn split(pair: &[u8]) -> (f64, &[u8]) {
    let (score, member) = pair.split_at_checked(8).unwrap_or_default();
    (score_of(score), member)
}

/// How ZADD treats members.
#[derive(Clone, Copy, Default)]
struct Conditions {
    if_absent: bool,
    if_present: bool,
    if_greater: bool,
    if_less: bool,
    counts_changes: bool,
    increments: bool,
}

fn conditions(arguments: &Arguments<'_>) -> Outcome<(Conditions, usize)> {
    let mut found = Conditions::default();
    let mut at = 2;
    // Mostly a score stands there.
    let is_word = |word: &&[u8]| word.first().is_some_and(u8::is_ascii_alphabetic);
    while let Some(word) = arguments.get(at).filter(is_word).map(<[u8]>::to_ascii_uppercase) {
        match &word[..] {
            b"NX" => found.if_absent = true,
            b"XX" => found.if_present = true,
            b"GT" => found.if_greater = true,
            b"LT" => found.if_less = true,
            b"CH" => found.counts_changes = true,
            b"INCR" => found.increments = true,
            _ => break,
        }
        at += 1;
    }
    if found.if_absent && found.if_present {
        return Err(Refusal::text("ERR XX and NX options at the same time are not compatible"));
    }
    if found.if_greater && found.if_less || found.if_absent && (found.if_greater || found.if_less) {
        return Err(Refusal::text("ERR GT, LT, and/or NX options at the same time are not compatible"));
    }
    Ok((found, at))
}

/// What became of one member.
enum Change {
    /// The conditions forbid it.
    Refused,
    Added(f64),
    Changed(f64),
    Same(f64),
}

fn add_member(set: &mut Members<'_, '_>, member: &[u8], score: f64, conditions: Conditions) -> Outcome<Change> {
    let stored = set.get(member)?;
    let Some(old) = stored.as_deref().map(score_of) else {
        if conditions.if_present {
            return Ok(Change::Refused);
        }
        set.insert_over(member, &sortable(score), None)?;
        return Ok(Change::Added(score));
    };
    if conditions.if_absent {
        return Ok(Change::Refused);
    }
    let new = if conditions.increments { old + score } else { score };
    if new.is_nan() {
        return Err(Refusal::text("ERR resulting score is not a number (NaN)"));
    }
    if conditions.if_greater && new <= old || conditions.if_less && new >= old {
        return Ok(Change::Refused);
    }
    if new == old {
        return Ok(Change::Same(old));
    }
    set.insert_over(member, &sortable(new), stored.as_deref())?;
    Ok(Change::Changed(new))
}

pub(crate) fn zadd<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let (conditions, at) = conditions(arguments)?;
    let pairs = arguments.len() - at;
    if pairs == 0 || pairs % 2 == 1 {
        return Err(SYNTAX);
    }
    if conditions.increments && pairs > 2 {
        return Err(Refusal::text("ERR INCR option supports a single increment-element pair"));
    }
    let mut scored = Vec::with_capacity(pairs / 2);
    for at in (at..arguments.len()).step_by(2) {
        scored.push((parse_float(&arguments[at]).ok_or(NOT_FLOAT)?, arguments.at(at + 1)));
    }
    add_all(context, &arguments[1], &scored, conditions)
}

/// Gives members scores as ZADD does, with the options that stand before them.
pub(crate) fn add_places<'c>(
    context: &'c Context<'c>,
    arguments: &Arguments<'_>,
    scored: &[(f64, &[u8])],
) -> Outcome<Reply> {
    add_all(context, &arguments[1], scored, conditions(arguments)?.0)
}

fn add_all<'c>(
    context: &'c Context<'c>,
    key: &[u8],
    scored: &[(f64, &[u8])],
    conditions: Conditions,
) -> Outcome<Reply> {
    let mut set = open(context, key)?;
    let (mut added, mut changed, mut last) = (0, 0, None);
    for (score, member) in scored {
        last = match add_member(&mut set, member, *score, conditions)? {
            Change::Refused => None,
            Change::Added(score) => {
                added += 1;
                Some(score)
            }
            Change::Changed(score) => {
                changed += 1;
                Some(score)
            }
            Change::Same(score) => Some(score),
        };
    }
    if conditions.increments {
        context.next_event("zincr");
    }
    set.save()?;
    if added > 0 {
        context.signal(key);
    }
    if conditions.increments {
        return Ok(last.map_or(Reply::Null, Reply::Double));
    }
    Ok(Reply::count(if conditions.counts_changes { added + changed } else { added }))
}

pub(crate) fn zincrby<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let by = parse_float(&arguments[2]).ok_or(NOT_FLOAT)?;
    let mut set = open(context, &arguments[1])?;
    let conditions = Conditions { increments: true, ..Conditions::default() };
    let score = match add_member(&mut set, &arguments[3], by, conditions)? {
        Change::Added(score) | Change::Changed(score) | Change::Same(score) => score,
        Change::Refused => by,
    };
    set.save()?;
    context.signal(&arguments[1]);
    Ok(Reply::Double(score))
}

pub(crate) fn zrem<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let mut set = open(context, &arguments[1])?;
    let removed = set.remove_each(arguments.from(2))?;
    set.save()?;
    Ok(Reply::count(removed))
}

pub(crate) fn zscore<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let value = open(context, &arguments[1])?.get(&arguments[2])?;
    Ok(value.map_or(Reply::Null, |value| Reply::Double(score_of(&value))))
}

pub(crate) fn zmscore<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let set = open(context, &arguments[1])?;
    let score = |member| Ok(set.get(member)?.map_or(Reply::Null, |value| Reply::Double(score_of(&value))));
    Ok(Reply::Array(arguments.from(2).map(score).collect::<Outcome<_>>()?))
}

pub(crate) fn zcard<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(Reply::count(open(context, &arguments[1])?.len()))
}

fn rank<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>, reverse: bool) -> Outcome<Reply> {
    let with_score = arguments.is(3, "withscore");
    if arguments.len() > 4 || arguments.len() == 4 && !with_score {
        return Err(SYNTAX);
    }
    let set = open(context, &arguments[1])?;
    let absent = if with_score { Reply::NullArray } else { Reply::Null };
    let Some(score) = set.get(&arguments[2])? else { return Ok(absent) };
    let pair = [&score[..], &arguments[2]].concat();
    let mut rank = 0;
    let before = if reverse {
        (Bound::Excluded(&pair[..]), Bound::Unbounded)
    } else {
        (Bound::Unbounded, Bound::Excluded(&pair[..]))
    };
    set.visit_by_score(before, false, &mut |_| {
        rank += 1;
        ControlFlow::Continue(())
    })?;
    let rank = Reply::count(rank);
    Ok(if with_score { Reply::Array(vec![rank, Reply::Double(score_of(&score))]) } else { rank })
}

pub(crate) fn zrank<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    rank(context, arguments, false)
}

pub(crate) fn zrevrank<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    rank(context, arguments, true)
}

/// The event of a pop.
fn popped(greatest: bool) -> &'static str {
    if greatest { "zpopmax" } else { "zpopmin" }
}

/// Removes the members with the least or the greatest scores and returns them.
fn pop(set: &mut Members<'_, '_>, count: usize, greatest: bool) -> Outcome<Vec<(Vec<u8>, f64)>> {
    let mut found = Vec::new();
    if count > 0 {
        set.visit_by_score((Bound::Unbounded, Bound::Unbounded), greatest, &mut |pair| {
            let (score, member) = split(pair);
            found.push((member.to_vec(), score));
            if found.len() == count { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
    }
    for (member, _) in &found {
        set.remove(member)?;
    }
    Ok(found)
}

fn pop_some<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>, greatest: bool) -> Outcome<Reply> {
    if arguments.len() > 3 {
        return Err(SYNTAX);
    }
    let count = arguments.get(2).map(crate::number::count).transpose()?;
    let mut set = open(context, &arguments[1])?;
    let found = pop(&mut set, count.unwrap_or(1), greatest)?;
    set.save()?;
    let pairs = found.into_iter().map(|(member, score)| (Reply::bulk(member), Reply::Double(score)));
    match count {
        Some(_) => Ok(Reply::Pairs(pairs.collect())),
        None => Ok(Reply::Array(pairs.flat_map(|(member, score)| [member, score]).collect())),
    }
}

pub(crate) fn zpopmin<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    pop_some(context, arguments, false)
}

pub(crate) fn zpopmax<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    pop_some(context, arguments, true)
}

fn pop_waiting<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>, greatest: bool) -> Outcome<Reply> {
    let timeout = timeout(arguments.at(arguments.len() - 1))?;
    for key in arguments.from(1).take(arguments.len() - 2) {
        let mut set = open(context, key)?;
        if let Some((member, score)) = pop(&mut set, 1, greatest)?.pop() {
            context.next_event(popped(greatest));
            set.save()?;
            return Ok(Reply::Array(vec![Reply::bulk(key), Reply::bulk(member), Reply::Double(score)]));
        }
    }
    Ok(Reply::Wait(timeout))
}

pub(crate) fn bzpopmin<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    pop_waiting(context, arguments, false)
}

pub(crate) fn bzpopmax<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    pop_waiting(context, arguments, true)
}

/// Pops from the first key of several that has members; `None` if none has.
fn pop_of_several<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>, at: usize) -> Outcome<Option<Reply>> {
    let keys = key_count(arguments, at)?;
    let greatest = match &arguments.at(at + keys + 1).to_ascii_uppercase()[..] {
        b"MIN" => false,
        b"MAX" => true,
        _ => return Err(SYNTAX),
    };
    let count = count_option(arguments, at + keys + 2)?;
    for key in arguments.from(at + 1).take(keys) {
        let mut set = open(context, key)?;
        let found = pop(&mut set, count, greatest)?;
        if !found.is_empty() {
            context.next_event(popped(greatest));
            set.save()?;
            let of = |(member, score): (Vec<u8>, f64)| Reply::Array(vec![Reply::bulk(member), Reply::Double(score)]);
            return Ok(Some(Reply::Array(vec![Reply::bulk(key), Reply::Array(found.into_iter().map(of).collect())])));
        }
    }
    Ok(None)
}

/// Reads the option COUNT; 1 without it.
pub(crate) fn count_option(arguments: &Arguments<'_>, at: usize) -> Outcome<usize> {
    match arguments.len().saturating_sub(at) {
        0 => Ok(1),
        2 if arguments.is(at, "count") => {
            let count = crate::number::parse_integer(&arguments[at + 1]).filter(|count| *count > 0);
            Ok(count.ok_or(Refusal::text("ERR count should be greater than 0"))? as usize)
        }
        _ => Err(SYNTAX),
    }
}

pub(crate) fn zmpop<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(pop_of_several(context, arguments, 1)?.unwrap_or(Reply::NullArray))
}

pub(crate) fn bzmpop<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let timeout = timeout(&arguments[1])?;
    Ok(pop_of_several(context, arguments, 2)?.unwrap_or(Reply::Wait(timeout)))
}

pub(crate) fn zrandmember<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let with_scores = arguments.is(3, "withscores");
    if arguments.len() > 4 || arguments.len() == 4 && !with_scores {
        return Err(SYNTAX);
    }
    let count = arguments.get(2).map(|text| random_count(text, with_scores)).transpose()?;
    let set = open(context, &arguments[1])?;
    let Some(count) = count else { return Ok(Reply::bulk_or_null(set.random()?.map(|(member, _)| member))) };
    let chosen = choose(context, &set, count)?;
    if !with_scores {
        return Ok(Reply::bulks(chosen.into_iter().map(|(member, _)| member)));
    }
    let of = |(member, score): (Vec<u8>, Vec<u8>)| (Reply::bulk(member), Reply::Double(score_of(&score)));
    Ok(Reply::Pairs(chosen.into_iter().map(of).collect()))
}
