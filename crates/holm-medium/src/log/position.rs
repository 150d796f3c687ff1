//! Places in the log: a segment, a pass, a sequence, an offset.

#![forbid(unsafe_code)]

/// The number of segments of a new database, and of one whose superblock names no number.
pub const FIRST_SEGMENTS: u8 = 2;

/// The most segments that a log can have: a record names its own in four bits.
pub const MOST_SEGMENTS: u8 = 16;

/// The reach of a pass before any record of it raises it, in bytes.
pub(crate) const FIRST_REACH: u64 = 16 << 20;

/// Where a replay begins, as the superblock stores it: the beginning of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogStart {
    /// Which segment.
    pub segment: u8,
    /// Rises with every change of segments and with every recovery.
    pub pass: u64,
    /// Sequence of the first record.
    pub sequence: u64,
}

impl LogStart {
    /// The start of a new database's log.
    pub const FIRST: LogStart = LogStart { segment: 0, pass: 1, sequence: 1 };

    /// The start as a position.
    pub fn position(&self) -> Position {
        Position { segment: self.segment, pass: self.pass, sequence: self.sequence, offset: 0 }
    }
}

/// A place between two records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Which segment.
    pub segment: u8,
    /// The pass of the next record.
    pub pass: u64,
    /// The sequence of the next record.
    pub sequence: u64,
    /// Where the last record ends in the segment, in bytes; a multiple of a line. The next one begins there if it fits
    /// into the rest of the page, else at the next page.
    pub offset: u64,
}

impl Position {
    /// Where a session continues after a replay that ended here: at the beginning of another segment, two passes on. A
    /// torn tail is thus never overwritten in its own pass, and what follows it is never mistaken for its
    /// continuation. It is two passes since the log may have changed segments just before: the torn record of the next
    /// pass then lies in any other segment. Usable once everything replayed is durable in the data files and a
    /// superblock with this start is durable.
    pub fn fresh_start(&self) -> LogStart {
        let segment = u8::from(self.segment == 0);
        LogStart { segment, pass: self.pass.wrapping_add(2), sequence: self.sequence }
    }

    /// Where the log goes on when it changes to a segment.
    pub(super) fn next_pass_in(&self, segment: u8) -> LogStart {
        LogStart { segment, pass: self.pass.wrapping_add(1), sequence: self.sequence }
    }
}
