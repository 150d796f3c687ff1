//! `scan`: records in key order, between bounds, in either direction, up to a limit.

use crate::args::Scan;
use crate::exit::Exit;
use crate::formats::Writer;
use crate::{expiring, opened, output};

pub(crate) fn run(args: &Scan) -> anyhow::Result<Exit> {
    let range = args.records.range()?;
    opened::reading(&args.records.target, |_, keyspace| {
        let mut writer = Writer::new(args.format, output::standard());
        if let Some(range) = range {
            let mut records = keyspace.range(range);
            let mut left = args.limit.unwrap_or(u64::MAX);
            while left > 0 {
                let record = if args.reverse { records.next_back() } else { records.next() };
                let Some(record) = record else { break };
                let (key, value) = record?;
                if args.keys_only {
                    writer.key(&key)?
                } else if !expiring::write(&mut writer, (&key, &value), keyspace.options(), || keyspace.expiry(&key))? {
                    continue;
                }
                left -= 1;
            }
        }
        output::finish(writer.into_inner())?;
        Ok(Exit::Found)
    })
}
