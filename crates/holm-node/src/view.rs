//! A group as it is at one instant, as a stream of frames.

use crate::fault::{Fault, Result};
use crate::frame::FrameBuffer;
use crate::group::Group;
use crate::space::names;
use holm::{Iter, Snapshot};
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
    fn iter(&self, area: Area) -> Result<Stage> {
        let name = if area == Area::Keys { &self.keys } else { &self.rows };
        let keyspace = self.snapshot.keyspace(name);
        let gone = || Fault::Order { found: format!("the keyspace {name:?} was exchanged before the view") };
        Ok(Stage::Pairs(area, Box::new(keyspace.ok_or_else(gone)?.iter())))
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
