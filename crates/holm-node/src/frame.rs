//! The frames of a group as a stream.
//!
//! ```text
//! frame:    length 4 | XXH3 8 of what follows | kind 1 | content
//! head:     1 | "holm group" | format 1                 the first frame
//! pairs:    2 keys, or 3 rows | (key length 4 | key | value length 4 | value)*
//! end:      4 | pairs 8 | XXH3 8 over the checksums of all frames before
//! ```
//!
//! Numbers are little-endian. A stream without its end is none.

use crate::entry::Input;
use crate::fault::{Fault, Result};
use holm_commands::{Area, append_counted};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const HEAD: &[u8] = b"holm group\x01";
const HEADER: usize = 12;

/// What a frame has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    Head,
    Pairs(Area, &'a [u8]),
    End { pairs: u64, checksum: u64 },
}

/// A frame that is being filled.
pub(crate) struct FrameBuffer(Vec<u8>);

impl FrameBuffer {
    fn new(kind: u8) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes.push(kind);
        FrameBuffer(bytes)
    }

    pub(crate) fn head() -> Self {
        let mut frame = FrameBuffer::new(1);
        frame.0.extend_from_slice(HEAD);
        frame
    }

    pub(crate) fn pairs(area: Area) -> Self {
        FrameBuffer::new(if area == Area::Keys { 2 } else { 3 })
    }

    pub(crate) fn end(pairs: u64, checksum: u64) -> Self {
        let mut frame = FrameBuffer::new(4);
        frame.0.extend(pairs.to_le_bytes());
        frame.0.extend(checksum.to_le_bytes());
        frame
    }

    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) {
        for part in [key, value] {
            append_counted(part, &mut self.0);
        }
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there is no pair.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() == HEADER + 1
    }

    /// Returns the bytes of the frame, and adds its checksum to that of the stream.
    pub(crate) fn finish(mut self, stream: &mut u64) -> Vec<u8> {
        let length = (self.0.len() - HEADER) as u32;
        let checksum = xxh3_64(&self.0[HEADER..]);
        self.0[..4].copy_from_slice(&length.to_le_bytes());
        self.0[4..HEADER].copy_from_slice(&checksum.to_le_bytes());
        *stream = xxh3_64_with_seed(&checksum.to_le_bytes(), *stream);
        self.0
    }
}

/// Reads a frame, and adds its checksum to that of the stream.
pub(crate) fn read<'a>(bytes: &'a [u8], stream: &mut u64) -> Result<Frame<'a>> {
    let mut input = Input(bytes);
    let length = input.take(4)?.first_chunk().copied().map_or(0, u32::from_le_bytes);
    let expected = input.number()?;
    if input.0.len() != length as usize {
        return Err(Fault::malformed("a frame as long as it says", format!("{} of {length} bytes", input.0.len())));
    }
    let found = xxh3_64(input.0);
    if found != expected {
        return Err(Fault::malformed("a frame with its checksum", format!("{found:#x}, and not {expected:#x}")));
    }
    *stream = xxh3_64_with_seed(&found.to_le_bytes(), *stream);
    match input.byte()? {
        1 if input.0 == HEAD => Ok(Frame::Head),
        2 => Ok(Frame::Pairs(Area::Keys, input.0)),
        3 => Ok(Frame::Pairs(Area::Rows, input.0)),
        4 => Ok(Frame::End { pairs: input.number()?, checksum: input.number()? }),
        other => Err(Fault::malformed("a frame of a group's stream", format!("kind {other}"))),
    }
}
