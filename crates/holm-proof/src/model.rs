//! The simple model: a map, its state after each operation, and which of those states a crash may leave.

use holm_medium::Epoch;
use std::collections::BTreeMap;

/// Pairs in ascending order of key.
pub type Contents = Vec<(u64, u64)>;

/// One step of a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Puts a payload under a key. Payloads are unique within a script, because some designs require that.
    Put(u64, u64),
    /// Removes a key.
    Remove(u64),
    /// Ends the epoch.
    Tick,
}

impl Step {
    /// The key that the step changes.
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

/// The guarantees at the moment of a crash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// The number of operations that had returned.
    pub returned: usize,
    /// Whether one more had been called.
    pub in_flight: bool,
    /// The last epoch published as durable.
    pub published: Epoch,
    /// The number of operations that the answers of readers need.
    pub told: usize,
}

impl Standing {
    /// The largest number of operations that may have taken effect, out of `all`.
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

    /// Applies an operation with its label; returns the answer that it must have given.
    pub fn apply(&mut self, step: Step, label: Epoch) -> Option<u64> {
        let answer = self.pass(step);
        self.labels.push(label);
        self.states.push(self.contents());
        answer
    }

    /// The same before any crash is possible: the history keeps no state of it until it [begins](Self::begin).
    pub fn pass(&mut self, step: Step) -> Option<u64> {
        match step {
            Step::Put(key, payload) => self.map.insert(key, payload),
            Step::Remove(key) => self.map.remove(&key),
            Step::Tick => None,
        }
    }

    /// Starts from the present contents.
    pub fn begin(self) -> Self {
        History { states: vec![self.contents()], labels: vec![], map: self.map }
    }

    fn contents(&self) -> Contents {
        self.map.iter().map(|(key, payload)| (*key, *payload)).collect()
    }

    /// The present contents.
    pub fn now(&self) -> &Contents {
        &self.states[self.states.len() - 1]
    }

    /// Durable when an operation returns: the state after all that returned, or also after the one in flight. Only the
    /// latter, if a reader has seen its effect.
    pub fn strict(&self, standing: Standing) -> Vec<&Contents> {
        let upto = standing.possible(self.states.len() - 1);
        self.states[standing.returned.max(standing.told).min(upto)..=upto].iter().collect()
    }

    /// Durable per epoch: the state after exactly the operations with labels up to the recovery point.
    pub fn cut(&self, cut: Epoch) -> &Contents {
        &self.states[self.kept(cut)]
    }

    /// The number of operations with labels up to the recovery point.
    pub fn kept(&self, cut: Epoch) -> usize {
        self.labels.partition_point(|label| *label <= cut)
    }

    /// The smallest number of operations after which a reader could see this. `None` if no state explains it: neither
    /// the one after all operations that returned, nor the one after the operation in flight.
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
