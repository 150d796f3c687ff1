//! `del`: removes one record, durably when the command returns. Exit code 1 if it was not there.

use anyhow::Context;

use crate::args::Del;
use crate::exit::Exit;
use crate::{get, opened};

pub(crate) fn run(args: &Del) -> anyhow::Result<Exit> {
    let key = get::bytes(&args.key, args.escaped)?;
    opened::closing(opened::writable(&args.target.database, &args.writing, false)?, |database| {
        let Some(keyspace) = database.existing_keyspace(&args.target.keyspace)? else {
            return opened::no_keyspace(database, &args.target.keyspace);
        };
        let removed = keyspace.remove(key)?;
        database.sync().context("cannot make the removal durable")?;
        Ok(if removed { Exit::Found } else { Exit::Absent })
    })
}
