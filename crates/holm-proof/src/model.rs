//! The naive model: a map, its state after each operation, and which of those states a crash may leave.

use holm_medium::Epoch;
use std::collections::BTreeMap;

/// Pairs in ascending order of key.
pub type Contents = Vec<(u64, u64)>;

/// One step of a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Puts a payload under a key. Payloads are unique within a script: some designs ask for that.
    Put(u64, u64),
    /// Takes a key away.
    Remove(u64),
    /// Ends the epoch.
    Tick,
}

impl Step {
    /// The key that it changes.
    pub fn key(&self) -> Option<u64> {
        match self {
            Step::Put(key, _) | Step::Remove(key) => Some(*key),
            Step::Tick => None,
        }
    }
}

/// What happened to a tree since its contents were last certain.
#[derive(Clone, Debug)]
pub struct History {
    states: Vec<Contents>,
    labels: Vec<Epoch>,
    map: BTreeMap<u64, u64>,
}

/// How much had been promised at the moment of a crash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// Operations that had returned.
    pub returned: usize,
    /// One more had been called.
    pub in_flight: bool,
    /// The last epoch declared durable.
    pub published: Epoch,
    /// Operations without which what readers have been told cannot be explained.
    pub told: usize,
}

impl Standing {
    /// After how many operations, at the most, of so many.
    fn possible(self, all: usize) -> usize {
        (self.returned + usize::from(self.in_flight)).min(all)
    }
}

impl History {
    /// Starts from certain contents.
    pub fn from(contents: &Contents) -> Self {
        let map = contents.iter().copied().collect();
        History { states: vec![contents.clone()], labels: vec![], map }
    }

    /// An operation has been done under a label: what it must have answered.
    pub fn apply(&mut self, step: Step, label: Epoch) -> Option<u64> {
        let answer = self.pass(step);
        self.labels.push(label);
        self.states.push(self.contents());
        answer
    }

    /// The same before anything is to be crashed: no state of it is kept, until the history [begins](Self::begin).
    pub fn pass(&mut self, step: Step) -> Option<u64> {
        match step {
            Step::Put(key, payload) => self.map.insert(key, payload),
            Step::Remove(key) => self.map.remove(&key),
            Step::Tick => None,
        }
    }

    /// Starts from what is there by now.
    pub fn begin(self) -> Self {
        History { states: vec![self.contents()], labels: vec![], map: self.map }
    }

    fn contents(&self) -> Contents {
        self.map.iter().map(|(key, payload)| (*key, *payload)).collect()
    }

    /// What is there now.
    pub fn now(&self) -> &Contents {
        &self.states[self.states.len() - 1]
    }

    /// Durable when an operation returns: the state after all that returned, or after the one in flight as well; only
    /// the latter, if a reader has been told of it.
    pub fn strict(&self, standing: Standing) -> Vec<&Contents> {
        let upto = standing.possible(self.states.len() - 1);
        self.states[standing.returned.max(standing.told).min(upto)..=upto].iter().collect()
    }

    /// Durable by epochs: the state after exactly the operations with labels up to the cut.
    pub fn cut(&self, cut: Epoch) -> &Contents {
        &self.states[self.kept(cut)]
    }

    /// How many operations have labels up to the cut.
    pub fn kept(&self, cut: Epoch) -> usize {
        self.labels.partition_point(|label| *label <= cut)
    }

    /// Without how many operations, at the least, a reader could not have been told this; `None` if no state explains
    /// it: neither the one after all that returned, nor the one after the operation in flight.
    pub fn explains(&self, standing: Standing, key: u64, payload: Option<u64>) -> Option<usize> {
        let under = |contents: &Contents| {
            let found = contents.binary_search_by_key(&key, |pair| pair.0);
            found.ok().map(|index| contents[index].1)
        };
        let upto = standing.possible(self.states.len() - 1);
        let like = |state: &usize| under(&self.states[*state]) == payload;
        let last = (standing.returned.min(upto)..=upto).find(like)?;
        (0..=last).rev().take_while(like).last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_knows_its_states() {
        let mut history = History::from(&vec![(1, 10)]);
        assert_eq!(history.apply(Step::Put(2, 20), 4), None);
        assert_eq!(history.apply(Step::Tick, 4), None);
        assert_eq!(history.apply(Step::Put(1, 11), 5), Some(10));
        assert_eq!(history.apply(Step::Remove(2), 6), Some(20));
        let standing = |returned, in_flight| Standing { returned, in_flight, published: 0, told: 0 };
        assert_eq!(history.strict(standing(0, false)), [&vec![(1, 10)]]);
        assert_eq!(history.strict(standing(2, true)), [&vec![(1, 10), (2, 20)], &vec![(1, 11), (2, 20)]]);
        assert_eq!(history.strict(standing(4, false)), [&vec![(1, 11)]]);
        assert_eq!(history.cut(3), &vec![(1, 10)]);
        assert_eq!(history.cut(4), &vec![(1, 10), (2, 20)]);
        assert_eq!(history.cut(5), &vec![(1, 11), (2, 20)]);
        assert_eq!(history.now(), history.cut(9));
        let told = Standing { told: 3, ..standing(2, true) };
        assert_eq!(history.strict(told), [&vec![(1, 11), (2, 20)]]);
        assert_eq!(history.explains(standing(2, true), 1, Some(10)), Some(0));
        assert_eq!(history.explains(standing(2, true), 1, Some(11)), Some(3));
        assert_eq!(history.explains(standing(2, false), 1, Some(11)), None);
        assert_eq!(history.explains(standing(3, true), 2, None), Some(4));
    }
}
