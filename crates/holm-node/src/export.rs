//! Keys of slots that go to another group, as chunks: read beside entries that are applied.
//!
//! ```text
//! asked:   0 | slots | key | row            keys of slots, behind a key or within its members
//!          1 | attempt 8                    keys that have changed since the attempt of a move notes them
//!          2 | key | row                    more members of a key
//! answer:  time 8 | is complete 1 | key | row | count 4 | (key | index 8)* | chunk
//! ```
//!
//! A key and a row have their length, of 4 bytes, before them. The answer's key and row say where to go on, unless it
//! is complete. Of changed keys, it has each key with the index of its last change; if the last of them has more
//! members, its row says so.

use crate::entry::Input;
use crate::fault::{Fault, Result};
use crate::group::Group;
use crate::read::answered;
use crate::slot::slot_of;
use crate::slot_entry::journal_row;
use crate::slots::{SlotRange, contains, read_ranges};
use crate::space::Space;
use holm_commands::{Area, CarryPosition, Chunk, Context, Outcome, Range, append_counted};
use std::borrow::Cow;
use std::ops::{Bound, ControlFlow};

/// How many bytes a chunk has, about, and how many keys are looked at for it.
const CHUNK: (usize, usize) = (256 << 10, 50_000);

/// How many changed keys an answer has at most.
const MOST_CHANGED: usize = 1_000;

/// What is asked for.
enum Asked<'a> {
    Slots(Vec<SlotRange>, CarryPosition),
    Changed(u64),
    Members(&'a [u8], &'a [u8]),
}

#[derive(Default)]
struct Answer {
    next: Option<CarryPosition>,
    changed: Vec<(Vec<u8>, Vec<u8>)>,
    chunk: Chunk,
}

impl Group {
    pub(crate) fn export(&self, space: &Space, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let mut input = Input(bytes);
        let asked = match input.byte()? {
            0 => {
                let ranges = read_ranges(&mut input)?;
                let (key, row) = (input.bytes()?.to_vec(), input.bytes()?.to_vec());
                Asked::Slots(ranges, CarryPosition { key, row })
            }
            1 => Asked::Changed(input.number()?),
            2 => Asked::Members(input.bytes()?, input.bytes()?),
            other => return Err(Fault::malformed("what is exported", other.to_string())),
        };
        let (time, answer) = self.at_one_instant(space, |context| {
            let answer = answered(gather(context, &asked))?;
            Ok((context.now, answer.map_err(damaged)?))
        })?;
        out.extend(time.to_le_bytes());
        out.push(u8::from(answer.next.is_none()));
        let next = answer.next.unwrap_or_default();
        for part in [&next.key, &next.row] {
            append_counted(part, out);
        }
        out.extend((answer.changed.len() as u32).to_le_bytes());
        for (key, index) in &answer.changed {
            append_counted(key, out);
            out.extend_from_slice(index);
        }
        out.extend(answer.chunk.bytes);
        Ok(())
    }
}

fn gather(context: &Context<'_>, asked: &Asked<'_>) -> Outcome<Answer> {
    let mut answer = Answer::default();
    match asked {
        Asked::Slots(ranges, from) => {
            let wants = |key: &[u8]| contains(ranges, slot_of(key));
            answer.next = context.carry_out(from, &wants, CHUNK, &mut answer.chunk)?;
        }
        Asked::Members(key, row) => {
            let row = context.carry_key(key, row, CHUNK.0, &mut answer.chunk)?;
            answer.next = row.map(|row| CarryPosition { key: key.to_vec(), row });
        }
        Asked::Changed(attempt) => {
            for (key, index) in changed(context, *attempt)? {
                let row = context.carry_key(&key, &[], CHUNK.0, &mut answer.chunk)?;
                answer.next = row.map(|row| CarryPosition { key: key.clone(), row });
                answer.changed.push((key, index));
                if answer.next.is_some() || answer.chunk.bytes.len() >= CHUNK.0 {
                    break;
                }
            }
        }
    }
    Ok(answer)
}

/// Returns keys that were noted, with the indices of their last changes.
fn changed(context: &Context<'_>, attempt: u64) -> Outcome<Vec<(Vec<u8>, Vec<u8>)>> {
    let (low, high) = (journal_row(attempt, &[]), journal_row(attempt + 1, &[]));
    let range = Range { low: Bound::Included(&low), high: Bound::Excluded(&high), reverse: false };
    let mut found = Vec::new();
    context.store.scan(0, Area::Rows, range, &mut |row, index| {
        found.push((row[low.len()..].to_vec(), index.to_vec()));
        if found.len() == MOST_CHANGED { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(found)
}

fn damaged(words: Cow<'static, str>) -> Fault {
    Fault::malformed("keys that can be read", words)
}
