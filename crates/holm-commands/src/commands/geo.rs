//! Places in sorted sets: adding, reading, measuring. `geo_search` finds them.

use crate::arguments::Arguments;
use crate::commands::sorted_sets::{NOT_FLOAT, add_places, open, score_of};
use crate::context::Context;
use crate::geohash::Place;
use crate::number::parse_float;
use crate::refusal::{Outcome, Refusal, SYNTAX};
use crate::reply::Reply;

/// Reads a longitude and a latitude.
pub(crate) fn place(longitude: &[u8], latitude: &[u8]) -> Outcome<Place> {
    let (longitude, latitude) = (parse_float(longitude).ok_or(NOT_FLOAT)?, parse_float(latitude).ok_or(NOT_FLOAT)?);
    let wrong = || Refusal::of(format!("ERR invalid longitude,latitude pair {longitude:.6},{latitude:.6}"));
    Place::new(longitude, latitude).ok_or_else(wrong)
}

/// Reads a unit, and returns its metres.
pub(crate) fn unit(word: &[u8]) -> Outcome<f64> {
    match &word.to_ascii_lowercase()[..] {
        b"m" => Ok(1.0),
        b"km" => Ok(1_000.0),
        b"ft" => Ok(0.3048),
        b"mi" => Ok(1_609.34),
        _ => Err(Refusal::text("ERR unsupported unit provided. please use M, KM, FT, MI")),
    }
}

/// A distance as clients know it: four decimal places.
pub(crate) fn distance_reply(distance: f64) -> Reply {
    Reply::bulk(format!("{distance:.4}"))
}

pub(crate) fn place_reply(place: Place) -> Reply {
    Reply::Array(vec![Reply::Double(place.longitude), Reply::Double(place.latitude)])
}

pub(crate) fn geoadd<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let mut at = 2;
    while ["nx", "xx", "ch"].iter().any(|option| arguments.is(at, option)) {
        at += 1;
    }
    let words = arguments.len() - at;
    let has = |option: &str| (2..at).any(|at| arguments.is(at, option));
    if words == 0 || !words.is_multiple_of(3) || has("nx") && has("xx") {
        return Err(SYNTAX);
    }
    let mut scored = Vec::new();
    for at in (at..arguments.len()).step_by(3) {
        let score = place(&arguments[at], &arguments[at + 1])?.score();
        scored.push((score as f64, &arguments[at + 2]));
    }
    add_places(context, arguments, &scored)
}

/// Returns the place of a member; `None` if it is absent.
pub(crate) fn place_of<'c>(context: &'c Context<'c>, key: &[u8], member: &[u8]) -> Outcome<Option<Place>> {
    Ok(open(context, key)?.get(member)?.map(|value| Place::of_score(score_of(&value))))
}

fn each<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>, answer: fn(Option<Place>) -> Reply) -> Outcome<Reply> {
    let set = open(context, &arguments[1])?;
    let mut replies = Vec::new();
    for member in arguments.from(2) {
        replies.push(answer(set.get(member)?.map(|value| Place::of_score(score_of(&value)))));
    }
    Ok(Reply::Array(replies))
}

pub(crate) fn geohash<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    each(context, arguments, |place| Reply::bulk_or_null(place.map(Place::letters)))
}

pub(crate) fn geopos<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    each(context, arguments, |place| place.map_or(Reply::NullArray, place_reply))
}

pub(crate) fn geodist<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    if arguments.len() > 5 {
        return Err(SYNTAX);
    }
    let metres = arguments.get(4).map_or(Ok(1.0), unit)?;
    let place = |at: usize| place_of(context, &arguments[1], &arguments[at]);
    let (one, other) = (place(2)?, context.uncounted(|| place(3))?);
    let (Some(one), Some(other)) = (one, other) else { return Ok(Reply::Null) };
    Ok(distance_reply(one.distance(other) / metres))
}
