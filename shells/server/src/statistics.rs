//! Counters of a server.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What one command has cost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) calls: u64,
    pub(crate) nanos: u64,
    pub(crate) failed: u64,
}

/// Costs by name of the command.
pub(crate) type Costs = BTreeMap<&'static str, Cost>;

/// Counters of a server. Workers count for themselves, and add what they have counted after each wake-up.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    pub(crate) connections: AtomicU64,
    pub(crate) rejected_connections: AtomicU64,
    pub(crate) commands: AtomicU64,
    pub(crate) input_bytes: AtomicU64,
    pub(crate) output_bytes: AtomicU64,
    pub(crate) errors: AtomicU64,
    pub(crate) expired: AtomicU64,
    pub(crate) syncs: AtomicU64,
    /// What users were refused, wrong passwords among them.
    pub(crate) denied: AtomicU64,
    costs: Mutex<Costs>,
}

impl Statistics {
    /// Adds what a worker has counted.
    pub(crate) fn add_costs(&self, costs: &mut Costs) {
        let mut all = self.costs.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, cost) in costs.iter_mut().filter(|(_, cost)| cost.calls > 0) {
            let sum = all.entry(name).or_default();
            sum.calls += cost.calls;
            sum.nanos += cost.nanos;
            sum.failed += cost.failed;
            self.commands.fetch_add(cost.calls, Ordering::Relaxed);
            self.errors.fetch_add(cost.failed, Ordering::Relaxed);
            *cost = Cost::default();
        }
    }

    pub(crate) fn costs(&self) -> Costs {
        self.costs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins all counters anew.
    pub(crate) fn reset(&self) {
        self.costs.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let counters = [
            &self.connections,
            &self.rejected_connections,
            &self.commands,
            &self.input_bytes,
            &self.output_bytes,
            &self.errors,
            &self.expired,
            &self.syncs,
            &self.denied,
        ];
        counters.iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
    }
}
