//! `keyspaces`: the names of the keyspaces, one per line and escaped, so that a line is always one name.

use std::fmt::Write;

use crate::args::Keyspaces;
use crate::escape::escaped;
use crate::exit::Exit;
use crate::{opened, output};

pub(crate) fn run(args: &Keyspaces) -> anyhow::Result<Exit> {
    let database = opened::readable(&args.database)?;
    let mut text = String::new();
    for name in database.keyspaces()? {
        text.push_str(&escaped(name.as_bytes()));
        if let Some(keyspace) = database.existing_keyspace(&name)? {
            if args.records {
                write!(text, "\t{}", keyspace.len()?)?;
            }
            if args.expiry {
                text.push_str(if keyspace.options().has_expiry() { "\texpires" } else { "\tstays" });
            }
        }
        text.push('\n');
    }
    output::print(text)?;
    Ok(opened::shown(&database, Exit::Found))
}
