//! Transactions: what each must see, whether it must conflict, and what its commit does.

use super::maps::{Bytes, Name, Pairs, Range, Space, State, Stored, holds};
use super::scans::{bounds, difference};
use super::single::bytes;
use super::steps::Draw;
use super::world::{World, time};
use holm::{Error, Keyspace, Transaction};
use std::collections::BTreeMap;
use std::time::Duration;

/// A keyspace at the time at which a transaction got hold of it.
type Id = (Name, u32);

/// An open transaction, what it has read, and what it is going to write.
pub(crate) struct TransactionTwin {
    transaction: Transaction,
    /// Its time, once it has met a keyspace with expiry.
    now: Option<u64>,
    gets: Vec<(Id, Vec<u8>, Option<Bytes>)>,
    scans: Vec<Scan>,
    writes: BTreeMap<(Id, Vec<u8>), Option<Stored>>,
    /// The mark that it has read, and the one that it sets.
    mark_read: Option<Option<u64>>,
    mark: Option<u64>,
}

/// What a scan has read.
struct Scan {
    of: Id,
    range: Range,
    stored: Pairs,
    /// The keyspace's count of changes.
    changes: u64,
}

/// Whether a call must conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Conflict {
    Never,
    /// A leaf that was scanned may have changed.
    Possible,
    Certain,
}

/// A transaction that has scanned fewer pairs reads no more than 64 leaves, after which it would go on at a snapshot.
const SHORT: usize = 32;

impl TransactionTwin {
    fn pairs_scanned(&self) -> usize {
        self.scans.iter().map(|scan| scan.stored.len()).sum()
    }

    /// Returns whether a read or a commit conflicts now.
    fn conflict(&self, state: &State) -> Conflict {
        let now = self.now.unwrap_or(0);
        let differs = |((name, id), key, found): &(Id, Vec<u8>, Option<Bytes>)| {
            state.space(name, *id).is_none_or(|space| space.get(key, now) != *found)
        };
        if self.gets.iter().any(differs) || self.mark_read.is_some_and(|mark| mark != state.mark) {
            return Conflict::Certain;
        }
        let scan = |scan: &Scan| match state.space(scan.of.0, scan.of.1) {
            Some(space) if space.pairs(&scan.range, now) != scan.stored => Conflict::Certain,
            Some(space) if space.changes == scan.changes => Conflict::Never,
            Some(_) => Conflict::Possible,
            None => Conflict::Certain,
        };
        self.scans.iter().map(scan).max().unwrap_or(Conflict::Never)
    }

    /// Returns whether a read conflicts now. It refuses what a sweep may have removed, too.
    fn read_conflict(&self, state: &State, swept_by: u64) -> Conflict {
        match self.now {
            Some(now) if swept_by > now => Conflict::Certain,
            _ => self.conflict(state),
        }
    }

    /// Returns what the transaction sees of a range.
    fn visible(&self, of: Id, space: &Space, range: &Range, now: u64) -> Pairs {
        let mut pairs: BTreeMap<Bytes, Bytes> = space.pairs(range, now).into_iter().collect();
        for ((id, key), own) in self.writes.iter().filter(|((id, key), _)| *id == of && holds(range, key)) {
            debug_assert_eq!(*id, of);
            match own.as_ref().and_then(|own| own.at(now)) {
                Some(value) => _ = pairs.insert(key[..].into(), value),
                None => _ = pairs.remove(&key[..]),
            }
        }
        pairs.into_iter().collect()
    }

    fn set(&mut self, of: Id, key: &[u8], own: Option<Stored>) {
        self.writes.insert((of, key.to_vec()), own);
    }
}

/// The end of a transaction's step: whether the transaction can go on.
#[derive(PartialEq, Eq)]
enum Goes {
    On,
    Away,
}

#[track_caller]
fn expect<T: std::fmt::Debug>(done: Result<T, Error>, conflict: Conflict, what: &str) -> Option<T> {
    match (done, conflict) {
        (Ok(done), Conflict::Never | Conflict::Possible) => Some(done),
        (Err(Error::Conflict), Conflict::Possible | Conflict::Certain) => None,
        // A keyspace that was read is gone.
        (Err(Error::Dropped { .. }), Conflict::Certain) => None,
        (done, conflict) => panic!("{what}: conflict {conflict:?}, found {done:?}"),
    }
}

impl World {
    pub(crate) fn begin(&mut self, draw: &mut Draw) {
        if self.transactions.len() == 3 {
            self.transactions.remove(draw.below(3));
        }
        self.trace("begin", &self.transactions.len());
        let transaction = self.db().begin();
        self.transactions.push(TransactionTwin {
            transaction,
            now: None,
            gets: Vec::new(),
            scans: Vec::new(),
            writes: BTreeMap::new(),
            mark_read: None,
            mark: None,
        });
    }

    /// Lets one of the open transactions make some calls.
    pub(crate) fn go_on(&mut self, draw: &mut Draw) {
        if self.transactions.is_empty() {
            return self.begin(draw);
        }
        let at = draw.below(self.transactions.len());
        let mut twin = self.transactions.remove(at);
        for _ in 0..1 + draw.below(4) {
            self.trace("transaction", &at);
            if self.call(&mut twin, draw) == Goes::Away {
                self.trace("conflict", &at);
                let again = twin.transaction.get(&self.handles["default"], "any");
                assert!(matches!(again, Err(Error::Conflict | Error::Dropped { .. })), "{again:?}");
                return;
            }
        }
        // It may read at a snapshot by now, whose state the model does not keep. So it ends while nothing has changed.
        if twin.pairs_scanned() > SHORT {
            return self.finish(twin);
        }
        self.transactions.insert(at, twin);
    }

    pub(crate) fn commit(&mut self, draw: &mut Draw) {
        if self.transactions.is_empty() {
            return;
        }
        let at = draw.below(self.transactions.len());
        let twin = self.transactions.remove(at);
        self.trace("commit", &(at, twin.writes.len()));
        self.finish(twin);
    }

    fn finish(&mut self, twin: TransactionTwin) {
        let writes = !twin.writes.is_empty() || twin.mark.is_some();
        let mut conflict = if writes { twin.conflict(&self.state) } else { Conflict::Never };
        let swept = twin.now.is_some_and(|now| self.swept_by > now);
        if writes && swept {
            conflict = conflict.max(Conflict::Possible);
        }
        let committed = twin.transaction.commit();
        let lost = twin.writes.keys().any(|((name, id), _)| self.state.space(name, *id).is_none());
        if lost {
            return assert!(matches!(committed, Err(Error::Dropped { .. })), "{committed:?}");
        }
        if expect(committed.map(drop), conflict, "commit").is_none() {
            return;
        }
        for (((name, _), key), own) in twin.writes {
            self.set(name, &key, own);
        }
        self.state.mark = twin.mark.or(self.state.mark);
        self.note();
    }

    /// A transaction that nobody disturbs.
    pub(crate) fn transact(&mut self, draw: &mut Draw) {
        self.begin(draw);
        let mut twin = self.transactions.pop().expect("it was begun");
        for _ in 0..draw.below(12) {
            assert!(self.call(&mut twin, draw) == Goes::On, "nobody else was there");
        }
        assert!(twin.conflict(&self.state) == Conflict::Never);
        self.finish(twin);
    }

    fn call(&mut self, twin: &mut TransactionTwin, draw: &mut Draw) -> Goes {
        let (name, space) = self.pick(draw);
        let of = (name, self.space(name).id);
        match draw.below(16) {
            0..5 => self.get(twin, (of, &space), draw),
            5..9 => self.put(twin, (of, &space), draw),
            9 | 10 => {
                let key = self.key_of(name, draw);
                self.trace("  remove", &(name, &key));
                twin.transaction.remove(&space, &key).expect("it reads nothing");
                twin.set(of, &key, None);
                Goes::On
            }
            11..14 => self.scan_within(twin, (of, &space), draw),
            14 => self.remove_range_within(twin, (of, &space), draw),
            _ => self.set_mark(twin, draw),
        }
    }

    /// Notes the time of a transaction that meets a keyspace.
    fn meet(&self, twin: &mut TransactionTwin, name: Name) -> u64 {
        if self.space(name).expires {
            return *twin.now.get_or_insert(self.now());
        }
        twin.now.unwrap_or(0)
    }

    fn get(&self, twin: &mut TransactionTwin, (of, space): (Id, &Keyspace), draw: &mut Draw) -> Goes {
        let (key, now, takes) = (self.key_of(of.0, draw), self.meet(twin, of.0), draw.one_in(5));
        self.trace("  get", &(of.0, &key, takes));
        let own = twin.writes.get(&(of, key.clone()));
        let (wanted, conflict) = match own {
            Some(own) => (own.as_ref().and_then(|own| own.at(now)), Conflict::Never),
            None => (self.space(of.0).get(&key, now), twin.read_conflict(&self.state, self.swept_by)),
        };
        let reads = own.is_none();
        let found = if takes { twin.transaction.take(space, &key) } else { twin.transaction.get(space, &key) };
        let Some(found) = expect(found, conflict, "get") else { return Goes::Away };
        assert_eq!(bytes(found), wanted, "get in a transaction");
        if reads {
            twin.gets.push((of, key.clone(), wanted.clone()));
        }
        if takes && wanted.is_some() {
            twin.set(of, &key, None);
        }
        Goes::On
    }

    fn put(&mut self, twin: &mut TransactionTwin, (of, space): (Id, &Keyspace), draw: &mut Draw) -> Goes {
        let key = self.key_of(of.0, draw);
        let (stored, lifetime) = self.stored(self.space(of.0).expires, draw);
        self.trace("  insert", &(of.0, &key, stored.value.len(), lifetime));
        let (transaction, value) = (&twin.transaction, &stored.value);
        let done = match lifetime {
            None => transaction.insert(space, &key, value),
            Some(_) if draw.one_in(2) => transaction.insert_until(space, &key, value, time(stored.deadline)),
            Some(lifetime) => transaction.insert_for(space, &key, value, Duration::from_millis(lifetime)),
        };
        done.expect("it reads nothing");
        twin.set(of, &key, Some(stored));
        Goes::On
    }

    fn set_mark(&self, twin: &mut TransactionTwin, draw: &mut Draw) -> Goes {
        let mark = self.next_mark(draw);
        self.trace("  mark", &mark);
        let own = twin.mark;
        let conflict = own.map_or(twin.read_conflict(&self.state, self.swept_by), |_| Conflict::Never);
        let (present, done) = (own.or(self.state.mark), twin.transaction.set_mark(mark));
        if conflict < Conflict::Certain && matches!(done, Err(Error::Invalid { .. })) {
            assert!(present.is_some_and(|present| mark <= present), "a mark that rises");
        } else if expect(done, conflict, "mark").is_none() {
            return Goes::Away;
        } else {
            assert!(present.is_none_or(|present| mark > present), "a mark that does not rise");
            twin.mark = Some(mark);
        }
        if own.is_none() {
            twin.mark_read.get_or_insert(self.state.mark);
        }
        Goes::On
    }

    /// A scan from both ends, which may end early.
    fn scan_within(&self, twin: &mut TransactionTwin, (of, space): (Id, &Keyspace), draw: &mut Draw) -> Goes {
        let range = self.range(draw);
        let (most, lean) = (draw.pick(&[1, 3, 30, usize::MAX]), draw.pick(&[0, 3, 10]));
        self.trace("  scan", &(of.0, &range, most, lean));
        // Also an empty range is a look at the keyspace.
        let now = self.meet(twin, of.0);
        if range.1.as_ref().is_some_and(|high| *high <= range.0) {
            assert!(twin.transaction.range::<&[u8]>(space, bounds(&range)).expect("ours").next().is_none());
            return Goes::On;
        }
        let conflict = twin.read_conflict(&self.state, self.swept_by);
        let pairs = twin.visible(of, self.space(of.0), &range, now);
        let (mut rest, mut left) = (pairs.iter(), range.clone());
        let mut iter = twin.transaction.range::<&[u8]>(space, bounds(&range)).expect("ours");
        let mut read = Vec::new();
        for _ in 0..most {
            let backward = draw.below(10) < lean;
            let found = if backward { iter.next_back() } else { iter.next() };
            let Some(found) = expect(found.transpose(), conflict, "scan") else { return Goes::Away };
            let wanted = if backward { rest.next_back() } else { rest.next() };
            let lent = found.as_ref().map(|(key, value)| (&**key, &**value));
            let wanted = wanted.map(|(key, value)| (&**key, &**value));
            assert!(lent == wanted, "scan in a transaction: {}", difference(lent, wanted));
            let Some((key, _)) = lent else {
                read.push(std::mem::take(&mut left));
                break;
            };
            if backward {
                read.push((key.to_vec(), left.1.replace(key.to_vec())));
            } else {
                let next = [key, b"\0"].concat();
                read.push((std::mem::replace(&mut left.0, next.clone()), Some(next)));
            }
        }
        let changes = self.space(of.0).changes;
        for range in read {
            let stored = self.space(of.0).pairs(&range, now);
            twin.scans.push(Scan { of, range, stored, changes });
        }
        Goes::On
    }

    fn remove_range_within(&self, twin: &mut TransactionTwin, (of, space): (Id, &Keyspace), draw: &mut Draw) -> Goes {
        let range = self.range(draw);
        self.trace("  remove range", &(of.0, &range));
        let now = self.meet(twin, of.0);
        if range.1.as_ref().is_some_and(|high| *high <= range.0) {
            assert_eq!(twin.transaction.remove_range::<&[u8]>(space, bounds(&range)).expect("nothing to read"), 0);
            return Goes::On;
        }
        let conflict = twin.read_conflict(&self.state, self.swept_by);
        let pairs = twin.visible(of, self.space(of.0), &range, now);
        let removed = twin.transaction.remove_range::<&[u8]>(space, bounds(&range));
        let Some(removed) = expect(removed, conflict, "remove_range") else { return Goes::Away };
        assert_eq!(removed, pairs.len() as u64, "how many a transaction removes");
        let stored = self.space(of.0).pairs(&range, now);
        twin.scans.push(Scan { of, range, stored, changes: self.space(of.0).changes });
        pairs.iter().for_each(|(key, _)| twin.set(of, key, None));
        Goes::On
    }
}
