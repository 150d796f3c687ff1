//! `count`: the number of records of a keyspace, or of a range.

use crate::args::Count;
use crate::exit::Exit;
use crate::{bounds, opened, output};

pub(crate) fn run(args: &Count) -> anyhow::Result<Exit> {
    let range = bounds::of(&args.bounds, args.escaped)?;
    let database = opened::readable(&args.target.database)?;
    let Some(keyspace) = database.existing_keyspace(&args.target.keyspace)? else {
        return opened::no_keyspace(&args.target.keyspace, &database.keyspaces()?);
    };
    // The number that the keyspace keeps counts records that have expired and were not removed yet.
    let count = match range {
        Some(_) if args.bounds.are_open() && !keyspace.options().has_expiry() => keyspace.len()?,
        Some(range) => {
            let (mut records, mut count) = (keyspace.range(range), 0);
            while let Some(record) = records.next_ref() {
                record?;
                count += 1;
            }
            count
        }
        None => 0,
    };
    output::print(format!("{count}\n"))?;
    Ok(Exit::Found)
}
