//! What only ordered keys can do: ranges of keys, both ways and in pages.

use crate::arguments::Arguments;
use crate::commands::sorted_ranges::lex_bound;
use crate::context::Context;
use crate::edition::Edition;
use crate::number::count;
use crate::record::{Kind, glance};
use crate::refusal::{Outcome, Refusal, SYNTAX};
use crate::reply::Reply;
use crate::walk::{as_slice, is_empty};
use std::ops::{Bound, ControlFlow};

/// The most keys of one reply.
const MOST: usize = 100_000;

type OwnedBounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// Reads the bounds of a range of keys. `None` if they hold nothing.
fn bounds(arguments: &Arguments<'_>) -> Outcome<Option<OwnedBounds>> {
    Ok(former_bounds(arguments)?.filter(|_| !arguments.is(1, "+") && !arguments.is(2, "-")))
}

/// As [`bounds`], of the editions before the third.
fn former_bounds(arguments: &Arguments<'_>) -> Outcome<Option<OwnedBounds>> {
    let (low, high) = (lex_bound(&arguments[1]).ok_or(BOUND)?, lex_bound(&arguments[2]).ok_or(BOUND)?);
    Ok((!is_empty((as_slice(&low), as_slice(&high)))).then_some((low, high)))
}

const BOUND: Refusal = Refusal::text("ERR a bound is '-', '+', '[key' with the key, or '(key' without it");

pub(crate) fn range(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let bounds = bounds(arguments)?;
    let (mut reverse, mut limit, mut with_values) = (false, 100, false);
    let mut options = arguments.options(3);
    while let Some(word) = options.keyword() {
        match &word[..] {
            b"REV" => reverse = true,
            b"LIMIT" => limit = count(options.word().ok_or(SYNTAX)?)?.min(MOST),
            b"WITHVALUES" => with_values = true,
            _ => return Err(SYNTAX),
        }
    }
    let (mut found, mut visited) = (Vec::new(), 0);
    let Some((low, high)) = bounds.filter(|_| limit > 0) else { return Ok(Reply::Array(found)) };
    context.visit_keys((as_slice(&low), as_slice(&high)), reverse, &mut |key, kind, record| {
        found.push(Reply::bulk(key));
        if with_values {
            let header = if glance(record).is_some_and(|(_, expiry)| expiry.is_some()) { 10 } else { 2 };
            found.push(if kind == Kind::String { Reply::bulk(&record[header..]) } else { Reply::Null });
        }
        visited += 1;
        if visited == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(Reply::Array(found))
}

pub(crate) fn count_range(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let mut visited = 0;
    if let Some((low, high)) = bounds(arguments)? {
        context.visit_keys((as_slice(&low), as_slice(&high)), false, &mut |_, _, _| {
            visited += 1;
            ControlFlow::Continue(())
        })?;
    }
    Ok(Reply::count(visited))
}

pub(crate) fn remove_range(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let bounds = if context.edition < Edition::Third { former_bounds(arguments)? } else { bounds(arguments)? };
    let mut limit = MOST;
    let mut options = arguments.options(3);
    while let Some(word) = options.keyword() {
        match &word[..] {
            b"LIMIT" => limit = count(options.word().ok_or(SYNTAX)?)?.min(MOST),
            _ => return Err(SYNTAX),
        }
    }
    let mut found = Vec::new();
    if let Some((low, high)) = bounds.filter(|_| limit > 0) {
        context.visit_keys((as_slice(&low), as_slice(&high)), false, &mut |key, _, _| {
            found.push(key.to_vec());
            if found.len() == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
    }
    for key in &found {
        context.delete(&context.entry(key)?)?;
    }
    Ok(Reply::count(found.len()))
}
