//! The keyspaces of a damaged database, by number, as far as the catalog still names them.

use super::report::RepairReport;
use crate::catalog::{Named, read_record};
use crate::keyspace_options::KeyspaceOptions;
use crate::mark::MARK;
use crate::record::ReadRecord;
use std::collections::BTreeMap;

/// What the catalog says of a keyspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyspaceName {
    pub(super) name: String,
    pub(super) options: KeyspaceOptions,
}

/// The keyspaces by number. A number has one name, and a name one number.
#[derive(Default)]
pub(super) struct KeyspaceNames(BTreeMap<u32, KeyspaceName>);

impl KeyspaceNames {
    /// Adds a record of the catalog. Records come in the order of their epochs, and a later one replaces what
    /// contradicts it. A flag that this version does not know makes a record none: a leaf of another keyspace can have
    /// taken the catalog's number.
    pub(super) fn add(&mut self, record: &ReadRecord, report: &mut RepairReport) {
        match read_record(&record.key, &record.value).unwrap_or(Named::Unknown) {
            Named::Keyspace(number, name, options) => {
                self.0.retain(|_, present| present.name != name);
                self.0.insert(number, KeyspaceName { name, options });
            }
            Named::Reserved if record.key == MARK => {
                report.mark = record.value.as_slice().try_into().ok().map(u64::from_le_bytes);
            }
            Named::Reserved => {}
            Named::Unknown => report.lose(|| format!("an entry of the catalog: \"{}\"", record.key.escape_ascii())),
        }
    }

    /// Returns the name of a keyspace, and gives one to a keyspace whose own is lost.
    pub(super) fn name_of(&mut self, number: u32, report: &mut RepairReport) -> KeyspaceName {
        if let Some(name) = self.0.get(&number) {
            return name.clone();
        }
        let mut name = format!("lost-{number}");
        while self.is_used(&name) {
            name.push('+');
        }
        report.lost_names.push(name.clone());
        let found = KeyspaceName { name, options: KeyspaceOptions::new() };
        self.0.insert(number, found.clone());
        found
    }

    pub(super) fn is_used(&self, name: &str) -> bool {
        self.0.values().any(|used| used.name == name)
    }

    /// Returns the numbers, in order.
    pub(super) fn numbers(&self) -> Vec<u32> {
        self.0.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, value: &[u8]) -> ReadRecord {
        ReadRecord { key: name.into(), value: value.into() }
    }

    #[test]
    fn a_lost_name_is_one_that_no_keyspace_has() {
        let (mut names, mut report) = (KeyspaceNames::default(), RepairReport::default());
        names.add(&entry("reefs", &[3, 0, 0, 0]), &mut report);
        names.add(&entry("lost-7", &[4, 0, 0, 0]), &mut report);
        assert_eq!(names.name_of(3, &mut report).name, "reefs");
        assert_eq!(names.name_of(7, &mut report).name, "lost-7+");
        assert_eq!(names.name_of(7, &mut report).name, "lost-7+");
        assert_eq!(report.lost_names, ["lost-7+"]);
    }

    /// A name moves with its last record. A record that is none is reported: one with the number of the catalog, or
    /// with a flag that nobody knows.
    #[test]
    fn a_later_record_replaces_what_contradicts_it() {
        let (mut names, mut report) = (KeyspaceNames::default(), RepairReport::default());
        names.add(&entry("reefs", &[3, 0, 0, 0]), &mut report);
        names.add(&entry("reefs", &[5, 0, 0, 0]), &mut report);
        names.add(&entry("tides", &[0, 0, 0, 0]), &mut report);
        names.add(&entry("north", &[7, 0, 0, 0, 0x9c, 0, 0, 0, 0, 0, 0, 0, 0]), &mut report);
        names.add(&entry("\0m", &[9, 0, 0, 0, 0, 0, 0, 0]), &mut report);
        assert_eq!((names.numbers(), report.mark, report.losses.len()), (vec![5], Some(9), 2));
    }
}
