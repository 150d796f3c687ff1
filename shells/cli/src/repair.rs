//! `repair`: a new database of what can be believed of a damaged one, and what was lost.

use anyhow::Context;
use holm::Repair;

use crate::args::Repaired;
use crate::exit::Exit;
use crate::{output, stat};

pub(crate) fn run(args: &Repaired) -> anyhow::Result<Exit> {
    let repair = Repair::of(&args.database).orphans(args.orphans);
    let report = repair
        .write_to(&args.into)
        .with_context(|| format!("cannot repair {} into {}", args.database.display(), args.into.display()))?;
    output::print(if args.json { stat::json_line(&report)? } else { report.to_string() })?;
    Ok(if report.has_losses() { Exit::Faulty } else { Exit::Found })
}
