//! One slot of the superblock as bytes: encoded, and checked when it is read.

#![forbid(unsafe_code)]

use super::contents::{Geometry, ImageKind, LINE, MAGIC, NAME_BYTES, SLOT, SLOTS, State, Superblock, VERSION};
use crate::epoch::LAST_EPOCH;
use crate::error::{MediumError, Result};
use crate::log::{FIRST_SEGMENTS, LogStart, MOST_SEGMENTS};
use crate::vfs::{FORMAT_PAGE, Identity};
use std::path::Path;

/// Encodes the page of a slot.
///
/// # Errors
///
/// [`MediumError::TooLarge`] for a name that is too long.
pub(super) fn encode(block: &Superblock) -> Result<Vec<u8>> {
    for (what, name) in [("the design's name", &block.geometry.design), ("the version's name", &block.created_by)] {
        if name.len() > NAME_BYTES {
            return Err(MediumError::TooLarge { what, found: name.len() as u64, limit: NAME_BYTES as u64 });
        }
    }
    let mut page = vec![0; SLOT];
    page[..8].copy_from_slice(&MAGIC);
    page[8..12].copy_from_slice(&VERSION.to_le_bytes());
    let crc = crc32c::crc32c(&page[..12]);
    page[12..16].copy_from_slice(&crc.to_le_bytes());
    let mut numbers = Walk { page: &mut page, at: 20, writing: true };
    let mut fields = Fields::of(block);
    fields.walk(&mut numbers);
    let crc = crc32c::crc32c(&page);
    page[16..20].copy_from_slice(&crc.to_le_bytes());
    Ok(page)
}

/// Why a slot is not valid.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    Magic,
    Version(u32),
    Checksum {
        slot: u64,
        found: u32,
        right: u32,
    },
    /// A valid page of the other slot.
    Misplaced {
        slot: u64,
        sequence: u64,
    },
    Line(u32),
    Meaning(u64, &'static str, String, &'static str),
}

impl Fault {
    /// The version, if this program cannot read it.
    pub(super) fn version(&self) -> Option<u32> {
        match self {
            Fault::Version(found) => Some(*found),
            _ => None,
        }
    }

    /// A description, for a slot that is not needed.
    pub(super) fn describe(&self) -> String {
        match self {
            Fault::Checksum { found, right, .. } => format!("checksum {found:08x} over bytes that have {right:08x}"),
            Fault::Misplaced { sequence, .. } => format!("sequence {sequence}, which is the other slot's"),
            _ => "it does not begin as one".into(),
        }
    }

    /// The fault as an error about the whole file.
    pub(super) fn explain(self, path: &Path, bytes: &[u8]) -> MediumError {
        let corrupt = |slot: u64, what, found, expected| MediumError::Corrupt {
            path: path.to_path_buf(),
            offset: slot * FORMAT_PAGE,
            what,
            found,
            expected,
        };
        match self {
            Fault::Magic => foreign(path, bytes),
            Fault::Version(found) => MediumError::Version { found, supported: VERSION },
            Fault::Checksum { slot, found, right } => {
                corrupt(slot, "both superblocks' checksums", format!("{found:08x}"), format!("{right:08x}"))
            }
            Fault::Misplaced { slot, sequence } => {
                corrupt(slot, "the superblock's sequence", sequence.to_string(), "the parity of its slot".into())
            }
            Fault::Line(found) => {
                MediumError::Geometry { what: "size of a line", found: found.to_string(), expected: LINE.to_string() }
            }
            Fault::Meaning(slot, what, found, expected) => corrupt(slot, what, found, expected.into()),
        }
    }
}

/// Decodes the page of a slot.
pub(super) fn decode(page: &[u8], slot: u64) -> std::result::Result<Superblock, Fault> {
    if page[..8] != MAGIC {
        return Err(Fault::Magic);
    }
    let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| page[at + i]));
    let right = crc32c::crc32c(&page[..12]);
    if number(12) != right {
        return Err(Fault::Checksum { slot, found: number(12), right });
    }
    if number(8) != VERSION {
        return Err(Fault::Version(number(8)));
    }
    let mut page = page.to_vec();
    page[16..20].fill(0);
    let (found, right) = (number(16), crc32c::crc32c(&page));
    if found != right {
        return Err(Fault::Checksum { slot, found, right });
    }
    let mut fields = Fields::default();
    fields.walk(&mut Walk { page: &mut page, at: 20, writing: false });
    fields.judge(slot)
}

/// The error for a file that has no room for two slots.
pub(super) fn refuse_a_short_file(path: &Path, bytes: &[u8]) -> MediumError {
    if bytes.len() >= MAGIC.len() && bytes[..MAGIC.len()] != MAGIC {
        return foreign(path, bytes);
    }
    MediumError::Corrupt {
        path: path.to_path_buf(),
        offset: bytes.len() as u64,
        what: "the length of the superblock's file",
        found: format!("{} bytes", bytes.len()),
        expected: format!("{} bytes at least", SLOTS * FORMAT_PAGE),
    }
}

fn foreign(path: &Path, bytes: &[u8]) -> MediumError {
    let quote = |bytes: &[u8]| format!("\"{}\"", bytes.escape_ascii());
    let found = quote(&bytes[..bytes.len().min(MAGIC.len())]);
    MediumError::Foreign { path: path.to_path_buf(), found, expected: quote(&MAGIC) }
}

/// The superblock as plain numbers, in the order of the page.
#[derive(Default)]
struct Fields {
    line: u32,
    sequence: u64,
    uuid: [u8; 16],
    leaf_block: u32,
    keys: u32,
    state: u32,
    image: u32,
    design: [u8; NAME_BYTES],
    created_by: [u8; NAME_BYTES],
    generation: u64,
    epoch: u64,
    boot_id: [u8; 16],
    log: [u64; 3],
    identities: [[u64; 5]; 2],
    lengths: [u64; 2],
    leaves_sum: u32,
}

impl Fields {
    /// One walk for both directions, so that they cannot disagree.
    fn walk(&mut self, page: &mut Walk<'_>) {
        page.u32(&mut self.line);
        page.u64(&mut self.sequence);
        page.bytes(&mut self.uuid);
        page.u32(&mut self.leaf_block);
        page.u32(&mut self.keys);
        page.u32(&mut self.state);
        page.u32(&mut self.image);
        page.bytes(&mut self.design);
        page.bytes(&mut self.created_by);
        page.u64(&mut self.generation);
        page.u64(&mut self.epoch);
        page.bytes(&mut self.boot_id);
        self.log.iter_mut().for_each(|number| page.u64(number));
        self.identities.iter_mut().flatten().for_each(|number| page.u64(number));
        self.lengths.iter_mut().for_each(|number| page.u64(number));
        page.u32(&mut self.leaves_sum);
    }

    /// The caller has checked that the names fit.
    fn of(block: &Superblock) -> Fields {
        let padded = |name: &str| std::array::from_fn(|i| name.as_bytes().get(i).copied().unwrap_or(0));
        let of_file = |id: &Identity| [id.device, id.inode, id.birth_ns, id.file_system, u64::from(id.trusted)];
        Fields {
            line: LINE,
            sequence: block.sequence,
            uuid: block.uuid,
            leaf_block: block.geometry.leaf_block,
            keys: block.geometry.keys,
            state: match block.state {
                State::Clean => 1,
                State::Dirty => 2,
                State::Poisoned => 3,
            },
            image: match block.image {
                ImageKind::Shared => 1,
                ImageKind::Private => 2,
            },
            design: padded(&block.geometry.design),
            created_by: padded(&block.created_by),
            generation: block.boot_generation,
            epoch: block.epoch,
            boot_id: block.boot_id.unwrap_or_default(),
            log: [log_segment(block), block.log_start.pass, block.log_start.sequence],
            identities: [of_file(&block.leaves), of_file(&block.records)],
            lengths: block.lengths,
            leaves_sum: block.leaves_sum,
        }
    }

    fn judge(self, slot: u64) -> std::result::Result<Superblock, Fault> {
        if self.line != LINE {
            return Err(Fault::Line(self.line));
        }
        let strange = |what, found: u64, expected| Fault::Meaning(slot, what, found.to_string(), expected);
        if self.sequence & 1 != slot {
            return Err(Fault::Misplaced { slot, sequence: self.sequence });
        }
        if self.leaf_block == 0 || !self.leaf_block.is_multiple_of(LINE) {
            return Err(strange("the leaf block's size", self.leaf_block.into(), "a multiple of 64"));
        }
        let state = match self.state {
            1 => State::Clean,
            2 => State::Dirty,
            3 => State::Poisoned,
            other => return Err(strange("the database's state", other.into(), "1, 2 or 3")),
        };
        let image = match self.image {
            1 => ImageKind::Shared,
            2 => ImageKind::Private,
            other => return Err(strange("the kind of image", other.into(), "1 or 2")),
        };
        let [segments, pass, sequence] = self.log;
        let (segment, segments) = (segments as u32, (segments >> 32) as u32);
        let segments = if segments == 0 { u32::from(FIRST_SEGMENTS) } else { segments };
        if segments > u32::from(MOST_SEGMENTS) {
            return Err(strange("the number of segments of the log", segments.into(), "16 at most"));
        }
        if segment >= segments {
            return Err(strange(
                "the segment where the log begins",
                segment.into(),
                "less than the number of segments",
            ));
        }
        if self.epoch > LAST_EPOCH {
            return Err(strange("the last epoch in the files", self.epoch, "2^36 - 1 at most"));
        }
        // Each of them is raised; no program ever counted that far.
        if let Some(found) = [self.sequence, self.generation, pass, sequence].iter().find(|count| *count >> 63 != 0) {
            return Err(strange("a count", *found, "less than 2^63"));
        }
        let identity = |[device, inode, birth_ns, file_system, trusted]: [u64; 5]| Identity {
            device,
            inode,
            birth_ns,
            file_system,
            trusted: trusted == 1,
        };
        Ok(Superblock {
            sequence: self.sequence,
            uuid: self.uuid,
            geometry: Geometry {
                leaf_block: self.leaf_block,
                design: text(&self.design).ok_or_else(|| not_text(slot, "the design's name", &self.design))?,
                keys: self.keys,
            },
            boot_generation: self.generation,
            state,
            boot_id: (self.boot_id != [0; 16]).then_some(self.boot_id),
            leaves: identity(self.identities[0]),
            records: identity(self.identities[1]),
            epoch: self.epoch,
            log_start: LogStart { segment: segment as u8, pass, sequence },
            log_segments: segments as u8,
            image,
            lengths: self.lengths,
            leaves_sum: self.leaves_sum,
            created_by: text(&self.created_by).ok_or_else(|| not_text(slot, "the version's name", &self.created_by))?,
        })
    }
}

/// The segment where the log begins, and above it the number of segments. A zero there means two.
fn log_segment(block: &Superblock) -> u64 {
    let segments = if block.log_segments == FIRST_SEGMENTS { 0 } else { block.log_segments };
    u64::from(block.log_start.segment) | u64::from(segments) << 32
}

fn text(padded: &[u8]) -> Option<String> {
    let end = padded.iter().position(|&byte| byte == 0).unwrap_or(padded.len());
    String::from_utf8(padded[..end].to_vec()).ok()
}

fn not_text(slot: u64, what: &'static str, bytes: &[u8]) -> Fault {
    Fault::Meaning(slot, what, bytes.escape_ascii().to_string(), "UTF-8")
}

/// A position in the page; each field advances it.
struct Walk<'a> {
    page: &'a mut [u8],
    at: usize,
    writing: bool,
}

impl Walk<'_> {
    fn bytes(&mut self, field: &mut [u8]) {
        let place = &mut self.page[self.at..self.at + field.len()];
        if self.writing {
            place.copy_from_slice(field);
        } else {
            field.copy_from_slice(place);
        }
        self.at += field.len();
    }

    fn u32(&mut self, field: &mut u32) {
        let mut bytes = field.to_le_bytes();
        self.bytes(&mut bytes);
        *field = u32::from_le_bytes(bytes);
    }

    fn u64(&mut self, field: &mut u64) {
        let mut bytes = field.to_le_bytes();
        self.bytes(&mut bytes);
        *field = u64::from_le_bytes(bytes);
    }
}
