//! Files that grow while a checkpoint syncs them: the superblock notes only lengths that are durable.

use crate::history::{Contents, Mode, Session, contents};
use holm::Durability;
use holm_proof::disk::{Fault, Kind, SimDisk};
use std::time::{Duration, Instant};

/// By how much a file grows within each sync, in bytes.
const GROWTH: usize = 64 << 10;

const ROUNDS: u32 = 60;

/// The growth of a file within the sync of a checkpoint is not durable when the checkpoint ends. If the superblock
/// noted it, the next opening after a loss of power would find a file that is too short, and refuse the database.
#[test]
fn a_checkpoint_notes_no_length_that_its_sync_does_not_cover() {
    for private in [false, true] {
        let (disk, mode) = (SimDisk::new(), Mode::new(private, Durability::OnSync));
        let db = mode.open(&disk).expect("no faults");
        let mut session = Session::begin(db, mode, Contents::new()).expect("no faults");
        disk.fail_from(Kind::Sync, 0, Fault::Grown(GROWTH));
        let (mut looked_at, begun) = (0, Instant::now());
        // On a busy machine the thread of the checkpoints may get no turn within the rounds.
        for round in 0_u32.. {
            if round >= ROUNDS && looked_at > 0 {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{mode:?}: no checkpoint in {round} rounds");
            session.step(vec![(0, (round % 5).to_be_bytes().to_vec(), Some(vec![round as u8; 30_000]))]);
            session.sync();
            assert!(session.failed.is_none(), "{mode:?}: {:?}", session.failed);
            let checkpoints = session.db.stats().log.checkpoints;
            if checkpoints == looked_at {
                continue;
            }
            looked_at = checkpoints;
            let left = disk.crash_to_durable();
            let db = mode.open(&left).unwrap_or_else(|error| panic!("{mode:?}, round {round}: {error}"));
            session.history().expect(&contents(&db, "power"), "power");
        }
    }
}
