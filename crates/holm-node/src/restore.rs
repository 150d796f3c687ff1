//! A group from a stream of frames: into keyspaces beside the present ones, which are exchanged by one write.
//!
//! A crash, an error or a stream that ends early leaves the group as it was. Only [`Restore::finish`] changes it.

use crate::entry::Input;
use crate::fault::{Fault, Result};
use crate::frame::{self, Frame};
use crate::group::{Group, read_slots};
use crate::marks::Marks;
use crate::space::Space;
use crate::state::{STATE, State};
use holm_commands::Area;
use std::sync::Arc;

/// A restore that is under way. Dropping it leaves the group as it was.
#[derive(Debug)]
pub struct Restore {
    group: Arc<Group>,
    space: Space,
    has_head: bool,
    pairs: u64,
    checksum: u64,
    is_complete: bool,
}

impl Group {
    /// Begins a restore. Another one of the same group must have ended.
    ///
    /// # Errors
    /// Those of the store.
    pub fn restore(self: &Arc<Self>) -> Result<Restore> {
        let generation = self.space().generation + 1;
        let space = Space::fresh(&self.shared.db, self.number, generation)?;
        Ok(Restore { group: self.clone(), space, has_head: false, pairs: 0, checksum: 0, is_complete: false })
    }
}

impl Restore {
    /// Stores the pairs of the next frame beside the group.
    ///
    /// # Errors
    /// The frame is malformed, or not the next one; those of the store.
    pub fn frame(&mut self, bytes: &[u8]) -> Result<()> {
        let before = self.checksum;
        match frame::read(bytes, &mut self.checksum)? {
            _ if self.is_complete => Err(Fault::Order { found: "a frame after the last one".into() }),
            Frame::Head if !self.has_head => {
                self.has_head = true;
                Ok(())
            }
            Frame::Pairs(area, pairs) if self.has_head => self.insert(area, pairs),
            Frame::End { pairs, checksum } if self.has_head => {
                if (pairs, checksum) != (self.pairs, before) {
                    let found = format!("{} pairs of {pairs}", self.pairs);
                    return Err(Fault::malformed("all frames of the stream, in their order", found));
                }
                self.is_complete = true;
                Ok(())
            }
            _ => Err(Fault::Order { found: "frames that do not begin with their head".into() }),
        }
    }

    fn insert(&mut self, area: Area, pairs: &[u8]) -> Result<()> {
        let mut input = Input(pairs);
        while !input.0.is_empty() {
            self.space.area(area).insert(input.bytes()?, input.bytes()?)?;
            self.pairs += 1;
        }
        Ok(())
    }

    /// Exchanges the group for what was restored, and returns the index of its last entry. It is durable then.
    ///
    /// # Errors
    /// The stream is not complete; its entries do not go as far as the group's; those of the store. The group is as it
    /// was, or, after an error of the last sync, the one or the other.
    pub fn finish(self) -> Result<u64> {
        if !self.is_complete {
            return Err(Fault::malformed("the last frame of the stream", "an end before it"));
        }
        let Restore { group, space, .. } = self;
        let state = State::read(space.rows.get(STATE)?.as_deref())?.within(group.shared.level)?;
        let slots = read_slots(&space)?;
        let mut held = group.lock();
        if state.applied < held.applied {
            let found = format!("a stream up to entry {}, and the group has {}", state.applied, held.applied);
            return Err(Fault::Order { found });
        }
        // What the name leads to must be at rest before the name is.
        group.shared.db.sync()?;
        group.shared.groups.insert(group.number.to_be_bytes(), space.generation.to_be_bytes())?;
        group.shared.db.sync()?;
        // A read that found its slot in the old space must find it lost once it has read the new one.
        group.publish_slots(slots.clone());
        group.exchange(space);
        group.publish_slots(slots);
        group.publish(&mut held, state);
        *group.marks() = Marks::default();
        Ok(state.applied)
    }
}
