//! `put`: stores one record, durably on return.

use std::io::Read;

use anyhow::Context;

use crate::args::{Put, Writing, bytes};
use crate::exit::Exit;
use crate::formats::LIMITS;
use crate::{expiring, input, opened};

pub(crate) fn run(args: &Put) -> anyhow::Result<Exit> {
    let record = &args.record;
    let key = record.key()?;
    let value = match &args.value {
        Some(value) => bytes(value, record.escaped)?,
        None => standard_input()?,
    };
    LIMITS.allow(&key, &value)?;
    expiring::check_target(&record.target, &args.expiring)?;
    opened::closing(opened::writable(&record.target.database, &Writing::default(), true)?, |database| {
        let keyspace = expiring::keyspace(database, &record.target.keyspace, &args.expiring)?;
        expiring::insert(&keyspace, &key, &value, &args.expiring)?;
        database.sync().context("cannot make the record durable")?;
        Ok(Exit::Found)
    })
}

/// Reads all of standard input, up to one byte over the limit: enough to detect that it is too long.
fn standard_input() -> anyhow::Result<Vec<u8>> {
    let stdin = input::standard("the value", "give it as an argument, '' for an empty one")?;
    let mut value = Vec::new();
    stdin.take(LIMITS.value as u64 + 1).read_to_end(&mut value).context("reading standard input")?;
    Ok(value)
}
