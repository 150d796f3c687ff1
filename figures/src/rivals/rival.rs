//! What a rival implements, and how a rival of that kind is measured as a tree of a design is.

use super::blocks::Blocks;
use holm_lab::measured::{MeasuredTree, Request, What};
use holm_map::Map;
use holm_medium::{Counts, Guard, Result, StorageOps, Word};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// A tree for comparison, one operation on one key at a time. Any thread may run any of them, but a lock lets one
/// operation run at a time, so that figures time one thread alone.
pub(super) trait Rival: Send + Sync + 'static {
    /// Whether changes become durable when an epoch ends.
    const PER_EPOCH: bool;
    /// The persistent memory of its pairs.
    fn blocks(&self) -> &Blocks;
    /// Puts a payload under a key.
    fn put(&self, guard: &Guard<'_>, key: u64, payload: u64) -> Result<()>;
    /// Removes a key, if it is there.
    fn remove(&self, guard: &Guard<'_>, key: u64) -> Result<()>;
    /// Returns the payload of a key.
    fn get(&self, key: u64) -> Option<u64>;
    /// Passes on the payloads of the first `count` pairs from a key on.
    fn scan(&self, low: u64, count: usize, each: &mut dyn FnMut(u64));
    /// Returns the number of pairs.
    fn pairs(&self) -> u64;
    /// Returns the bytes of memory beside the blocks.
    fn volatile_bytes(&self) -> u64;
    /// Derives what is volatile from the blocks, while no other thread uses them.
    fn rebuilt(&self) -> Known;
    /// Ends an epoch.
    fn end_epoch(&self) -> Result<()> {
        self.blocks().writer().end_epoch().map(drop)
    }
}

/// What recovery derives from the blocks.
pub(super) struct Known {
    /// What the volatile tree or the search layer has: keys, and the numbers of their blocks.
    pub(super) blocks: Map<u64, u64>,
    pub(super) pairs: u64,
}

/// A rival as figures see it.
pub(super) struct Measured<R>(pub R);

impl<R: Rival> Measured<R> {
    /// Calls the work for each item while pinned.
    fn pinned<T>(
        &self,
        items: impl Iterator<Item = T>,
        mut work: impl FnMut(&Guard<'_>, T) -> Result<()>,
    ) -> Result<()> {
        self.0.blocks().memory().pinned(R::PER_EPOCH, items, |guard, item| work(guard, item))
    }
}

impl<R: Rival> MeasuredTree for Measured<R> {
    fn put(&self, keys: &[u64], mask: u64) -> Result<()> {
        self.pinned(keys.iter(), |guard, key| self.0.put(guard, *key, key ^ mask))
    }

    fn put_timed(&self, keys: &[u64], mask: u64, each: &mut dyn FnMut(Duration)) -> Result<()> {
        self.pinned(keys.iter(), |guard, key| {
            let began = Instant::now();
            let done = self.0.put(guard, *key, key ^ mask);
            each(began.elapsed());
            done
        })
    }

    fn remove(&self, keys: &[u64]) -> Result<()> {
        self.pinned(keys.iter(), |guard, key| self.0.remove(guard, *key))
    }

    fn get(&self, keys: &[u64]) -> u64 {
        keys.iter().fold(0, |sum: u64, key| sum.wrapping_add(self.0.get(*key).unwrap_or(0)))
    }

    fn get_dependent(&self, keys: &[u64], _: u64) {
        black_box(self.get(keys));
    }

    fn get_many(&self, keys: &[u64], _: usize) {
        black_box(self.get(keys));
    }

    fn scan(&self, keys: &[u64], count: usize) -> (usize, u64) {
        let (mut found, mut sum) = (0, 0u64);
        for low in keys {
            self.0.scan(*low, count, &mut |payload| (found, sum) = (found + 1, sum.wrapping_add(payload)));
        }
        (found, sum)
    }

    fn mix(&self, keys: &[u64]) -> Result<()> {
        self.pinned(keys.chunks(2), |guard, keys| {
            self.0.put(guard, keys[0], !keys[0])?;
            black_box(keys.get(1).and_then(|key| self.0.get(*key)));
            Ok(())
        })
    }

    fn replay(&self, requests: &[Request]) -> Result<()> {
        self.pinned(requests.iter(), |guard, request| match request.what {
            What::Get => {
                black_box(self.0.get(request.key));
                Ok(())
            }
            What::Put => self.0.put(guard, request.key, !request.key),
            What::Remove => self.0.remove(guard, request.key),
        })
    }

    fn settle(&self) -> Result<()> {
        self.0.blocks().memory().settle()
    }

    fn end_epoch(&self) -> Result<()> {
        self.0.end_epoch()
    }

    /// With one thread, whatever their number.
    fn rebuild(&self, _: usize, rebuilt: &mut dyn FnMut(u64)) -> Result<()> {
        let known = self.0.rebuilt();
        rebuilt(known.pairs);
        Ok(())
    }

    fn pairs(&self) -> u64 {
        self.0.pairs()
    }

    fn counts(&self) -> Counts {
        self.0.blocks().memory().counts()
    }

    fn frontier(&self) -> u32 {
        self.0.blocks().frontier() as u32
    }

    fn volatile_bytes(&self) -> u64 {
        self.0.volatile_bytes()
    }

    fn leaf_bytes(&self) -> u64 {
        self.0.blocks().bytes_in_use()
    }

    fn words(&self, more: u32) -> &[Word] {
        self.0.blocks().words(more.into())
    }
}
