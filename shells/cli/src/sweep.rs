//! `sweep`: removes the records that have expired, durably on return.

use anyhow::Context;

use crate::args::Swept;
use crate::exit::Exit;
use crate::{opened, output};

pub(crate) fn run(args: &Swept) -> anyhow::Result<Exit> {
    opened::closing(opened::existing_unswept(&args.database)?, |database| {
        let removed = database.sweep()?;
        database.sync().context("cannot make the removal durable")?;
        output::print(output::counted(removed, "record") + " removed\n")?;
        Ok(Exit::Found)
    })
}
