//! The events of a recorded medium, in order: stores, write-backs, fences, and the harness's own marks.
//!
//! Every event has the thread that caused it and the source line that requested it. So a report can name a lost write,
//! and a single store, flush or fence can be left out by its place.

use holm_medium::Epoch;
use std::collections::BTreeSet;
use std::fmt;
use std::panic::Location;

/// A source line, as the compiler knows it.
pub type Caller = &'static Location<'static>;

/// What a site requests of a medium.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Order {
    /// One word's store.
    Store,
    /// The start of a line's write-back.
    Flush,
    /// The wait for this thread's write-backs.
    Fence,
}

impl Order {
    /// Its name in reports and in the declarations of survivors.
    pub fn name(self) -> &'static str {
        match self {
            Order::Store => "store",
            Order::Flush => "flush",
            Order::Fence => "fence",
        }
    }
}

/// A place in the source that requests one thing; `persist` is two sites at one place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// The request.
    pub order: Order,
    /// Where.
    pub place: Caller,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.order.name(), self.place)
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What the harness adds between the medium's events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// The operation with that number has been called.
    Begun(usize),
    /// It has returned.
    Returned(usize),
    /// Every operation of this epoch and of those before has been published as durable.
    Published(Epoch),
    /// Recovery has returned: its decisions are final.
    Recovered,
    /// A reader has got this payload for a key.
    Told(u64, Option<u64>),
}

/// One event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// One word stored.
    Write {
        /// Where.
        loc: u64,
        /// What.
        value: u64,
    },
    /// Words of an unreachable block, stored in any order.
    Fill {
        /// Where the first word lies.
        loc: u64,
        /// Their values.
        values: Vec<u64>,
    },
    /// A word that means nothing after a crash.
    Scratch {
        /// Where.
        loc: u64,
    },
    /// A line's write-back begins.
    Flush {
        /// Its location divided by 64.
        line: u64,
    },
    /// The thread's write-backs are complete.
    Fence,
    /// A mark of the harness.
    Mark(Mark),
}

impl Event {
    /// The request to the medium, if it is one of the three kinds that can be left out.
    pub fn order(&self) -> Option<Order> {
        match self {
            Event::Write { .. } => Some(Order::Store),
            Event::Flush { .. } => Some(Order::Flush),
            Event::Fence => Some(Order::Fence),
            Event::Fill { .. } | Event::Scratch { .. } | Event::Mark(_) => None,
        }
    }
}

/// An event with its cause.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What happened.
    pub event: Event,
    /// Numbered in the order in which threads first appeared.
    pub thread: u32,
    /// The source line that requested it.
    pub place: Caller,
}

impl Entry {
    /// The site of a store, a flush or a fence.
    pub fn site(&self) -> Option<Site> {
        self.event.order().map(|order| Site { order, place: self.place })
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.event {
            Event::Write { loc, value } => write!(f, "write of {value:#x} to {loc:#x} at {}", self.place),
            Event::Fill { loc, values } => write!(f, "fill of {} words from {loc:#x} at {}", values.len(), self.place),
            Event::Scratch { loc } => write!(f, "scratch of {loc:#x} at {}", self.place),
            Event::Flush { line } => write!(f, "flush of line {line:#x} at {}", self.place),
            Event::Fence => write!(f, "fence at {}", self.place),
            Event::Mark(mark) => write!(f, "{mark:?}"),
        }
    }
}

/// The sites that a trace reached.
pub fn sites(entries: &[Entry]) -> BTreeSet<Site> {
    entries.iter().filter_map(Entry::site).collect()
}
