//! What only ordered keys can do: ranges of keys, both ways and in pages.

use crate::arguments::Arguments;
use crate::commands::sorted_ranges::lex_bound;
use crate::context::Context;
use crate::number::count;
use crate::record::{Kind, glance};
use crate::refusal::{Outcome, Refusal, SYNTAX};
use crate::reply::Reply;
use crate::walk::as_slice;
use std::ops::{Bound, ControlFlow};

/// The most keys of one reply.
const MOST: usize = 100_000;

type OwnedBounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

fn bounds(arguments: &Arguments<'_>) -> Outcome<OwnedBounds> {
    let low = lex_bound(&arguments[1]).ok_or(BOUND)?;
    let high = lex_bound(&arguments[2]).ok_or(BOUND)?;
    Ok((low, high))
}

const BOUND: Refusal = Refusal::text("ERR a bound is '-', '+', '[key' with the key, or '(key' without it");

pub(crate) fn range(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let (low, high) = bounds(arguments)?;
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
    let bounds = (as_slice(&low), as_slice(&high));
    let (mut found, mut visited) = (Vec::new(), 0);
    if limit == 0 || crate::walk::is_empty(bounds) {
        return Ok(Reply::Array(found));
    }
    context.visit_keys(bounds, reverse, &mut |key, kind, record| {
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
    let (low, high) = bounds(arguments)?;
    let bounds = (as_slice(&low), as_slice(&high));
    let mut visited = 0;
    if !crate::walk::is_empty(bounds) {
        context.visit_keys(bounds, false, &mut |_, _, _| {
            visited += 1;
            ControlFlow::Continue(())
        })?;
    }
    Ok(Reply::count(visited))
}

pub(crate) fn remove_range(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let (low, high) = bounds(arguments)?;
    let mut limit = MOST;
    let mut options = arguments.options(3);
    while let Some(word) = options.keyword() {
        match &word[..] {
            b"LIMIT" => limit = count(options.word().ok_or(SYNTAX)?)?.min(MOST),
            _ => return Err(SYNTAX),
        }
    }
    let bounds = (as_slice(&low), as_slice(&high));
    let mut found = Vec::new();
    if limit > 0 && !crate::walk::is_empty(bounds) {
        context.visit_keys(bounds, false, &mut |key, _, _| {
            found.push(key.to_vec());
            if found.len() == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
    }
    for key in &found {
        context.delete(&context.entry(key)?)?;
    }
    Ok(Reply::count(found.len()))
}
