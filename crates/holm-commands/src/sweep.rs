//! The sweep: removes keys that have expired, and the members of large collections that no key has any more.

use crate::context::Context;
use crate::events::Effects;
use crate::execute::At;
use crate::over_holm::Databases;
use crate::refusal::Outcome;
use crate::rows;
use crate::store::Area;
use std::ops::Bound;

/// How many keys one pass removes from each database.
const MOST: usize = 1_000;

/// What a pass has removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Keys that had expired.
    pub expired: u64,
    /// Members of collections that were removed before.
    pub rows: u64,
    /// Whether there may be more.
    pub more: bool,
    /// What others may want to know: keys that have expired.
    pub effects: Effects,
}

impl Databases {
    /// Removes what has expired by a time, and what belongs to no key: a bounded part of each.
    ///
    /// # Errors
    /// Those of the store; a part may be removed.
    pub fn sweep(&self, at: At<'_>) -> Outcome<Swept> {
        let mut swept = Swept::default();
        for number in 0..self.count() {
            self.sweep_expired(At { database: number, ..at }, &mut swept)?;
            self.sweep_garbage(number, &mut swept)?;
        }
        Ok(swept)
    }

    fn sweep_expired(&self, at: At<'_>, swept: &mut Swept) -> Outcome<()> {
        let Some(space) = self.existing(at.database)? else { return Ok(()) };
        let due = (Bound::Included(rows::expiry_key(0, &[])), Bound::Excluded(rows::expiry_key(at.now + 1, &[])));
        let keys: Vec<_> = space.rows.range(due).take(MOST).collect::<holm::Result<_>>()?;
        swept.more |= keys.len() == MOST;
        for (index_key, _) in keys {
            let (gone, effects) = self.transact(at, |context| context.sweep_expiry(&index_key))?;
            swept.expired += u64::from(gone.is_some());
            swept.effects.events.extend(effects.events);
            swept.effects.changed.extend(effects.changed);
        }
        Ok(())
    }

    fn sweep_garbage(&self, number: u32, swept: &mut Swept) -> Outcome<()> {
        let Some(space) = self.existing(number)? else { return Ok(()) };
        let garbage: Vec<_> = space.rows.prefix([rows::GARBAGE]).take(MOST).collect::<holm::Result<_>>()?;
        for (key, _) in garbage {
            let version = rows::garbage_version(&key);
            for family in rows::OF_VERSIONS {
                let low = rows::key(family, version, &[]);
                let high = rows::beyond(&low).unwrap_or_default();
                swept.rows += space.rows.remove_range(&low[..]..&high[..])?;
            }
            space.rows.remove(&key)?;
        }
        Ok(())
    }
}

impl Context<'_> {
    /// Removes the key of an entry of the index by expiry, if it has expired, and the entry itself if the key has
    /// another time. Returns whether there was a record to remove; `None` if the key lives.
    pub(crate) fn sweep_expiry(&self, index_key: &[u8]) -> Outcome<Option<bool>> {
        let (time, key) = index_key[1..].split_at(8);
        let (entry, database) = (self.entry(key)?, self.database.get());
        let gone = entry.live().is_none().then(|| entry.is_stored());
        if let Some(is_stored) = gone {
            if is_stored {
                self.note_event(database, None, "expired", key);
            }
            self.delete(&entry)?;
        }
        if entry.expiry().is_none_or(|expiry| expiry.to_be_bytes() != *time) {
            self.store.remove(database, Area::Rows, index_key)?;
        }
        Ok(gone)
    }
}
