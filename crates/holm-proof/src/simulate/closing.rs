//! The end of a run: the database is closed and opened again, and crashes meet both. The file `index` is written and
//! read on the way.

use super::plan::Plan;
use super::readers;
use super::stage::{Live, Promises, Stage};
use super::world::open;
use crate::cycles::Lists;
use crate::disk::SimDisk;
use crate::lists::Board;
use holm::{Database, RecoveredFrom};
use std::sync::Arc;

/// What the run must leave once all of it is durable: everything before an instant.
fn everything(disk: &SimDisk, now: u64) -> Live {
    Live::of(disk, Promises::Of { now, floor: now, synced: now })
}

/// Closes a database, all of which is durable, and opens it for readers and for a writer: it is as it was left. Crashes
/// leave images with everything before the instant `now`.
pub(super) fn close_and_open(
    db: Database,
    plan: &Plan,
    stage: &Arc<Stage>,
    disk: &SimDisk,
    (now, left): (u64, &Lists),
) {
    stage.begin(everything(disk, now), &plan.closing);
    let closed = db.close();
    stage.end();
    closed.expect("nothing has failed");
    readers::read_closed(plan, stage, disk, left);
    stage.begin(everything(disk, now), &plan.reopening);
    let opened = open(plan, stage, disk);
    stage.end();
    let db = opened.expect("closed");
    assert_eq!(db.recovery().source, RecoveredFrom::CleanShutdown, "after a close");
    assert_eq!(db.recovery().from_index, plan.design.is_indexed(), "whether closing has written an index");
    let found = Board::new(&db, 0, 0).and_then(|board| board.lists()).expect("sound");
    assert_eq!(found, *left, "closed and opened");
    assert_eq!(db.check().expect("it can be read").faults, Vec::<String>::new(), "faults after an opening by index");
    stage.count("openings by an index", u64::from(plan.design.is_indexed()));
}
