//! Scans in steps: SCAN over keys, and HSCAN, SSCAN and ZSCAN over members.

use crate::arguments::Arguments;
use crate::commands::keys::bounds_of;
use crate::context::Context;
use crate::glob::matches;
use crate::members::Members;
use crate::number::{format_float, from_sortable, integer};
use crate::record::Kind;
use crate::refusal::{Outcome, Refusal, SYNTAX};
use crate::reply::Reply;
use std::ops::{Bound, ControlFlow};

/// The options of a scan.
struct ScanOptions<'a> {
    /// Behind which key the scan goes on.
    after: Option<Vec<u8>>,
    pattern: Option<&'a [u8]>,
    kind: Option<Vec<u8>>,
    count: usize,
    without_values: bool,
}

fn options<'a>(context: &Context<'_>, arguments: &Arguments<'a>, at: usize) -> Outcome<ScanOptions<'a>> {
    let invalid = Refusal::text("ERR invalid cursor");
    let cursor = std::str::from_utf8(arguments.at(at)).ok().and_then(|text| text.parse::<u64>().ok());
    let after = match cursor.ok_or(invalid.clone())? {
        0 => None,
        cursor => Some(context.cursors.find(cursor).ok_or(invalid)?),
    };
    let mut found = ScanOptions { after, pattern: None, kind: None, count: 10, without_values: false };
    let mut options = arguments.options(at + 1);
    while let Some(word) = options.keyword() {
        match &word[..] {
            b"MATCH" => found.pattern = Some(options.word().ok_or(SYNTAX)?),
            b"COUNT" => {
                let count = integer(options.word().ok_or(SYNTAX)?)?;
                found.count = usize::try_from(count).ok().filter(|count| *count > 0).ok_or(SYNTAX)?;
            }
            b"TYPE" if at == 1 => found.kind = Some(options.word().ok_or(SYNTAX)?.to_ascii_lowercase()),
            b"NOVALUES" if at == 2 => found.without_values = true,
            _ => return Err(SYNTAX),
        }
    }
    Ok(found)
}

/// Returns the cursor and what was found.
fn page(context: &Context<'_>, last: Option<Vec<u8>>, found: Vec<Reply>) -> Reply {
    let cursor = last.map_or(0, |last| context.cursors.remember(last));
    Reply::Array(vec![Reply::bulk(cursor.to_string()), Reply::Array(found)])
}

pub(crate) fn scan(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let options = options(context, arguments, 1)?;
    let mut end = None;
    let (low, high) = bounds_of(options.pattern.unwrap_or_default(), &mut end);
    let low = options.after.as_deref().map_or(low, Bound::Excluded);
    let (mut found, mut visited, mut last) = (Vec::new(), 0, None);
    context.visit_keys((low, high), false, &mut |key, kind, _| {
        if visited == options.count {
            return ControlFlow::Break(());
        }
        visited += 1;
        let is_of_kind = options.kind.as_ref().is_none_or(|wanted| wanted == kind.name().as_bytes());
        if is_of_kind && options.pattern.is_none_or(|pattern| matches(pattern, key)) {
            found.push(Reply::bulk(key));
        }
        if visited == options.count {
            last = Some(key.to_vec());
        }
        ControlFlow::Continue(())
    })?;
    Ok(page(context, last, found))
}

fn scan_members(context: &Context<'_>, arguments: &Arguments<'_>, kind: Kind) -> Outcome<Reply> {
    let options = options(context, arguments, 2)?;
    let members = Members::open(context, &arguments[1], kind)?;
    // A small collection is returned whole, as clients know it.
    let count = if members.is_in_rows() { options.count } else { usize::MAX };
    let low = options.after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let (mut found, mut visited, mut last) = (Vec::new(), 0, None);
    members.visit((low, Bound::Unbounded), false, &mut |member, value| {
        visited += 1;
        if options.pattern.is_none_or(|pattern| matches(pattern, member)) {
            found.push(Reply::bulk(member));
            match kind {
                Kind::Hash if !options.without_values => found.push(Reply::bulk(value)),
                Kind::SortedSet => {
                    found.push(Reply::bulk(format_float(from_sortable(value.try_into().unwrap_or_default()))));
                }
                _ => {}
            }
        }
        if visited == count {
            last = Some(member.to_vec());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    Ok(page(context, last, found))
}

pub(crate) fn hscan(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    scan_members(context, arguments, Kind::Hash)
}

pub(crate) fn sscan(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    scan_members(context, arguments, Kind::Set)
}

pub(crate) fn zscan(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    scan_members(context, arguments, Kind::SortedSet)
}
