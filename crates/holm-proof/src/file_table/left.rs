//! What a stop leaves of the simulated disk.

use crate::disk::{Fault, Kind, SimDisk};
use std::fmt;

/// How a work is stopped, and what is then left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// The process dies. Its stores are in the page cache.
    Death,
    /// The power fails, and all that is not durable is gone.
    Durable,
    /// The power fails, and the disk has got everything.
    Newest,
    /// The power fails, and a seed decides.
    Seeded,
}

impl Left {
    /// All ways.
    pub const ALL: [Left; 4] = [Left::Death, Left::Durable, Left::Newest, Left::Seeded];

    /// The name of its rows.
    pub fn name(self) -> &'static str {
        match self {
            Left::Death => "death",
            Left::Durable => "power, old",
            Left::Newest => "power, new",
            Left::Seeded => "power, any",
        }
    }

    /// Whether the page cache is left.
    pub(super) fn is_death(self) -> bool {
        self == Left::Death
    }

    /// Stops at a call.
    pub(super) fn stop(self, disk: &SimDisk, call: u64) {
        disk.fail(Kind::Any, call, if self.is_death() { Fault::Death } else { Fault::PowerCut });
    }

    /// What is left after the stop.
    pub(super) fn of(self, disk: &SimDisk, seed: u64) -> SimDisk {
        match self {
            Left::Death => disk.kill(),
            _ => self.after_power(disk, seed),
        }
    }

    /// What is left after a loss of power; also where the process has died first.
    pub(super) fn after_power(self, disk: &SimDisk, seed: u64) -> SimDisk {
        match self {
            Left::Durable => disk.crash_to_durable(),
            Left::Newest => disk.crash_keeping_all(),
            Left::Death | Left::Seeded => disk.crash_seeded(seed),
        }
    }
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
