//! What was written to a database, step by step: the prefixes that it may contain, and every pair that it ever had.

use std::collections::{BTreeMap, BTreeSet};

/// Keyspace and key.
pub(crate) type Place = (String, Vec<u8>);

/// What a database contains.
pub(crate) type Contents = BTreeMap<Place, Vec<u8>>;

/// Changes that take effect together: a value, or a removal.
pub(crate) type Step = Vec<(Place, Option<Vec<u8>>)>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    steps: Vec<Step>,
    /// The number of steps that every crash keeps.
    floor: usize,
    pub(crate) contents: Contents,
    pairs: BTreeSet<(Vec<u8>, Vec<u8>)>,
    placed: BTreeSet<(Place, Vec<u8>)>,
}

impl Ledger {
    pub(crate) fn add(&mut self, step: Step) {
        for (place, value) in &step {
            match value {
                Some(value) => {
                    self.contents.insert(place.clone(), value.clone());
                    self.pairs.insert((place.1.clone(), value.clone()));
                    self.placed.insert((place.clone(), value.clone()));
                }
                None => drop(self.contents.remove(place)),
            }
        }
        self.steps.push(step);
    }

    pub(crate) fn synced(&mut self) {
        self.floor = self.steps.len();
    }

    /// Whether these are the contents after some number of steps, and whether every crash keeps that many.
    pub(crate) fn prefix(&self, found: &Contents) -> Option<Prefix> {
        let (mut contents, mut best) = (Contents::new(), None);
        for upto in 0..=self.steps.len() {
            if contents == *found {
                best = Some(if upto >= self.floor { Prefix::Kept } else { Prefix::Short });
            }
            for (place, value) in self.steps.get(upto).into_iter().flatten() {
                match value {
                    Some(value) => drop(contents.insert(place.clone(), value.clone())),
                    None => drop(contents.remove(place)),
                }
            }
        }
        best
    }

    /// Whether the pair was once in this keyspace.
    pub(crate) fn had(&self, place: &Place, value: &[u8]) -> bool {
        self.placed.contains(&(place.clone(), value.to_vec()))
    }

    /// Whether the pair was once in any keyspace.
    pub(crate) fn had_anywhere(&self, key: &[u8], value: &[u8]) -> bool {
        self.pairs.contains(&(key.to_vec(), value.to_vec()))
    }
}

/// A prefix of the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefix {
    /// No shorter than what every crash keeps.
    Kept,
    Short,
}
