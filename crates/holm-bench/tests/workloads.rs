//! Every workload against a map that counts its calls: the counts of an outcome must equal those of the engine.
#![forbid(unsafe_code)]

use holm_bench::{BATCH, BoxError, Engine, Keys, List, Outcome, Plan, PlanError, Values, Workload, fill, key, run};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct Calls {
    pairs: BTreeMap<Vec<u8>, Vec<u8>>,
    inserts: u64,
    updates: u64,
    reads: u64,
    found: u64,
    scans: u64,
    scan_counts: HashMap<usize, u64>,
    batches: u64,
    reads_of: HashMap<Vec<u8>, u64>,
    updates_of: HashMap<Vec<u8>, u64>,
    fail_at_insert: Option<u64>,
}

#[derive(Default)]
struct Map(Mutex<Calls>);

impl Engine for Map {
    fn name(&self) -> &str {
        "map"
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), BoxError> {
        let mut calls = self.0.lock().unwrap();
        match calls.pairs.insert(key.into(), value.into()) {
            None => calls.inserts += 1,
            Some(_) => {
                calls.updates += 1;
                *calls.updates_of.entry(key.into()).or_default() += 1;
            }
        }
        if calls.fail_at_insert == Some(calls.inserts) { Err("the disk is full".into()) } else { Ok(()) }
    }

    fn read(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, BoxError> {
        let mut calls = self.0.lock().unwrap();
        calls.reads += 1;
        *calls.reads_of.entry(key.into()).or_default() += 1;
        into.clear();
        let found = calls.pairs.get(key).map(|value| into.extend_from_slice(value)).is_some();
        calls.found += u64::from(found);
        Ok(found)
    }

    fn scan(&self, from: &[u8], count: usize, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, BoxError> {
        let mut calls = self.0.lock().unwrap();
        calls.scans += 1;
        *calls.scan_counts.entry(count).or_default() += 1;
        let pairs = calls.pairs.range(from.to_vec()..).take(count);
        Ok(pairs.map(|(key, value)| visit(key, value)).count())
    }

    fn sync(&self) -> Result<(), BoxError> {
        Ok(())
    }

    fn batch(&self, pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<(), BoxError> {
        self.0.lock().unwrap().batches += 1;
        pairs.iter().try_for_each(|(key, value)| self.insert(key, value))
    }
}

fn plan(threads: usize) -> Plan {
    Plan { records: 5000, value_bytes: 20, threads, seconds: 0.15, seed: 42, ..Plan::default() }
}

/// Loads a map, resets its counts, and runs the workload.
fn measured(workload: Workload, threads: usize) -> (Outcome, Calls) {
    let map = Map::default();
    let loaded = run(&map, &plan(threads), Workload::Load).unwrap();
    assert_eq!((loaded.operations, loaded.misses), (5000, 0));
    let pairs = std::mem::take(&mut *map.0.lock().unwrap()).pairs;
    map.0.lock().unwrap().pairs = pairs;
    let outcome = run(&map, &plan(threads), workload).unwrap();
    (outcome, map.0.into_inner().unwrap())
}

fn writes(outcome: &Outcome) -> u64 {
    outcome.writes.map_or(0, |writes| writes.count)
}

fn reads(outcome: &Outcome) -> u64 {
    outcome.reads.map_or(0, |reads| reads.count)
}

fn assert_share(part: u64, whole: u64, expected: f64) {
    let (found, spread) = (part as f64 / whole as f64, 5.0 * (expected * (1.0 - expected) / whole as f64).sqrt());
    assert!((found - expected).abs() <= spread, "{part} of {whole} is {found}, expected {expected} within {spread}");
}

#[test]
fn load_inserts_every_record_once_with_its_value() {
    for threads in [1, 2, 3, 7] {
        let map = Map::default();
        let plan = plan(threads);
        let outcome = run(&map, &plan, Workload::Load).unwrap();
        let calls = map.0.into_inner().unwrap();
        assert_eq!((outcome.operations, calls.inserts, calls.updates), (5000, 5000, 0));
        assert_eq!((writes(&outcome), reads(&outcome)), (5000, 0));
        let values = Values::new(20, plan.seed);
        assert!((0..5000).all(|record| calls.pairs[key(record).as_slice()] == values.of(record)));
    }
}

#[test]
fn mixes_count_exactly_and_keep_their_shares() {
    for (workload, write_share) in [
        (Workload::A, 0.5),
        (Workload::B, 0.05),
        (Workload::C, 0.0),
        (Workload::F, 0.5),
        (Workload::Updates, 1.0),
        (Workload::Overwrites, 1.0),
    ] {
        for threads in [1, 2] {
            let (outcome, calls) = measured(workload, threads);
            assert_eq!(outcome.operations, writes(&outcome) + reads(&outcome), "{workload}");
            assert_eq!((calls.updates, calls.inserts), (writes(&outcome), 0), "{workload}");
            let reads_made = if workload == Workload::F { outcome.operations } else { reads(&outcome) };
            assert_eq!((calls.reads, calls.found), (reads_made, reads_made), "{workload}");
            assert_eq!(outcome.misses, 0, "{workload}");
            if write_share == 1.0 {
                assert_eq!(reads(&outcome), 0);
            } else {
                assert_share(writes(&outcome), outcome.operations, write_share);
            }
        }
    }
}

#[test]
fn d_inserts_new_records_and_reads_the_latest() {
    let (outcome, calls) = measured(Workload::D, 1);
    assert_eq!((calls.inserts, calls.updates, calls.reads), (writes(&outcome), 0, reads(&outcome)));
    assert_share(writes(&outcome), outcome.operations, 0.05);
    assert_eq!(outcome.misses, 0, "one thread names no record that it has not inserted");
    let loaded: Vec<_> = (0..5000).map(key).collect();
    let of_loaded = |record: usize| calls.reads_of.get(loaded[record].as_slice()).copied().unwrap_or(0);
    let (oldest, newest): (u64, u64) = ((0..100).map(of_loaded).sum(), (4900..5000).map(of_loaded).sum());
    let added = calls.reads - (0..5000).map(of_loaded).sum::<u64>();
    assert!(added > newest / 10 && newest > 5 * oldest, "added {added}, newest {newest}, oldest {oldest}");
}

#[test]
fn e_scans_one_to_a_hundred_pairs_and_inserts() {
    let (outcome, calls) = measured(Workload::E, 2);
    assert_eq!((calls.scans, calls.inserts, calls.updates), (reads(&outcome), writes(&outcome), 0));
    assert_share(writes(&outcome), outcome.operations, 0.05);
    assert_eq!(calls.scan_counts.keys().filter(|&&count| !(1..=100).contains(&count)).count(), 0);
    let pairs: u64 = calls.scan_counts.iter().map(|(&count, &times)| count as u64 * times).sum();
    let mean = pairs as f64 / calls.scans as f64;
    assert!((mean - 50.5).abs() < 5.0 * 28.9 / (calls.scans as f64).sqrt(), "{mean}");
}

#[test]
fn the_most_popular_record_has_its_share_of_the_reads() {
    let (_, calls) = measured(Workload::C, 1);
    let most = calls.reads_of.values().max().copied().unwrap_or(0);
    let zeta: f64 = (1..=5000).map(|rank| f64::from(rank).powf(-0.99)).sum();
    assert_share(most, calls.reads, 1.0 / zeta);
}

/// An engine that caches what is popular gains from it with updates, and cannot with overwrites.
#[test]
fn overwrites_have_no_popular_record_and_updates_do() {
    let share_of_most = |workload| {
        let (_, calls) = measured(workload, 1);
        calls.updates_of.values().max().copied().unwrap_or(0) as f64 / calls.updates as f64
    };
    let (even, skewed) = (share_of_most(Workload::Overwrites), share_of_most(Workload::Updates));
    assert!(even * 4.0 < skewed, "overwrites {even}, updates {skewed}");
}

#[test]
fn batches_add_as_many_records_as_there_are_and_end() {
    let map = Map::default();
    let plan = Plan { records: 4500, seconds: 60.0, ..plan(2) };
    fill(&map, &plan, 0).unwrap();
    let outcome = run(&map, &plan, Workload::Batches).unwrap();
    let calls = map.0.into_inner().unwrap();
    assert_eq!((outcome.operations, calls.inserts, calls.updates), (4500, 9000, 0));
    assert_eq!((writes(&outcome), calls.batches), (5, 10));
    assert_eq!(BATCH, 1000);
}

#[test]
fn fill_gives_what_load_gives() {
    let (filled, loaded) = (Map::default(), Map::default());
    fill(&filled, &plan(1), 0).unwrap();
    run(&loaded, &plan(2), Workload::Load).unwrap();
    assert_eq!(filled.0.into_inner().unwrap().pairs, loaded.0.into_inner().unwrap().pairs);
}

/// Wherever the threads were when the time was over, the records that are in have consecutive numbers, and `fill`
/// starts behind them.
#[test]
fn a_load_that_is_cut_short_is_filled_up() {
    for threads in [1, 3] {
        let map = Map::default();
        let plan = Plan { records: 1 << 40, load_seconds: Some(0.02), ..plan(threads) };
        let loaded = run(&map, &plan, Workload::Load).unwrap().operations;
        let values = Values::new(20, plan.seed);
        let in_it = |map: &Map| std::mem::take(&mut map.0.lock().unwrap().pairs);
        let pairs = in_it(&map);
        assert_eq!(pairs.len() as u64, loaded);
        assert!((0..loaded).all(|record| pairs[key(record).as_slice()] == values.of(record)));
        fill(&map, &Plan { records: loaded + 1500, ..plan }, loaded).unwrap();
        let pairs = in_it(&map);
        assert_eq!(pairs.len(), 1500);
        assert!((loaded..loaded + 1500).all(|record| pairs[key(record).as_slice()] == values.of(record)));
    }
}

#[test]
fn keys_come_from_a_list() {
    let list = List::of_lines(b"north\nsouth\neast\nwest\n", 1);
    let keys = Keys::Listed(Arc::new(list.clone()));
    let plan = Plan { records: 4, keys, seconds: 0.02, ..plan(2) };
    let map = Map::default();
    assert_eq!(run(&map, &plan, Workload::Load).unwrap().operations, 4);
    for workload in [Workload::Gets, Workload::Scans, Workload::A, Workload::Updates] {
        let outcome = run(&map, &plan, workload).unwrap();
        assert!(outcome.operations > 0 && outcome.misses == 0, "{outcome:?}");
    }
    let calls = map.0.lock().unwrap();
    assert_eq!(calls.pairs.keys().collect::<Vec<_>>(), [&b"east"[..], b"north", b"south", b"west"]);
    let counts: Vec<_> = (0..4).map(|number| calls.reads_of[list.key(number)]).collect();
    assert!(counts.iter().all(|&count| count > 0) && calls.scan_counts.keys().eq([&10]), "{counts:?}");
    drop(calls);
    for (plan, workload, expected) in [
        (&plan, Workload::D, PlanError::Adds(Workload::D)),
        (&plan, Workload::Batches, PlanError::Adds(Workload::Batches)),
        (&Plan { records: 5, ..plan.clone() }, Workload::Gets, PlanError::Listed { records: 5, keys: 4 }),
    ] {
        let refused = run(&map, plan, workload).expect_err("the plan must be refused");
        assert_eq!(refused.downcast_ref(), Some(&expected));
    }
}

#[test]
fn gets_ask_for_every_record_as_often_as_for_any_other() {
    let (outcome, calls) = measured(Workload::Gets, 2);
    assert_eq!((calls.reads, calls.found, calls.updates), (outcome.operations, outcome.operations, 0));
    let tenths = (0..10).map(|tenth| -> u64 {
        (tenth * 500..tenth * 500 + 500).filter_map(|record| calls.reads_of.get(key(record).as_slice())).sum()
    });
    tenths.for_each(|tenth| assert_share(tenth, calls.reads, 0.1));
}

#[test]
fn another_seed_adds_other_records() {
    let map = Map::default();
    for seed in 0..20 {
        run(&map, &Plan { records: 2000, seconds: 60.0, seed, ..plan(1) }, Workload::Batches).unwrap();
    }
    assert_eq!(map.0.into_inner().unwrap().inserts, 40_000);
}

#[test]
fn the_first_error_stops_all_threads() {
    let map = Map::default();
    map.0.lock().unwrap().fail_at_insert = Some(700);
    let plan = Plan { records: 1 << 40, ..plan(3) };
    let failed = run(&map, &plan, Workload::Load).expect_err("the load must fail");
    assert_eq!(failed.to_string(), "the disk is full");
}

#[test]
fn a_plan_that_cannot_run_is_refused() {
    let refused = |plan: &Plan| {
        let error = run(&Map::default(), plan, Workload::C).expect_err("the plan must be refused");
        error.downcast_ref::<PlanError>().cloned().expect("the error must be typed")
    };
    assert_eq!(refused(&Plan { records: 0, ..plan(1) }), PlanError::Records(0));
    assert_eq!(refused(&plan(0)), PlanError::Threads(0));
    assert_eq!(refused(&Plan { seconds: 0.0, ..plan(1) }), PlanError::Seconds(0.0));
    assert!(matches!(refused(&Plan { seconds: f64::NAN, ..plan(1) }), PlanError::Seconds(_)));
    assert_eq!(refused(&Plan { value_bytes: usize::MAX, ..plan(1) }), PlanError::ValueBytes(usize::MAX));
}

#[test]
fn an_engine_without_records_shows_as_misses() {
    let outcome = run(&Map::default(), &plan(1), Workload::C).unwrap();
    assert_eq!(outcome.misses, outcome.operations);
}

#[test]
fn an_outcome_reads_back_from_json() {
    let (outcome, _) = measured(Workload::A, 1);
    let text = serde_json::to_string(&outcome).unwrap();
    assert!(text.contains("\"workload\":\"a\""), "{text}");
    let back: Outcome = serde_json::from_str(&text).unwrap();
    assert_eq!((back.workload, back.operations, back.writes), (outcome.workload, outcome.operations, outcome.writes));
}
