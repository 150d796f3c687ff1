//! What a database does while it is stopped: a list of steps for each column.

/// A value of a key: its length and its byte; `None` removes the key.
pub(super) type Written = (usize, u32, Option<(usize, u8)>);

/// A step.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// One key is written alone.
    Write(Written),
    /// Several are written by one transaction.
    Commit(Vec<Written>),
    /// A keyspace is dropped.
    Drop(usize),
    /// Everything so far is made durable.
    Sync,
    /// Records are moved together.
    Compact,
    /// Records are laid in the order of their keys.
    Arrange,
    /// The increment of a backup is applied.
    Apply,
    /// A backup is restored to the folder.
    Restore,
    /// The database is opened.
    Open,
    /// The database is closed.
    Close,
}

/// A column of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Keys are written one by one, and synced.
    Write,
    /// Transactions over two keyspaces, each with an intent.
    Commit,
    /// The log is written around, so that checkpoints free its segments.
    Checkpoint,
    /// A keyspace is dropped, and another session frees what it had.
    Drop,
    /// The database is closed, and its index written.
    Close,
    /// The index is read, and the first write after it makes it invalid.
    Open,
    /// Records are moved, and space is given back.
    Compact,
    /// Records are laid in the order of their keys.
    Arrange,
    /// An increment of a backup is applied.
    Apply,
    /// A backup is restored.
    Restore,
}

impl Work {
    /// All columns.
    pub const ALL: [Work; 10] = [
        Work::Write,
        Work::Commit,
        Work::Checkpoint,
        Work::Drop,
        Work::Close,
        Work::Open,
        Work::Compact,
        Work::Arrange,
        Work::Apply,
        Work::Restore,
    ];

    /// The heading of its column.
    pub fn name(self) -> &'static str {
        match self {
            Work::Write => "write",
            Work::Commit => "commit",
            Work::Checkpoint => "checkpoint",
            Work::Drop => "drop",
            Work::Close => "close",
            Work::Open => "open",
            Work::Compact => "compact",
            Work::Arrange => "key order",
            Work::Apply => "apply",
            Work::Restore => "restore",
        }
    }

    /// Whether a database is open when the work begins.
    pub(super) fn begins_open(self) -> bool {
        !matches!(self, Work::Open | Work::Restore)
    }

    /// What a database has before the work.
    pub(super) fn before(self) -> Vec<Step> {
        match self {
            Work::Restore => Vec::new(),
            // Seven megabytes, of which a tenth is left: large pages behind the first one can go.
            Work::Compact => {
                let large = (0..70).map(|key| (0, key, Some((100_000, 1))));
                let gone = (0..70).filter(|key| key % 10 != 9).map(|key| (0, key, None));
                large.chain(gone).map(Step::Write).collect()
            }
            // Keys that were written in another order: 3 has no divisor with 80.
            Work::Arrange => {
                let far = (0..80).map(|number| number * 3 % 80);
                far.map(|key| Step::Write((0, key, Some((600 + key as usize, 1))))).collect()
            }
            _ => (0..40).map(|key| Step::Write((key as usize % 2, key, Some((8 + 9 * key as usize, 1))))).collect(),
        }
    }

    /// The steps.
    pub(super) fn steps(self) -> Vec<Step> {
        let put = |key: u32, len: usize, byte: u8| Step::Write((key as usize % 2, key, Some((len, byte))));
        match self {
            Work::Write => {
                let steps = (0..24).map(|key| match key % 3 {
                    0 => Step::Write((key as usize % 2, key, None)),
                    _ => put(key * 3, 20 + key as usize, 2),
                });
                steps.chain([Step::Sync, put(7, 9, 3), Step::Sync]).collect()
            }
            Work::Commit => {
                let commit = |number: u8| {
                    let put = |key: u32| (key as usize % 2, key * 5, Some((10 + key as usize, number)));
                    Step::Commit((0..8).map(put).chain([(0, u32::from(number) * 2, None)]).collect())
                };
                vec![commit(2), Step::Sync, commit(3), commit(4), Step::Sync]
            }
            Work::Checkpoint => {
                let large = (0..24).map(|key| put(key % 8, 110_000, key as u8));
                large.flat_map(|put| [put, Step::Sync]).collect()
            }
            Work::Drop => vec![put(5, 30, 2), Step::Drop(1), Step::Sync, put(6, 30, 2), Step::Close, Step::Open],
            Work::Close => vec![put(5, 30, 2), Step::Close],
            Work::Open => vec![Step::Open, put(5, 30, 2), Step::Sync],
            Work::Compact => vec![Step::Compact, put(80, 50_000, 2), Step::Sync],
            Work::Arrange => vec![put(4, 700, 2), Step::Arrange, put(6, 30, 2), Step::Sync],
            Work::Apply => vec![Step::Apply],
            Work::Restore => vec![Step::Restore],
        }
    }
}
