//! `clear`: removes all records of a keyspace, durably on return.

use anyhow::Context;

use crate::args::Target;
use crate::exit::Exit;
use crate::{opened, output};

pub(crate) fn run(args: &Target) -> anyhow::Result<Exit> {
    opened::closing(opened::existing(&args.database)?, |database| {
        let Some(keyspace) = database.existing_keyspace(&args.keyspace)? else {
            return opened::no_keyspace(&args.keyspace, &database.keyspaces()?);
        };
        let removed = keyspace.clear()?;
        database.sync().context("cannot make the removal durable")?;
        output::print(output::counted(removed, "record") + " removed\n")?;
        Ok(Exit::Found)
    })
}
