//! Hashes: fields with values.

use crate::arguments::Arguments;
use crate::context::Context;
use crate::members::Members;
use crate::number::{add_decimals, integer, parse_float, parse_integer};
use crate::record::Kind;
use crate::refusal::{Outcome, Refusal, SYNTAX};
use crate::reply::Reply;
use crate::walk::Pair;

fn open<'c, 'k>(context: &'c Context<'c>, key: &'k [u8]) -> Outcome<Members<'c, 'k>> {
    Members::open(context, key, Kind::Hash)
}

pub(crate) fn hset<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    if !arguments.len().is_multiple_of(2) {
        return Err(Refusal::of(format!("ERR wrong number of arguments for '{}' command", context.command.get())));
    }
    let mut hash = open(context, &arguments[1])?;
    let mut added = 0;
    for index in (2..arguments.len()).step_by(2) {
        added += usize::from(hash.insert(&arguments[index], &arguments[index + 1])?);
    }
    hash.save()?;
    Ok(Reply::count(added))
}

pub(crate) fn hmset<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    hset(context, arguments).map(|_| Reply::OK)
}

pub(crate) fn hsetnx<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let mut hash = open(context, &arguments[1])?;
    let is_absent = !hash.contains(&arguments[2])?;
    if is_absent {
        hash.insert(&arguments[2], &arguments[3])?;
    }
    hash.save()?;
    Ok(Reply::flag(is_absent))
}

pub(crate) fn hget<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(Reply::bulk_or_null(open(context, &arguments[1])?.get(&arguments[2])?))
}

pub(crate) fn hmget<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let hash = open(context, &arguments[1])?;
    let values = arguments.from(2).map(|field| Ok(Reply::bulk_or_null(hash.get(field)?)));
    Ok(Reply::Array(values.collect::<Outcome<_>>()?))
}

pub(crate) fn hgetall<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let all = open(context, &arguments[1])?.all()?;
    Ok(Reply::Map(all.into_iter().map(|(field, value)| (Reply::bulk(field), Reply::bulk(value))).collect()))
}

pub(crate) fn hkeys<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(Reply::bulks(open(context, &arguments[1])?.all()?.into_iter().map(|(field, _)| field)))
}

pub(crate) fn hvals<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(Reply::bulks(open(context, &arguments[1])?.all()?.into_iter().map(|(_, value)| value)))
}

pub(crate) fn hlen<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(Reply::count(open(context, &arguments[1])?.len()))
}

pub(crate) fn hexists<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(Reply::flag(open(context, &arguments[1])?.contains(&arguments[2])?))
}

pub(crate) fn hstrlen<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(Reply::count(open(context, &arguments[1])?.get(&arguments[2])?.map_or(0, |value| value.len())))
}

pub(crate) fn hdel<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let mut hash = open(context, &arguments[1])?;
    let removed = hash.remove_each(arguments.from(2))?;
    hash.save()?;
    Ok(Reply::count(removed))
}

pub(crate) fn hincrby<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let by = integer(&arguments[3])?;
    let mut hash = open(context, &arguments[1])?;
    let old = hash.get(&arguments[2])?;
    let old = old.map_or(Some(0), |value| parse_integer(&value));
    let old = old.ok_or(Refusal::text("ERR hash value is not an integer"))?;
    let sum = old.checked_add(by).ok_or(Refusal::text("ERR increment or decrement would overflow"))?;
    hash.insert(&arguments[2], sum.to_string().as_bytes())?;
    hash.save()?;
    Ok(Reply::Integer(sum))
}

pub(crate) fn hincrbyfloat<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let by = parse_float(&arguments[3]).ok_or(Refusal::text("ERR value is not a valid float"))?;
    if by.is_infinite() {
        return Err(Refusal::text("ERR value is NaN or Infinity"));
    }
    let mut hash = open(context, &arguments[1])?;
    let old = hash.get(&arguments[2])?.unwrap_or(b"0".to_vec());
    parse_float(&old).ok_or(Refusal::text("ERR hash value is not a float"))?;
    let sum = add_decimals(&old, &arguments[3])?;
    hash.insert(&arguments[2], sum.as_bytes())?;
    hash.save()?;
    Ok(Reply::bulk(sum))
}

/// How many members a command wants by chance: each at most once, or with repetitions if the number is negative. Of
/// pairs, half as many can be asked for as of members.
///
/// # Errors
/// The number is none, or too large to be meant.
pub(crate) fn random_count(text: &[u8], of_pairs: bool) -> Outcome<(usize, bool)> {
    let count = integer(text)?;
    let most = if of_pairs { i64::MAX / 2 } else { i64::MAX };
    if !(-most..=most).contains(&count) {
        return Err(Refusal::text("ERR value is out of range"));
    }
    Ok((count.unsigned_abs() as usize, count < 0))
}

/// The most members that a command returns with repetitions.
const MOST_REPETITIONS: usize = 1 << 20;

/// Chooses members by chance.
pub(crate) fn choose(
    context: &Context<'_>,
    members: &Members<'_, '_>,
    (count, repeats): (usize, bool),
) -> Outcome<Vec<Pair>> {
    if !members.exists() || count == 0 {
        return Ok(Vec::new());
    }
    if repeats && count > MOST_REPETITIONS {
        return Err(Refusal::TooMany { members: count });
    }
    let mut all = members.all()?;
    let len = all.len() as u64;
    if repeats {
        return Ok((0..count).map(|_| all[context.random_below(len) as usize].clone()).collect());
    }
    // The start of a shuffle of Fisher and Yates.
    for index in 0..count.min(all.len()) {
        let other = index as u64 + context.random_below(len - index as u64);
        all.swap(index, other as usize);
    }
    all.truncate(count);
    Ok(all)
}

pub(crate) fn hrandfield<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let with_values = arguments.is(3, "withvalues");
    if arguments.len() > 4 || arguments.len() == 4 && !with_values {
        return Err(SYNTAX);
    }
    let count = arguments.get(2).map(|text| random_count(text, with_values)).transpose()?;
    let hash = open(context, &arguments[1])?;
    let Some(count) = count else { return Ok(Reply::bulk_or_null(hash.random()?.map(|(field, _)| field))) };
    let chosen = choose(context, &hash, count)?;
    if !with_values {
        return Ok(Reply::bulks(chosen.into_iter().map(|(field, _)| field)));
    }
    Ok(pairs(chosen.into_iter().map(|(field, value)| (Reply::bulk(field), Reply::bulk(value)))))
}

/// Pairs in order: nested in the newer protocol, flat in the older one.
pub(crate) fn pairs(pairs: impl Iterator<Item = (Reply, Reply)>) -> Reply {
    Reply::Pairs(pairs.collect())
}
