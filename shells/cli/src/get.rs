//! `get`: the value of one key. For an absent key, the exit code is 1 and there is no output.

use crate::args::Get;
use crate::exit::Exit;
use crate::{opened, output};

pub(crate) fn run(args: &Get) -> anyhow::Result<Exit> {
    let key = args.record.key()?;
    let database = opened::readable(&args.record.target.database)?;
    let Some(keyspace) = database.existing_keyspace(&args.record.target.keyspace)? else {
        return opened::no_keyspace(&args.record.target.keyspace, &database.keyspaces()?);
    };
    let Some(value) = keyspace.get(key)? else { return Ok(Exit::Absent) };
    output::print_value(&value, args.record.escaped, !args.no_newline)?;
    Ok(Exit::Found)
}
