//! `restore`: a new database of a whole backup. It gets its name once it is complete.

use holm::Database;

use crate::args::Restore;
use crate::exit::Exit;
use crate::{output, verify};

pub(crate) fn run(args: &Restore) -> anyhow::Result<Exit> {
    let info = verify::with_input(args.file.as_deref(), |stream| Ok(Database::restore(stream, &args.database)?))?;
    output::print(verify::lines(&info))?;
    Ok(Exit::Found)
}
