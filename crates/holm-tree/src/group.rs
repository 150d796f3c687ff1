//! Gets and puts in groups: the cache misses of several search keys overlap. Ascending keys of one leaf need none: see
//! `run`.

use crate::Slot;
use crate::descent::Reached;
use crate::design::{DescriptorOf, Design};
use crate::index::{Index as _, Lookup, TreeRoot};
use crate::inner::Inner as _;
use crate::keys::Keys;
use crate::latch::Version;
use crate::leaf::{Full, Leaf as _, Prefetch as _};
use crate::superseded::Superseded;
use crate::tree_set::TreeSet;
use holm_medium::TimedRead;
use holm_medium::{Area, Epoch, Guard, Medium, Result};

/// Search keys that travel together: as many lines as a core can wait for at once.
const GROUP: usize = 16;

/// Puts that travel together.
pub struct ManyPuts<'a, 'k, K: Keys> {
    /// The key of each.
    pub search_keys: &'a [K::SearchKey<'k>],
    /// The payload of each.
    pub payloads: &'a [u64],
    /// Is called after each, with its label and what it has replaced.
    pub done: &'a mut dyn FnMut(Epoch, Option<Superseded>),
}

/// A leaf as a descent has found it.
type Found<'a, D> = (Reached<'a, D>, &'a <D as Design>::Leaf, &'a DescriptorOf<D>);

/// Where the search keys of a group lead.
struct Group<'a, D: Design> {
    /// The leaf of each.
    leaves: [Option<Found<'a, D>>; GROUP],
    /// The version at which the leaf was prefetched, unless a writer interfered.
    versions: [Option<Version>; GROUP],
    /// The pair that is the search key's at that version, if it has the search key.
    candidates: [Option<Slot>; GROUP],
}

impl<D: Design> Group<'_, D> {
    /// Returns a group whose search keys lead nowhere yet. It is filled where it stands: a move would wait for the
    /// stores of all its parts.
    #[inline(always)]
    fn new() -> Self {
        Group { leaves: [const { None }; GROUP], versions: [None; GROUP], candidates: [None; GROUP] }
    }
}

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// Finds the leaves of search keys together, stage by stage, so that their misses overlap. The stages are the
    /// descent through the upper nodes, each leaf parent, each leaf's first line, the one line of pairs that the
    /// fingerprints name, and the record. Where reads wait for the disk, it gets the leaves of all at once, and then
    /// the records of all.
    #[inline(always)]
    fn look_ahead<'a>(&'a self, root: &TreeRoot, search_keys: &[K::SearchKey<'_>], group: &mut Group<'a, D>) {
        let mut above = [const { None }; GROUP];
        for (search_key, place) in search_keys.iter().zip(&mut above) {
            *place = self.inner.seek_leaf_parent::<K>(root, *search_key);
        }
        let Group { leaves, versions, candidates } = group;
        for ((search_key, above), place) in search_keys.iter().zip(&mut above).zip(leaves.iter_mut()) {
            let Some(at) = above.take().and_then(|above| self.inner.seek_leaf::<K>(above, *search_key)) else {
                continue;
            };
            let Some((leaf, descriptor)) = self.leaf(at.leaf).zip(self.descriptors.get(at.leaf)) else { continue };
            leaf.prefetch_header();
            holm_search::prefetch(at.latch(at.leaf, descriptor));
            *place = Some((at, leaf, descriptor));
        }
        let waits = self.image.paging().waits();
        if waits {
            leaves.iter().flatten().for_each(|(at, ..)| self.announce_leaf(at.leaf));
        }
        for ((search_key, place), seen) in search_keys.iter().zip(leaves.iter()).zip(versions.iter_mut()) {
            let Some((at, leaf, descriptor)) = place else { continue };
            let version = self.read_latch(root, at.leaf, at.latch(at.leaf, descriptor));
            *seen = version.filter(|_| at.leaf_parent.latch().validate(at.version));
            if seen.is_some() {
                leaf.prefetch_pairs(self.context(&descriptor.volatile), *search_key);
            }
        }
        for (index, search_key) in search_keys.iter().enumerate() {
            let (Some((_, leaf, descriptor)), Some(_)) = (&leaves[index], versions[index]) else { continue };
            let context = self.context(&descriptor.volatile);
            candidates[index] = leaf.candidate(context, *search_key);
            let payload = match candidates[index] {
                Some(slot) => Some(slot.payload),
                None => leaf.candidate_payload(context, *search_key),
            };
            if let Some(payload) = payload {
                if waits {
                    self.keys.announce(payload);
                } else {
                    self.keys.prefetch(payload);
                }
            }
        }
    }

    /// Notes how long a whole group takes, by which the next ones know whether reads wait for the disk.
    #[inline]
    fn measure<T>(&self, search_keys: usize, group: impl FnOnce() -> T) -> T {
        let read = (search_keys >= GROUP).then(TimedRead::begin);
        let done = group();
        read.into_iter().for_each(|read| self.image.paging().note(read, 0));
        done
    }

    /// Begins to read a leaf from the disk.
    pub(crate) fn announce_leaf(&self, number: u32) {
        let bytes = size_of::<D::Leaf>() as u64;
        self.image.announce(Area::Leaves.at(u64::from(number) * bytes), bytes);
    }

    /// Looks search keys up, group by group.
    pub(crate) fn get_groups(&self, root: &TreeRoot, search_keys: &[K::SearchKey<'_>], out: &mut Vec<Lookup>) {
        let mut groups = search_keys.chunks(GROUP);
        self.measure(search_keys.len(), || {
            groups.next().into_iter().for_each(|group| self.get_group(root, group, out));
        });
        groups.for_each(|group| self.get_group(root, group, out));
    }

    /// Looks a group of search keys up.
    fn get_group(&self, root: &TreeRoot, search_keys: &[K::SearchKey<'_>], out: &mut Vec<Lookup>) {
        let mut group = Group::new();
        self.look_ahead(root, search_keys, &mut group);
        for (index, search_key) in search_keys.iter().enumerate() {
            // Each lookup is built where it stays: see `Group::new`.
            if let (Some((at, leaf, descriptor)), Some(version)) = (&group.leaves[index], group.versions[index]) {
                let candidate = group.candidates[index].filter(|slot| self.keys.is(*slot, *search_key));
                let payload = match candidate {
                    Some(slot) => Some(slot.payload),
                    None => leaf.get(self.context(&descriptor.volatile), *search_key),
                };
                let stamp = self.stamp(leaf, &descriptor.volatile);
                if at.latch(at.leaf, descriptor).validate(version) {
                    out.push(Lookup { payload, leaf_version: at.leaf_version(at.leaf, version), stamp });
                    continue;
                }
            }
            // A lookup that a writer disturbed is repeated alone.
            out.push(self.get(root, *search_key));
        }
    }

    /// Puts payloads, run by run, and group by group where there is no run.
    pub(crate) fn put_groups(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        ManyPuts { search_keys, payloads, done }: ManyPuts<'_, '_, K>,
    ) -> Result<()> {
        let (mut at, mut is_measured) = (0, false);
        while at < search_keys.len() {
            let rest = ManyPuts { search_keys: &search_keys[at..], payloads: &payloads[at..], done: &mut *done };
            let put = self.put_run(root, guard, rest)?;
            at += put;
            if put > 0 {
                continue;
            }
            let group = at..search_keys.len().min(at + GROUP);
            let (search_keys, payloads) = (&search_keys[group.clone()], &payloads[group.clone()]);
            let mut put = || self.put_group(root, guard, ManyPuts { search_keys, payloads, done: &mut *done });
            if is_measured { put() } else { self.measure(search_keys.len(), put) }?;
            (at, is_measured) = (group.end, true);
        }
        Ok(())
    }

    /// Puts a group of payloads, one after the other.
    fn put_group(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        ManyPuts { search_keys, payloads, done }: ManyPuts<'_, '_, K>,
    ) -> Result<()> {
        let mut group = Group::new();
        self.look_ahead(root, search_keys, &mut group);
        for ((search_key, payload), place) in search_keys.iter().zip(payloads).zip(&group.leaves) {
            // A split in this group or beside it has changed the leaf parent: then the descent is repeated.
            let latched = place.as_ref().and_then(|(at, ..)| self.try_take_reached(root, at));
            let old = match latched {
                Some(latched) if guard.valid() => match self.put_latched(root, guard, latched, *search_key, *payload) {
                    Ok(old) => old,
                    Err(Full) => self.put_with_room(root, guard, *search_key, *payload)?,
                },
                missed => {
                    missed.into_iter().for_each(|latched| latched.held.unlock_unchanged());
                    self.put(root, guard, *search_key, *payload)?
                }
            };
            done(guard.epoch(), old);
        }
        Ok(())
    }
}
