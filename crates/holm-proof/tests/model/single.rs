//! Operations on one key.

use super::maps::{Bytes, NEVER, Name, Stored};
use super::steps::Draw;
use super::world::{World, time};
use holm::{Error, Expiry, Keyspace, Slice};
use std::time::Duration;

pub(crate) fn bytes(value: Option<Slice>) -> Option<Bytes> {
    value.map(|value| Bytes::from(&*value))
}

pub(crate) fn pair(pair: Option<(Slice, Slice)>) -> Option<(Bytes, Bytes)> {
    pair.map(|(key, value)| (Bytes::from(&*key), Bytes::from(&*value)))
}

impl World {
    pub(crate) fn insert(&mut self, draw: &mut Draw) {
        let (name, space) = self.pick(draw);
        let key = self.key_of(name, draw);
        let (stored, lifetime) = self.stored(self.space(name).expires, draw);
        self.trace("insert", &(name, &key, stored.value.len(), lifetime));
        match lifetime {
            None => space.insert(&key, &stored.value).expect("room"),
            Some(lifetime) if draw.one_in(2) => {
                space.insert_for(&key, &stored.value, Duration::from_millis(lifetime)).expect("room");
            }
            Some(_) => space.insert_until(&key, &stored.value, time(stored.deadline)).expect("room"),
        }
        self.set(name, &key, Some(stored));
        self.note();
        if !self.space(name).expires && draw.one_in(8) {
            let refused = space.insert_for(&key, "value", Duration::ZERO);
            assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
        }
    }

    pub(crate) fn remove(&mut self, draw: &mut Draw) {
        let (name, space) = self.pick(draw);
        let key = self.key_of(name, draw);
        self.trace("remove", &(name, &key));
        let was_present = self.space(name).get(&key, self.now()).is_some();
        assert_eq!(space.remove(&key).expect("sound"), was_present, "remove");
        // An expired record goes as well.
        self.set(name, &key, None);
        self.note();
    }

    /// Stores a value under the deadline that a present key has.
    fn keep_deadline(&mut self, name: Name, key: &[u8], value: &[u8]) {
        let now = self.now();
        let present = self.space(name).map.get(key).filter(|stored| stored.at(now).is_some());
        let deadline = present.map_or(NEVER, |stored| stored.deadline);
        self.set(name, key, Some(Stored { value: value.into(), deadline }));
    }

    /// Removes a key that is there; an expired record stays.
    fn take(&mut self, name: Name, key: &[u8]) {
        if self.space(name).get(key, self.now()).is_some() {
            self.set(name, key, None);
        }
    }

    pub(crate) fn update(&mut self, draw: &mut Draw) {
        let (name, space) = self.pick(draw);
        let key = self.key_of(name, draw);
        let (before, value) = (self.space(name).get(&key, self.now()), self.value(draw));
        let which = draw.below(12);
        self.trace("update", &(name, &key, which, before.as_ref().map(|value| value.len()), value.len()));
        match which {
            0 => {
                let done = space.compare_and_swap(&key, before.as_deref(), Some(&value)).expect("room");
                done.expect("what the model has");
                self.keep_deadline(name, &key, &value);
            }
            1 => {
                space.compare_and_swap(&key, before.as_deref(), None).expect("room").expect("what the model has");
                self.take(name, &key);
            }
            2 => {
                let other = [before.as_deref().unwrap_or_default(), b"other"].concat();
                let refused = space.compare_and_swap(&key, Some(&other), Some(&value)).expect("sound");
                assert_eq!(bytes(refused.expect_err("another value").current), before);
            }
            3 => {
                assert_eq!(bytes(space.insert_if_absent(&key, &value).expect("room")), before);
                if before.is_none() {
                    self.set(name, &key, Some(Stored { value, deadline: NEVER }));
                }
            }
            4 => {
                let found = space.get_or_insert_with(&key, || value.to_vec()).expect("room");
                assert_eq!(&*found, before.as_deref().unwrap_or(&value));
                if before.is_none() {
                    self.set(name, &key, Some(Stored { value, deadline: NEVER }));
                }
            }
            5 => {
                assert_eq!(bytes(space.fetch_update(&key, |_| Some(value.to_vec())).expect("room")), before);
                self.keep_deadline(name, &key, &value);
            }
            6 => {
                assert_eq!(space.update_fetch(&key, |_| None).expect("sound"), None);
                self.take(name, &key);
            }
            7 => {
                assert_eq!(bytes(space.swap(&key, &value).expect("room")), before);
                self.set(name, &key, Some(Stored { value, deadline: NEVER }));
            }
            8 => {
                assert_eq!(bytes(space.take(&key).expect("sound")), before);
                self.take(name, &key);
            }
            9 | 10 => self.increment(name, &space, &key, draw),
            _ => self.persist(name, &space, &key),
        }
        self.note();
    }

    fn increment(&mut self, name: Name, space: &Keyspace, key: &[u8], draw: &mut Draw) {
        let before = self.space(name).get(key, self.now());
        let by = draw.below(1_000) as i64 - 500;
        let sum = match before.as_deref().map(<[u8; 8]>::try_from) {
            None => Some(by),
            Some(Ok(number)) => i64::from_le_bytes(number).checked_add(by),
            Some(Err(_)) => None,
        };
        match (space.increment(key, by), sum) {
            (Ok(found), Some(sum)) => {
                assert_eq!(found, sum);
                self.keep_deadline(name, key, &sum.to_le_bytes());
            }
            (Err(Error::Invalid { .. } | Error::Overflow { .. }), None) => {}
            (found, sum) => panic!("increment: found {found:?}, expected {sum:?}"),
        }
    }

    fn persist(&mut self, name: Name, space: &Keyspace, key: &[u8]) {
        if !self.space(name).expires {
            return assert!(matches!(space.persist(key), Err(Error::Invalid { .. })));
        }
        let stored = self.space(name).map.get(key).cloned();
        let present = stored.filter(|stored| stored.at(self.now()).is_some() && stored.deadline != NEVER);
        assert_eq!(space.persist(key).expect("room"), present.is_some(), "persist");
        if let Some(present) = present {
            self.set(name, key, Some(Stored { deadline: NEVER, ..present }));
        }
    }

    pub(crate) fn pop(&mut self, draw: &mut Draw) {
        let ((name, space), first) = (self.pick(draw), draw.one_in(2));
        self.trace("pop", &(name, first));
        let pairs = self.space(name).all(self.now());
        let (wanted, found) = match first {
            true => (pairs.first(), space.pop_first()),
            false => (pairs.last(), space.pop_last()),
        };
        assert_eq!(pair(found.expect("sound")).as_ref(), wanted, "pop");
        if let Some((key, _)) = wanted {
            self.set(name, key, None);
        }
        self.note();
    }

    pub(crate) fn expiry(&self, name: Name, key: &[u8]) -> Option<Expiry> {
        let stored = self.space(name).map.get(key).filter(|stored| stored.at(self.now()).is_some())?;
        Some(if stored.deadline == NEVER { Expiry::Never } else { Expiry::At(time(stored.deadline)) })
    }

    /// Reads without a change.
    pub(crate) fn look(&mut self, draw: &mut Draw) {
        let ((name, space), now) = (self.pick(draw), self.now());
        let keys = [(); 3].map(|()| self.key_of(name, draw));
        self.trace("look", &(name, &keys));
        let wanted = keys.clone().map(|key| self.space(name).get(&key, now));
        let many = space.get_many(&keys).expect("sound");
        assert!(many.into_iter().map(bytes).eq(wanted.clone()), "get_many");
        let mut buffer = vec![1, 2, 3];
        for (key, wanted) in keys.iter().zip(wanted) {
            assert_eq!(bytes(space.get(key).expect("sound")), wanted, "get");
            assert_eq!(space.contains_key(key).expect("sound"), wanted.is_some(), "contains_key");
            assert_eq!(space.get_into(key, &mut buffer).expect("sound"), wanted.is_some(), "get_into");
            assert_eq!(buffer, wanted.as_deref().unwrap_or_default(), "get_into");
            if self.space(name).expires {
                assert_eq!(space.expiry(key).expect("sound"), self.expiry(name, key), "expiry");
            }
        }
        assert_eq!(space.len().expect("sound"), self.space(name).map.len() as u64, "len");
        assert_eq!(self.db().mark().expect("sound"), self.state.mark, "mark");
    }
}
