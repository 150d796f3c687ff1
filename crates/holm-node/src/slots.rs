//! Which slots a group answers for, and how one goes from one group to another.
//!
//! A group that has a record of its slots refuses commands about other ones; one without accepts all. A *move* takes
//! slots from a group that owns them to another one. Each state is changed by an entry of the group's own log, so each
//! replica, and each leader, sees it at the same place among the commands:
//!
//! ```text
//! group that gives:  owned -> sending (changes are noted) -> frozen (nothing is answered) -> gone (to the other)
//! group that takes:  importing (nothing is answered) -> owned
//! ```
//!
//! The slots are frozen before the other group owns them. So at each instant one group at most answers for a slot.
//! Each attempt of a move has a number, and a group takes no entry of an attempt that is older than the last one it has
//! heard of: an entry of a driver that is thought dead may still be under way.
//!
//! ```text
//! attempt 8 | phase 1 | peer 8 | sequence 8 | moving | owned | count 4 | (first 2 | last 2 | group 8)*
//! moving, owned: count 4 | (first 2 | last 2)*          little-endian, under the key 01 among the group's rows
//! ```

use crate::entry::Input;
use crate::fault::{Fault, Result};

/// The key among the rows.
pub(crate) const SLOTS_ROW: &[u8] = &[1];

/// The first byte of the rows that note changed keys: `0a` attempt 8, key. The value is the index of the last change.
pub(crate) const JOURNAL: u8 = 10;

/// What a group does in a move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    None = 0,
    Importing = 1,
    Sending = 2,
    Frozen = 3,
    /// A backup is loaded: the group owns no slot until it has all of it. `load.rs` has the steps.
    Loading = 4,
}

/// A range of slots: first and last.
pub(crate) type SlotRange = (u16, u16);

/// The slots of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slots {
    pub(crate) attempt: u64,
    pub(crate) phase: Phase,
    /// The other group of the move; the backup that is loaded.
    pub(crate) peer: u64,
    /// The number of the last chunk, or of the last frame of a backup.
    pub(crate) sequence: u64,
    pub(crate) moving: Vec<SlotRange>,
    pub(crate) owned: Vec<SlotRange>,
    /// Slots that were given to other groups.
    pub(crate) gone: Vec<(SlotRange, u64)>,
}

/// Returns whether a slot is in one of these ranges.
pub(crate) fn contains(ranges: &[SlotRange], slot: u16) -> bool {
    ranges.iter().any(|(first, last)| (*first..=*last).contains(&slot))
}

/// Returns ranges without those of others.
pub(crate) fn without(ranges: &[SlotRange], others: &[SlotRange]) -> Vec<SlotRange> {
    let mut left = ranges.to_vec();
    for (first, last) in others {
        let cut = |(low, high): SlotRange| {
            let before = (low < *first).then(|| (low, high.min(first.wrapping_sub(1))));
            let after = (high > *last).then(|| (low.max(last.wrapping_add(1)), high));
            if high < *first || low > *last { [Some((low, high)), None] } else { [before, after] }
        };
        left = left.into_iter().flat_map(cut).flatten().collect();
    }
    left
}

/// Returns ranges with those of others, in order and joined where they touch.
pub(crate) fn with(ranges: &[SlotRange], others: &[SlotRange]) -> Vec<SlotRange> {
    let mut all = [ranges, others].concat();
    all.sort_unstable();
    let mut joined: Vec<SlotRange> = Vec::new();
    for (first, last) in all {
        match joined.last_mut() {
            Some((_, end)) if u32::from(first) <= u32::from(*end) + 1 => *end = last.max(*end),
            _ => joined.push((first, last)),
        }
    }
    joined
}

impl Slots {
    /// Returns why a slot is not answered for; `None` if it is.
    pub(crate) fn refusal(&self, slot: u16) -> Option<String> {
        if contains(&self.owned, slot) {
            let is_frozen = self.phase == Phase::Frozen && contains(&self.moving, slot);
            return is_frozen.then(|| format!("TRYAGAIN slot {slot} is being moved"));
        }
        if self.phase == Phase::Loading {
            return Some(format!("TRYAGAIN slot {slot} is being loaded from a backup"));
        }
        let to = self.gone.iter().find(|(range, _)| contains(&[*range], slot));
        Some(to.map_or_else(|| format!("ELSEWHERE {slot}"), |(_, group)| format!("ELSEWHERE {slot} {group}")))
    }

    /// Returns whether changes of a slot's keys are noted.
    pub(crate) fn notes(&self, slot: u16) -> bool {
        self.phase == Phase::Sending && contains(&self.moving, slot)
    }

    /// Returns whether all slots of ranges are owned.
    pub(crate) fn owns(&self, ranges: &[SlotRange]) -> bool {
        without(ranges, &self.owned).is_empty()
    }

    /// Returns whether no slot of ranges is owned.
    pub(crate) fn owns_none(&self, ranges: &[SlotRange]) -> bool {
        without(&self.owned, ranges) == self.owned
    }

    /// Returns whether slots of the group are being moved, or a backup is loaded.
    pub(crate) fn is_moving(&self) -> bool {
        self.phase != Phase::None
    }

    /// Returns whether the group is the one that gives in a move.
    pub(crate) fn gives(&self) -> bool {
        matches!(self.phase, Phase::Sending | Phase::Frozen)
    }

    /// Ends what the group does in a move.
    pub(crate) fn rest(&mut self) {
        (self.phase, self.peer, self.sequence) = (Phase::None, 0, 0);
        self.moving.clear();
    }

    /// Begins another part in a move.
    pub(crate) fn begin(&mut self, phase: Phase, peer: u64, moving: &[SlotRange]) {
        (self.phase, self.peer, self.sequence) = (phase, peer, 0);
        self.moving = with(moving, &[]);
    }

    /// Takes the slots of the move over.
    pub(crate) fn take(&mut self) {
        self.owned = with(&self.owned, &self.moving);
        let gone = self
            .gone
            .iter()
            .flat_map(|(range, to)| without(&[*range], &self.moving).into_iter().map(|left| (left, *to)));
        self.gone = gone.collect();
        self.rest();
    }

    /// Gives the slots of the move away.
    pub(crate) fn give(&mut self) {
        self.owned = without(&self.owned, &self.moving);
        self.gone.extend(self.moving.iter().map(|range| (*range, self.peer)));
        self.rest();
    }

    /// Returns what is answered for in this state and in another one.
    pub(crate) fn common(&self, other: &Slots) -> Slots {
        let answered = |slots: &Slots| {
            if slots.phase == Phase::Frozen { without(&slots.owned, &slots.moving) } else { slots.owned.clone() }
        };
        let (here, there) = (answered(self), answered(other));
        let owned = without(&here, &without(&here, &there));
        Slots { owned, ..other.clone() }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.attempt.to_le_bytes().to_vec();
        bytes.push(self.phase as u8);
        bytes.extend(self.peer.to_le_bytes());
        bytes.extend(self.sequence.to_le_bytes());
        append_ranges(&self.moving, &mut bytes);
        append_ranges(&self.owned, &mut bytes);
        bytes.extend((self.gone.len() as u32).to_le_bytes());
        for ((first, last), group) in &self.gone {
            bytes.extend(first.to_le_bytes());
            bytes.extend(last.to_le_bytes());
            bytes.extend(group.to_le_bytes());
        }
        bytes
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Slots> {
        let mut input = Input(bytes);
        let attempt = input.number()?;
        let phase = match input.byte()? {
            0 => Phase::None,
            1 => Phase::Importing,
            2 => Phase::Sending,
            3 => Phase::Frozen,
            4 => Phase::Loading,
            other => return Err(Fault::malformed("a phase of a slot's move", other.to_string())),
        };
        let (peer, sequence) = (input.number()?, input.number()?);
        let (moving, owned) = (read_ranges(&mut input)?, read_ranges(&mut input)?);
        let count = input.count()?;
        let gone = (0..count).map(|_| Ok((range(&mut input)?, input.number()?))).collect::<Result<_>>()?;
        Ok(Slots { attempt, phase, peer, sequence, moving, owned, gone })
    }
}

pub(crate) fn append_ranges(ranges: &[SlotRange], bytes: &mut Vec<u8>) {
    bytes.extend((ranges.len() as u32).to_le_bytes());
    for (first, last) in ranges {
        bytes.extend(first.to_le_bytes());
        bytes.extend(last.to_le_bytes());
    }
}

fn range(input: &mut Input<'_>) -> Result<SlotRange> {
    let half = |bytes: &[u8]| u16::from_le_bytes([bytes[0], bytes[1]]);
    let (first, last) = (half(input.take(2)?), half(input.take(2)?));
    if first > last {
        return Err(Fault::malformed("a range of slots", format!("{first} to {last}")));
    }
    Ok((first, last))
}

/// Reads ranges with their count before them.
pub(crate) fn read_ranges(input: &mut Input<'_>) -> Result<Vec<SlotRange>> {
    let count = input.count()?;
    (0..count).map(|_| range(input)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined_and_cut_as_sets_of_slots_are() {
        let set = |ranges: &[SlotRange]| (0..40).filter(|slot| contains(ranges, *slot)).collect::<Vec<_>>();
        let lists: [&[SlotRange]; 6] =
            [&[], &[(0, 9)], &[(3, 3), (5, 8)], &[(9, 12), (20, 30)], &[(0, 39)], &[(0, 0), (39, 39)]];
        for one in lists {
            for other in lists {
                let (left, both) = (without(one, other), with(one, other));
                let cut: Vec<_> = set(one).into_iter().filter(|slot| !contains(other, *slot)).collect();
                assert_eq!(set(&left), cut, "{one:?} without {other:?}");
                assert_eq!(set(&both), set(&[one, other].concat()), "{one:?} with {other:?}");
                assert!(both.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0), "{both:?}");
            }
        }
        assert_eq!(without(&[(0, u16::MAX)], &[(0, 0), (u16::MAX, u16::MAX)]), [(1, u16::MAX - 1)]);
    }

    #[test]
    fn slots_are_read_as_they_were_written() {
        let slots = Slots {
            attempt: 7,
            phase: Phase::Frozen,
            peer: 3,
            sequence: 9,
            moving: vec![(5, 6)],
            owned: vec![(0, 9), (12, 12)],
            gone: vec![((10, 11), 4)],
        };
        assert_eq!(Slots::read(&slots.to_bytes()).unwrap(), slots);
        assert!(slots.refusal(5).unwrap().starts_with("TRYAGAIN"));
        assert_eq!(slots.refusal(4), None);
        assert_eq!(slots.refusal(11).unwrap(), "ELSEWHERE 11 4");
        assert_eq!(slots.refusal(99).unwrap(), "ELSEWHERE 99");
        assert!(Slots::read(&slots.to_bytes()[..30]).is_err());
    }
}
