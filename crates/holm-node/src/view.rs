//! A group as it is at one instant, as a stream of frames.

use crate::fault::{Fault, Result};
use crate::frame::FrameBuffer;
use crate::group::Group;
use crate::load::{ORIGIN, backup_of};
use crate::slots::{SLOTS_ROW, Slots};
use crate::space::names;
use crate::state::{STATE, State};
use holm::{Iter, Snapshot, SnapshotKeyspace};
use holm_commands::Area;

/// How long a frame becomes, about. A larger pair has a frame of its own.
const FRAME_BYTES: usize = 256 << 10;

/// What the stream has next.
enum Stage {
    Head,
    Pairs(Area, Box<Iter>),
    End,
    Done,
}

/// What a view is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewStatus {
    /// The index of the last entry.
    pub applied: u64,
    /// The number of keys, those that have expired and are not removed yet included.
    pub keys: u64,
    /// The group owns slots by a record, and none of them is being moved or loaded.
    pub is_settled: bool,
    /// The backup that the group was loaded from, or is; 0 if there is none.
    pub backup: u64,
}

/// The frames of a group at one instant. Entries are applied beside it; it keeps what it has yet to give.
pub struct View {
    snapshot: Snapshot,
    rows: String,
    keys: String,
    stage: Stage,
    pairs: u64,
    checksum: u64,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").field("keyspace", &self.keys).field("pairs", &self.pairs).finish_non_exhaustive()
    }
}

impl Group {
    /// Takes a view of the group. O(1): entries that are being applied wait no longer than that. It has the entries up
    /// to [`Group::applied`], with their index.
    ///
    /// # Errors
    /// Those of the store.
    pub fn view(&self) -> Result<View> {
        let generation = self.space().generation;
        let [keys, rows] = names(self.number, generation);
        let snapshot = self.shared.db.snapshot()?;
        Ok(View { snapshot, keys, rows, stage: Stage::Head, pairs: 0, checksum: 0 })
    }
}

impl View {
    /// Returns which entries the view has, and whether a backup may be made of it: one of a group whose slots are being
    /// moved would have some keys twice, or not at all.
    ///
    /// # Errors
    /// Those of the store; the group's records are malformed.
    pub fn status(&self) -> Result<ViewStatus> {
        let rows = self.keyspace(&self.rows)?;
        let slots = rows.get(SLOTS_ROW)?.map(|bytes| Slots::read(&bytes)).transpose()?;
        Ok(ViewStatus {
            applied: State::read(rows.get(STATE)?.as_deref())?.applied,
            keys: self.keyspace(&self.keys)?.len()?,
            backup: backup_of(slots.as_ref(), rows.get(ORIGIN)?.as_deref())?,
            is_settled: slots.is_some_and(|slots| !slots.is_moving()),
        })
    }

    fn keyspace(&self, name: &str) -> Result<SnapshotKeyspace> {
        let gone = || Fault::Order { found: format!("the keyspace {name:?} was exchanged before the view") };
        self.snapshot.keyspace(name).ok_or_else(gone)
    }

    fn iter(&self, area: Area) -> Result<Stage> {
        let name = if area == Area::Keys { &self.keys } else { &self.rows };
        Ok(Stage::Pairs(area, Box::new(self.keyspace(name)?.iter())))
    }

    /// Returns the next frame; `None` after the last one.
    ///
    /// # Errors
    /// Those of the store: the view has ended early, and its stream is none.
    pub fn next_frame(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            match &mut self.stage {
                Stage::Head => {
                    self.stage = self.iter(Area::Keys)?;
                    return Ok(Some(FrameBuffer::head().finish(&mut self.checksum)));
                }
                Stage::Pairs(area, pairs) => {
                    let area = *area;
                    let mut frame = FrameBuffer::pairs(area);
                    while frame.len() < FRAME_BYTES
                        && let Some(pair) = pairs.next_ref()
                    {
                        let (key, value) = pair?;
                        frame.push(key, value);
                        self.pairs += 1;
                    }
                    if !frame.is_empty() {
                        return Ok(Some(frame.finish(&mut self.checksum)));
                    }
                    self.stage = if area == Area::Keys { self.iter(Area::Rows)? } else { Stage::End };
                }
                Stage::End => {
                    self.stage = Stage::Done;
                    let end = FrameBuffer::end(self.pairs, self.checksum);
                    return Ok(Some(end.finish(&mut 0)));
                }
                Stage::Done => return Ok(None),
            }
        }
    }
}
