//! SORT: the elements of a list, a set or a sorted set, by themselves or by what other keys have.

use crate::arguments::Arguments;
use crate::context::Context;
use crate::edition::Edition;
use crate::list::{List, Side};
use crate::members::Members;
use crate::number::{integer, parse_float};
use crate::record::Kind;
use crate::refusal::{Outcome, Refusal, SYNTAX, WRONG_TYPE};
use crate::reply::Reply;
use std::cmp::Ordering;
use std::ops::{Bound, ControlFlow};

struct Request<'a> {
    /// What stands for the elements in comparisons.
    by: Option<&'a [u8]>,
    get: Vec<&'a [u8]>,
    skip: usize,
    most: usize,
    descends: bool,
    by_bytes: bool,
    store: Option<&'a [u8]>,
}

fn request<'a>(arguments: &Arguments<'a>, may_store: bool) -> Outcome<Request<'a>> {
    let mut found =
        Request { by: None, get: Vec::new(), skip: 0, most: usize::MAX, descends: false, by_bytes: false, store: None };
    let mut options = arguments.options(2);
    while let Some(word) = options.keyword() {
        match &word[..] {
            b"ASC" => found.descends = false,
            b"DESC" => found.descends = true,
            b"ALPHA" => found.by_bytes = true,
            b"LIMIT" if options.left() >= 2 => {
                let mut number = || integer(options.word().unwrap_or_default());
                let (skip, most) = (number()?, number()?);
                // Negative numbers mean the beginning, and no limit.
                found.skip = usize::try_from(skip).unwrap_or(0);
                found.most = usize::try_from(most).unwrap_or(usize::MAX);
            }
            b"BY" => found.by = Some(options.word().ok_or(SYNTAX)?),
            b"GET" => found.get.push(options.word().ok_or(SYNTAX)?),
            b"STORE" if may_store => found.store = Some(options.word().ok_or(SYNTAX)?),
            _ => return Err(SYNTAX),
        }
    }
    Ok(found)
}

/// Returns the elements of a key in their own order.
fn elements<'c>(context: &'c Context<'c>, key: &[u8]) -> Outcome<(Vec<Vec<u8>>, Kind)> {
    let kind = context.entry(key)?.live().map_or(Kind::List, |record| record.kind);
    let found = context.uncounted(|| of_kind(context, key, kind))?;
    Ok((found, kind))
}

fn of_kind<'c>(context: &'c Context<'c>, key: &[u8], kind: Kind) -> Outcome<Vec<Vec<u8>>> {
    Ok(match kind {
        Kind::List => List::open(context, key)?.range(0, usize::MAX)?,
        Kind::Set => Members::open(context, key, kind)?.all()?.into_iter().map(|(member, _)| member).collect(),
        Kind::SortedSet => {
            let mut found = Vec::new();
            let all = (Bound::Unbounded, Bound::Unbounded);
            Members::open(context, key, kind)?.visit_by_score(all, false, &mut |pair| {
                found.push(pair.get(8..).unwrap_or_default().to_vec());
                ControlFlow::Continue(())
            })?;
            found
        }
        Kind::String | Kind::Hash => return Err(WRONG_TYPE),
    })
}

/// Returns what a pattern leads to: its star stands for the element, and what follows an arrow is a field.
fn look_up<'c>(context: &'c Context<'c>, pattern: &[u8], element: &[u8]) -> Outcome<Option<Vec<u8>>> {
    if pattern == b"#" {
        return Ok(Some(element.to_vec()));
    }
    let Some(star) = pattern.iter().position(|byte| *byte == b'*') else { return Ok(None) };
    let behind = &pattern[star + 1..];
    let arrow = behind.windows(2).position(|pair| pair == b"->").filter(|arrow| arrow + 2 < behind.len());
    let (behind, field) = arrow.map_or((behind, None), |arrow| (&behind[..arrow], Some(&behind[arrow + 2..])));
    let key = [&pattern[..star], element, behind].concat();
    let entry = context.entry(&key)?;
    match (entry.live().map(|record| record.kind), field) {
        (Some(Kind::Hash), Some(field)) => context.uncounted(|| Members::open(context, &key, Kind::Hash)?.get(field)),
        (Some(Kind::String), None) => Ok(entry.string()?.map(<[u8]>::to_vec)),
        _ => Ok(None),
    }
}

/// What an element is compared by.
#[derive(PartialEq)]
enum Weight {
    Number(f64),
    Bytes(Option<Vec<u8>>),
}

impl Weight {
    fn of<'c>(context: &'c Context<'c>, request: &Request<'_>, element: &[u8]) -> Outcome<Self> {
        let value = match request.by {
            None => Some(element.to_vec()),
            Some(pattern) => look_up(context, pattern, element)?,
        };
        if request.by_bytes {
            return Ok(Weight::Bytes(value));
        }
        let number = value.map_or(Some(0.0), |value| parse_float(&value));
        Ok(Weight::Number(number.ok_or(Refusal::text("ERR One or more scores can't be converted into double"))?))
    }

    fn compare(&self, other: &Weight) -> Ordering {
        match (self, other) {
            (Weight::Number(one), Weight::Number(other)) => one.total_cmp(other),
            (Weight::Bytes(one), Weight::Bytes(other)) => one.cmp(other),
            _ => Ordering::Equal,
        }
    }
}

fn sorted<'c>(context: &'c Context<'c>, request: &Request<'_>, key: &[u8]) -> Outcome<Vec<Vec<u8>>> {
    let (mut found, kind) = elements(context, key)?;
    let keeps_order = request.by.is_some_and(|pattern| !pattern.contains(&b'*'));
    if keeps_order {
        if request.descends && (kind == Kind::SortedSet || context.edition >= Edition::Third) {
            found.reverse();
        }
    } else {
        let weight = |element: Vec<u8>| Ok((Weight::of(context, request, &element)?, element));
        let mut weighted = found.into_iter().map(weight).collect::<Outcome<Vec<_>>>()?;
        weighted.sort_by(|one, other| {
            let order = one.0.compare(&other.0).then_with(|| one.1.cmp(&other.1));
            if request.descends { order.reverse() } else { order }
        });
        found = weighted.into_iter().map(|(_, element)| element).collect();
    }
    Ok(found.into_iter().skip(request.skip).take(request.most).collect())
}

fn run<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>, may_store: bool) -> Outcome<Reply> {
    let request = request(arguments, may_store)?;
    let found = sorted(context, &request, &arguments[1])?;
    let mut results = Vec::new();
    for element in found {
        match request.get.is_empty() {
            true => results.push(Some(element)),
            false => {
                for pattern in &request.get {
                    results.push(look_up(context, pattern, &element)?);
                }
            }
        }
    }
    let Some(target) = request.store else {
        return Ok(Reply::Array(results.into_iter().map(Reply::bulk_or_null).collect()));
    };
    let mut list = context.uncounted(|| {
        context.delete(&context.entry(target)?)?;
        List::open(context, target)
    })?;
    for element in &results {
        list.push(Side::Right, element.as_deref().unwrap_or_default())?;
    }
    list.save()?;
    if !results.is_empty() {
        context.signal(target);
    }
    Ok(Reply::count(results.len()))
}

pub(crate) fn sort<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    run(context, arguments, true)
}

pub(crate) fn sort_ro<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    run(context, arguments, false)
}
