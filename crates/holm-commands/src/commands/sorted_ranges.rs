//! Ranges of sorted sets: by rank, by score and by member, in both directions.

use crate::arguments::Arguments;
use crate::commands::sorted_sets::{open, score_of, split};
use crate::commands::strings::span;
use crate::context::Context;
use crate::members::Members;
use crate::number::{integer, parse_float, sortable};
use crate::record::Kind;
use crate::refusal::{Outcome, Refusal, SYNTAX};
use crate::reply::{Bulks, Reply};
use crate::rows::beyond;
use crate::walk::as_slice;
use std::ops::{Bound, ControlFlow};

type OwnedBounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// What a range selects by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Rank,
    Score,
    Member,
}

/// A range as a command states it.
struct Selection<'a> {
    by: By,
    low: &'a [u8],
    high: &'a [u8],
    reverse: bool,
    offset: i64,
    limit: i64,
    with_scores: bool,
}

/// Reads a bound of members: `-`, `+`, `[member` with the member, `(member` without it. The infinite bounds are on
/// either side of all members.
pub(crate) fn lex_bound(text: &[u8]) -> Option<Bound<Vec<u8>>> {
    match text {
        b"-" => Some(Bound::Included(Vec::new())),
        b"+" => Some(Bound::Unbounded),
        [b'[', member @ ..] => Some(Bound::Included(member.to_vec())),
        [b'(', member @ ..] => Some(Bound::Excluded(member.to_vec())),
        _ => None,
    }
}

/// Reads the bounds of a range of members. `None` if they hold nothing.
fn lex_bounds(low: &[u8], high: &[u8]) -> Outcome<Option<OwnedBounds>> {
    let refusal = || Refusal::text("ERR min or max not valid string range item");
    let bounds = (lex_bound(low).ok_or_else(refusal)?, lex_bound(high).ok_or_else(refusal)?);
    Ok((low != b"+" && high != b"-").then_some(bounds))
}

/// Reads the bounds of a range of scores, as bounds of sortable scores with members behind them.
fn score_bounds(low: &[u8], high: &[u8]) -> Outcome<OwnedBounds> {
    let refusal = || Refusal::text("ERR min or max is not a float");
    let read = |text: &[u8]| -> Outcome<([u8; 8], bool)> {
        let (text, excluded) = text.strip_prefix(b"(").map_or((text, false), |rest| (rest, true));
        Ok((sortable(parse_float(text).ok_or_else(refusal)?), excluded))
    };
    let above = |score: [u8; 8]| beyond(&score).map_or(Bound::Unbounded, Bound::Included);
    let below = |score: [u8; 8]| beyond(&score).map_or(Bound::Unbounded, Bound::Excluded);
    let low = match read(low)? {
        (score, true) => above(score),
        (score, false) => Bound::Included(score.to_vec()),
    };
    let high = match read(high)? {
        (score, true) => Bound::Excluded(score.to_vec()),
        (score, false) => below(score),
    };
    Ok((low, high))
}

/// A member with its score.
pub(crate) type Scored = (Vec<u8>, f64);

/// Collects the members that a selection names.
fn select(set: &Members<'_, '_>, selection: &Selection<'_>) -> Outcome<Vec<Scored>> {
    let mut found = Vec::new();
    visit_selected(set, selection, &mut |member, score| found.push((member.to_vec(), score)))?;
    Ok(found)
}

/// Visits the members that a selection names.
fn visit_selected(set: &Members<'_, '_>, selection: &Selection<'_>, visit: &mut dyn FnMut(&[u8], f64)) -> Outcome<()> {
    let (mut skip, mut left) = match selection.by {
        By::Rank => {
            let (from, to) = (integer(selection.low)?, integer(selection.high)?);
            match span(from, to, set.len()) {
                Some((from, to)) => (from as u64, (to - from + 1) as u64),
                None => return Ok(()),
            }
        }
        _ if selection.offset < 0 => return Ok(()),
        _ => (selection.offset as u64, u64::try_from(selection.limit).unwrap_or(u64::MAX)),
    };
    if left == 0 {
        return Ok(());
    }
    let mut take = |member: &[u8], score: f64| {
        if skip > 0 {
            skip -= 1;
            return ControlFlow::Continue(());
        }
        visit(member, score);
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut take_pair = |pair: &[u8]| {
        let (score, member) = split(pair);
        take(member, score)
    };
    let reverse = selection.reverse;
    match selection.by {
        By::Rank => set.visit_by_score((Bound::Unbounded, Bound::Unbounded), reverse, &mut take_pair)?,
        By::Score => {
            let (low, high) = score_bounds(selection.low, selection.high)?;
            set.visit_by_score((as_slice(&low), as_slice(&high)), reverse, &mut take_pair)?;
        }
        By::Member => {
            if let Some((low, high)) = lex_bounds(selection.low, selection.high)? {
                let bounds = (as_slice(&low), as_slice(&high));
                set.visit(bounds, reverse, &mut |member, value| take(member, score_of(value)))?;
            }
        }
    }
    Ok(())
}

/// Reads a command of the older form, whose name says what it selects by.
fn older<'a>(arguments: &Arguments<'a>, by: By, reverse: bool) -> Outcome<Selection<'a>> {
    let (first, second) = (arguments.at(2), arguments.at(3));
    let (low, high) = if reverse && by != By::Rank { (second, first) } else { (first, second) };
    let mut selection = Selection { by, low, high, reverse, offset: 0, limit: -1, with_scores: false };
    let mut options = arguments.options(4);
    while let Some(word) = options.keyword() {
        match &word[..] {
            b"WITHSCORES" if by != By::Member => selection.with_scores = true,
            b"LIMIT" if by != By::Rank => {
                selection.offset = integer(options.word().ok_or(SYNTAX)?)?;
                selection.limit = integer(options.word().ok_or(SYNTAX)?)?;
            }
            _ => return Err(SYNTAX),
        }
    }
    Ok(selection)
}

/// Reads the form of ZRANGE and ZRANGESTORE, whose options say what it selects by.
fn newer<'a>(arguments: &Arguments<'a>, at: usize, may_score: bool) -> Outcome<Selection<'a>> {
    let (mut by, mut reverse, mut limit, mut with_scores) = (By::Rank, false, None, false);
    let mut options = arguments.options(at + 3);
    while let Some(word) = options.keyword() {
        match &word[..] {
            b"BYSCORE" if by == By::Rank => by = By::Score,
            b"BYLEX" if by == By::Rank => by = By::Member,
            b"REV" if !reverse => reverse = true,
            b"WITHSCORES" if may_score => with_scores = true,
            b"LIMIT" => {
                let offset = integer(options.word().ok_or(SYNTAX)?)?;
                limit = Some((offset, integer(options.word().ok_or(SYNTAX)?)?));
            }
            _ => return Err(SYNTAX),
        }
    }
    if limit.is_some() && by == By::Rank {
        return Err(Refusal::text(
            "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
        ));
    }
    if with_scores && by == By::Member {
        return Err(Refusal::text("ERR syntax error, WITHSCORES not supported in combination with BYLEX"));
    }
    let (first, second) = (arguments.at(at + 1), arguments.at(at + 2));
    let (low, high) = if reverse && by != By::Rank { (second, first) } else { (first, second) };
    let (offset, limit) = limit.unwrap_or((0, -1));
    Ok(Selection { by, low, high, reverse, offset, limit, with_scores })
}

/// Refuses bounds that cannot be read, for an absent key, too.
fn check_bounds(selection: &Selection<'_>) -> Outcome<()> {
    match selection.by {
        By::Rank => drop((integer(selection.low)?, integer(selection.high)?)),
        By::Score => drop(score_bounds(selection.low, selection.high)?),
        By::Member => drop(lex_bounds(selection.low, selection.high)?),
    }
    Ok(())
}

fn reply<'c>(context: &'c Context<'c>, key: &[u8], selection: &Selection<'_>) -> Outcome<Reply> {
    check_bounds(selection)?;
    let set = open(context, key)?;
    if selection.with_scores {
        let found = select(&set, selection)?.into_iter();
        return Ok(Reply::Pairs(found.map(|(member, score)| (Reply::bulk(member), Reply::Double(score))).collect()));
    }
    let mut found = Bulks::default();
    visit_selected(&set, selection, &mut |member, _| found.push(member))?;
    Ok(Reply::Bulks(found))
}

pub(crate) fn zrange<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    reply(context, &arguments[1], &newer(arguments, 1, true)?)
}

pub(crate) fn zrevrange<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    reply(context, &arguments[1], &older(arguments, By::Rank, true)?)
}

pub(crate) fn zrangebyscore<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    reply(context, &arguments[1], &older(arguments, By::Score, false)?)
}

pub(crate) fn zrevrangebyscore<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    reply(context, &arguments[1], &older(arguments, By::Score, true)?)
}

pub(crate) fn zrangebylex<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    reply(context, &arguments[1], &older(arguments, By::Member, false)?)
}

pub(crate) fn zrevrangebylex<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    reply(context, &arguments[1], &older(arguments, By::Member, true)?)
}

pub(crate) fn zrangestore<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let selection = newer(arguments, 2, false)?;
    check_bounds(&selection)?;
    let found = select(&open(context, &arguments[2])?, &selection)?;
    let mut target = Members::fresh(context, &arguments[1], Kind::SortedSet)?;
    for (member, score) in &found {
        target.insert(member, &sortable(*score))?;
    }
    target.save_with(None)?;
    if !found.is_empty() {
        context.signal(&arguments[1]);
    }
    Ok(Reply::count(found.len()))
}

fn counted<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>, by: By) -> Outcome<Reply> {
    let selection = older(arguments, by, false)?;
    check_bounds(&selection)?;
    let mut count = 0;
    visit_selected(&open(context, &arguments[1])?, &selection, &mut |_, _| count += 1)?;
    Ok(Reply::count(count))
}

pub(crate) fn zcount<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    counted(context, arguments, By::Score)
}

pub(crate) fn zlexcount<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    counted(context, arguments, By::Member)
}

fn removed<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>, by: By) -> Outcome<Reply> {
    let selection = older(arguments, by, false)?;
    let mut set = open(context, &arguments[1])?;
    if by == By::Score {
        score_bounds(selection.low, selection.high)?;
    }
    let found = select(&set, &selection)?;
    for (member, _) in &found {
        set.remove(member)?;
    }
    set.save()?;
    Ok(Reply::count(found.len()))
}

pub(crate) fn zremrangebyrank<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    removed(context, arguments, By::Rank)
}

pub(crate) fn zremrangebyscore<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    removed(context, arguments, By::Score)
}

pub(crate) fn zremrangebylex<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    removed(context, arguments, By::Member)
}
