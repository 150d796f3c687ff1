//! The faults of the simulated disk, and the calls at which they occur. Calls are counted per kind and in total. So a
//! test can run a session once to count its calls, and then once for each of them.

use std::io;

/// Kinds of calls, which are counted separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reading bytes.
    Read,
    /// Writing bytes.
    Write,
    /// Writing bytes past the page cache, as the log does; each is a `Write` too.
    Direct,
    /// Reserving space.
    Allocate,
    /// Syncing a file or a directory.
    Sync,
    /// Opening, listing, creating, renaming, removing, measuring, truncating, locking.
    Meta,
    /// Any of them.
    Any,
}

/// A failure of one call. A fault that has no meaning for its call does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// EIO. A write leaves the first half of its sectors behind; a sync leaves everything undecided and marked clean.
    Eio,
    /// ENOSPC, which leaves behind what [`Fault::Eio`] does.
    NoSpace,
    /// EINTR, and nothing happens. For reads and writes.
    Interrupted,
    /// EAGAIN, and nothing happens. For reads and writes.
    WouldBlock,
    /// At most this many bytes are read or written, and at least one (past the page cache, at least one page).
    Short(usize),
    /// A write is acknowledged, and lost with the power even if it is synced.
    Lost,
    /// A write lands this many sectors away, durably, instead of at its place.
    Misdirected(i64),
    /// A file is synced, and then another thread makes it this many bytes longer, before the call returns. The new
    /// length is not durable. For syncs.
    Grown(usize),
    /// The power goes off in this call: a write is undecided sector by sector, any other call does not happen. All
    /// further calls fail until the disk is opened through one of its crashes.
    PowerCut,
    /// The process dies in this call, which does not happen, and neither does any further one until the disk is opened
    /// through [`SimDisk::kill`](super::SimDisk::kill). What the process has stored is in the page cache.
    Death,
    /// The power goes off in this write after this many bytes, which are durable: a write torn at any byte.
    TornAt(usize),
    /// The thread that makes the call panics, and nothing happens.
    Panic,
}

impl Fault {
    /// The error that this fault returns to the caller, if it does.
    pub(super) fn error(self) -> Option<io::Error> {
        match self {
            Fault::Eio => Some(io::Error::other("EIO by order")),
            Fault::NoSpace => Some(io::ErrorKind::StorageFull.into()),
            Fault::Interrupted => Some(io::ErrorKind::Interrupted.into()),
            Fault::WouldBlock => Some(io::ErrorKind::WouldBlock.into()),
            Fault::Death => Some(io::Error::other("the process has died in this call")),
            Fault::PowerCut | Fault::TornAt(_) => Some(io::Error::other("the power went in this call")),
            Fault::Short(_) | Fault::Lost | Fault::Misdirected(_) | Fault::Grown(_) | Fault::Panic => None,
        }
    }
}

/// The numbers of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    counts: [u64; 7],
}

impl Calls {
    /// The number of calls of one kind.
    pub fn of(&self, kind: Kind) -> u64 {
        self.counts[kind as usize]
    }
}

/// Counts calls, and finds the fault that was set for each.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    pub(super) calls: Calls,
    pub(super) orders: Vec<Order>,
    /// No further call happens.
    pub(super) off: bool,
    /// That is so because the process has died.
    pub(super) dead: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) kind: Kind,
    pub(super) from: u64,
    /// One beyond the last index.
    pub(super) to: u64,
    pub(super) fault: Fault,
}

impl Faults {
    /// Counts a call; returns its fault, or an error if the power is off.
    pub(super) fn meet(&mut self, kind: Kind) -> io::Result<Option<Fault>> {
        if self.off {
            let why = if self.dead { "the process has died" } else { "the power is off" };
            return Err(io::Error::other(why));
        }
        let kinds: &[Kind] = match kind {
            Kind::Direct => &[Kind::Direct, Kind::Write, Kind::Any],
            _ => &[kind, Kind::Any],
        };
        let calls = self.calls;
        let fits =
            |order: &&Order| kinds.contains(&order.kind) && (order.from..order.to).contains(&calls.of(order.kind));
        let fault = self.orders.iter().find(fits).map(|order| order.fault);
        kinds.iter().for_each(|kind| self.calls.counts[*kind as usize] += 1);
        assert!(fault != Some(Fault::Panic), "a panic by order");
        self.dead = fault == Some(Fault::Death);
        self.off = self.dead
            || matches!(fault, Some(Fault::PowerCut))
            || (kinds.contains(&Kind::Write) && matches!(fault, Some(Fault::TornAt(_))));
        Ok(fault)
    }
}
