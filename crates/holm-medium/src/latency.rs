//! The emulated latency of a write-back, in addition to its cost on this machine.

/// What a write-back costs in addition to its cost here.
///
/// Papers emulate a slower medium in either way; a figure states which of them it uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Latency {
    /// Nothing: the medium is as fast as this machine's memory.
    #[default]
    Nothing,
    /// Nanoseconds spun at each flushed line, one after the other, as papers do that emulate persistent memory by a
    /// delay after each flush instruction. Lines of one fence do not overlap.
    Line(u32),
    /// Nanoseconds spun at each fence that has lines to wait for: `fence_ns` once, because their write-backs overlap,
    /// and `line_ns` for each line, because they share the medium's bandwidth. 32 ns a line are 2 GB a second.
    Fence {
        /// Nanoseconds for each fence after at least one flush.
        fence_ns: u32,
        /// Nanoseconds for each line flushed since this thread's last fence.
        line_ns: u32,
    },
}

impl Latency {
    /// Returns the latency of a line, or none if it is zero.
    pub fn per_line(ns: u32) -> Self {
        if ns == 0 { Latency::Nothing } else { Latency::Line(ns) }
    }
}

impl std::fmt::Display for Latency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Latency::Nothing => write!(f, "+0 ns a line"),
            Latency::Line(ns) => write!(f, "+{ns} ns a line"),
            Latency::Fence { fence_ns, line_ns } => write!(f, "+{fence_ns} ns a fence and {line_ns} ns a line"),
        }
    }
}
