//! `scrub`: verifies leaves and records at a bounded rate, with progress, and prints each damage.

use std::ops::ControlFlow;

use holm::{Scrub, ScrubReport};

use crate::args::Scrubbed;
use crate::exit::Exit;
use crate::output::counted;
use crate::progress::Progress;
use crate::{opened, output, stat};

pub(crate) fn run(args: &Scrubbed) -> anyhow::Result<Exit> {
    let rate = args.rate.saturating_mul(1 << 20);
    let report = opened::told(
        &args.database,
        |database| scrub(database.scrub(), rate),
        |database| scrub(database.scrub(), rate),
    )?;
    output::print(if args.json { stat::json_line(&report)? } else { describe(&report) })?;
    Ok(if report.damage_count == 0 { Exit::Found } else { Exit::Faulty })
}

fn scrub(scrub: Scrub, rate: u64) -> anyhow::Result<ScrubReport> {
    let mut progress = None;
    let report = scrub.rate(rate).run(|at| {
        progress.get_or_insert_with(|| Progress::new(Some(at.total_bytes))).reach(at.report.bytes);
        ControlFlow::Continue(())
    });
    progress.iter().for_each(Progress::finish);
    Ok(report?)
}

/// Formats the report for people: the counts, a line per damage, and the verdict.
fn describe(report: &ScrubReport) -> String {
    let ScrubReport { leaves, records, bytes, unsettled_leaves, damage_count, .. } = report;
    let mut text = format!("leaves   {leaves}\nrecords  {records}\nbytes    {bytes}\n");
    if *unsettled_leaves > 0 {
        text.push_str(&format!("unsettled leaves  {unsettled_leaves}\n"));
    }
    for damage in &report.damages {
        text.push_str(&format!("damage: {damage}\n"));
    }
    let more = damage_count.saturating_sub(report.damages.len() as u64);
    if more > 0 {
        text.push_str(&format!("and {more} more\n"));
    }
    text.push_str(&match damage_count {
        0 => "no damage\n".to_owned(),
        count => format!("{}\n", counted(*count, "damage")),
    });
    text
}
