//! How many keys of a database expire, and when on average.
//!
//! Each record that is replaced states what that changes, and the database adds it up once the transaction has
//! committed. So nobody counts keys but the opening, which counts the entries of the index by expiry.

use crate::context::{Context, Millis};
use crate::over_holm::Databases;
use crate::rows;
use holm::Keyspace;
use std::sync::PoisonError;

/// Keys that expire: those of a database, or by how much a transaction changes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expiring {
    count: i64,
    /// The sum of the times at which they expire.
    times: i128,
}

impl Expiring {
    /// Returns how many keys expire, those that have expired and are not removed yet included.
    pub fn count(self) -> u64 {
        self.count.max(0) as u64
    }

    /// Returns how many milliseconds keys live from a time on, on average; 0 without keys.
    pub fn mean_life(self, now: Millis) -> Millis {
        let mean = self.times.checked_div(i128::from(self.count)).unwrap_or(0);
        (mean - i128::from(now)).clamp(0, i128::from(u64::MAX)) as u64
    }

    fn add(&mut self, other: Expiring) {
        self.count += other.count;
        self.times += other.times;
    }

    fn of(time: Option<Millis>) -> Self {
        time.map_or_else(Expiring::default, |time| Expiring { count: 1, times: i128::from(time) })
    }

    /// Counts the entries of the index by expiry.
    pub(crate) fn of_index(rows: &Keyspace) -> holm::Result<Self> {
        let (mut sum, mut entries) = (Expiring::default(), rows.prefix([rows::EXPIRY]));
        while let Some(entry) = entries.next_ref() {
            let (key, _) = entry?;
            sum.add(Expiring::of(rows::expiry_time(key)));
        }
        Ok(sum)
    }
}

impl Context<'_> {
    /// Notes that a record expires at another time than what it replaces.
    pub(crate) fn note_expiry(&self, database: u32, before: Option<Millis>, after: Option<Millis>) {
        if before == after {
            return;
        }
        let (before, after) = (Expiring::of(before), Expiring::of(after));
        let change = Expiring { count: after.count - before.count, times: after.times - before.times };
        let changes = &mut self.effects.borrow_mut().expiring;
        match changes.iter_mut().find(|(of, _)| *of == database) {
            Some((_, sum)) => sum.add(change),
            None => changes.push((database, change)),
        }
    }
}

impl Databases {
    /// Returns how many keys of a database expire.
    pub fn expiring(&self, number: u32) -> Expiring {
        let served = self.served(number);
        served.map_or_else(Expiring::default, |served| *served.expiring.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds up what a transaction that has committed changes.
    pub(crate) fn add_expiring(&self, changes: &[(u32, Expiring)]) {
        for (number, change) in changes {
            if let Some(served) = self.served(*number) {
                served.expiring.lock().unwrap_or_else(PoisonError::into_inner).add(*change);
            }
        }
    }
}
