//! `compact`: gives free space back to the file system, with progress.

use std::ops::ControlFlow;

use serde_json::json;

use crate::args::Compacted;
use crate::exit::Exit;
use crate::output::counted;
use crate::progress::Progress;
use crate::{opened, output, stat};

pub(crate) fn run(args: &Compacted) -> anyhow::Result<Exit> {
    let (report, before) = opened::closing(opened::existing(&args.database)?, |database| {
        let space = database.stats().space;
        let progress = Progress::new(Some(space.record_bytes));
        let compact = database.compact().rate(args.rate.saturating_mul(1 << 20));
        let compact = if args.in_key_order { compact.in_key_order() } else { compact };
        let report = compact.run(|at| {
            progress.reach(at.bytes_moved);
            ControlFlow::Continue(())
        });
        progress.finish();
        Ok((report?, space.disk_bytes))
    })?;
    // The close has cut the files.
    let after = opened::readable(&args.database)?.stats().space.disk_bytes;
    output::print(if args.json {
        let mut line = serde_json::to_value(report)?;
        line["disk_bytes_before"] = json!(before);
        line["disk_bytes_after"] = json!(after);
        stat::json_line(&line)?
    } else {
        let moved = [(report.records_moved, "record"), (report.leaves_moved, "leaf block")];
        let [records, leaves] = moved.map(|(count, what)| counted(count, what));
        format!(
            "{records} and {leaves} moved, {} bytes\n{before} bytes on disk before, {after} after\n",
            report.bytes_moved
        )
    })?;
    Ok(Exit::Found)
}
