//! The operations of one thread: each workload's next operation and its record. Everything that a step needs is
//! prepared in advance or computed in tens of nanoseconds. A step allocates nothing, because its cost is part of every
//! latency.

use crate::driver::BATCH;
use crate::meter::Kind;
use crate::transfer::move_amount;
use crate::zipf::{Zipf, scrambled};
use crate::{BoxError, Engine, KEY_BYTES, Plan, Values, Workload, key};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The numbers of added records start at a multiple of this, above every loaded record.
const ADDED_RECORDS: u64 = 1 << 40;

/// Draws made at once. They overlap in the processor and cost a quarter of single draws.
const DRAWS: usize = 64;
const _: () = assert!(DRAWS.is_multiple_of(2), "a transfer takes two");

/// Pairs that a scan of [`Workload::Scans`] requests.
const SCANNED: usize = 10;

/// The state that the threads of a run share.
pub(crate) struct Shared {
    zipf: Zipf,
    values: Values,
    /// The multiple of `ADDED_RECORDS` of this run.
    tag: u64,
    added: Alone,
}

/// Records that the run has named so far: those that it adds, or for Load those that it loads. The counter has a cache
/// line of its own, because all threads constantly read its neighbours.
#[repr(align(128))]
struct Alone(AtomicU64);

impl Shared {
    pub(crate) fn new(plan: &Plan, workload: Workload) -> Self {
        // Another workload or seed gets another tag (except for one chance in eight million), so its records are new.
        let tag = 1 + scrambled(plan.seed.wrapping_mul(64).wrapping_add(workload as u64), (1 << 23) - 1);
        let zipf = Zipf::new(plan.records);
        Self { zipf, values: Values::new(plan.value_bytes, plan.seed), tag, added: Alone(AtomicU64::new(0)) }
    }

    /// Names `count` records that no thread of this run has named, and returns the index of the first.
    fn add(&self, count: u64) -> u64 {
        self.added.0.fetch_add(count, Relaxed)
    }

    fn added_record(&self, index: u64) -> u64 {
        self.tag * ADDED_RECORDS + index
    }
}

/// A completed step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) kind: Kind,
    pub(crate) operations: u64,
    pub(crate) misses: u64,
}

impl Step {
    const WRITTEN: Self = Self { kind: Kind::Write, operations: 1, misses: 0 };
}

/// The position of one thread in a run.
pub(crate) struct Steps<'a> {
    engine: &'a dyn Engine,
    plan: &'a Plan,
    workload: Workload,
    shared: &'a Shared,
    random: Pcg64Mcg,
    next_value: u64,
    /// Draws, the unused ones in front: ranks for D, records for the other workloads.
    draws: [u64; DRAWS],
    unused: usize,
    into: Vec<u8>,
    accounts: [Vec<u8>; 2],
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl<'a> Steps<'a> {
    pub(crate) fn new(
        engine: &'a dyn Engine,
        plan: &'a Plan,
        workload: Workload,
        shared: &'a Shared,
        thread: usize,
    ) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(plan.seed.wrapping_mul(1024).wrapping_add(thread as u64));
        let pairs = if workload == Workload::Batches { BATCH } else { 0 };
        Self {
            engine,
            plan,
            workload,
            shared,
            next_value: random.random::<u64>() >> 32,
            random,
            draws: [0; DRAWS],
            unused: 0,
            into: Vec::with_capacity(plan.value_bytes),
            accounts: [Vec::with_capacity(plan.value_bytes), Vec::with_capacity(plan.value_bytes)],
            pairs: vec![(key(0).to_vec(), vec![0; plan.value_bytes]); pairs],
        }
    }

    /// Draws ahead if no draws are left, and returns whether it did. That time belongs to no operation's latency.
    pub(crate) fn draw_ahead(&mut self) -> bool {
        if self.unused > 0 || matches!(self.workload, Workload::Load | Workload::Batches) {
            return false;
        }
        let Self { shared, random, draws, .. } = self;
        use Workload::{Gets, Overwrites, Scans, Transfers};
        let evenly = matches!(self.workload, Gets | Scans | Overwrites | Transfers);
        match evenly {
            true => draws.iter_mut().for_each(|draw| *draw = random.random_range(0..self.plan.records)),
            false => draws.iter_mut().for_each(|draw| *draw = shared.zipf.rank(random.random())),
        }
        if !evenly && self.workload != Workload::D {
            draws.iter_mut().for_each(|draw| *draw = scrambled(*draw, self.plan.records));
        }
        self.unused = DRAWS;
        true
    }

    /// Runs the next operation, after [`draw_ahead`](Self::draw_ahead). Returns `None` when none is left, which only
    /// happens for Load and Batches.
    pub(crate) fn step(&mut self) -> Result<Option<Step>, BoxError> {
        let step = match self.workload {
            Workload::Load => return self.load(),
            Workload::Batches => return self.batch(),
            Workload::A if self.random.random_bool(0.5) => self.update(),
            Workload::B if self.random.random_bool(0.05) => self.update(),
            Workload::F if self.random.random_bool(0.5) => self.read_and_update(),
            Workload::D | Workload::E if self.random.random_bool(0.05) => self.insert(),
            Workload::A | Workload::B | Workload::C | Workload::F | Workload::Gets => self.read(),
            Workload::D => self.read_latest(),
            Workload::E => self.scan_some(),
            Workload::Scans => self.scan(SCANNED),
            Workload::Updates | Workload::Overwrites => self.update(),
            Workload::Transfers | Workload::SkewedTransfers => self.transfer(),
        };
        step.map(Some)
    }

    fn load(&mut self) -> Result<Option<Step>, BoxError> {
        // One by one, so that the inserted records have consecutive numbers whenever the load ends.
        let record = self.shared.add(1);
        if record >= self.plan.records {
            return Ok(None);
        }
        let mut room = [0; KEY_BYTES];
        self.engine.insert(self.plan.keys.of(record, &mut room), self.shared.values.of(record))?;
        Ok(Some(Step::WRITTEN))
    }

    fn batch(&mut self) -> Result<Option<Step>, BoxError> {
        let first = self.shared.add(BATCH as u64);
        let count = self.plan.records.saturating_sub(first).min(BATCH as u64);
        if count == 0 {
            return Ok(None);
        }
        let pairs = &mut self.pairs[..count as usize];
        for (index, pair) in (first..).zip(pairs.iter_mut()) {
            pair.0.copy_from_slice(&key(self.shared.added_record(index)));
            pair.1.copy_from_slice(self.shared.values.of(index));
        }
        self.engine.batch(pairs)?;
        Ok(Some(Step { kind: Kind::Write, operations: count, misses: 0 }))
    }

    fn read(&mut self) -> Result<Step, BoxError> {
        let record = self.drawn();
        self.read_record(record)
    }

    fn read_latest(&mut self) -> Result<Step, BoxError> {
        let count = self.plan.records + self.shared.added.0.load(Relaxed);
        let back = self.drawn();
        // Each other thread may still be inserting one record, so the latest records, one per other thread, are
        // excluded.
        let position = (count - 1 - back).saturating_sub(self.plan.threads as u64 - 1);
        let record = match position.checked_sub(self.plan.records) {
            None => position,
            Some(index) => self.shared.added_record(index),
        };
        self.read_record(record)
    }

    fn read_record(&mut self, record: u64) -> Result<Step, BoxError> {
        let mut room = [0; KEY_BYTES];
        let found = self.engine.read(self.plan.keys.of(record, &mut room), &mut self.into)?;
        Ok(Step { kind: Kind::Read, operations: 1, misses: u64::from(!found) })
    }

    fn scan_some(&mut self) -> Result<Step, BoxError> {
        let count = self.random.random_range(1..=100);
        self.scan(count)
    }

    fn scan(&mut self, count: usize) -> Result<Step, BoxError> {
        let (record, mut room) = (self.drawn(), [0; KEY_BYTES]);
        let from = self.plan.keys.of(record, &mut room);
        let mut touched = 0_u64;
        // A user reads what a scan returns. An engine that maps its values lazily pays for that here.
        let mut visit = |key: &[u8], value: &[u8]| {
            touched += key.len() as u64 + value.iter().step_by(64).map(|&byte| u64::from(byte)).sum::<u64>();
        };
        let shown = self.engine.scan(from, count, &mut visit)?;
        black_box(touched);
        Ok(Step { kind: Kind::Read, operations: 1, misses: u64::from(shown == 0) })
    }

    fn update(&mut self) -> Result<Step, BoxError> {
        let record = self.drawn();
        self.write(record)
    }

    fn read_and_update(&mut self) -> Result<Step, BoxError> {
        let record = self.drawn();
        let read = self.read_record(record)?;
        Ok(Step { misses: read.misses, ..self.write(record)? })
    }

    fn transfer(&mut self) -> Result<Step, BoxError> {
        let (from, mut to) = (self.drawn(), self.drawn());
        if to == from {
            to = (to + 1) % self.plan.records;
        }
        let amount = self.random.random();
        let mut rooms = [[0; KEY_BYTES]; 2];
        let [first, second] = &mut rooms;
        let keys = [self.plan.keys.of(from, first), self.plan.keys.of(to, second)];
        let change = |accounts: &mut [Vec<u8>; 2]| move_amount(accounts, amount);
        let found = self.engine.transact(keys, &mut self.accounts, &change)?;
        Ok(Step { misses: u64::from(!found), ..Step::WRITTEN })
    }

    fn insert(&mut self) -> Result<Step, BoxError> {
        let record = self.shared.added_record(self.shared.add(1));
        self.write(record)
    }

    fn write(&mut self, record: u64) -> Result<Step, BoxError> {
        self.next_value += 1;
        let mut room = [0; KEY_BYTES];
        self.engine.insert(self.plan.keys.of(record, &mut room), self.shared.values.of(self.next_value))?;
        Ok(Step::WRITTEN)
    }

    /// Returns the next draw. `draw_ahead` precedes each operation, and the number of draws is a multiple of two: a
    /// transfer needs two of them, every other operation one.
    fn drawn(&mut self) -> u64 {
        self.unused -= 1;
        self.draws[self.unused]
    }
}
