//! `put`: stores one record, durably on return.

use std::io::{self, IsTerminal, Read};

use anyhow::Context;

use crate::args::{Put, Writing, bytes};
use crate::exit::{Exit, note};
use crate::formats::LIMITS;
use crate::opened;

pub(crate) fn run(args: &Put) -> anyhow::Result<Exit> {
    let record = &args.record;
    let key = record.key()?;
    let value = match &args.value {
        Some(value) => bytes(value, record.escaped)?,
        None => standard_input()?,
    };
    LIMITS.allow(&key, &value)?;
    opened::closing(opened::writable(&record.target.database, &Writing::default(), true)?, |database| {
        database.keyspace(&record.target.keyspace)?.insert(key, value)?;
        database.sync().context("cannot make the record durable")?;
        Ok(Exit::Found)
    })
}

/// Reads all of standard input, up to one byte over the limit: enough to detect that it is too long.
fn standard_input() -> anyhow::Result<Vec<u8>> {
    if io::stdin().is_terminal() {
        note("reading the value from the terminal; end with Ctrl-D on a line of its own");
    }
    let mut value = Vec::new();
    io::stdin().lock().take(LIMITS.value as u64 + 1).read_to_end(&mut value).context("reading standard input")?;
    Ok(value)
}
