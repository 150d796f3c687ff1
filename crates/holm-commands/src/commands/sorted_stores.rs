//! Sorted sets combined: unions, intersections and differences, returned or stored.

use crate::arguments::Arguments;
use crate::commands::sets::{Combination, key_count, limit_option};
use crate::commands::sorted_ranges::Scored;
use crate::commands::sorted_sets::score_of;
use crate::context::Context;
use crate::members::Members;
use crate::number::{integer, parse_float, sortable};
use crate::record::Kind;
use crate::refusal::{Outcome, Refusal, SYNTAX, WRONG_TYPE};
use crate::reply::Reply;
use std::collections::HashMap;

/// How the scores of one member are combined.
#[derive(Clone, Copy)]
enum Aggregate {
    Sum,
    Min,
    Max,
}

impl Aggregate {
    fn of(self, one: f64, other: f64) -> f64 {
        match self {
            // Infinities of both signs have no sum.
            Aggregate::Sum => Some(one + other).filter(|sum| !sum.is_nan()).unwrap_or(0.0),
            Aggregate::Min => one.min(other),
            Aggregate::Max => one.max(other),
        }
    }
}

/// Reads a set or a sorted set; members of a set have the score 1.
fn input<'c>(context: &'c Context<'c>, key: &[u8]) -> Outcome<Vec<Scored>> {
    let kind = match context.entry(key)?.live().map(|record| record.kind) {
        None => return Ok(Vec::new()),
        Some(kind @ (Kind::Set | Kind::SortedSet)) => kind,
        Some(_) => return Err(WRONG_TYPE),
    };
    let score = |value: &[u8]| if kind == Kind::Set { 1.0 } else { score_of(value) };
    let all = context.uncounted(|| Members::open(context, key, kind)?.all())?;
    Ok(all.into_iter().map(|(member, value)| (member, score(&value))).collect())
}

/// The sets of a command, and how to combine them.
struct Request {
    inputs: Vec<Vec<Scored>>,
    weights: Vec<f64>,
    aggregate: Aggregate,
    with_scores: bool,
}

/// Reads the number of sets that follow it.
fn input_count(context: &Context<'_>, arguments: &Arguments<'_>, at: usize) -> Outcome<usize> {
    integer(arguments.at(at))?;
    key_count(arguments, at).map_err(|refusal| match refusal {
        Refusal::Text(text) if text.contains("greater than 0") => {
            let name = context.command.get();
            Refusal::of(format!("ERR at least 1 input key is needed for '{name}' command"))
        }
        _ => SYNTAX,
    })
}

fn request<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>, at: usize, how: Combination) -> Outcome<Request> {
    let count = input_count(context, arguments, at)?;
    let keys: Vec<_> = arguments.from(at + 1).take(count).collect();
    let (mut weights, mut aggregate, mut with_scores) = (vec![1.0; count], Aggregate::Sum, false);
    let mut options = arguments.options(at + 1 + count);
    while let Some(word) = options.keyword() {
        match &word[..] {
            b"WEIGHTS" if how != Combination::Difference => {
                for weight in &mut weights {
                    let text = options.word().ok_or(SYNTAX)?;
                    *weight = parse_float(text).ok_or(Refusal::text("ERR weight value is not a float"))?;
                }
            }
            b"AGGREGATE" if how != Combination::Difference => {
                aggregate = match options.keyword().as_deref() {
                    Some(b"SUM") => Aggregate::Sum,
                    Some(b"MIN") => Aggregate::Min,
                    Some(b"MAX") => Aggregate::Max,
                    _ => return Err(SYNTAX),
                }
            }
            b"WITHSCORES" if at == 1 => with_scores = true,
            _ => return Err(SYNTAX),
        }
    }
    let inputs = keys.into_iter().map(|key| input(context, key)).collect::<Outcome<_>>()?;
    Ok(Request { inputs, weights, aggregate, with_scores })
}

/// Combines sets. The result is in the order of scores and members.
fn combine(request: &Request, how: Combination) -> Vec<Scored> {
    // For each member: its score, and in how many sets it is.
    let mut found: HashMap<&[u8], (f64, usize)> = HashMap::new();
    for (index, (set, weight)) in request.inputs.iter().zip(&request.weights).enumerate() {
        for (member, score) in set {
            let weighted = Some(score * weight).filter(|score| !score.is_nan()).unwrap_or(0.0);
            match found.get_mut(&member[..]) {
                Some((score, count)) => (*score, *count) = (request.aggregate.of(*score, weighted), *count + 1),
                None if index == 0 || how == Combination::Union => drop(found.insert(member, (weighted, 1))),
                None => {}
            }
        }
    }
    let is_in = |count: usize| match how {
        Combination::Union => true,
        Combination::Intersection => count == request.inputs.len(),
        Combination::Difference => count == 1,
    };
    let members = found.into_iter().filter(|(_, (_, count))| is_in(*count));
    let mut result: Vec<Scored> = members.map(|(member, (score, _))| (member.to_vec(), score)).collect();
    result.sort_by(|one, other| sortable(one.1).cmp(&sortable(other.1)).then_with(|| one.0.cmp(&other.0)));
    result
}

fn combined<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>, how: Combination) -> Outcome<Reply> {
    let request = request(context, arguments, 1, how)?;
    let found = combine(&request, how).into_iter();
    if request.with_scores {
        return Ok(Reply::Pairs(found.map(|(member, score)| (Reply::bulk(member), Reply::Double(score))).collect()));
    }
    Ok(Reply::bulks(found.map(|(member, _)| member)))
}

fn stored<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>, how: Combination) -> Outcome<Reply> {
    let found = combine(&request(context, arguments, 2, how)?, how);
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

pub(crate) fn zunion<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    combined(context, arguments, Combination::Union)
}

pub(crate) fn zinter<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    combined(context, arguments, Combination::Intersection)
}

pub(crate) fn zdiff<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    combined(context, arguments, Combination::Difference)
}

pub(crate) fn zunionstore<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    stored(context, arguments, Combination::Union)
}

pub(crate) fn zinterstore<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    stored(context, arguments, Combination::Intersection)
}

pub(crate) fn zdiffstore<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    stored(context, arguments, Combination::Difference)
}

pub(crate) fn zintercard<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let count = input_count(context, arguments, 1)?;
    let most = limit_option(arguments, 2 + count)?;
    let inputs = arguments.from(2).take(count).map(|key| input(context, key)).collect::<Outcome<_>>()?;
    let request = Request { inputs, weights: vec![1.0; count], aggregate: Aggregate::Sum, with_scores: false };
    Ok(Reply::count(combine(&request, Combination::Intersection).len().min(most)))
}
