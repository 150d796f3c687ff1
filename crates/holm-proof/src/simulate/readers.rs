//! Opens for reading: beside a writer, of what a crash has left, and of a closed database.

use super::plan::Plan;
use super::stage::{FOLDER, Stage};
use super::world::{World, builder};
use crate::cycles::Lists;
use crate::disk::SimDisk;
use crate::lists::closed_lists;
use holm::{Error, ReadOnlyDatabase};
use holm_medium::sync::sleep;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

/// Opens the database again and again while others write: each open is refused, and disturbs nobody.
pub(super) fn peeks(world: &World) {
    while world.writers.load(SeqCst) > 0 {
        let opened = [
            builder(&world.plan, &world.stage, &world.disk).open_read_only(FOLDER).map(drop),
            builder(&world.plan, &world.stage, &world.disk).open(FOLDER).map(drop),
        ];
        for opened in opened {
            match opened {
                Err(Error::Locked { .. }) => world.stage.count("opens beside a writer", 1),
                Err(error @ Error::Io { .. }) => world.refused(&error),
                other => panic!("an open beside a writer: {other:?}"),
            }
        }
        sleep(Duration::from_millis(2));
    }
}

/// Opens for reading what a crash has left: it is refused, and changes nothing.
pub(super) fn read_crashed(plan: &Plan, stage: &Arc<Stage>, disk: &SimDisk) {
    let opened = builder(plan, stage, disk).open_read_only(FOLDER).map(drop);
    assert!(matches!(opened, Err(Error::NotClean { .. })), "a reader of what a crash has left: {opened:?}");
    stage.count("images that readers were refused", 1);
}

/// Opens a closed database for reading, twice: both see all of it, and keep writers out.
pub(super) fn read_closed(plan: &Plan, stage: &Arc<Stage>, disk: &SimDisk, left: &Lists) {
    let open = || builder(plan, stage, disk).open_read_only(FOLDER).expect("closed");
    let both: [ReadOnlyDatabase; 2] = [open(), open()];
    for reader in &both {
        assert_eq!(closed_lists(reader).expect("sound"), *left, "what a reader sees");
        assert_eq!(reader.check().expect("it can be read").faults, Vec::<String>::new(), "faults for a reader");
    }
    let refused = builder(plan, stage, disk).open(FOLDER).map(drop);
    assert!(matches!(refused, Err(Error::Locked { .. })), "a writer beside readers: {refused:?}");
    stage.count("closed databases that were read", 1);
}
