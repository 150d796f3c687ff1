//! What one run does: drawn from a seed and a profile, and small enough to be printed.

use crate::disk::Kind;
use holm::Durability;
use holm_tree::leaf::Capabilities;
use std::fmt;
use std::str::FromStr;

/// Which runs are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// Threads and nothing else: no fault, no crash.
    Calm,
    /// Threads, and crashes of the process and of the power.
    Crashes,
    /// The same, with failing and slow disks.
    Faults,
    /// Any of these, by the seed.
    All,
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "calm" => Ok(Profile::Calm),
            "crashes" => Ok(Profile::Crashes),
            "faults" => Ok(Profile::Faults),
            "all" => Ok(Profile::All),
            _ => Err(format!("a profile `{text}`; calm, crashes, faults or all was expected")),
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", format!("{self:?}").to_lowercase())
    }
}

/// How an image of the disk is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The process dies; the page cache stays.
    Death,
    /// The power goes, and all that was not durable is gone.
    PowerToDurable,
    /// The power goes, and the seed decides what is left.
    Power,
    /// The process dies, the kernel cannot write its pages, and they go back to what the disk has.
    GoneBack,
}

/// When a crash occurs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// Before this step of the run.
    Step(u64),
    /// Before this step among those in which the stores of a commit are in progress.
    InCommit(u64),
    /// Before this store to a durable word of the run, counted from 0: between any two stores of a commit, too, whether
    /// or not the store has noted the commit.
    Store(u64),
    /// Once the disk has got this many more calls of a kind, and this many steps later.
    Call(Kind, u64, u64),
}

/// A crash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Crash {
    /// When.
    pub when: When,
    /// What ends.
    pub end: End,
    /// Decides what is left.
    pub seed: u64,
    /// The power goes once more, in this call to the disk of the recovery.
    pub again: Option<u64>,
    /// Crashes of the recovery.
    pub within: Vec<Crash>,
}

/// What happens to the live disk, or to the clock on the wall.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// The kernel writes some pages back: one in this number.
    WriteBack(u32),
    /// The kernel reclaims clean pages of the data files, one in this number, and reads them from the disk again.
    Reclaim(u32),
    /// The kernel's own write-back of a data file fails: of the leaves (0) or the records (1).
    FailWriteBack(usize),
    /// Each call takes this many microseconds from now on.
    Slow(u32),
    /// A call fails: the first one after this number of calls.
    Eio(u64),
    /// After this number of calls, the disk acknowledges what is written past the page cache, and loses it with the
    /// power. No plan that is drawn has this: it is a bug that the oracle must catch.
    Lie(u64),
    /// Space runs out: files do not grow any more.
    Full,
    /// There is space again.
    Room,
    /// The clock on the wall jumps by this number of milliseconds.
    WallClock(i32),
    /// Time passes: milliseconds in which no thread runs.
    Stop(u32),
}

impl What {
    /// Whether calls to the disk fail for another reason than space.
    pub(super) fn is_failure(self) -> bool {
        matches!(self, What::Eio(_) | What::FailWriteBack(_))
    }
}

/// A fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FaultAt {
    /// Before this step of the run.
    pub step: u64,
    /// What happens.
    pub what: What,
}

/// A design that ships with the store, by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Design(pub &'static str);

impl Design {
    /// Whether its databases are opened by an index after they were closed.
    pub(super) fn is_indexed(self) -> bool {
        self.can(|capabilities| capabilities.indexed)
    }

    /// Whether its leaves have room for records.
    pub(super) fn has_rooms(self) -> bool {
        self.can(|capabilities| capabilities.longest_record > 0)
    }

    fn can(self, what: impl Fn(Capabilities) -> bool) -> bool {
        holm_tree::designs::CAPABILITIES.iter().any(|(name, capabilities)| *name == self.0 && what(*capabilities))
    }
}

impl FromStr for Design {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shipped = holm_tree::designs::CAPABILITIES.iter().map(|(name, _)| *name);
        shipped
            .clone()
            .find(|name| *name == text)
            .map(Design)
            .ok_or_else(|| format!("a design `{text}`; one of {} was expected", shipped.collect::<Vec<_>>().join(", ")))
    }
}

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// What one run does.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// Decides all that the other fields leave open.
    pub seed: u64,
    /// The profile that this was drawn from.
    pub profile: Profile,
    /// The design of the leaves; draws choose the store's default.
    pub design: Design,
    /// Threads over the lists, at most three.
    pub workers: u64,
    /// Threads over single keys that all share.
    pub registers: u64,
    /// Whether a thread changes a keyspace of its own, with range removals.
    pub solo: bool,
    /// Whether the values of that thread are large: they fill the log, so that checkpoints and throttling occur.
    pub heavy: bool,
    /// Whether most values of that thread are as long as those of which a leaf with records takes a few: they fill its
    /// room before its slots.
    pub fills_rooms: bool,
    /// Whether a thread drops its keyspace and creates it again.
    pub drops: bool,
    /// Whether a thread writes keys that expire.
    pub expires: bool,
    /// Whether a thread follows the feed, and whether one takes backups.
    pub copies: bool,
    /// Keys that the thread's own keyspace has from the beginning. If there are any, the database was closed and opened
    /// since they were written: the log has nothing of them.
    pub loaded: u64,
    /// Nanoseconds from one call of `sync` to the next, on average.
    pub sync_ns: u64,
    /// How many large values a thread puts.
    pub bulk: u64,
    /// Whether a thread compacts the database.
    pub compacts: bool,
    /// Whether a thread empties leaves, and compacts the database so that others move to their blocks.
    pub moves_leaves: bool,
    /// How often a thread lays the records of all keyspaces in the order of their keys.
    pub lays: u64,
    /// Threads that set marks.
    pub markers: u64,
    /// Whether a thread opens the database for reading beside the writers.
    pub peeks: bool,
    /// Operations of each thread.
    pub operations: u64,
    /// Keys beside each list.
    pub fillers: u8,
    /// The most keys of a long batch; 0: no batch is long.
    pub long_batch: usize,
    /// The durability of the database.
    pub durability: Durability,
    /// Whether the image is private.
    pub private: bool,
    /// Bytes of heap for leaves and records.
    pub heap: [usize; 2],
    /// Accesses to words from one interruption to the next, on average.
    pub apart: u32,
    /// Of 64 interruptions, how many leave the thread running.
    pub sticky: u32,
    /// Of 4096 interruptions that are 64 accesses apart, how many stop the thread for a while. Others stop it as often
    /// for each access: a thread that is stopped within each operation never ends one.
    pub stalls: u32,
    /// Nanoseconds of a step, on average.
    pub tick_ns: u64,
    /// Crashes.
    pub crashes: Vec<Crash>,
    /// Crashes of the close.
    pub closing: Vec<Crash>,
    /// Crashes of the opening after it.
    pub reopening: Vec<Crash>,
    /// Faults, in the order of their steps.
    pub faults: Vec<FaultAt>,
}

/// The areas of a database that runs out of its capacity.
pub(super) const SMALL: [usize; 2] = [192 << 10, 128 << 10];

impl Plan {
    /// Whether the database may run out of its capacity.
    pub(super) fn is_small(&self) -> bool {
        self.heap == SMALL
    }

    /// Whether calls to the disk fail for another reason than space, at any time.
    pub(super) fn is_failing(&self) -> bool {
        self.faults.iter().any(|fault| fault.what.is_failure())
    }
}
