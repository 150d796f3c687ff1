//! The cases of Hermitage (Kleppmann, 2014) by name, as scripts of two or three transactions on one thread. Each case
//! is an anomaly that a weaker isolation level would admit; here one of the transactions meets a conflict.
//!
//! The rows lie in one leaf, in leaves of their own, and among leaves that have become empty. In the last layout each
//! transaction has read a hundred leaves of another keyspace, so it reads the rows at a snapshot of its own.

use crate::tools::{folder, relaxed};
use holm::{Database, Error, Keyspace, Result, Transaction};
use tempfile::TempDir;

/// Where rows lie.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Layout {
    Together,
    Apart,
    AmongEmptyLeaves,
    AtSnapshots,
}

/// Keys between two rows; a leaf holds fewer.
const FILLERS: u8 = 80;

/// Pairs of the other keyspace: a hundred leaves.
const OTHERS: u32 = 2_800;

/// Two rows: 1 has the value 10, and 2 has the value 20.
struct Table {
    _folder: TempDir,
    db: Database,
    rows: Keyspace,
    others: Keyspace,
    layout: Layout,
}

type Rows = Vec<(u8, u64)>;

fn number(value: &[u8]) -> u64 {
    u64::from_le_bytes(value.try_into().expect("eight bytes"))
}

impl Table {
    fn new(layout: Layout) -> Self {
        let folder = folder();
        let db = relaxed(folder.path());
        let rows = db.keyspace("test").expect("a name");
        let fillers = || (0..6u8).flat_map(|row| (0..FILLERS).map(move |filler| [row, filler]));
        let others = db.keyspace("others").expect("a name");
        if layout == Layout::AtSnapshots {
            let batch = (0..OTHERS).fold(db.batch(), |batch, key| batch.insert(&others, key.to_be_bytes(), ""));
            batch.commit().expect("room");
        }
        if matches!(layout, Layout::Apart | Layout::AmongEmptyLeaves) {
            fillers().for_each(|key| rows.insert(key, "filler").expect("room"));
        }
        rows.insert([1], 10u64.to_le_bytes()).expect("room");
        rows.insert([2], 20u64.to_le_bytes()).expect("room");
        if layout == Layout::AmongEmptyLeaves {
            fillers().for_each(|key| assert!(rows.remove(key).expect("sound")));
        }
        Table { _folder: folder, db, rows, others, layout }
    }

    fn begin(&self) -> Transaction {
        let transaction = self.db.begin();
        if self.layout == Layout::AtSnapshots {
            let before = self.db.stats().snapshots.open;
            assert_eq!(transaction.iter(&self.others).expect("its database").count(), OTHERS as usize);
            assert_eq!(self.db.stats().snapshots.open, before + 1, "it reads at a snapshot");
        }
        transaction
    }

    fn get(&self, on: &Transaction, row: u8) -> Result<u64> {
        Ok(number(&on.get(&self.rows, [row])?.expect("the row is there")))
    }

    fn put(&self, on: &Transaction, row: u8, value: u64) {
        on.insert(&self.rows, [row], value.to_le_bytes()).expect("it has not conflicted");
    }

    /// The rows whose values fit.
    fn select(&self, on: &Transaction, fits: impl Fn(u64) -> bool) -> Result<Rows> {
        let mut found = Vec::new();
        for pair in on.iter(&self.rows)? {
            let (key, value) = pair?;
            if let [row] = key[..] {
                found.push((row, number(&value)));
            }
        }
        found.retain(|(_, value)| fits(*value));
        Ok(found)
    }

    /// What everybody sees.
    fn assert_rows(&self, expected: &[(u8, u64)]) {
        let rows = self.rows.iter().map(|pair| pair.expect("sound")).filter(|(key, _)| key.len() == 1);
        let rows: Rows = rows.map(|(key, value)| (key[0], number(&value))).collect();
        assert_eq!(rows, expected, "{:?}", self.layout);
    }
}

fn in_each_layout(script: impl Fn(&Table)) {
    for layout in [Layout::Together, Layout::Apart, Layout::AmongEmptyLeaves, Layout::AtSnapshots] {
        let table = Table::new(layout);
        script(&table);
        assert_eq!(table.db.check().expect("readable").faults, Vec::<String>::new());
    }
}

fn assert_conflict<T: std::fmt::Debug>(result: Result<T>) {
    assert!(matches!(result, Err(Error::Conflict)), "{result:?}");
}

/// A read conflicts, and the transaction cannot go on after it. At a snapshot the read is of the snapshot's instant,
/// and the conflict is there once the transaction writes.
fn assert_ends_in_conflict<T: std::fmt::Debug>(table: &Table, transaction: Transaction, read: Result<T>) {
    if table.layout == Layout::AtSnapshots {
        read.expect("of the instant at which the transaction began");
        table.put(&transaction, 9, 90);
        return assert_conflict(transaction.commit());
    }
    assert_conflict(read);
    assert_conflict(table.get(&transaction, 1));
    assert_conflict(transaction.commit());
}

/// Both write both rows, blindly: the writes of one come before all writes of the other.
#[test]
fn g0_write_cycles() {
    in_each_layout(|table| {
        let (first, second) = (table.begin(), table.begin());
        table.put(&first, 1, 11);
        table.put(&second, 1, 12);
        table.put(&first, 2, 21);
        first.commit().expect("writes alone do not conflict");
        table.assert_rows(&[(1, 11), (2, 21)]);
        table.put(&second, 2, 22);
        second.commit().expect("writes alone do not conflict");
        table.assert_rows(&[(1, 12), (2, 22)]);
    });
}

#[test]
fn g1a_aborted_reads() {
    in_each_layout(|table| {
        let (first, second) = (table.begin(), table.begin());
        table.put(&first, 1, 101);
        assert_eq!(table.select(&second, |_| true).expect("no conflict"), [(1, 10), (2, 20)]);
        drop(first);
        assert_eq!(table.select(&second, |_| true).expect("no conflict"), [(1, 10), (2, 20)]);
        second.commit().expect("nothing has changed");
        table.assert_rows(&[(1, 10), (2, 20)]);
    });
}

#[test]
fn g1b_intermediate_reads() {
    in_each_layout(|table| {
        let (first, second) = (table.begin(), table.begin());
        table.put(&first, 1, 101);
        assert_eq!(table.get(&second, 1).expect("no conflict"), 10);
        table.put(&first, 1, 11);
        first.commit().expect("writes alone do not conflict");
        let again = table.get(&second, 1);
        assert_ends_in_conflict(table, second, again);
        table.assert_rows(&[(1, 11), (2, 20)]);
    });
}

/// Each reads what the other writes.
#[test]
fn g1c_circular_information_flow() {
    in_each_layout(|table| {
        let (first, second) = (table.begin(), table.begin());
        table.put(&first, 1, 11);
        table.put(&second, 2, 22);
        assert_eq!(table.get(&first, 2).expect("no conflict"), 20);
        assert_eq!(table.get(&second, 1).expect("no conflict"), 10);
        first.commit().expect("what it has read has not changed");
        assert_conflict(second.commit());
        table.assert_rows(&[(1, 11), (2, 20)]);
    });
}

#[test]
fn otv_observed_transaction_vanishes() {
    in_each_layout(|table| {
        let (first, second) = (table.begin(), table.begin());
        table.put(&first, 1, 11);
        table.put(&first, 2, 19);
        table.put(&second, 1, 12);
        first.commit().expect("writes alone do not conflict");
        let third = table.begin();
        assert_eq!(table.get(&third, 1).expect("no conflict"), 11);
        table.put(&second, 2, 18);
        assert_eq!(table.get(&third, 2).expect("no conflict"), 19);
        second.commit().expect("writes alone do not conflict");
        let again = table.get(&third, 2);
        assert_ends_in_conflict(table, third, again);
        table.assert_rows(&[(1, 12), (2, 18)]);
    });
}

#[test]
fn pmp_predicate_many_preceders() {
    in_each_layout(|table| {
        let (first, second) = (table.begin(), table.begin());
        assert_eq!(table.select(&first, |value| value == 30).expect("no conflict"), []);
        table.put(&second, 3, 30);
        second.commit().expect("writes alone do not conflict");
        let again = table.select(&first, |value| value % 3 == 0);
        assert_ends_in_conflict(table, first, again);
    });
}

#[test]
fn pmp_with_a_write_predicate() {
    in_each_layout(|table| {
        let (first, second) = (table.begin(), table.begin());
        for (row, value) in table.select(&first, |_| true).expect("no conflict") {
            table.put(&first, row, value + 10);
        }
        for (row, _) in table.select(&second, |value| value == 20).expect("no conflict") {
            second.remove(&table.rows, [row]).expect("no conflict");
        }
        first.commit().expect("what it has read has not changed");
        assert_conflict(second.commit());
        table.assert_rows(&[(1, 20), (2, 30)]);
    });
}

#[test]
fn p4_lost_update() {
    in_each_layout(|table| {
        let (first, second) = (table.begin(), table.begin());
        for transaction in [&first, &second] {
            assert_eq!(table.get(transaction, 1).expect("no conflict"), 10);
            table.put(transaction, 1, 11);
        }
        first.commit().expect("what it has read has not changed");
        assert_conflict(second.commit());
    });
}

/// The same where another thread's plain write or batch takes the place of the first transaction.
#[test]
fn p4_lost_update_by_a_plain_write() {
    in_each_layout(|table| {
        for in_batch in [false, true] {
            let transaction = table.begin();
            let value = table.get(&transaction, 1).expect("no conflict");
            table.put(&transaction, 1, value + 1);
            let (key, other) = ([1], (value + 5).to_le_bytes());
            if in_batch {
                table.db.batch().insert(&table.rows, key, other).insert(&table.rows, [2], other).commit()
            } else {
                table.rows.insert(key, other)
            }
            .expect("room");
            assert_conflict(transaction.commit());
        }
        table.assert_rows(&[(1, 20), (2, 20)]);
    });
}

#[test]
fn g_single_read_skew() {
    in_each_layout(|table| {
        let (first, second) = (table.begin(), table.begin());
        assert_eq!(table.get(&first, 1).expect("no conflict"), 10);
        assert_eq!(table.get(&second, 1).expect("no conflict"), 10);
        assert_eq!(table.get(&second, 2).expect("no conflict"), 20);
        table.put(&second, 1, 12);
        table.put(&second, 2, 18);
        second.commit().expect("what it has read has not changed");
        let skewed = table.get(&first, 2);
        assert_ends_in_conflict(table, first, skewed);
    });
}

#[test]
fn g_single_with_predicates() {
    in_each_layout(|table| {
        let (first, second) = (table.begin(), table.begin());
        assert_eq!(table.select(&first, |value| value % 5 == 0).expect("no conflict").len(), 2);
        table.put(&second, 1, 12);
        second.commit().expect("writes alone do not conflict");
        let skewed = table.select(&first, |value| value % 3 == 0);
        assert_ends_in_conflict(table, first, skewed);
    });
}

/// The predicate of a removal is evaluated after the other has committed.
#[test]
fn g_single_with_a_write_predicate() {
    in_each_layout(|table| {
        let (first, second) = (table.begin(), table.begin());
        assert_eq!(table.get(&first, 1).expect("no conflict"), 10);
        table.put(&second, 1, 12);
        table.put(&second, 2, 18);
        second.commit().expect("writes alone do not conflict");
        let skewed = table.select(&first, |value| value == 20);
        assert_ends_in_conflict(table, first, skewed);
        table.assert_rows(&[(1, 12), (2, 18)]);
    });
}

/// The same, before the other commits: the conflict is found by the commit.
#[test]
fn g_single_interrupted_by_a_removal() {
    in_each_layout(|table| {
        let (first, second) = (table.begin(), table.begin());
        assert_eq!(table.get(&first, 1).expect("no conflict"), 10);
        assert_eq!(table.select(&second, |_| true).expect("no conflict").len(), 2);
        table.put(&second, 1, 12);
        table.put(&second, 2, 18);
        assert_eq!(first.take(&table.rows, [2]).expect("no conflict").as_deref().map(number), Some(20));
        second.commit().expect("what it has read has not changed");
        assert_conflict(first.commit());
        table.assert_rows(&[(1, 12), (2, 18)]);
    });
}

#[test]
fn g2_item_write_skew() {
    in_each_layout(|table| {
        let (first, second) = (table.begin(), table.begin());
        for transaction in [&first, &second] {
            assert_eq!(table.get(transaction, 1).expect("no conflict"), 10);
            assert_eq!(table.get(transaction, 2).expect("no conflict"), 20);
        }
        table.put(&first, 1, 11);
        table.put(&second, 2, 21);
        first.commit().expect("what it has read has not changed");
        assert_conflict(second.commit());
        table.assert_rows(&[(1, 11), (2, 20)]);
    });
}

/// Both insert what the other's scan has not found: no row that either has read changes.
#[test]
fn g2_anti_dependency_cycles() {
    in_each_layout(|table| {
        let (first, second) = (table.begin(), table.begin());
        for transaction in [&first, &second] {
            assert_eq!(table.select(transaction, |value| value % 3 == 0).expect("no conflict"), []);
        }
        table.put(&first, 3, 30);
        table.put(&second, 4, 42);
        first.commit().expect("what it has read has not changed");
        assert_conflict(second.commit());
        table.assert_rows(&[(1, 10), (2, 20), (3, 30)]);
    });
}

/// The same in a keyspace that has nothing: the scans pass over a leaf without a pair.
#[test]
fn g2_anti_dependency_cycles_over_an_empty_keyspace() {
    in_each_layout(|table| {
        let empty = table.db.keyspace("empty").expect("a name");
        let (first, second) = (table.begin(), table.begin());
        for transaction in [&first, &second] {
            assert!(transaction.iter(&empty).expect("its database").next().is_none());
        }
        first.insert(&empty, "a", "").expect("no conflict");
        second.insert(&empty, "b", "").expect("no conflict");
        first.commit().expect("what it has read has not changed");
        assert_conflict(second.commit());
        assert_eq!(empty.len().expect("sound"), 1);
    });
}

/// The same by gets of rows that are absent.
#[test]
fn g2_anti_dependency_cycles_over_absent_keys() {
    in_each_layout(|table| {
        let (first, second) = (table.begin(), table.begin());
        for transaction in [&first, &second] {
            for row in [3, 4] {
                assert!(!transaction.contains_key(&table.rows, [row]).expect("no conflict"));
            }
        }
        table.put(&first, 3, 30);
        table.put(&second, 4, 42);
        first.commit().expect("what it has read has not changed");
        assert_conflict(second.commit());
        table.assert_rows(&[(1, 10), (2, 20), (3, 30)]);
    });
}

/// Fekete's example: a transaction that only reads shows that the other two have no order.
#[test]
fn g2_two_anti_dependency_edges() {
    in_each_layout(|table| {
        let first = table.begin();
        assert_eq!(table.select(&first, |_| true).expect("no conflict"), [(1, 10), (2, 20)]);
        let second = table.begin();
        let value = table.get(&second, 2).expect("no conflict");
        table.put(&second, 2, value + 5);
        second.commit().expect("what it has read has not changed");
        let third = table.begin();
        assert_eq!(table.select(&third, |_| true).expect("no conflict"), [(1, 10), (2, 25)]);
        third.commit().expect("it only reads");
        table.put(&first, 1, 0);
        assert_conflict(first.commit());
        table.assert_rows(&[(1, 10), (2, 25)]);
    });
}

/// A scan from either end that stops early has read up to where it stopped.
#[test]
fn g2_scans_that_stop_early() {
    in_each_layout(|table| {
        for at_front in [true, false] {
            let (first, second) = (table.begin(), table.begin());
            for transaction in [&first, &second] {
                let found = if at_front { transaction.first(&table.rows) } else { transaction.last(&table.rows) };
                assert!(found.expect("no conflict").is_some());
            }
            let key: &[u8] = if at_front { &[] } else { &[9] };
            first.insert(&table.rows, key, "beyond").expect("no conflict");
            second.insert(&table.rows, [0xFF], "elsewhere").expect("no conflict");
            first.commit().expect("what it has read has not changed");
            assert_conflict(second.commit());
            assert!(table.rows.remove(key).expect("sound"));
        }
    });
}

/// What is not an anomaly does not conflict.
#[test]
fn transactions_that_have_an_order_commit() {
    in_each_layout(|table| {
        // A transaction that only reads takes effect at its last read.
        let reader = table.begin();
        assert_eq!(table.select(&reader, |_| true).expect("no conflict"), [(1, 10), (2, 20)]);
        table.rows.insert([1], 11u64.to_le_bytes()).expect("room");
        reader.commit().expect("it had an instant");
        // The other one reads and writes another row of the same leaf, or a value changes and changes back.
        let (first, second) = (table.begin(), table.begin());
        let values = (table.get(&first, 1).expect("no conflict"), table.get(&second, 2).expect("no conflict"));
        table.put(&first, 1, values.0 + 1);
        table.put(&second, 2, values.1 + 1);
        first.commit().expect("nobody has changed row 1");
        table.rows.insert([2], 0u64.to_le_bytes()).expect("room");
        table.rows.insert([2], values.1.to_le_bytes()).expect("room");
        second.commit().expect("row 2 is as it was read");
        table.assert_rows(&[(1, 12), (2, 21)]);
    });
}
