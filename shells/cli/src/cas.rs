//! `cas`: replaces the value of a key if it is the expected one, durably on return. Otherwise it prints the value that
//! it found, and the exit code is 1.

use anyhow::{Context, bail};

use crate::args::{Cas, Writing, bytes};
use crate::exit::Exit;
use crate::formats::LIMITS;
use crate::{opened, output};

pub(crate) fn run(args: &Cas) -> anyhow::Result<Exit> {
    let record = &args.record;
    let key = record.key()?;
    let values = args.values.iter().map(|value| bytes(value, record.escaped)).collect::<Result<Vec<_>, _>>()?;
    let (expected, new) = match (&values[..], args.absent, args.remove) {
        ([new], true, false) => (None, Some(new)),
        ([expected], false, true) => (Some(expected), None),
        ([expected, new], false, false) => (Some(expected), Some(new)),
        (_, false, false) => bail!("found one value, expected two: the expected one and the new one"),
        _ => bail!("found two values, expected one beside --absent or --remove"),
    };
    LIMITS.allow(&key, new.map_or(&[], |value| value))?;
    let target = &record.target;
    // As `put` does, where the key may be absent. A misspelt name must not create an empty database.
    opened::closing(opened::writable(&target.database, &Writing::default(), args.absent)?, |database| {
        let keyspace = match database.existing_keyspace(&target.keyspace)? {
            Some(keyspace) => keyspace,
            None if args.absent => database.keyspace(&target.keyspace)?,
            None => return opened::no_keyspace(&target.keyspace, &database.keyspaces()?),
        };
        let [expected, new] = [expected, new].map(|value| value.map(Vec::as_slice));
        match keyspace.compare_and_swap(key, expected, new)? {
            Ok(()) => {
                database.sync().context("cannot make the change durable")?;
                Ok(Exit::Found)
            }
            Err(found) => {
                found.current.map_or(Ok(()), |value| output::print_value(&value, record.escaped, true))?;
                Ok(Exit::Absent)
            }
        }
    })
}
