//! `apply`: brings a restored database from one backup to the next, at once under any crash.

use crate::args::Apply;
use crate::exit::Exit;
use crate::{opened, output, verify};

pub(crate) fn run(args: &Apply) -> anyhow::Result<Exit> {
    opened::closing(opened::existing(&args.database)?, |database| {
        let info = verify::with_input(args.file.as_deref(), |stream| Ok(database.apply(stream)?))?;
        output::print(verify::lines(&info))?;
        Ok(Exit::Found)
    })
}
