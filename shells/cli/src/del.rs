//! `del`: removes one record, durably on return. The exit code is 1 if the key was absent.

use anyhow::Context;

use crate::args::Record;
use crate::exit::Exit;
use crate::opened;

pub(crate) fn run(args: &Record) -> anyhow::Result<Exit> {
    let key = args.key()?;
    opened::closing(opened::existing(&args.target.database)?, |database| {
        let Some(keyspace) = database.existing_keyspace(&args.target.keyspace)? else {
            return opened::no_keyspace(&args.target.keyspace, &database.keyspaces()?);
        };
        let removed = keyspace.remove(key)?;
        database.sync().context("cannot make the removal durable")?;
        Ok(if removed { Exit::Found } else { Exit::Absent })
    })
}
