//! Entries that fill an empty group from a backup: each has a frame of the stream that a replica gave.
//!
//! ```text
//! begin:   0 | attempt 8 | backup 8
//! frame:   1 | attempt 8 | sequence 8 | frame        the sequence of the first one is 1
//! answer:  0: done, or done before    1 | why it did nothing    2: the group has this backup already
//! ```
//!
//! The frames go through the log, so that every replica has them, one that comes later too. While a group is being
//! loaded it answers for no slot. After the last frame it has the keys, the versions, the time and the slots of the
//! stream, and its own index. A step again does nothing again. A new attempt begins with an empty group.
//!
//! ```text
//! 00 01: pairs 8 | checksum 8     of the frames so far        00 02, 00 03: the state and the slots of the stream
//! 00 04: attempt 8 | backup 8     where the group is from     little-endian, among the group's rows
//! ```

use crate::apply::{Attempt, Stop};
use crate::entry::{Entry, Input};
use crate::fault::{Fault, Result};
use crate::frame::{self, Frame};
use crate::group::Group;
use crate::slots::{Phase, SLOTS_ROW, Slots};
use crate::state::{STATE, State};
use holm_commands::{Area, Store};
use std::sync::Arc;

const PROGRESS: &[u8] = &[0, 1];
const KEPT_STATE: &[u8] = &[0, 2];
const KEPT_SLOTS: &[u8] = &[0, 3];
pub(crate) const ORIGIN: &[u8] = &[0, 4];

/// The first byte of rows about the group itself.
const OWN: u8 = 0;

/// A step in loading a group.
pub(crate) enum LoadEntry<'a> {
    Begin { attempt: u64, backup: u64 },
    Frame { attempt: u64, sequence: u64, frame: &'a [u8] },
}

/// Returns whether a step is the first one, after which the group is empty.
pub(crate) fn begins(bytes: &[u8]) -> bool {
    bytes.first() == Some(&0)
}

impl<'a> LoadEntry<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut input = Input(bytes);
        let (kind, attempt) = (input.byte()?, input.number()?);
        match kind {
            0 => Ok(LoadEntry::Begin { attempt, backup: input.number()? }),
            1 => Ok(LoadEntry::Frame { attempt, sequence: input.number()?, frame: input.0 }),
            other => Err(Fault::malformed("a step in loading a group", other.to_string())),
        }
    }
}

pub(crate) fn done() -> Vec<u8> {
    vec![0]
}

fn refused(words: impl AsRef<str>) -> Vec<u8> {
    [&[1], words.as_ref().as_bytes()].concat()
}

/// Two numbers of a row.
type Pair = (u64, u64);

fn pair_of(bytes: &[u8]) -> Result<Pair> {
    let mut input = Input(bytes);
    Ok((input.number()?, input.number()?))
}

fn bytes_of((one, other): Pair) -> Vec<u8> {
    [one.to_le_bytes(), other.to_le_bytes()].concat()
}

/// Returns what the record of slots must be while the group is loaded, or why this attempt does not load it.
fn allowed(
    slots: &Slots,
    keys: u64,
    origin: Option<Pair>,
    (attempt, backup): Pair,
) -> std::result::Result<Slots, Vec<u8>> {
    let is_loading = slots.phase == Phase::Loading;
    if !is_loading && origin.is_some_and(|(_, known)| known == backup) {
        return Err(vec![2]);
    }
    if attempt < slots.attempt {
        return Err(refused("a later attempt was heard of"));
    }
    if is_loading && attempt == slots.attempt {
        let is_first = slots.sequence == 0 && slots.peer == backup;
        return Err(if is_first { done() } else { refused("the attempt has begun already") });
    }
    if !is_loading && slots.is_moving() {
        return Err(refused("slots of the group are being moved"));
    }
    if !is_loading && keys > 0 {
        return Err(refused(format!("the group has {keys} keys: a backup is loaded into a cluster without keys")));
    }
    Ok(Slots { attempt, phase: Phase::Loading, peer: backup, ..Slots::default() })
}

/// Returns the backup that a group is from, or is loaded from; 0 if there is none.
pub(crate) fn backup_of(slots: Option<&Slots>, origin: Option<&[u8]>) -> Result<u64> {
    match slots {
        Some(slots) if slots.phase == Phase::Loading => Ok(slots.peer),
        _ => Ok(origin.map(pair_of).transpose()?.map_or(0, |(_, backup)| backup)),
    }
}

impl Group {
    /// Returns the record of slots of the group once it is being loaded, or the answer if it must not be.
    pub(crate) fn may_load(&self, entry: &LoadEntry<'_>) -> Result<std::result::Result<Arc<Slots>, Vec<u8>>> {
        let LoadEntry::Begin { attempt, backup } = *entry else {
            return Err(Fault::malformed("the first step in loading a group", "another one"));
        };
        let space = self.space();
        let origin = space.rows.get(ORIGIN)?.map(|bytes| pair_of(&bytes)).transpose()?;
        let slots = self.slots();
        let slots = slots.as_deref().cloned().unwrap_or_default();
        Ok(allowed(&slots, space.keys.len()?, origin, (attempt, backup)).map(Arc::new))
    }
}

/// Returns the pairs of a frame, all of which can be read.
fn pairs_of(bytes: &[u8]) -> Result<Vec<(&[u8], &[u8])>> {
    let (mut input, mut pairs) = (Input(bytes), Vec::new());
    while !input.0.is_empty() {
        pairs.push((input.bytes()?, input.bytes()?));
    }
    Ok(pairs)
}

type Applied<T> = std::result::Result<T, Stop>;

impl Attempt<'_> {
    /// Returns whether a backup is being loaded.
    pub(crate) fn is_loading(&self) -> bool {
        self.store.slots.borrow().as_deref().is_some_and(|slots| slots.phase == Phase::Loading)
    }

    /// Applies a frame, and returns the answer. Bytes that cannot be read change nothing: they are an operator's.
    pub(crate) fn load(&self, entry: &Entry<'_>) -> Applied<Vec<u8>> {
        let Ok(LoadEntry::Frame { attempt, sequence, frame }) = LoadEntry::read(entry.parts) else {
            return Ok(refused("no step in loading a group"));
        };
        let slots = self.store.slots.borrow().as_deref().cloned().unwrap_or_default();
        if slots.phase != Phase::Loading || attempt != slots.attempt {
            let origin = self.row(ORIGIN)?.map(|bytes| pair_of(&bytes)).transpose()?;
            let was_last = origin.is_some_and(|(from, _)| from == attempt);
            return Ok(if was_last { done() } else { refused("the group is not loaded by this attempt") });
        }
        if sequence <= slots.sequence {
            return Ok(done());
        }
        let (pairs, before) = self.row(PROGRESS)?.map_or(Ok((0, 0)), |bytes| pair_of(&bytes))?;
        let mut checksum = before;
        match frame::read(frame, &mut checksum) {
            Err(fault) => Ok(refused(fault.to_string())),
            Ok(_) if sequence != slots.sequence + 1 => Ok(refused("a frame out of turn")),
            Ok(Frame::Head) if sequence == 1 => self.go_on(slots, (0, checksum)),
            Ok(Frame::Pairs(area, bytes)) if sequence > 1 => match pairs_of(bytes) {
                Ok(found) => {
                    found.iter().try_for_each(|(key, value)| self.fill(area, key, value))?;
                    self.go_on(slots, (pairs + found.len() as u64, checksum))
                }
                Err(fault) => Ok(refused(fault.to_string())),
            },
            Ok(Frame::End { pairs: all, checksum: expected }) if sequence > 1 => {
                if (all, expected) != (pairs, before) {
                    return Ok(refused(format!("{pairs} pairs of {all}: frames are missing")));
                }
                self.complete(&slots, entry.level)
            }
            Ok(_) => Ok(refused("frames that do not begin with their head")),
        }
    }

    /// Notes how far the frames have come.
    fn go_on(&self, mut slots: Slots, progress: Pair) -> Applied<Vec<u8>> {
        slots.sequence += 1;
        self.put(Area::Rows, PROGRESS, &bytes_of(progress))?;
        self.set_slots(slots)?;
        Ok(done())
    }

    /// Stores a pair of the stream. What the other group noted about itself is kept apart, or means nothing here.
    fn fill(&self, area: Area, key: &[u8], value: &[u8]) -> Applied<()> {
        match (area, key) {
            (Area::Rows, STATE) => self.put(area, KEPT_STATE, value),
            (Area::Rows, SLOTS_ROW) => self.put(area, KEPT_SLOTS, value),
            (Area::Rows, [OWN, ..]) => Ok(()),
            _ => self.put(area, key, value),
        }
    }

    /// Takes over what the stream's group knew, after its last frame. The entry's level counts, and not what this node
    /// knows: nodes of two versions answer the same.
    fn complete(&self, loading: &Slots, level: u8) -> Applied<Vec<u8>> {
        let (state, slots) = (self.row(KEPT_STATE)?, self.row(KEPT_SLOTS)?);
        let read = State::read(state.as_deref()).and_then(|state| state.within(level));
        let read = read.and_then(|state| Ok((state, Slots::read(slots.as_deref().unwrap_or_default())?)));
        let (from, mut slots) = match read {
            Ok((_, slots)) if slots.is_moving() => {
                return Ok(refused("slots were being moved when the stream was taken"));
            }
            Ok(found) => found,
            Err(fault) => return Ok(refused(fault.to_string())),
        };
        for row in [PROGRESS, KEPT_STATE, KEPT_SLOTS] {
            let removed = self.store.remove(0, Area::Rows, row);
            self.known(removed)?.map_err(|words| Fault::malformed("a row that can be removed", words))?;
        }
        self.put(Area::Rows, ORIGIN, &bytes_of((loading.attempt, loading.peer)))?;
        slots.attempt = slots.attempt.max(loading.attempt);
        self.set_slots(slots)?;
        let mut state = self.store.state.get();
        (state.time, state.version) = (state.time.max(from.time), state.version.max(from.version));
        self.store.state.set(state);
        Ok(done())
    }

    fn set_slots(&self, slots: Slots) -> Applied<()> {
        self.put(Area::Rows, SLOTS_ROW, &slots.to_bytes())?;
        *self.store.slots.borrow_mut() = Some(slots.into());
        Ok(())
    }

    fn row(&self, key: &[u8]) -> Applied<Option<holm::Slice>> {
        let found = self.known(self.store.get(0, Area::Rows, key))?;
        Ok(found.map_err(|words| Fault::malformed("a row that can be read", words))?)
    }

    fn put(&self, area: Area, key: &[u8], value: &[u8]) -> Applied<()> {
        let stored = self.known(self.store.insert(0, area, key, value))?;
        Ok(stored.map_err(|words| Fault::malformed("a pair that can be stored", words))?)
    }
}
