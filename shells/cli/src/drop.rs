//! `drop`: removes a keyspace with all its records, durably on return. One that has records needs `--yes`.

use anyhow::bail;

use crate::args::Dropped;
use crate::exit::Exit;
use crate::{opened, output};

/// The keyspace that every database has.
const DEFAULT: &str = "default";

pub(crate) fn run(args: &Dropped) -> anyhow::Result<Exit> {
    let name = &args.keyspace;
    opened::closing(opened::existing(&args.database)?, |database| {
        let Some(keyspace) = database.existing_keyspace(name)? else {
            return opened::no_keyspace(name, &database.keyspaces()?);
        };
        if name == DEFAULT {
            bail!("the keyspace {name:?} always exists; `clear` removes its records");
        }
        let records = output::counted(keyspace.len()?, "record");
        if !args.yes && !keyspace.is_empty()? {
            bail!("the keyspace {name:?} has {records}; --yes drops it");
        }
        // Durable when it returns, in every mode.
        database.drop_keyspace(name)?;
        output::print(records + " removed\n")?;
        Ok(Exit::Found)
    })
}
