//! The requests of a part, and the frame of what answers them.

use crate::fault::Fault;
use crate::group::Group;
use crate::slot::slot_of;
use crate::slots::Slots;
use holm_commands::{Arguments, Command, Function, Reply, RequestLimits, RequestParser};

/// Calls `visit` with each request that is not empty.
///
/// # Errors
/// The bytes are no whole requests; those of `visit`.
pub(crate) fn each_request<E: From<Fault>>(
    bytes: &[u8],
    mut visit: impl FnMut(Arguments<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let (mut parser, mut rest, limits) = (RequestParser::default(), bytes, RequestLimits::default());
    while !rest.is_empty() {
        let parsed = parser.parse(rest, &limits).map_err(|error| Fault::malformed("a request", error.0))?;
        let length = parsed.ok_or_else(|| Fault::malformed("a whole request", "a part of one"))?;
        let words = parser.arguments(rest);
        if !words.is_empty() {
            visit(words)?;
        }
        rest = &rest[length..];
        parser.next();
    }
    Ok(())
}

/// Appends what `answer` appends, with its length, of 4 bytes, before it.
pub(crate) fn with_length<E>(out: &mut Vec<u8>, answer: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
    let from = out.len();
    out.extend([0; 4]);
    answer(out)?;
    let length = (out.len() - from - 4) as u32;
    out[from..from + 4].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

/// The answer to a request that [`Group::find`] does not find.
pub(crate) fn unknown() -> Reply {
    Reply::error("ERR unknown command, or wrong number of arguments")
}

impl Group {
    /// Returns the command that a request names, if it is called as it can be.
    pub(crate) fn find(&self, words: &Arguments<'_>) -> Option<&'static Command<Function>> {
        self.index.find(&words[0]).filter(|command| command.check(words).is_ok())
    }

    /// Returns the refusal of a command about a slot that the group does not answer for.
    pub(crate) fn elsewhere(&self, slots: Option<&Slots>, words: &Arguments<'_>) -> Option<Reply> {
        let (slots, command) = (slots?, self.find(words)?);
        let keys = command.keys_of(words);
        keys.into_iter().find_map(|key| slots.refusal(slot_of(key))).map(Reply::error)
    }
}
