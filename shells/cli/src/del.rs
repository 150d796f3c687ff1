//! `del`: removes one record, or those of a range, durably on return. The exit code is 1 if there was none.

use anyhow::{Context, bail};
use holm::{Database, Keyspace};

use crate::args::{Del, bytes};
use crate::bounds::{self, Range};
use crate::exit::Exit;
use crate::{opened, output};

pub(crate) fn run(args: &Del) -> anyhow::Result<Exit> {
    let Some(key) = &args.key else {
        if args.bounds.are_open() {
            bail!("every key is within these bounds; `clear` removes all records of a keyspace");
        }
        let range = bounds::of(&args.bounds, args.escaped)?;
        return within(args, |database, keyspace| remove_range(database, keyspace, range));
    };
    let key = bytes(key, args.escaped)?;
    within(args, |database, keyspace| {
        let removed = keyspace.remove(key)?;
        database.sync().context("cannot make the removal durable")?;
        Ok(if removed { Exit::Found } else { Exit::Absent })
    })
}

/// Runs `work` on the keyspace, and closes the database.
fn within(args: &Del, work: impl FnOnce(&Database, &Keyspace) -> anyhow::Result<Exit>) -> anyhow::Result<Exit> {
    opened::closing(opened::existing(&args.target.database)?, |database| {
        match database.existing_keyspace(&args.target.keyspace)? {
            Some(keyspace) => work(database, &keyspace),
            None => opened::no_keyspace(&args.target.keyspace, &database.keyspaces()?),
        }
    })
}

fn remove_range(database: &Database, keyspace: &Keyspace, range: Option<Range>) -> anyhow::Result<Exit> {
    let removed = range.map_or(Ok(0), |range| keyspace.remove_range(range))?;
    database.sync().context("cannot make the removal durable")?;
    output::print(output::counted(removed, "record") + " removed\n")?;
    Ok(if removed > 0 { Exit::Found } else { Exit::Absent })
}
