//! Runs of puts: the first keys of a list, if they ascend and belong to one leaf, share a descent, a latch and a label.
//!
//! Each put of a run has a commit word of its own, and they are stored in the order of the list. The death of the
//! process so leaves the first ones of them. Readers see none of a run or all of it, and so does a loss of power,
//! because they have one label.

use crate::design::Design;
use crate::group::ManyPuts;
use crate::index::{SeekTarget, TreeRoot};
use crate::keys::Keys;
use crate::leaf::{Leaf as _, Prefetch as _};
use crate::superseded::Superseded;
use crate::tree_set::{LatchedLeaf, TreeSet};
use holm_medium::{Guard, Medium, Result};

/// Fewer keys of one leaf are no run: their cache misses overlap with those of other leaves instead.
const SHORTEST: usize = 4;

/// A run takes no more keys.
const LONGEST: usize = 32;

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// Puts the run with which a list begins, and makes room for the first pair for which its leaf has none. Returns
    /// how many pairs it has put: none if there is no run, if another thread interferes, or if reads wait for the disk,
    /// where groups read several leaves at once.
    pub(crate) fn put_run(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        ManyPuts { search_keys, payloads, done }: ManyPuts<'_, '_, K>,
    ) -> Result<usize> {
        if self.image.paging().waits() {
            return Ok(0);
        }
        let Some((latched, run)) = self.take_run(root, search_keys) else { return Ok(0) };
        if !guard.valid() {
            latched.held.unlock_unchanged();
            return Ok(0);
        }
        let mut superseded = [const { None }; LONGEST];
        let puts = (&search_keys[..run], &payloads[..run]);
        let put = self.put_latched_run(guard, latched, puts, &mut superseded);
        let replaced = superseded[..put].iter().flatten().count();
        if replaced < put {
            root.pairs.add((put - replaced) as i64);
        }
        superseded[..put].iter_mut().for_each(|old| done(guard.epoch(), old.take()));
        if put == run {
            return Ok(run);
        }
        let old = self.put_with_room(root, guard, search_keys[put], payloads[put])?;
        done(guard.epoch(), old);
        Ok(put + 1)
    }

    /// Latches the leaf of the first key, and returns how many keys from that one on are a run.
    fn take_run(&self, root: &TreeRoot, search_keys: &[K::SearchKey<'_>]) -> Option<(LatchedLeaf<'_, D>, usize)> {
        let ascending =
            1 + search_keys.windows(2).take(LONGEST - 1).take_while(|two| !K::precedes(two[1], two[0])).count();
        if ascending < SHORTEST || search_keys.is_empty() {
            return None;
        }
        let (at, edge) = self.inner.descend::<K>(root, &SeekTarget::Holding(search_keys[0]))?;
        let in_leaf = |search_key: &&K::SearchKey<'_>| edge.as_ref().is_none_or(|edge| K::is_below(**search_key, edge));
        let run = search_keys[..ascending].iter().take_while(in_leaf).count();
        if run < SHORTEST {
            return None;
        }
        let latched = self.try_take_reached(root, &at)?;
        // What is replaced lies anywhere.
        let context = self.context(&latched.descriptor.volatile);
        for search_key in &search_keys[..run] {
            let payload = latched.leaf.candidate_payload(context, *search_key);
            payload.into_iter().for_each(|payload| self.keys.prefetch(payload));
        }
        Some((latched, run))
    }

    /// Puts pairs into a leaf that is latched under a valid label, until it is full. Releases the latch. Returns how
    /// many it has put, and notes what each has replaced.
    fn put_latched_run(
        &self,
        guard: &Guard<'_>,
        latched: LatchedLeaf<'_, D>,
        (search_keys, payloads): (&[K::SearchKey<'_>], &[u64]),
        superseded: &mut [Option<Superseded>],
    ) -> usize {
        let LatchedLeaf { number, leaf, descriptor, .. } = &latched;
        self.preserve(guard, &latched, payloads.iter().copied());
        let (mut put, mut detached) = (0, Vec::new());
        {
            // The write handle goes before the latch, as in a put.
            let mut handle = self.writer.begin_write(guard);
            for (search_key, payload) in search_keys.iter().zip(payloads) {
                let mut context = self.writing(&descriptor.volatile, &mut handle);
                let Ok(old) = leaf.insert(&mut context, *search_key, *payload) else { break };
                superseded[put] = old.map(|old| self.superseded(guard, *number, old));
                detached.extend(Self::take_detached(leaf, descriptor));
                put += 1;
            }
        }
        if put == 0 {
            latched.held.unlock_unchanged();
        } else {
            drop(latched.held);
        }
        self.retire_blocks(guard, detached);
        put
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use crate::keys::Words;
    use crate::{Index as _, designs};
    use holm_medium::{FIRST_EPOCH, Flush, Mapped, MappedOptions, Storage, StorageOps as _, Writer};
    use holm_search::Search;
    use std::sync::Arc;

    type Trees = TreeSet<Mapped, designs::buffered, Words>;

    fn trees() -> (Arc<Writer<Mapped>>, Trees, TreeRoot) {
        let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
        let medium = Mapped::anonymous(options).expect("address space");
        let writer = Arc::new(Storage::open(medium, FIRST_EPOCH).expect("memory"));
        let trees = Trees::new(writer.clone(), Words, Search::detect());
        let root = trees.create_tree(&mut writer.clock().pin().expect("sound"), 7).expect("memory");
        (writer, trees, root)
    }

    /// Puts keys with themselves as payloads. Returns how many puts have replaced a payload.
    fn put(writer: &Writer<Mapped>, trees: &Trees, root: &TreeRoot, keys: &[u64]) -> usize {
        let (mut puts, mut replaced) = (0, 0);
        let mut done = |_, old: Option<Superseded>| {
            puts += 1;
            replaced += usize::from(old.is_some());
        };
        let many = ManyPuts { search_keys: keys, payloads: keys, done: &mut done };
        trees.put_many(root, &mut writer.clock().pin().expect("sound"), many).expect("memory");
        assert_eq!(puts, keys.len());
        replaced
    }

    /// The version of a leaf counts its writers.
    #[test]
    fn ascending_keys_of_one_leaf_are_one_change_of_it() {
        let version_after = |lists: &[&[u64]]| {
            let (writer, trees, root) = trees();
            for keys in lists {
                put(&writer, &trees, &root, keys);
            }
            trees.get(&root, 0).leaf_version
        };
        assert_eq!(version_after(&[&[0], &[1, 2, 3, 5, 8]]), version_after(&[&[0], &[1]]));
        assert_eq!(version_after(&[&[0], &[8, 5, 3, 2, 1]]), version_after(&[&[0], &[1], &[2], &[3], &[5], &[8]]));
    }

    /// Runs that end at a leaf's end, at a full leaf, at the longest and between equal keys.
    #[test]
    fn runs_agree_with_a_map() {
        let (writer, trees, root) = trees();
        let mut model = std::collections::BTreeSet::new();
        let mut seed = 1_u64;
        for round in 0..400 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (begin, step) = (seed >> 33 & 0x3fff, 1 << (seed >> 50 & 7));
            let mut keys: Vec<_> = (0..round % 90).map(|at| begin + at / 2 * step).collect();
            if seed >> 60 == 3 {
                keys.reverse();
            }
            let replaced = keys.iter().filter(|key| !model.insert(**key)).count();
            assert_eq!(put(&writer, &trees, &root, &keys), replaced);
            assert_eq!(root.pairs(), model.len() as u64);
            writer.end_epoch().expect("sound");
        }
        for key in 0..0x8000 {
            assert_eq!(trees.get(&root, key).payload, model.get(&key).copied(), "key {key}");
        }
    }
}
