//! Writes to many keys: batches, runs of keys, and removals of ranges.

use super::keys;
use super::maps::{Bytes, Name, Range, Stored};
use super::scans::bounds;
use super::steps::Draw;
use super::world::{World, time};
use holm::Error;
use std::time::Duration;

impl World {
    /// Several writes at once; several of them may be to the same key, and one may be refused.
    pub(crate) fn batch(&mut self, draw: &mut Draw) {
        let most = draw.pick(&[3, 12, 12, 120]);
        let count = draw.below(most + 1);
        self.trace("batch", &count);
        let (mut batch, mut after, mut refused) = (self.db().batch(), self.state.clone(), false);
        let mut last: Option<(Name, Vec<u8>)> = None;
        for _ in 0..count {
            let (mut name, mut space) = self.pick(draw);
            let mut key = self.key_of(name, draw);
            if let Some((same, again)) = last.take().filter(|_| draw.one_in(4)) {
                (name, space, key) = (same, self.handles[same].clone(), again);
            }
            if draw.one_in(3) {
                batch = batch.remove(&space, &key);
                after.spaces.get_mut(name).expect("it exists").set(&key, None);
            } else {
                let expires = self.space(name).expires;
                let (stored, lifetime) = self.stored(expires || draw.one_in(400), draw);
                refused |= lifetime.is_some() && !expires;
                batch = match lifetime {
                    None => batch.insert(&space, &key, &stored.value),
                    Some(_) if draw.one_in(2) => batch.insert_until(&space, &key, &stored.value, time(stored.deadline)),
                    Some(lifetime) => batch.insert_for(&space, &key, &stored.value, Duration::from_millis(lifetime)),
                };
                after.spaces.get_mut(name).expect("it exists").set(&key, Some(stored));
            }
            last = Some((name, key));
        }
        if draw.one_in(4) {
            let mark = self.next_mark(draw);
            refused |= self.state.mark.is_some_and(|present| mark <= present);
            batch = batch.set_mark(mark);
            after.mark = Some(mark);
        }
        match batch.commit() {
            Ok(()) => assert!(!refused, "a batch that is not valid"),
            Err(Error::Invalid { .. }) if refused => return,
            Err(error) => panic!("a batch: {error}"),
        }
        self.state = after;
        self.note();
    }

    /// Returns a mark, which does not always rise.
    pub(crate) fn next_mark(&self, draw: &mut Draw) -> u64 {
        let present = self.state.mark.unwrap_or(20);
        (present + draw.below(6) as u64).saturating_sub(1)
    }

    /// Stores a run of keys.
    pub(crate) fn fill(&mut self, draw: &mut Draw) {
        let ((name, space), from) = (self.pick(draw), draw.below(self.span));
        let count = (10 + draw.below(60)) * (self.span / 700).max(1);
        let (down, kind, at_once) = (draw.one_in(2), draw.below(36), draw.one_in(3));
        self.trace("fill", &(name, from, count, down, kind, at_once));
        let mut batch = self.db().batch();
        for number in 0..count {
            let number = if down { count - 1 - number } else { number };
            let key = keys::key(self.family, (from + number) % self.span);
            self.serial += 1;
            let value: Bytes = keys::value(self.serial, kind).into();
            if at_once {
                batch = batch.insert(&space, &key, &value);
            } else {
                space.insert(&key, &value).expect("room");
            }
            self.set(name, &key, Some(Stored { value, deadline: super::maps::NEVER }));
            if !at_once {
                self.note();
            }
        }
        batch.commit().expect("room");
        if at_once {
            self.note();
        }
    }

    pub(crate) fn remove_range(&mut self, draw: &mut Draw) {
        let ((name, space), mut range) = (self.pick(draw), self.range(draw));
        let is_clear = draw.one_in(12);
        if is_clear {
            range = Range::default();
        }
        self.trace("remove range", &(name, is_clear, &range));
        let map = &self.space(name).map;
        let keys: Vec<Bytes> = map.keys().filter(|key| super::maps::holds(&range, key)).cloned().collect();
        let count = if is_clear { space.clear() } else { space.remove_range::<&[u8]>(bounds(&range)) };
        assert_eq!(count.expect("room"), keys.len() as u64, "how many were removed");
        keys.iter().for_each(|key| self.set(name, key, None));
        // Leaves that were empty before may be merged.
        self.state.spaces.get_mut(name).expect("it exists").changes += 1;
        self.history.push(&self.state, keys.into_iter().map(|key| (name, key)).collect());
    }
}
