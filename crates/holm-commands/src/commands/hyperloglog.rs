//! HyperLogLog: counts of distinct elements in strings of at most 12 KiB.

use crate::arguments::Arguments;
use crate::context::Context;
use crate::entry::Entry;
use crate::refusal::{Outcome, Refusal};
use crate::reply::Reply;
use crate::sketch::{Sketch, is_dense};

fn read(entry: &Entry<'_>) -> Outcome<Option<Sketch>> {
    entry.string()?.map(Sketch::decode).transpose()
}

pub(crate) fn pfadd(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let entry = context.entry(&arguments[1])?;
    let found = read(&entry)?;
    let mut has_changed = found.is_none();
    let mut sketch = found.unwrap_or_else(Sketch::new);
    for element in arguments.from(2) {
        has_changed |= sketch.add(element);
    }
    if has_changed {
        context.put_string(&entry, &sketch.encode(), entry.expiry())?;
    }
    Ok(Reply::flag(has_changed))
}

fn merged<'k>(context: &Context<'_>, keys: impl Iterator<Item = &'k [u8]>) -> Outcome<Sketch> {
    let mut union = Sketch::new();
    for key in keys {
        if let Some(sketch) = read(&context.entry(key)?)? {
            union.merge(&sketch);
        }
    }
    Ok(union)
}

pub(crate) fn pfcount(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(Reply::Integer(merged(context, arguments.from(1))?.estimate() as i64))
}

pub(crate) fn pfmerge(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let union = merged(context, arguments.from(1))?;
    let entry = context.uncounted(|| context.entry(&arguments[1]))?;
    context.put_string(&entry, &union.encode(), entry.expiry())?;
    Ok(Reply::OK)
}

/// What tests of other servers ask of a HyperLogLog.
pub(crate) fn pfdebug(context: &Context<'_>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let entry = context.entry(&arguments[2])?;
    let mut sketch = read(&entry)?.ok_or(Refusal::text("ERR The specified key does not exist"))?;
    let was_dense = entry.string()?.is_some_and(is_dense);
    match &arguments[1].to_ascii_lowercase()[..] {
        b"getreg" => {
            Ok(Reply::Array(sketch.registers().iter().map(|value| Reply::Integer(i64::from(*value))).collect()))
        }
        b"encoding" => Ok(Reply::Status(if was_dense { "dense" } else { "sparse" }.into())),
        b"todense" => {
            sketch.make_dense();
            context.put_string(&entry, &sketch.encode(), entry.expiry())?;
            Ok(Reply::flag(!was_dense))
        }
        _ => Err(Refusal::text("ERR Unknown PFDEBUG subcommand")),
    }
}
