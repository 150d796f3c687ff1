//! The records of a damaged database, by the slots of its leaves. A record is believed only if its checksum holds and
//! its key is the one that the slot describes.

use super::area::Source;
use super::evidence::Evidence;
use crate::error::Result;
use crate::record::{self, Place, ReadRecord};
use holm_tree::head::head_of;
use holm_tree::leaf::CopiedSlot;
use xxhash_rust::xxh3::xxh3_64;

/// Records of up to this many words are read at once; of others, first the header.
const SMALL_WORDS: u64 = 512;

/// A record as a slot leads to it.
#[derive(Debug)]
pub(super) enum Led {
    /// To a whole record with the slot's key, in this source.
    Here(ReadRecord, Source),
    /// To a whole record of another key.
    Elsewhere,
    /// To no whole record; why.
    Nowhere(String),
}

impl Evidence {
    /// Returns the record that a slot leads to, from the source that is believed or else from the other one.
    pub(super) fn record_of(&self, slot: &CopiedSlot, skip: usize, believed: Source) -> Result<Led> {
        let believed = if self.has_exact_log() { Source::Log } else { believed };
        let first = self.record_in(believed, slot, skip)?;
        let place = Place::of(slot.slot.payload);
        if matches!(first, Led::Here(..)) || !self.is_logged(place.area, place.offset, place.bytes()) {
            return Ok(first);
        }
        match self.record_in(believed.other(), slot, skip)? {
            here @ Led::Here(..) => Ok(here),
            Led::Elsewhere | Led::Nowhere(_) => Ok(first),
        }
    }

    fn record_in(&self, source: Source, slot: &CopiedSlot, skip: usize) -> Result<Led> {
        let record = match self.read_record(source, slot.slot.payload)? {
            Ok(record) => record,
            Err(why) => return Ok(Led::Nowhere(why)),
        };
        let is_own = head_of(&record.key, skip) == slot.slot.head
            && record.key.len() >= skip
            && slot.fingerprint.is_none_or(|fingerprint| xxh3_64(&record.key) as u8 == fingerprint);
        Ok(if is_own { Led::Here(record, source) } else { Led::Elsewhere })
    }

    /// Reads the record of a payload; the inner error describes why there is none.
    pub(super) fn read_record(&self, source: Source, payload: u64) -> Result<std::result::Result<ReadRecord, String>> {
        let Place { area, offset, words } = Place::of(payload);
        let words = u64::from(words);
        if !self.area(area).may_have(source, &self.lines, offset, words * 8) {
            return Ok(Err(format!("record at {offset:#x} of {words} words lies outside the file")));
        }
        if words > SMALL_WORDS {
            // A length in a leaf that is damaged must not cost memory: the header has to agree with it.
            let mut header = [0; 8];
            self.read(source, area, offset, &mut header)?;
            if record::words_of_header(u64::from_le_bytes(header)) != Some(words) {
                return Ok(Err(format!("record at {offset:#x}: its lengths are not {words} words")));
            }
        }
        let mut copy = vec![0_u64; words as usize];
        if !self.read(source, area, offset, bytemuck::cast_slice_mut(&mut copy))? {
            return Ok(Err(format!("record at {offset:#x} of {words} words lies outside the file")));
        }
        Ok(record::read_copy(&copy).map_err(|fault| format!("record at {offset:#x}: {fault}")))
    }
}
