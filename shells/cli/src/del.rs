//! `del`: removes one record, durably when the command returns. Exit code 1 if it was not there.

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
