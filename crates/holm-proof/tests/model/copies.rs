//! Backups: whole and incremental ones, of the present and of snapshots, applied to a copy that must equal their
//! source.

use super::maps::State;
use super::scans::{SnapshotTwin, compare};
use super::steps::Draw;
use super::world::{DESIGNS, World, builder};
use holm::{BackupInfo, Database, Error, verify_backup};
use holm_proof::disk::SimDisk;

/// A copy, and the state that it stands at.
pub(crate) struct Copy {
    design: &'static str,
    disk: SimDisk,
    db: Option<Database>,
    epoch: u64,
    state: State,
    /// The stream that led there.
    stream: Vec<u8>,
}

impl World {
    pub(crate) fn back_up(&mut self, draw: &mut Draw) {
        let fresh = self.snapshots.is_empty() || !draw.one_in(3);
        let at = if fresh { 0 } else { draw.below(self.snapshots.len()) };
        let twin = match fresh {
            true => SnapshotTwin {
                snapshot: self.db().snapshot().expect("sound"),
                state: self.state.clone(),
                now: self.now(),
            },
            false => {
                let SnapshotTwin { snapshot, state, now } = &self.snapshots[at];
                SnapshotTwin { snapshot: snapshot.clone(), state: state.clone(), now: *now }
            }
        };
        let base = self.copy.as_ref().filter(|_| !draw.one_in(6)).map_or(0, |copy| copy.epoch);
        self.trace("backup", &(fresh, at, base, twin.snapshot.epoch()));
        let mut stream = Vec::new();
        let written = twin.snapshot.write_since(base, &mut stream);
        let dropped = twin.state.spaces.iter().any(|(name, space)| self.state.space(name, space.id).is_none());
        // Snapshots of one epoch do not continue each other.
        let refused = base > 0 && base + 1 >= twin.snapshot.epoch();
        let info = match written {
            Err(Error::Invalid { .. }) if refused => return,
            Err(Error::Ended) if self.limited && twin.has_ended() => return,
            Err(Error::Dropped { .. }) if dropped => return,
            Ok(info) if !refused && !dropped => info,
            other => panic!("a backup: {other:?}"),
        };
        if fresh {
            self.note_durable();
        }
        assert_eq!(verify_backup(&mut &stream[..]).expect("sound"), info);
        assert_eq!(info.records + info.kept, twin.state.stored(), "the pairs of a backup");
        assert_eq!((info.base, info.keyspaces), (base, twin.state.spaces.len() as u64));
        self.apply(info, stream, twin.state, draw);
    }

    fn open_copy(&self, copy: &Copy) -> Database {
        builder(copy.design, false, &copy.disk, &self.hands).open("/d").expect("a sound copy")
    }

    /// Applies a stream to the copy, or to a new one.
    fn apply(&mut self, info: BackupInfo, stream: Vec<u8>, state: State, draw: &mut Draw) {
        let mut copy = match self.copy.take().filter(|_| info.base > 0) {
            Some(copy) => copy,
            None => {
                let (disk, state) = (SimDisk::new(), State::default());
                Copy { design: draw.pick(&DESIGNS), disk, db: None, epoch: 0, state, stream: Vec::new() }
            }
        };
        match draw.below(6) {
            0 => {
                copy.db.take().map_or(Ok(()), Database::close).expect("a sound close");
            }
            1 => {
                copy.disk = copy.disk.kill();
                copy.db = None;
            }
            2 if info.base > 0 => {
                // An application is durable when it returns.
                copy.disk = copy.disk.crash_to_durable();
                copy.db = None;
            }
            _ => {}
        }
        let db = copy.db.take().unwrap_or_else(|| self.open_copy(&copy));
        if info.base > 0 {
            compare(&db, &copy.state, self.now(), draw);
            // The stream that led here is known; nothing changes.
            if draw.one_in(3) {
                db.apply(&mut &copy.stream[..]).expect("it stands there");
            }
        }
        assert_eq!(db.apply(&mut &stream[..]).expect("it stands at the base"), info);
        compare(&db, &state, self.now(), draw);
        let faults = db.check().expect("told").faults;
        assert!(faults.is_empty(), "the copy: {faults:?}");
        // An empty database may take a whole backup.
        if info.base > 0 && (state.stored() > 0 || state.mark.is_some()) {
            let again = db.apply(&mut &copy.stream[..]);
            assert!(matches!(again, Err(Error::WrongBase { .. })), "{again:?}");
        }
        (copy.db, copy.epoch, copy.state, copy.stream) = (Some(db), info.epoch, state, stream);
        self.copy = Some(copy);
    }
}
