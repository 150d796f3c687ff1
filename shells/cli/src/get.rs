//! `get`: the value of one key. Absent is exit code 1 and no output.

use std::ffi::OsStr;

use crate::args::Get;
use crate::escape::{escape, unescape};
use crate::exit::Exit;
use crate::{opened, output};

/// The bytes an argument stands for.
pub(crate) fn bytes(argument: &OsStr, escaped: bool) -> anyhow::Result<Vec<u8>> {
    let argument = argument.as_encoded_bytes();
    if !escaped {
        return Ok(argument.to_vec());
    }
    let mut bytes = Vec::new();
    unescape(argument, &mut bytes)?;
    Ok(bytes)
}

pub(crate) fn run(args: &Get) -> anyhow::Result<Exit> {
    let key = bytes(&args.key, args.escaped)?;
    opened::closing(opened::existing(&args.target.database)?, |database| {
        let Some(keyspace) = database.existing_keyspace(&args.target.keyspace)? else {
            return opened::no_keyspace(database, &args.target.keyspace);
        };
        let Some(value) = keyspace.get(key)? else { return Ok(Exit::Absent) };
        let mut text = Vec::new();
        if args.escaped {
            escape(&value, &mut text);
        } else {
            text.extend_from_slice(&value);
        }
        if !args.no_newline {
            text.push(b'\n');
        }
        output::print(text)?;
        Ok(Exit::Found)
    })
}
