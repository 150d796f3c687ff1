//! `put`: one record, durable when the command returns.

use std::io::{self, Read};

use anyhow::Context;

use crate::args::Put;
use crate::exit::Exit;
use crate::formats::LIMITS;
use crate::{get, opened};

pub(crate) fn run(args: &Put) -> anyhow::Result<Exit> {
    let key = get::bytes(&args.key, args.escaped)?;
    let value = match &args.value {
        Some(value) => get::bytes(value, args.escaped)?,
        None => standard_input()?,
    };
    LIMITS.allow(&key, &value)?;
    opened::closing(opened::writable(&args.target.database, &args.writing, true)?, |database| {
        database.keyspace(&args.target.keyspace)?.insert(key, value)?;
        database.sync().context("cannot make the record durable")?;
        Ok(Exit::Found)
    })
}

/// All of standard input, but no more than one byte over the limit: enough to see that it is too long.
fn standard_input() -> anyhow::Result<Vec<u8>> {
    let mut value = Vec::new();
    io::stdin().lock().take(LIMITS.value as u64 + 1).read_to_end(&mut value).context("reading standard input")?;
    Ok(value)
}
