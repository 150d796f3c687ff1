//! Heap memory in place of a shared mapping, and the kernel that writes its pages back at any time.
//!
//! What a process stores through a mapping is in the page cache at once. Here it is in the heap, so it must be copied
//! over: page by page at any time, as write-back does, in the page's version at that time; and completely when the
//! process dies or closes the file. Pages beyond the file's end are not copied.

use super::content::Content;
use super::names::Inode;
use super::{SimDisk, State};
use holm_medium::vfs::FORMAT_PAGE as PAGE;
use holm_medium::{Area, Image, atomics, parts};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The memory that replaces a mapping of a file.
pub(super) struct AttachedImage {
    pub(super) inode: Inode,
    pub(super) handle: u64,
    pub(super) image: Arc<Image>,
    pub(super) area: Area,
}

impl AttachedImage {
    /// A page as it was stored through the mapping, if the page cache has it otherwise.
    ///
    /// # Panics
    /// If its space was given back and not allocated since: on a full disk, the store would have been a fault.
    fn changed_page(&self, content: &Content, offset: usize) -> Option<Vec<u8>> {
        let end = content.current().len().min(self.image.area(self.area).len());
        let len = end.checked_sub(offset)?.min(PAGE as usize);
        let words = self.image.words(self.area.at(offset as u64), len / 8).unwrap_or_default();
        let page: Vec<u8> = words.iter().flat_map(|word| word.read().to_le_bytes()).collect();
        if page == content.current()[offset..offset + page.len()] {
            return None;
        }
        let number = offset as u64 / PAGE;
        assert!(!content.is_hole(number), "page {number} of {:?} was stored to without space", self.area);
        Some(page)
    }
}

impl fmt::Debug for AttachedImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StandIn").field("inode", &self.inode).field("area", &self.area).finish()
    }
}

impl State {
    /// Copies those changed pages that `choose` selects into the page cache.
    pub(super) fn write_back(&mut self, choose: &mut dyn FnMut(u64) -> bool) {
        for at in 0..self.attached_images.len() {
            self.write_back_one(at, choose);
        }
    }

    fn write_back_one(&mut self, at: usize, choose: &mut dyn FnMut(u64) -> bool) {
        let attached = &self.attached_images[at];
        let Some(content) = self.files.get_mut(&attached.inode) else { return };
        if self.faults.off && !self.faults.dead {
            return;
        }
        let end = content.current().len().min(attached.image.area(attached.area).len());
        for offset in (0..end).step_by(PAGE as usize) {
            let Some(page) = attached.changed_page(content, offset) else { continue };
            if choose(offset as u64 / PAGE) {
                content.write(offset, &page);
            }
        }
    }

    /// A file is about to be written by a call, which allocates space: too late for what was stored before.
    ///
    /// # Panics
    /// If a mapping has stored to a page without space.
    pub(super) fn refuse_stores_to_holes(&self, inode: Inode, offset: usize, len: usize) {
        let Some(content) = self.files.get(&inode) else { return };
        for attached in self.attached_images.iter().filter(|attached| attached.inode == inode) {
            let pages = offset / PAGE as usize..(offset + len).div_ceil(PAGE as usize);
            let holes = pages.filter(|page| content.is_hole(*page as u64));
            holes.for_each(|page| drop(attached.changed_page(content, page * PAGE as usize)));
        }
    }

    /// Pages of a file are removed: all its mappings read zeros there.
    pub(super) fn punch_images(&self, inode: Inode, offset: u64, len: u64) {
        for attached in self.attached_images.iter().filter(|attached| attached.inode == inode) {
            let words = attached.image.words(attached.area.at(offset), (len / 8) as usize).unwrap_or_default();
            atomics(words).iter().for_each(|word| word.store(0, Relaxed));
        }
    }

    /// A file is closed: what was stored through its mapping stays in the page cache.
    pub(super) fn unmap(&mut self, handle: u64) {
        while let Some(at) = self.attached_images.iter().position(|attached| attached.handle == handle) {
            self.write_back_one(at, &mut |_| true);
            self.attached_images.swap_remove(at);
        }
    }
}

impl SimDisk {
    /// The kernel writes some pages of all mappings back, each with one chance in `of`, by seed. They are then in the
    /// page cache, from which a loss of power may keep or lose each sector.
    pub fn write_back(&self, seed: u64, of: u32) {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        self.state().write_back(&mut |_| random.random_ratio(1, of));
    }

    /// Words of a mapping as they are now; none where no such place is mapped. This counts no call.
    pub fn stored(&self, loc: u64, words: usize) -> Vec<u64> {
        let state = self.state();
        let mapped = state.attached_images.iter().find(|attached| attached.area == parts(loc).0);
        let mapped = mapped.and_then(|attached| attached.image.words(loc, words));
        mapped.unwrap_or_default().iter().map(|word| word.read()).collect()
    }

    /// The kernel's own write-back of everything dirty in a file fails. Its pages are then clean and not on the disk,
    /// and the file's next sync fails once, whichever program calls it. Returns whether there is such a file.
    pub fn fail_write_back(&self, path: &Path) -> bool {
        self.with_content(path, Content::fail_write_back)
    }

    /// Another program gets the report of a failed write-back of a file, if there is one: its next sync says nothing.
    /// Returns whether there is such a file.
    pub fn report_elsewhere(&self, path: &Path) -> bool {
        self.with_content(path, |content| _ = content.report())
    }

    /// The kernel drops clean pages of a file, each with one chance in `of`, by seed. Pages whose write-back has failed
    /// come back as an earlier state of the disk. No process may have the file mapped. Returns whether there is such a
    /// file.
    pub fn evict(&self, path: &Path, seed: u64, of: u32) -> bool {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut versions = Pcg64Mcg::seed_from_u64(!seed);
        self.with_content(path, |content| {
            content.evict(&mut |_| random.random_ratio(1, of), &mut |_, states| versions.random_range(0..states));
        })
    }

    /// The same for all clean pages, which come back as they last were durable.
    pub fn evict_all(&self, path: &Path) -> bool {
        self.with_content(path, |content| content.evict(&mut |_| true, &mut |_, _| 0))
    }

    /// The same while processes have the file mapped, by seed: they read the pages from the disk again. Pages that were
    /// stored to since they were last written back are dirty, and stay. Returns how many pages of mappings have
    /// another content by then: none, unless a write-back has failed.
    pub fn evict_mapped(&self, path: &Path, seed: u64, of: u32) -> usize {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut versions = Pcg64Mcg::seed_from_u64(!seed);
        let mut state = self.state();
        let State { names, files, attached_images, .. } = &mut *state;
        let Some((inode, content)) = names.current.get(path).and_then(|inode| Some((inode, files.get_mut(inode)?)))
        else {
            return 0;
        };
        let attached: Vec<_> = attached_images.iter().filter(|attached| attached.inode == *inode).collect();
        let is_clean = |content: &Content, page: u64| {
            attached.iter().all(|attached| attached.changed_page(content, (page * PAGE) as usize).is_none())
        };
        let clean: BTreeSet<u64> =
            (0..content.current().len() as u64 / PAGE).filter(|page| is_clean(content, *page)).collect();
        let mut drops = |page| clean.contains(&page) && random.random_ratio(1, of);
        content.evict(&mut drops, &mut |_, states| versions.random_range(0..states));
        let mut changed = 0;
        for (attached, page) in attached.iter().flat_map(|attached| clean.iter().map(move |page| (attached, *page))) {
            let Some(bytes) = content.current().get((page * PAGE) as usize..((page + 1) * PAGE) as usize) else {
                continue;
            };
            let words = attached.image.words(attached.area.at(page * PAGE), bytes.len() / 8).unwrap_or_default();
            let mut differs = false;
            for (word, bytes) in atomics(words).iter().zip(bytes.as_chunks::<8>().0) {
                differs |= word.swap(u64::from_le_bytes(*bytes), Relaxed) != u64::from_le_bytes(*bytes);
            }
            changed += usize::from(differs);
        }
        changed
    }

    fn with_content(&self, path: &Path, change: impl FnOnce(&mut Content)) -> bool {
        let mut state = self.state();
        let Some(&inode) = state.names.current.get(path) else { return false };
        state.files.get_mut(&inode).map(change).is_some()
    }
}
