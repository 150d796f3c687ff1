//! An entry that somebody hands over, looked at before it goes into a log. What cannot be read there ends each replica,
//! again and again, for it may be a damaged log. What is read here is read by the functions that apply it.

use crate::entry::{Entry, EntryKind, Input, Part, PartKind};
use crate::fault::{Fault, Result};
use crate::load::{self, LoadEntry};
use crate::requests::each_request;
use crate::slot_entry::SlotEntry;

/// Returns an error unless each replica that knows a level can read an entry.
///
/// # Errors
/// [`Fault::Level`], [`Fault::Malformed`].
///
/// ```
/// assert!(holm_node::check_entry(&[1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 1).is_ok());
/// assert!(holm_node::check_entry(b"an entry", 200).is_err());
/// ```
pub fn check_entry(bytes: &[u8], known: u8) -> Result<()> {
    let entry = Entry::read(bytes, known)?;
    match entry.kind {
        EntryKind::Commands => check_parts(entry.parts),
        EntryKind::Compare => {
            let mut input = Input(entry.parts);
            input.number()?;
            input.number()?;
            check_end(input.0)
        }
        EntryKind::Slots => SlotEntry::read(entry.parts).map(drop),
        // Other steps that cannot be read do nothing.
        EntryKind::Load if load::begins(entry.parts) => {
            LoadEntry::read(entry.parts)?;
            check_end(&entry.parts[17..])
        }
        EntryKind::Load if entry.parts.is_empty() => Err(Fault::malformed("a step in loading a group", "nothing")),
        EntryKind::Load | EntryKind::Sweep | EntryKind::Flush => Ok(()),
    }
}

fn check_parts(bytes: &[u8]) -> Result<()> {
    for part in Part::read_all(bytes)? {
        if !matches!(part.kind, PartKind::Pipeline | PartKind::Transaction) {
            return Err(Fault::malformed("a part that may write", format!("{:?}", part.kind)));
        }
        each_request(part.requests, |_| Ok::<_, Fault>(()))?;
    }
    Ok(())
}

fn check_end(rest: &[u8]) -> Result<()> {
    if rest.is_empty() { Ok(()) } else { Err(Fault::malformed("the end of an entry", format!("{} bytes", rest.len()))) }
}
