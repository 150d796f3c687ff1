//! The model: maps with deadlines, a mark, and every state since the last one that is known to be durable.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;

pub(crate) type Bytes = Rc<[u8]>;

/// The deadline of a key that does not expire.
pub(crate) const NEVER: u64 = u64::MAX;

/// What is stored under a key, expired or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) value: Bytes,
    /// In milliseconds.
    pub(crate) deadline: u64,
}

impl Stored {
    pub(crate) fn at(&self, now: u64) -> Option<Bytes> {
        (self.deadline > now).then(|| self.value.clone())
    }
}

pub(crate) type Map = BTreeMap<Bytes, Stored>;
pub(crate) type Pairs = Vec<(Bytes, Bytes)>;

/// A range of keys: from the first, below the second.
pub(crate) type Range = (Vec<u8>, Option<Vec<u8>>);

pub(crate) fn holds(range: &Range, key: &[u8]) -> bool {
    key >= &range.0[..] && range.1.as_ref().is_none_or(|high| key < &high[..])
}

/// A keyspace.
#[derive(Clone)]
pub(crate) struct Space {
    /// A keyspace that is created anew has another one.
    pub(crate) id: u32,
    pub(crate) expires: bool,
    pub(crate) map: Rc<Map>,
    /// How often it was changed.
    pub(crate) changes: u64,
}

impl Space {
    pub(crate) fn get(&self, key: &[u8], now: u64) -> Option<Bytes> {
        self.map.get(key)?.at(now)
    }

    /// Returns the pairs of a range that have not expired.
    pub(crate) fn pairs(&self, range: &Range, now: u64) -> Pairs {
        let inside = self
            .map
            .range::<[u8], _>((Bound::Included(&range.0[..]), Bound::Unbounded))
            .take_while(|(key, _)| holds(range, key));
        inside.filter_map(|(key, stored)| Some((key.clone(), stored.at(now)?))).collect()
    }

    pub(crate) fn all(&self, now: u64) -> Pairs {
        self.pairs(&(Vec::new(), None), now)
    }

    /// Stores a value, or removes the key. A keyspace without expiry has no deadlines.
    pub(crate) fn set(&mut self, key: &[u8], stored: Option<Stored>) {
        self.changes += 1;
        let map = Rc::make_mut(&mut self.map);
        match stored {
            Some(Stored { value, deadline }) => {
                let deadline = if self.expires { deadline } else { NEVER };
                map.insert(key.into(), Stored { value, deadline });
            }
            None => _ = map.remove(key),
        }
    }
}

pub(crate) type Name = &'static str;

/// A database.
#[derive(Clone, Default)]
pub(crate) struct State {
    pub(crate) spaces: BTreeMap<Name, Space>,
    pub(crate) mark: Option<u64>,
}

impl State {
    /// Returns a keyspace unless it was dropped.
    pub(crate) fn space(&self, name: Name, id: u32) -> Option<&Space> {
        self.spaces.get(name).filter(|space| space.id == id)
    }

    pub(crate) fn stored(&self) -> u64 {
        self.spaces.values().map(|space| space.map.len() as u64).sum()
    }
}

/// A state, and the keys that went one after the other on the way to it.
pub(crate) struct Moment {
    pub(crate) state: State,
    pub(crate) removed: Vec<(Name, Bytes)>,
}

/// The states that a loss of power may lead to.
#[derive(Default)]
pub(crate) struct History(Vec<Moment>);

impl History {
    /// Forgets what was before: this state is durable.
    pub(crate) fn begin(&mut self, state: &State) {
        self.0 = vec![Moment { state: state.clone(), removed: Vec::new() }];
    }

    pub(crate) fn push(&mut self, state: &State, removed: Vec<(Name, Bytes)>) {
        self.0.push(Moment { state: state.clone(), removed });
    }

    /// Returns the number of states.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the latest state that fits.
    pub(crate) fn find(&self, fits: impl Fn(&State) -> bool) -> Option<State> {
        for at in (0..self.0.len()).rev() {
            let Moment { state, removed } = &self.0[at];
            if fits(state) {
                return Some(state.clone());
            }
            let mut part = if at > 0 { self.0[at - 1].state.clone() } else { continue };
            for (name, key) in removed {
                part.spaces.get_mut(name).expect("a removal drops no keyspace").set(key, None);
                if fits(&part) {
                    return Some(part);
                }
            }
        }
        None
    }
}
