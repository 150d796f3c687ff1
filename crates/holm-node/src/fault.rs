//! Why a call failed. What a client's command did wrong is a reply, and no fault.

use std::fmt;

/// The result of the calls of a node.
pub type Result<T> = std::result::Result<T, Fault>;

/// Why a call failed: what was found, and what was expected.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// The store failed. After a failed write or sync, the process is to end: opening again recovers.
    Store(holm::Error),
    /// Bytes that another node sent, or that lie in the log, are not what they should be.
    Malformed {
        /// What the bytes were to be.
        what: &'static str,
        /// What was found.
        found: String,
    },
    /// An entry was written by a version of the program that this one does not know.
    Level {
        /// The level of the entry.
        found: u8,
        /// The highest level that this version knows.
        known: u8,
    },
    /// The replica differs from the one that leads: one of them is wrong. It must not answer any more.
    Differs {
        /// The mark at which both were compared.
        mark: u64,
        /// The hash of this replica.
        found: u64,
        /// The hash of the one that leads.
        expected: u64,
    },
    /// A call came out of turn, such as an entry whose index is not above the last one.
    Order {
        /// What was found.
        found: String,
    },
}

impl Fault {
    pub(crate) fn malformed(what: &'static str, found: impl Into<String>) -> Self {
        Fault::Malformed { what, found: found.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Store(error) => write!(f, "{error}"),
            Fault::Malformed { what, found } => write!(f, "expected {what}, found {found}"),
            Fault::Level { found, known } => {
                write!(f, "an entry of level {found}, and this version knows levels up to {known}: install a newer one")
            }
            Fault::Differs { mark, found, expected } => {
                write!(
                    f,
                    "the replica differs from its leader: at mark {mark} its hash is {found:#x}, and not {expected:#x}"
                )
            }
            Fault::Order { found } => write!(f, "a call out of turn: {found}"),
        }
    }
}

impl std::error::Error for Fault {}

impl From<holm::Error> for Fault {
    fn from(error: holm::Error) -> Self {
        Fault::Store(error)
    }
}
