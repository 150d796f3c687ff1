//! `get`: the value of one key, or the records of several. The exit code is 1 if a key is absent.

use anyhow::bail;

use crate::args::{Get, bytes};
use crate::exit::Exit;
use crate::formats::{Format, Writer};
use crate::{opened, output};

pub(crate) fn run(args: &Get) -> anyhow::Result<Exit> {
    let keys = args.keys.iter().map(|key| bytes(key, args.escaped)).collect::<anyhow::Result<Vec<_>>>()?;
    if args.no_newline && keys.len() > 1 {
        bail!("--no-newline is for one key, found {}", keys.len());
    }
    opened::reading(&args.target, |_, keyspace| {
        if let [key] = &keys[..] {
            let Some(value) = keyspace.get(key)? else { return Ok(Exit::Absent) };
            output::print_value(&value, args.escaped, !args.no_newline)?;
            return Ok(Exit::Found);
        }
        let (mut writer, mut exit) = (Writer::new(Format::Tsv, output::standard()), Exit::Found);
        for key in &keys {
            match keyspace.get(key)? {
                Some(value) => writer.pair(key, &value, None)?,
                None => exit = Exit::Absent,
            }
        }
        output::finish(writer.into_inner())?;
        Ok(exit)
    })
}
