//! Puts of records into the leaf that has their key.

use crate::design::Design;
use crate::full_leaf::{MOST_SPLITS, stays_full};
use crate::index::TreeRoot;
use crate::keys::Keys;
use crate::leaf::Leaf;
use crate::split::SplitPoint;
use crate::superseded::Superseded;
use crate::tree_set::TreeSet;
use holm_medium::{Guard, Medium, MediumError, Result};

/// What a put of a record has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutRecord {
    /// The leaf has the record, and the key leads to it. The payload that it replaces.
    Put(Option<Superseded>),
    /// The leaf has no room for the record. Nothing has changed.
    NoRoom,
}

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// See [`Index::put_record`](crate::Index::put_record).
    pub(crate) fn put_in_leaf(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        search_key: K::SearchKey<'_>,
        record: &[u64],
    ) -> Result<PutRecord> {
        let mut was_split = false;
        for _ in 0..MOST_SPLITS {
            let latched = self.take(root, guard, search_key)?;
            if guard.has_snapshots() {
                // A snapshot may read what no state since then leads to.
                latched.held.unlock_unchanged();
                return Ok(PutRecord::NoRoom);
            }
            let put = {
                // The write handle goes before the latch, as in any put.
                let mut handle = self.writer.begin_write(guard);
                let mut context = self.writing(&latched.descriptor.volatile, &mut handle);
                match latched.leaf.lay(latched.number, &mut context, record) {
                    Ok(Some(payload)) => latched.leaf.insert(&mut context, search_key, payload).map(Some),
                    Err(full) if !was_split => Err(full),
                    Ok(None) | Err(_) => Ok(None),
                }
            };
            match put {
                Ok(Some(old)) => return Ok(PutRecord::Put(self.end_put(root, guard, latched, old))),
                Ok(None) => {
                    latched.held.unlock_unchanged();
                    return Ok(PutRecord::NoRoom);
                }
                Err(_) => {
                    latched.held.unlock_unchanged();
                    match self.split_at_point(root, guard, search_key, &SplitPoint::ForRecord) {
                        Ok(_) => was_split = true,
                        // The record can lie elsewhere, and its pair has a slot.
                        Err(MediumError::NoSpace { .. } | MediumError::Capacity { .. }) => {
                            return Ok(PutRecord::NoRoom);
                        }
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        Err(stays_full::<D::Leaf>())
    }
}
