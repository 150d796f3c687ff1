//! `man`: a manual page for the program, and one for each command.

use std::fs;

use anyhow::Context;
use clap::CommandFactory;

use crate::args::{Arguments, Manual};
use crate::exit::Exit;

pub(crate) fn run(args: &Manual) -> anyhow::Result<Exit> {
    let folder = &args.folder;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    clap_mangen::generate_to(Arguments::command(), folder)
        .with_context(|| format!("cannot write to {}", folder.display()))?;
    Ok(Exit::Found)
}
