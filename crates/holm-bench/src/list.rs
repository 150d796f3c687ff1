//! Keys from a list, such as the lines of a file: real names with real shared prefixes. There is also a list of the
//! same number of keys, with the same lengths, in random bytes. The difference between the two shows what shared
//! prefixes cost an engine. The order of either list comes from a seed, so a load is never in key order. No key is in a
//! list twice. The engine decides whether it accepts a key.

use rand::seq::SliceRandom;
use rand::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::ops::Range;

/// Distinct keys by number.
#[derive(Clone, PartialEq, Eq)]
pub struct List {
    bytes: Vec<u8>,
    /// The end of each key; it begins where the previous one ends.
    ends: Vec<usize>,
}

impl List {
    /// Creates a list from the lines of a text, without their line feeds. It drops empty lines and duplicates, and
    /// shuffles the rest with the seed. The list takes as much memory as the text, and eight bytes per line.
    #[must_use]
    pub fn of_lines(text: &[u8], seed: u64) -> Self {
        let mut lines: Vec<_> = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
        lines.sort_unstable();
        lines.dedup();
        lines.shuffle(&mut Pcg64Mcg::seed_from_u64(seed));
        Self::of(&lines)
    }

    /// Returns a list of the same length, in which each key is as long as the key with its number here, in random
    /// bytes.
    #[must_use]
    pub fn random(&self, seed: u64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(!seed);
        let mut list = self.clone();
        random.fill_bytes(&mut list.bytes);
        // This loop terminates: of each length there are at least as many keys as this list has, because its own are
        // distinct.
        loop {
            let twins = list.twins();
            if twins.is_empty() {
                return list;
            }
            for number in twins {
                let place = list.place(number);
                random.fill_bytes(&mut list.bytes[place]);
            }
        }
    }

    /// Returns the keys that repeat an earlier one.
    fn twins(&self) -> Vec<usize> {
        let mut numbers: Vec<_> = (0..self.len()).collect();
        let key = |number: usize| &self.bytes[self.place(number)];
        numbers.sort_unstable_by_key(|&number| key(number));
        numbers.windows(2).filter(|pair| key(pair[0]) == key(pair[1])).map(|pair| pair[1]).collect()
    }

    fn of(keys: &[&[u8]]) -> Self {
        let mut list = Self { bytes: Vec::new(), ends: Vec::with_capacity(keys.len()) };
        for key in keys {
            list.bytes.extend_from_slice(key);
            list.ends.push(list.bytes.len());
        }
        list
    }

    /// Returns the key with this number, which must be below [`len`](Self::len).
    #[must_use]
    pub fn key(&self, number: u64) -> &[u8] {
        &self.bytes[self.place(number as usize)]
    }

    fn place(&self, number: usize) -> Range<usize> {
        number.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[number]
    }

    /// Returns the number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the bytes of all keys.
    #[must_use]
    pub fn key_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns how many bytes a key shares with its predecessor in sorted order, on average over all keys but the
    /// first. It is 0 for fewer than two keys. Sorts a copy of the list.
    #[must_use]
    pub fn shared_prefix(&self) -> f64 {
        let mut keys: Vec<_> = (0..self.len() as u64).map(|number| self.key(number)).collect();
        keys.sort_unstable();
        let shared = |pair: &[&[u8]]| pair[0].iter().zip(pair[1]).take_while(|(one, two)| one == two).count();
        let total: usize = keys.windows(2).map(shared).sum();
        total as f64 / keys.len().saturating_sub(1).max(1) as f64
    }
}

impl std::fmt::Debug for List {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "List({} keys, {} bytes)", self.len(), self.key_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn keys(list: &List) -> Vec<&[u8]> {
        (0..list.len() as u64).map(|number| list.key(number)).collect()
    }

    #[test]
    fn lines_are_kept_once_and_shuffled() {
        let text: String = (0..1000).chain(0..10).map(|number| format!("line {number}\n\n")).collect();
        let list = List::of_lines(text.as_bytes(), 1);
        let mut sorted = keys(&list);
        assert!(!sorted.is_sorted());
        assert_ne!(list, List::of_lines(text.as_bytes(), 2));
        sorted.sort_unstable();
        let mut expected: Vec<_> = (0..1000).map(|number| format!("line {number}").into_bytes()).collect();
        expected.sort_unstable();
        assert_eq!(sorted, expected);
        assert_eq!(keys(&List::of_lines(b"b", 1)), [b"b"]);
        assert!(List::of_lines(b"\n\n", 1).is_empty());
    }

    #[test]
    fn random_keys_have_the_lengths_and_nothing_else_in_common() {
        // Every key of one byte: the last of them is drawn some hundreds of times.
        let singles = (0..=255).filter(|&byte| byte != b'\n').flat_map(|byte| [byte, b'\n']);
        let names = (0..1000).flat_map(|number| format!("a/long/prefix/{number:04}\n").into_bytes());
        let list = List::of_lines(&singles.chain(names).collect::<Vec<_>>(), 1);
        let random = list.random(1);
        assert_eq!((random.len(), random.key_bytes()), (1255, list.key_bytes()));
        assert!(keys(&list).iter().zip(keys(&random)).all(|(one, two)| one.len() == two.len()));
        assert_eq!(keys(&random).into_iter().collect::<HashSet<_>>().len(), 1255);
        assert!(list.shared_prefix() > 10.0 && random.shared_prefix() < 2.0, "{}", list.shared_prefix());
    }

    #[test]
    fn prefixes_are_those_of_neighbours_in_order() {
        assert_eq!(List::of_lines(b"abd\nb\nabc\n", 1).shared_prefix(), 1.0);
        assert_eq!(List::of_lines(b"alone", 1).shared_prefix(), 0.0);
    }
}
