//! The dependencies between the transactions of a history.

use super::naming::{Anomaly, Violation};
use super::{Lists, Outcome, Step, Transaction};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

/// Why one transaction precedes another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Edge {
    /// The other appended right behind it.
    Ww,
    /// The other read what it appended.
    Wr,
    /// The other appended to a list that it had read.
    Rw,
    /// The other appended to a key that it had seen to be absent while it scanned.
    Phantom,
    /// It returned before the other began.
    RealTime,
}

impl fmt::Display for Edge {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Edge::Ww => "ww",
            Edge::Wr => "wr",
            Edge::Rw => "rw",
            Edge::Phantom => "rw (phantom)",
            Edge::RealTime => "rt",
        })
    }
}

/// For each transaction, those that it precedes.
pub(super) type Edges = Vec<Vec<(usize, Edge)>>;

/// What a transaction read of a key, without its own appends.
struct ExternalRead<'a> {
    reader: usize,
    key: u64,
    list: &'a [u64],
    /// Whether a scan passed the key and did not find it.
    is_absence: bool,
}

/// The versions of a key.
#[derive(Default)]
struct Versions<'a> {
    /// The longest list.
    longest: &'a [u64],
    /// The transactions that have appended what nobody read. They come behind the longest list.
    unread: BTreeSet<usize>,
}

/// The dependencies of a history.
pub(super) struct Graph<'a> {
    history: &'a [Transaction],
    /// The transaction that appended each element, and the key.
    writers: HashMap<u64, (u64, usize)>,
    /// Whether each transaction has taken effect.
    effective: Vec<bool>,
    versions: BTreeMap<u64, Versions<'a>>,
    pub(super) edges: Edges,
    /// What is wrong with single reads.
    pub(super) wrong_reads: Vec<Violation>,
}

impl<'a> Graph<'a> {
    /// The dependencies of a history. A crash may have left lists; they show versions, too.
    pub(super) fn of(history: &'a [Transaction], left: Option<&'a Lists>) -> Self {
        let mut graph = Graph {
            history,
            writers: HashMap::new(),
            effective: Vec::new(),
            versions: BTreeMap::new(),
            edges: vec![Vec::new(); history.len()],
            wrong_reads: Vec::new(),
        };
        graph.enter_appends();
        let keys: BTreeSet<u64> = graph.writers.values().map(|(key, _)| *key).collect();
        let mut reads = Vec::new();
        (0..history.len()).for_each(|reader| graph.enter_reads(reader, &keys, &mut reads));
        let of_left = left.into_iter().flatten().map(|(key, list)| (*key, &list[..]));
        let shown: Vec<_> = reads.iter().map(|read| (read.key, read.list)).chain(of_left).collect();
        graph.decide(&shown);
        shown.iter().for_each(|(key, list)| graph.enter_version(*key, list));
        graph.enter_unread(&keys);
        graph.order_writers();
        reads.iter().for_each(|read| graph.order_read(read));
        graph.order_by_time();
        graph.edges.iter_mut().for_each(|edges| {
            edges.sort_unstable();
            edges.dedup();
        });
        graph
    }

    /// The transaction that appended an element to this key.
    pub(super) fn writer(&self, key: u64, element: u64) -> Option<usize> {
        self.writers.get(&element).filter(|(of, _)| *of == key).map(|(_, writer)| *writer)
    }

    /// Whether a transaction has taken effect.
    pub(super) fn is_effective(&self, transaction: usize) -> bool {
        self.effective[transaction]
    }

    fn wrong(&mut self, anomaly: Anomaly, transactions: Vec<usize>, what: String) {
        self.wrong_reads.push(Violation { anomaly, transactions, edges: Vec::new(), what });
    }

    fn enter_appends(&mut self) {
        for (number, transaction) in self.history.iter().enumerate() {
            for (key, element) in transaction.appends() {
                if let Some((_, other)) = self.writers.insert(element, (key, number)) {
                    self.wrong(Anomaly::Malformed, vec![other, number], format!("both append {element}"));
                }
            }
        }
    }

    /// Collects what a transaction read, without its own appends.
    fn enter_reads(&mut self, reader: usize, keys: &BTreeSet<u64>, reads: &mut Vec<ExternalRead<'a>>) {
        let mut own: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        let history = self.history;
        for step in &history[reader].steps {
            let mut seen: Vec<(u64, &'a [u64], bool)> = Vec::new();
            match step {
                Step::Append { key, element } => own.entry(*key).or_default().push(*element),
                Step::Read { key, list } => seen.push((*key, list, false)),
                Step::Scan { keys: range, found } => {
                    let list = |key: &u64| found.get(key).map_or(&[][..], |list| list);
                    seen.extend(keys.range(range.clone()).map(|key| (*key, list(key), list(key).is_empty())));
                    let strange = found.iter().filter(|(key, _)| !range.contains(key) || !keys.contains(key));
                    seen.extend(strange.map(|(key, list)| (*key, &list[..], false)));
                }
            }
            for (key, list, is_absence) in seen {
                let own = own.get(&key).map_or(&[][..], |own| own);
                match list.strip_suffix(own) {
                    Some(list) => reads.push(ExternalRead { reader, key, list, is_absence }),
                    None => self.wrong(
                        Anomaly::Internal,
                        vec![reader],
                        format!("it read {list:?} of key {key}, to which it had appended {own:?}"),
                    ),
                }
            }
        }
    }

    /// Decides which transactions have taken effect: of those without an end, the ones of which anything was seen.
    fn decide(&mut self, shown: &[(u64, &[u64])]) {
        let elements = shown.iter().flat_map(|(_, list)| list.iter());
        let seen: BTreeSet<usize> =
            elements.filter_map(|element| self.writers.get(element)).map(|(_, writer)| *writer).collect();
        let is_effective = |(number, transaction): (usize, &Transaction)| match transaction.outcome {
            Outcome::Committed(_) => true,
            Outcome::Aborted(_) => false,
            Outcome::Unknown => seen.contains(&number),
        };
        self.effective = self.history.iter().enumerate().map(is_effective).collect();
    }

    fn enter_version(&mut self, key: u64, list: &'a [u64]) {
        let versions = self.versions.entry(key).or_default();
        let (short, long) =
            if list.len() < versions.longest.len() { (list, versions.longest) } else { (versions.longest, list) };
        versions.longest = long;
        if !long.starts_with(short) {
            let what = format!("key {key}: {short:?} was there, and so was {long:?}");
            self.wrong(Anomaly::Incompatible, Vec::new(), what);
        }
    }

    /// Finds the appends that no list shows.
    fn enter_unread(&mut self, keys: &BTreeSet<u64>) {
        for key in keys {
            self.versions.entry(*key).or_default();
        }
        let shown: BTreeSet<u64> = self.versions.values().flat_map(|versions| versions.longest).copied().collect();
        for (element, (key, writer)) in &self.writers {
            if self.effective[*writer] && !shown.contains(element) {
                self.versions.entry(*key).or_default().unread.insert(*writer);
            }
        }
    }

    fn order(&mut self, first: usize, then: usize, edge: Edge) {
        if first != then {
            self.edges[first].push((then, edge));
        }
    }

    /// ww: each version precedes the next one.
    fn order_writers(&mut self) {
        let mut pairs = Vec::new();
        for (key, versions) in &self.versions {
            let writers: Vec<usize> =
                versions.longest.iter().filter_map(|element| self.writer(*key, *element)).collect();
            pairs.extend(writers.windows(2).map(|pair| (pair[0], pair[1])));
            let last = writers.last().copied();
            pairs.extend(versions.unread.iter().filter_map(|unread| Some((last?, *unread))));
        }
        pairs.into_iter().for_each(|(first, then)| self.order(first, then, Edge::Ww));
    }

    /// wr and rw: a reader comes behind the last version that it read, and precedes the next one.
    fn order_read(&mut self, read: &ExternalRead<'a>) {
        let ExternalRead { reader, key, list, is_absence } = *read;
        for element in list {
            match self.writer(key, *element) {
                None => {
                    let what = format!("it read {element} of key {key}, which nobody appended");
                    self.wrong(Anomaly::Malformed, vec![reader], what);
                }
                Some(writer) if matches!(self.history[writer].outcome, Outcome::Aborted(_)) => {
                    self.wrong(Anomaly::G1a, vec![writer, reader], format!("{element} of key {key}"));
                }
                Some(_) => {}
            }
        }
        if let Some(writer) = list.last().and_then(|element| self.writer(key, *element)) {
            let last = self.history[writer].appends().filter(|(of, _)| *of == key).last();
            if writer != reader && last.map(|(_, element)| element) != list.last().copied() {
                let what = format!("key {key} up to {:?}, of which more was appended", list.last());
                self.wrong(Anomaly::G1b, vec![writer, reader], what);
            }
            self.order(writer, reader, Edge::Wr);
        }
        let edge = if is_absence { Edge::Phantom } else { Edge::Rw };
        let versions = &self.versions[&key];
        let next = match versions.longest.get(list.len()) {
            Some(element) => self.writer(key, *element).into_iter().collect(),
            None => versions.unread.clone(),
        };
        next.into_iter().for_each(|writer| self.order(reader, writer, edge));
    }

    /// A transaction that returned before another began precedes it. Only edges that no others imply are entered.
    fn order_by_time(&mut self) {
        let ended = |transaction: &Transaction| match transaction.outcome {
            Outcome::Committed(at) | Outcome::Aborted(at) => at,
            Outcome::Unknown => u64::MAX,
        };
        let mut by_begin: Vec<usize> = (0..self.history.len()).collect();
        by_begin.sort_unstable_by_key(|number| self.history[*number].began);
        for first in 0..self.history.len() {
            let end = ended(&self.history[first]);
            let start = by_begin.partition_point(|number| self.history[*number].began <= end);
            let mut first_end = u64::MAX;
            for then in &by_begin[start..] {
                let transaction = &self.history[*then];
                if transaction.began > first_end {
                    break;
                }
                first_end = first_end.min(ended(transaction));
                self.edges[first].push((*then, Edge::RealTime));
            }
        }
    }
}
