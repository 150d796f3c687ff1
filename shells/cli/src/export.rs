//! `export`: a whole keyspace as text that `load` reads back exactly.
//!
//! It creates a file and never overwrites one, because a file of that name may be the database itself. The file is
//! synced to disk when the command returns.

use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::bail;
use holm::ReadOnlyKeyspace;

use crate::args::Export;
use crate::exit::{Exit, note};
use crate::expiring;
use crate::formats::{Format, Writer};
use crate::{opened, output};

pub(crate) fn run(args: &Export) -> anyhow::Result<Exit> {
    let file = args.file.as_deref().filter(|file| *file != Path::new("-"));
    let format = Format::of(args.format, file)?;
    if args.header && format != Format::Csv {
        bail!("--header is for csv");
    }
    opened::reading(&args.target, |database, keyspace| {
        let count = export(keyspace, file, format, args.header)?;
        if file.is_some() {
            output::print(output::counted(count, "record") + "\n")?;
        }
        if keyspace.options().has_expiry() && format != Format::Jsonl {
            note("keys of this keyspace may expire: only jsonl and `backup` keep when");
        }
        // A user who keeps the file must not take it for complete.
        let faults = database.check()?.faults;
        faults.first().inspect(|fault| note(&format!("the database is damaged, see `check`: {fault}")));
        Ok(if faults.is_empty() { Exit::Found } else { Exit::Faulty })
    })
}

fn export(keyspace: &ReadOnlyKeyspace, file: Option<&Path>, format: Format, header: bool) -> anyhow::Result<u64> {
    let Some(path) = file else {
        let (written, count) = write(keyspace, Writer::new(format, output::standard()), header)?;
        return output::finish(written).map(|()| count);
    };
    output::to_new_file(path, |file| {
        let (written, count) = write(keyspace, Writer::new(format, BufWriter::new(file)), header)?;
        output::finish(written).map(|()| count)
    })
}

fn write<W: Write>(keyspace: &ReadOnlyKeyspace, mut writer: Writer<W>, header: bool) -> anyhow::Result<(W, u64)> {
    if header {
        writer.header()?;
    }
    let mut count = 0;
    for record in keyspace.iter() {
        let (key, value) = record?;
        count += u64::from(expiring::write(&mut writer, (&key, &value), keyspace.options(), || keyspace.expiry(&key))?);
    }
    // What has expired is no longer there to be read, and counts until it is removed.
    let expected = keyspace.len()?;
    if count != expected && !keyspace.options().has_expiry() {
        bail!("{count} records could be read of {expected}: the database is damaged, see `check`");
    }
    Ok((writer.into_inner(), count))
}
