//! Places in the log: a half, a pass, a sequence, an offset.

#![forbid(unsafe_code)]

/// Number of halves.
pub(super) const HALVES: usize = 2;

/// The reach of a pass before any record of it raises it, in bytes.
pub(crate) const FIRST_REACH: u64 = 16 << 20;

/// Where a replay begins, as the superblock stores it: the beginning of a half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogStart {
    /// Which half: 0 or 1.
    pub half: u8,
    /// Rises with every switch of halves and with every recovery.
    pub pass: u64,
    /// Sequence of the first record.
    pub sequence: u64,
}

impl LogStart {
    /// The start of a new database's log.
    pub const FIRST: LogStart = LogStart { half: 0, pass: 1, sequence: 1 };

    /// The start as a position.
    pub fn position(&self) -> Position {
        Position { half: self.half & 1, pass: self.pass, sequence: self.sequence, offset: 0 }
    }
}

/// A place between two records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Which half: 0 or 1.
    pub half: u8,
    /// The pass of the next record.
    pub pass: u64,
    /// The sequence of the next record.
    pub sequence: u64,
    /// Offset of the next record in the half, in bytes; a multiple of the page.
    pub offset: u64,
}

impl Position {
    /// Where a session continues after a replay that ended here: at the beginning of the other half, two passes on. A
    /// torn tail is thus never overwritten in its own pass, and what follows it is never mistaken for its
    /// continuation. It is two passes since the log may have been switched just before: the torn record of the next
    /// pass then lies where this session begins. Usable once everything replayed is durable in the data files and a
    /// superblock with this start is durable.
    pub fn fresh_start(&self) -> LogStart {
        self.after_passes(2)
    }

    pub(super) fn after_passes(&self, passes: u64) -> LogStart {
        LogStart { half: 1 - (self.half & 1), pass: self.pass.wrapping_add(passes), sequence: self.sequence }
    }
}
