//! The places of a sorted set within a circle or a box.

use crate::arguments::{Arguments, Options};
use crate::commands::geo::{distance_reply, place, place_of, place_reply, unit};
use crate::commands::sorted_sets::{open, split};
use crate::context::Context;
use crate::geohash::{Part, Place, cover};
use crate::members::Members;
use crate::number::{parse_float, parse_integer, sortable};
use crate::record::Kind;
use crate::refusal::{Outcome, Refusal, SYNTAX};
use crate::reply::Reply;
use std::ops::{Bound, ControlFlow};

#[derive(Clone, Copy)]
enum Shape {
    Circle { metres: f64 },
    Box { width: f64, height: f64 },
}

/// What the two ends of a search are, and what it answers.
#[derive(Default)]
struct Request<'a> {
    centre: Option<Place>,
    /// The member that is the centre was looked for.
    member: Option<&'a [u8]>,
    shape: Option<Shape>,
    /// The metres of the unit that distances are stated in.
    unit: f64,
    with_distance: bool,
    with_score: bool,
    with_place: bool,
    count: usize,
    any: bool,
    /// From the nearest, or from the farthest.
    order: Option<bool>,
    store: Option<&'a [u8]>,
    stores_distance: bool,
}

impl Request<'_> {
    fn answers_more(&self) -> bool {
        self.with_distance || self.with_score || self.with_place
    }
}

/// A place that was found.
struct Found {
    member: Vec<u8>,
    score: f64,
    place: Place,
    metres: f64,
}

fn size(word: Option<&[u8]>, what: &str) -> Outcome<f64> {
    let size = word.and_then(parse_float).ok_or_else(|| Refusal::of(format!("ERR need numeric {what}")))?;
    if size < 0.0 {
        let text =
            if what == "radius" { "ERR radius cannot be negative" } else { "ERR height or width cannot be negative" };
        return Err(Refusal::text(text));
    }
    Ok(size)
}

/// Which commands have which options.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Centre and shape are options; the result is returned, or stored.
    Search,
    SearchStore,
    /// Centre and radius come first; the result may be stored.
    Radius,
    RadiusReadOnly,
}

fn option<'a>(request: &mut Request<'a>, form: Form, word: &[u8], options: &mut Options<'a>) -> Outcome<()> {
    let is_search = matches!(form, Form::Search | Form::SearchStore);
    match word {
        b"WITHDIST" => request.with_distance = true,
        b"WITHHASH" => request.with_score = true,
        b"WITHCOORD" => request.with_place = true,
        b"ANY" => request.any = true,
        b"ASC" => request.order = Some(true),
        b"DESC" => request.order = Some(false),
        b"COUNT" => {
            let count = parse_integer(options.word().ok_or(SYNTAX)?);
            let count = count.ok_or(Refusal::text("ERR value is not an integer or out of range"))?;
            let count = usize::try_from(count).ok().filter(|count| *count > 0);
            request.count = count.ok_or(Refusal::text("ERR COUNT must be > 0"))?;
        }
        b"STORE" | b"STOREDIST" if form == Form::Radius => {
            request.store = Some(options.word().ok_or(SYNTAX)?);
            request.stores_distance = word == b"STOREDIST";
        }
        b"STOREDIST" if form == Form::SearchStore => request.stores_distance = true,
        b"FROMMEMBER" if is_search && request.centre.is_none() && request.member.is_none() => {
            request.member = Some(options.word().ok_or(SYNTAX)?);
        }
        b"FROMLONLAT" if is_search && request.centre.is_none() && request.member.is_none() && options.left() >= 2 => {
            request.centre = Some(place(options.word().ok_or(SYNTAX)?, options.word().ok_or(SYNTAX)?)?);
        }
        b"BYRADIUS" if is_search && request.shape.is_none() && options.left() >= 2 => {
            let radius = size(options.word(), "radius")?;
            request.unit = unit(options.word().ok_or(SYNTAX)?)?;
            request.shape = Some(Shape::Circle { metres: radius * request.unit });
        }
        b"BYBOX" if is_search && request.shape.is_none() && options.left() >= 3 => {
            let (width, height) = (size(options.word(), "width")?, size(options.word(), "height")?);
            request.unit = unit(options.word().ok_or(SYNTAX)?)?;
            request.shape = Some(Shape::Box { width: width * request.unit, height: height * request.unit });
        }
        _ => return Err(SYNTAX),
    }
    Ok(())
}

fn check(context: &Context<'_>, request: &Request<'_>, form: Form) -> Outcome<()> {
    let name = context.command.get();
    if request.store.is_some() && request.answers_more() {
        let stores = if form == Form::Radius { "STORE option in GEORADIUS" } else { "GEOSEARCHSTORE" };
        return Err(Refusal::of(format!(
            "ERR {stores} is not compatible with WITHDIST, WITHHASH and WITHCOORD options"
        )));
    }
    if request.centre.is_none() && request.member.is_none() {
        return Err(Refusal::of(format!("ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for {name}")));
    }
    if request.shape.is_none() {
        return Err(Refusal::of(format!("ERR exactly one of BYRADIUS and BYBOX can be specified for {name}")));
    }
    if request.any && request.count == 0 {
        return Err(Refusal::text("ERR the ANY argument requires COUNT argument"));
    }
    Ok(())
}

/// Visits the scores of a part, until there are enough.
fn search(set: &Members<'_, '_>, centre: Place, shape: Shape, most: usize) -> Outcome<Vec<Found>> {
    let part: Part = match shape {
        Shape::Circle { metres } => centre.around(metres),
        Shape::Box { width, height } => centre.box_around(width, height),
    };
    let mut found = Vec::new();
    for (low, high) in cover(&part) {
        let (low, high) = (sortable(low as f64), sortable((high + 1) as f64));
        set.visit_by_score((Bound::Included(&low), Bound::Excluded(&high)), false, &mut |pair| {
            let (score, member) = split(pair);
            let place = Place::of_score(score);
            let metres = centre.distance(place);
            let is_in = match shape {
                Shape::Circle { metres: most } => metres <= most,
                Shape::Box { width, height } => {
                    let beside = Place { latitude: place.latitude, ..centre };
                    let below = Place { latitude: centre.latitude, ..place };
                    beside.distance(place) <= width / 2.0 && below.distance(place) <= height / 2.0
                }
            };
            if is_in {
                found.push(Found { member: member.to_vec(), score, place, metres });
            }
            if found.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if found.len() == most {
            break;
        }
    }
    Ok(found)
}

fn answer(request: &Request<'_>, found: Vec<Found>) -> Reply {
    let of = |found: Found| {
        if !request.answers_more() {
            return Reply::bulk(found.member);
        }
        let mut parts = vec![Reply::bulk(found.member)];
        parts.extend(request.with_distance.then(|| distance_reply(found.metres / request.unit)));
        parts.extend(request.with_score.then_some(Reply::Integer(found.score as i64)));
        parts.extend(request.with_place.then(|| place_reply(found.place)));
        Reply::Array(parts)
    };
    Reply::Array(found.into_iter().map(of).collect())
}

fn run<'c>(context: &'c Context<'c>, key: &[u8], request: Request<'_>, form: Form) -> Outcome<Reply> {
    check(context, &request, form)?;
    let set = open(context, key)?;
    let mut found = Vec::new();
    if set.exists() {
        let centre = match request.member {
            Some(member) => context.uncounted(|| place_of(context, key, member))?,
            None => request.centre,
        };
        let centre = centre.ok_or(Refusal::text("ERR could not decode requested zset member"))?;
        let most = if request.any { request.count } else { usize::MAX };
        found = search(&set, centre, request.shape.ok_or(SYNTAX)?, most)?;
        // The nearest ones are meant where some are left out.
        let order = request.order.or((request.count > 0 && !request.any).then_some(true));
        if let Some(ascends) = order {
            found.sort_by(|one, other| {
                let order = one.metres.total_cmp(&other.metres);
                if ascends { order } else { order.reverse() }
            });
        }
        if request.count > 0 {
            found.truncate(request.count);
        }
    }
    let Some(target) = request.store else { return Ok(answer(&request, found)) };
    let mut stored = Members::fresh(context, target, Kind::SortedSet)?;
    for found in &found {
        let score = if request.stores_distance { found.metres / request.unit } else { found.score };
        stored.insert(&found.member, &sortable(score))?;
    }
    stored.save_with(None)?;
    if !found.is_empty() {
        context.signal(target);
    }
    Ok(Reply::count(found.len()))
}

pub(crate) fn geosearch<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let mut request = Request::default();
    let mut options = arguments.options(2);
    while let Some(word) = options.keyword() {
        option(&mut request, Form::Search, &word, &mut options)?;
    }
    run(context, &arguments[1], request, Form::Search)
}

pub(crate) fn geosearchstore<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let mut request = Request { store: Some(arguments.at(1)), ..Request::default() };
    let mut options = arguments.options(3);
    while let Some(word) = options.keyword() {
        option(&mut request, Form::SearchStore, &word, &mut options)?;
    }
    run(context, &arguments[2], request, Form::SearchStore)
}

/// The older commands: the words behind the key are the centre, the radius and its unit.
fn radius<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>, by_member: bool, form: Form) -> Outcome<Reply> {
    let mut request = Request::default();
    let mut options = arguments.options(if by_member { 3 } else { 4 });
    match by_member {
        true => request.member = Some(arguments.at(2)),
        false => request.centre = Some(place(&arguments[2], &arguments[3])?),
    }
    let radius = size(options.word(), "radius")?;
    request.unit = unit(options.word().ok_or(SYNTAX)?)?;
    request.shape = Some(Shape::Circle { metres: radius * request.unit });
    while let Some(word) = options.keyword() {
        option(&mut request, form, &word, &mut options)?;
    }
    run(context, &arguments[1], request, form)
}

pub(crate) fn georadius<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    radius(context, arguments, false, Form::Radius)
}

pub(crate) fn georadius_ro<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    radius(context, arguments, false, Form::RadiusReadOnly)
}

pub(crate) fn georadiusbymember<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    radius(context, arguments, true, Form::Radius)
}

pub(crate) fn georadiusbymember_ro<'c>(context: &'c Context<'c>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    radius(context, arguments, true, Form::RadiusReadOnly)
}
