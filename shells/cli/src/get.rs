//! `get`: the value of one key. For an absent key, the exit code is 1 and there is no output.

use crate::args::Get;
use crate::escape::escape;
use crate::exit::Exit;
use crate::{opened, output};

pub(crate) fn run(args: &Get) -> anyhow::Result<Exit> {
    let key = args.record.key()?;
    let database = opened::readable(&args.record.target.database)?;
    let Some(keyspace) = database.existing_keyspace(&args.record.target.keyspace)? else {
        return opened::no_keyspace(&args.record.target.keyspace, &database.keyspaces()?);
    };
    let Some(value) = keyspace.get(key)? else { return Ok(Exit::Absent) };
    let mut text = Vec::new();
    if args.record.escaped {
        escape(&value, &mut text);
    } else {
        text.extend_from_slice(&value);
    }
    if !args.no_newline {
        text.push(b'\n');
    }
    output::print(text)?;
    Ok(Exit::Found)
}
