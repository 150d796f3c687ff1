//! `count`: the number of records of a keyspace, or of a range.

use crate::args::Ranged;
use crate::exit::Exit;
use crate::{opened, output};

pub(crate) fn run(args: &Ranged) -> anyhow::Result<Exit> {
    let range = args.range()?;
    opened::reading(&args.target, |_, keyspace| {
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
    })
}
