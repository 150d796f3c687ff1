//! Scans, of keyspaces and of snapshots, and comparisons of everything.

use super::maps::{Pairs, Range, Space, State};
use super::single::{bytes, pair};
use super::steps::Draw;
use super::world::World;
use super::world::options;
use holm::{Database, Error, Expiry, Iter, Snapshot};
use std::ops::Bound;

/// An open snapshot, and what it must show.
pub(crate) struct SnapshotTwin {
    pub(crate) snapshot: Snapshot,
    pub(crate) state: State,
    pub(crate) now: u64,
}

impl SnapshotTwin {
    /// Returns whether it has kept too much.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.snapshot.mark(), Err(Error::Ended))
    }
}

pub(crate) fn bounds(range: &Range) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Included(&range.0[..]), range.1.as_deref().map_or(Bound::Unbounded, Bound::Excluded))
}

/// Scans from both ends until they meet, or up to a limit.
#[track_caller]
pub(crate) fn walk(mut iter: Iter, expected: &Pairs, draw: &mut Draw) {
    let mut rest = expected.iter();
    let mut limit = usize::MAX;
    if draw.one_in(4) {
        limit = draw.below(expected.len() + 3);
        iter = iter.limit(limit);
    }
    let lean = draw.pick(&[0, 0, 1, 5, 9, 10, 10]);
    loop {
        let backward = draw.below(10) < lean;
        let wanted = if backward { rest.next_back() } else { rest.next() };
        let wanted = wanted.filter(|_| limit > 0).map(|(key, value)| (&key[..], &value[..]));
        limit = limit.saturating_sub(1);
        let found = if backward { iter.next_back_ref() } else { iter.next_ref() };
        let found = found.transpose().expect("sound");
        assert!(found == wanted, "backward {backward}: {}", difference(found, wanted));
        if found.is_none() {
            return;
        }
    }
}

/// Shows two pairs without large values.
pub(crate) fn difference(found: Option<(&[u8], &[u8])>, wanted: Option<(&[u8], &[u8])>) -> String {
    let short = |bytes: &[u8]| format!("\"{}\" of {}", bytes[..bytes.len().min(40)].escape_ascii(), bytes.len());
    let show = |pair: Option<(&[u8], &[u8])>| {
        pair.map_or("none".to_owned(), |(key, value)| format!("({}, {})", short(key), short(value)))
    };
    format!("found {}, expected {}", show(found), show(wanted))
}

/// Compares a database with a state; the time is that of its clock.
#[track_caller]
pub(crate) fn compare(db: &Database, state: &State, now: u64, draw: &mut Draw) {
    let names: Vec<_> = state.spaces.keys().collect();
    assert!(db.keyspaces().expect("sound").iter().eq(names), "the keyspaces");
    assert_eq!(db.mark().expect("sound"), state.mark, "the mark");
    for (name, model) in &state.spaces {
        let space = db.existing_keyspace(name).expect("sound").expect("it exists");
        let pairs = model.all(now);
        walk(space.iter(), &pairs, draw);
        let back: Vec<_> = space.iter().rev().map(|pair| pair.expect("sound")).collect();
        let equal = back.iter().rev().map(|(key, value)| (&**key, &**value));
        assert!(equal.eq(pairs.iter().map(|(key, value)| (&**key, &**value))), "{name} from the back");
        assert_eq!(space.len().expect("sound"), model.map.len() as u64, "the length of {name}");
        assert_eq!(space.is_empty().expect("sound"), pairs.is_empty(), "whether {name} is empty");
        assert_eq!(space.options(), options(model.expires), "the options of {name}");
        assert_eq!(pair(space.first().expect("sound")).as_ref(), pairs.first(), "the first of {name}");
        assert_eq!(pair(space.last().expect("sound")).as_ref(), pairs.last(), "the last of {name}");
        for (key, stored) in model.map.iter() {
            let found = space.get(key).expect("sound");
            assert_eq!(found.as_deref(), stored.at(now).as_deref(), "{name}: get \"{}\"", key.escape_ascii());
        }
    }
}

impl World {
    pub(crate) fn compare(&self, draw: &mut Draw) {
        compare(self.db(), &self.state, self.now(), draw);
        for (name, space) in self.state.spaces.iter().filter(|(_, space)| space.expires) {
            for key in space.map.keys() {
                assert_eq!(self.handles[name].expiry(key).expect("sound"), self.expiry(name, key), "expiry");
            }
        }
    }

    pub(crate) fn scan(&mut self, draw: &mut Draw) {
        let ((name, space), mut range, now) = (self.pick(draw), self.range(draw), self.now());
        self.trace("scan", &(name, &range));
        if draw.one_in(3) {
            let prefix = range.0[..draw.below(range.0.len() + 1)].to_vec();
            let pairs = self.space(name).all(now);
            let pairs = pairs.into_iter().filter(|(key, _)| key.starts_with(&prefix)).collect();
            return walk(space.prefix(&prefix), &pairs, draw);
        }
        if draw.one_in(4) {
            range = (Vec::new(), None);
        }
        walk(space.range::<&[u8]>(bounds(&range)), &self.space(name).pairs(&range, now), draw);
    }

    pub(crate) fn take_snapshot(&mut self, draw: &mut Draw) {
        if self.snapshots.len() == 3 {
            self.snapshots.remove(draw.below(3));
        }
        self.trace("snapshot", &self.snapshots.len());
        let snapshot = self.db().snapshot().expect("sound");
        self.snapshots.push(SnapshotTwin { snapshot, state: self.state.clone(), now: self.now() });
    }

    pub(crate) fn drop_snapshot(&mut self, draw: &mut Draw) {
        if !self.snapshots.is_empty() {
            let at = draw.below(self.snapshots.len());
            self.trace("drop of snapshot", &at);
            self.snapshots.remove(at);
        }
    }

    pub(crate) fn look_at_snapshot(&mut self, draw: &mut Draw) {
        if self.snapshots.is_empty() {
            return;
        }
        let at = draw.below(self.snapshots.len());
        let (key, range) = (self.key(draw), self.range(draw));
        self.trace("look at snapshot", &(at, &key, &range));
        let ended = self.snapshots.iter().filter(|twin| twin.has_ended()).count();
        assert!(self.snapshots[..ended].iter().all(SnapshotTwin::has_ended), "the oldest end first");
        self.ask_snapshot(&self.snapshots[at], (&key, &range), draw);
    }

    /// Compares a snapshot with its state.
    pub(crate) fn ask_snapshot(&self, twin: &SnapshotTwin, (key, range): (&[u8], &Range), draw: &mut Draw) {
        let SnapshotTwin { snapshot, state, now } = twin;
        if self.limited && twin.has_ended() {
            let spaces = snapshot.keyspaces().into_iter().filter_map(|name| snapshot.keyspace(&name));
            return spaces.for_each(|space| {
                assert!(matches!(space.get(key), Err(Error::Ended | Error::Dropped { .. })), "get after the end");
                let next = space.iter().next();
                assert!(matches!(next, Some(Err(Error::Ended | Error::Dropped { .. }))), "a scan after the end");
            });
        }
        assert!(snapshot.keyspaces().iter().eq(state.spaces.keys()), "the keyspaces of a snapshot");
        assert_eq!(snapshot.mark().expect("open"), state.mark, "the mark of a snapshot");
        for (name, model) in &state.spaces {
            let space = snapshot.keyspace(name).expect("it existed");
            if self.state.space(name, model.id).is_none() {
                assert!(matches!(space.get(key), Err(Error::Dropped { .. })), "a snapshot of a dropped keyspace");
                assert!(matches!(space.iter().next(), Some(Err(Error::Dropped { .. }))), "its scan");
                continue;
            }
            assert_eq!(bytes(space.get(key).expect("open")), model.get(key, *now), "get of a snapshot");
            let all = model.all(*now);
            assert_eq!(space.len().expect("open"), all.len() as u64, "the length of a snapshot of {name}");
            assert_eq!(pair(space.last().expect("open")).as_ref(), all.last(), "the last of a snapshot");
            walk(space.range::<&[u8]>(bounds(range)), &model.pairs(range, *now), draw);
            walk(space.iter(), &all, draw);
            if model.expires {
                let deadline = deadline_of(model, key, *now);
                assert_eq!(space.expiry(key).expect("open"), deadline, "expiry in a snapshot");
            }
        }
    }
}

fn deadline_of(space: &Space, key: &[u8], now: u64) -> Option<Expiry> {
    let stored = space.map.get(key).filter(|stored| stored.at(now).is_some())?;
    let never = stored.deadline == super::maps::NEVER;
    Some(if never { Expiry::Never } else { Expiry::At(super::world::time(stored.deadline)) })
}
