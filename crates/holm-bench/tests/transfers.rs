//! Transfers keep the sum of all balances on a correct engine, and change it on one that loses a write or does half a
//! transfer.
#![forbid(unsafe_code)]

use holm_bench::{BoxError, Change, Engine, Plan, PlanError, Workload, balances, fill, run};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What is wrong with a bank.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// Every hundredth transfer stores the first account only.
    Halves,
    /// Every hundredth transfer reads before an earlier one, and stores after it.
    LosesUpdates,
    /// It has no transactions.
    Plain,
}

struct Bank {
    flaw: Flaw,
    pairs: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
    transfers: AtomicU64,
}

impl Bank {
    fn loaded(flaw: Flaw, plan: &Plan) -> Self {
        let bank = Bank { flaw, pairs: Mutex::default(), transfers: AtomicU64::new(0) };
        fill(&bank, plan, 0).unwrap();
        bank
    }
}

impl Engine for Bank {
    fn name(&self) -> &str {
        "bank"
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), BoxError> {
        self.pairs.lock().unwrap().insert(key.into(), value.into());
        Ok(())
    }

    fn read(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, BoxError> {
        into.clear();
        Ok(self.pairs.lock().unwrap().get(key).map(|value| into.extend_from_slice(value)).is_some())
    }

    fn scan(&self, _: &[u8], _: usize, _: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, BoxError> {
        Ok(0)
    }

    fn sync(&self) -> Result<(), BoxError> {
        Ok(())
    }

    fn transact(&self, keys: [&[u8]; 2], values: &mut [Vec<u8>; 2], change: Change<'_>) -> Result<bool, BoxError> {
        if self.flaw == Flaw::Plain {
            return Err("none".into());
        }
        assert_ne!(keys[0], keys[1]);
        let is_flawed = self.transfers.fetch_add(1, Relaxed) % 100 == 99;
        let mut pairs = self.pairs.lock().unwrap();
        for (key, value) in keys.iter().zip(values.iter_mut()) {
            let Some(found) = pairs.get(*key) else { return Ok(false) };
            value.clone_from(found);
        }
        if is_flawed && self.flaw == Flaw::LosesUpdates {
            // Another transfer from the first account, which the rest of this one knows nothing of.
            let mut lost = values.clone();
            change(&mut lost);
            pairs.insert(keys[0].to_vec(), lost[0].clone());
            pairs.insert(keys[1].to_vec(), lost[1].clone());
            change(values);
            change(values);
            pairs.insert(keys[1].to_vec(), values[1].clone());
            return Ok(true);
        }
        change(values);
        for (key, value) in
            keys.iter().zip(values.iter()).take(if is_flawed && self.flaw == Flaw::Halves { 1 } else { 2 })
        {
            pairs.insert(key.to_vec(), value.clone());
        }
        Ok(true)
    }

    fn batch(&self, pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<(), BoxError> {
        pairs.iter().try_for_each(|(key, value)| self.insert(key, value))
    }
}

fn plan(threads: usize) -> Plan {
    Plan { records: 300, value_bytes: 20, threads, seconds: 0.05, seed: 42, ..Plan::default() }
}

#[test]
fn transfers_keep_the_sum_and_change_the_balances() {
    for (workload, threads) in [(Workload::Transfers, 1), (Workload::Transfers, 3), (Workload::SkewedTransfers, 2)] {
        let bank = Bank::loaded(Flaw::None, &plan(threads));
        let loaded = bank.pairs.lock().unwrap().clone();
        let before = balances(&bank, &plan(threads)).unwrap();
        let outcome = run(&bank, &plan(threads), workload).unwrap();
        assert_eq!(outcome.operations, bank.transfers.load(Relaxed));
        assert_eq!((outcome.writes.map(|writes| writes.count), outcome.reads), (Some(outcome.operations), None));
        assert_eq!((outcome.misses, balances(&bank, &plan(threads)).unwrap()), (0, before));
        let pairs = bank.pairs.lock().unwrap();
        assert!(outcome.operations < 1000 || *pairs != loaded);
        // What stands behind the balance has stayed.
        assert!(pairs.iter().zip(&loaded).all(|(now, then)| now.0 == then.0 && now.1[8..] == then.1[8..]));
    }
}

#[test]
fn a_lost_or_half_transfer_changes_the_sum() {
    for flaw in [Flaw::Halves, Flaw::LosesUpdates] {
        // No time is asserted: the run ends after its first step at the earliest, so it is repeated until a flaw shows.
        let bank = Bank::loaded(flaw, &plan(2));
        let before = balances(&bank, &plan(2)).unwrap();
        while bank.transfers.load(Relaxed) < 100 {
            run(&bank, &plan(2), Workload::Transfers).unwrap();
        }
        assert_ne!(balances(&bank, &plan(2)).unwrap(), before);
    }
}

/// Popular accounts take part in more transfers.
#[test]
fn skewed_transfers_prefer_popular_accounts() {
    let moved = |workload| {
        let bank = Bank::loaded(Flaw::None, &plan(1));
        let loaded = bank.pairs.lock().unwrap().clone();
        let mut transfers = 0;
        let mut touched = std::collections::BTreeSet::new();
        // Few enough that unpopular accounts stay out of them.
        let plan = Plan { seconds: 1e-9, ..plan(1) };
        for seed in 0..100 {
            transfers += run(&bank, &Plan { seed, ..plan.clone() }, workload).unwrap().operations;
        }
        let pairs = bank.pairs.lock().unwrap();
        touched.extend(pairs.iter().filter(|(key, value)| loaded[*key] != **value).map(|(key, _)| key.clone()));
        (transfers, touched.len())
    };
    let (even, skewed) = (moved(Workload::Transfers), moved(Workload::SkewedTransfers));
    assert_eq!((even.0, skewed.0), (100, 100));
    assert!(skewed.1 * 5 < even.1 * 4, "{} and {} accounts", skewed.1, even.1);
}

#[test]
fn accounts_must_be_there_and_have_a_balance() {
    let bank = Bank::loaded(Flaw::None, &plan(1));
    for plan in [Plan { records: 1, ..plan(1) }, Plan { value_bytes: 7, ..plan(1) }] {
        let refused = run(&bank, &plan, Workload::Transfers).expect_err("the plan must be refused");
        let expected = PlanError::Accounts { records: plan.records, value_bytes: plan.value_bytes };
        assert_eq!(refused.downcast_ref(), Some(&expected));
    }
    assert!(balances(&bank, &Plan { records: 301, ..plan(1) }).is_err());
    bank.insert(&holm_bench::key(7), b"short").unwrap();
    assert!(balances(&bank, &plan(1)).is_err());
    let plain = Bank::loaded(Flaw::Plain, &plan(1));
    assert!(run(&plain, &plan(1), Workload::Transfers).is_err());
}
