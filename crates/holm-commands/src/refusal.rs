//! Why a command has no result: the client asked for what cannot be, or the store failed.

use std::borrow::Cow;

/// The bytes of a client's words that an error repeats.
pub(crate) const MOST_REPEATED: usize = 128;

/// The result of a step of a command.
pub type Outcome<T> = Result<T, Refusal>;

/// What a command answers in place of its result.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// An error reply, with its code as the first word. The command has changed nothing.
    Text(Cow<'static, str>),
    /// The store failed. A conflict begins the command anew.
    Store(holm::Error),
    /// The command visits more than it may here.
    TooLong,
    /// The reply would have more members than is meant: repetitions of the same ones.
    TooMany {
        /// How many.
        members: usize,
    },
}

impl Refusal {
    /// Returns a refusal with a fixed text.
    pub const fn text(text: &'static str) -> Self {
        Refusal::Text(Cow::Borrowed(text))
    }

    /// Returns a refusal with a text made for it.
    pub fn of(text: String) -> Self {
        Refusal::Text(Cow::Owned(text))
    }

    /// Returns the line of the error reply.
    pub fn into_text(self) -> Cow<'static, str> {
        use holm::Error;
        match self {
            Refusal::Text(text) => text,
            Refusal::TooLong => "ERR the command visits too much".into(),
            Refusal::TooMany { .. } => "ERR value is out of range".into(),
            Refusal::Store(Error::NoSpace { .. }) => "OOM command not allowed: the disk is full".into(),
            Refusal::Store(Error::Capacity { .. }) => "OOM command not allowed: the database is at its capacity".into(),
            Refusal::Store(error @ (Error::Poisoned { .. } | Error::Closed { .. })) => {
                Cow::Owned(format!("MISCONF the store accepts no writes: {error}"))
            }
            Refusal::Store(Error::Conflict) => "TRYAGAIN other clients keep changing the same keys".into(),
            Refusal::Store(Error::Ended) => "ERR the snapshot has ended: it kept more than the limit of bytes".into(),
            Refusal::Store(error) => Cow::Owned(format!("ERR {error}")),
        }
    }
}

impl From<holm::Error> for Refusal {
    fn from(error: holm::Error) -> Self {
        Refusal::Store(error)
    }
}

/// The key has a value of another type than the command works on.
pub const WRONG_TYPE: Refusal = Refusal::text("WRONGTYPE Operation against a key holding the wrong kind of value");

/// The options of a command do not parse.
pub const SYNTAX: Refusal = Refusal::text("ERR syntax error");

/// The key does not exist, for commands that need it.
pub const NO_SUCH_KEY: Refusal = Refusal::text("ERR no such key");
