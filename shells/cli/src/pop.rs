//! `pop`: prints the first or the last record, and then removes it, durably on return. The exit code is 1 if there is
//! none. If the record cannot be printed, it stays.

use anyhow::Context;

use crate::args::Pop;
use crate::exit::Exit;
use crate::formats::Writer;
use crate::{expiring, opened, output};

pub(crate) fn run(args: &Pop) -> anyhow::Result<Exit> {
    opened::closing(opened::existing(&args.target.database)?, |database| {
        let Some(keyspace) = database.existing_keyspace(&args.target.keyspace)? else {
            return opened::no_keyspace(&args.target.keyspace, &database.keyspaces()?);
        };
        let mut writer = Writer::new(args.format, output::needed()?);
        // No other process has the database open, so nothing comes between the scan and the removal.
        let key = loop {
            let found = if args.last { keyspace.last()? } else { keyspace.first()? };
            let Some((key, value)) = found else { return Ok(Exit::Absent) };
            let written = expiring::write(&mut writer, (&key, &value), keyspace.options(), || keyspace.expiry(&key));
            if output::whole(written)? {
                break key;
            }
        };
        output::whole(output::finish(writer.into_inner()))?;
        keyspace.remove(key)?;
        database.sync().context("cannot make the removal durable")?;
        Ok(Exit::Found)
    })
}
