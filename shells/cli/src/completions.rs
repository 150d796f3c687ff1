//! `completions`: the script by which a shell completes the command line.

use clap::CommandFactory;

use crate::args::{Arguments, Completions};
use crate::exit::Exit;
use crate::output;

pub(crate) fn run(args: &Completions) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "holm", &mut script);
    output::print(script)?;
    Ok(Exit::Found)
}
