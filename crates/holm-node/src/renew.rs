//! Entries after which a group is empty: all keys are removed, or a backup is to be loaded.
//!
//! The group gets fresh keyspaces, with the index of the entry in the same transaction that puts them in place. So a
//! crash leaves all keys or none, and the time does not depend on how many there are.

use crate::entry::{Entry, EntryKind};
use crate::fault::Result;
use crate::group::Group;
use crate::load::{self, LoadEntry};
use crate::slots::{SLOTS_ROW, Slots};
use crate::space::Space;
use crate::state::{STATE, State};
use std::sync::Arc;

/// Returns whether an entry has a transaction of its own, with fresh keyspaces.
pub(crate) fn renews(entry: &Option<Entry<'_>>) -> bool {
    entry.is_some_and(|entry| match entry.kind {
        EntryKind::Flush => true,
        EntryKind::Load => load::begins(entry.parts),
        _ => false,
    })
}

impl Group {
    /// Applies an entry that renews the group, unless the group refuses it.
    pub(crate) fn renew(&self, held: &mut State, index: u64, entry: &Entry<'_>) -> Result<Vec<u8>> {
        let (before, slots) = (*held, self.slots());
        let (time, level) = (before.time.max(entry.time), before.level.max(entry.level));
        let state = State { applied: index, time, level, ..before };
        let renewed = State { hash: before.hash.wrapping_add(1), ..state };
        let answer = if entry.kind == EntryKind::Flush {
            if slots.as_ref().is_some_and(|slots| slots.is_moving()) {
                // The other group has some of the keys.
                self.pass_over(held, state)?;
                b"TRYAGAIN slots of this group are being moved".to_vec()
            } else {
                self.begin_anew(held, renewed, slots)?;
                Vec::new()
            }
        } else {
            match self.may_load(&LoadEntry::read(entry.parts)?)? {
                Ok(loading) => {
                    self.publish_slots(Some(loading.clone()));
                    if let Err(fault) = self.begin_anew(held, renewed, Some(loading)) {
                        self.publish_slots(slots);
                        return Err(fault);
                    }
                    load::done()
                }
                Err(answer) => {
                    self.pass_over(held, state)?;
                    answer
                }
            }
        };
        self.marks().pass(before.applied, index, before.hash);
        Ok(answer)
    }

    /// Notes an entry that changes nothing else.
    fn pass_over(&self, held: &mut State, state: State) -> Result<()> {
        self.space().rows.insert(STATE, state.to_bytes())?;
        self.publish(held, state);
        Ok(())
    }

    fn begin_anew(&self, held: &mut State, state: State, slots: Option<Arc<Slots>>) -> Result<()> {
        let generation = self.space().generation + 1;
        let space = Space::fresh(&self.shared.db, self.number, generation)?;
        self.shared.db.transact(|transaction| {
            transaction.insert(&space.rows, STATE, state.to_bytes())?;
            if let Some(slots) = &slots {
                transaction.insert(&space.rows, SLOTS_ROW, slots.to_bytes())?;
            }
            transaction.insert(&self.shared.groups, self.number.to_be_bytes(), generation.to_be_bytes())
        })?;
        self.exchange(space);
        self.publish(held, state);
        Ok(())
    }
}
