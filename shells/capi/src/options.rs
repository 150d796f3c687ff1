//! `holm_options`: the options of an open.

use crate::code::{HOLM_UNSUPPORTED, Refusal};
use crate::raw;
use holm::{Builder, Database, Durability, ImageMode};
use std::ffi::c_char;
use std::time::Duration;

/// The struct of the header. All bits zero is a valid value: the defaults.
#[repr(C)]
pub struct Options {
    size: usize,
    durability: i32,
    interval_ms: u32,
    capacity: u64,
    log_bytes: u64,
    design: *const c_char,
    memory: i32,
    must_exist: i32,
    snapshot_bytes: u64,
}

const _: () = assert!(size_of::<Options>() == 56, "laid out as in the header");

/// No version of the struct is larger.
pub(crate) const LARGEST: usize = 4096;

impl Options {
    /// Reads the options that the caller knows; the other fields are zero.
    ///
    /// # Safety
    /// A pointer that is not NULL points to a size, and to as many bytes as the size says.
    pub(crate) unsafe fn read(pointer: *const Options) -> Result<Self, Refusal> {
        // SAFETY: all fields are numbers, or a pointer that may be NULL.
        let mut options: Options = unsafe { std::mem::zeroed() };
        if pointer.is_null() {
            return Ok(options);
        }
        // SAFETY: by the caller's contract; the size is the first field of every version.
        let size = unsafe { pointer.cast::<usize>().read_unaligned() };
        if !(size_of::<usize>()..=LARGEST).contains(&size) {
            return Err(Refusal::invalid(format!("options of {size} bytes: begin with HOLM_OPTIONS")));
        }
        // SAFETY: by the caller's contract there are `size` bytes behind the pointer, and the copy is at most as long
        // as the struct.
        unsafe {
            let to = (&raw mut options).cast::<u8>();
            to.copy_from_nonoverlapping(pointer.cast(), size.min(size_of::<Options>()));
        }
        let known = size_of::<Options>().min(size);
        // SAFETY: within the `size` bytes behind the pointer.
        let beyond = unsafe { raw::bytes(pointer.cast::<u8>().add(known).cast(), size - known, "the options")? };
        if beyond.iter().any(|byte| *byte != 0) {
            return Err(Refusal::new(HOLM_UNSUPPORTED, "not supported: an option that this version does not know"));
        }
        Ok(options)
    }

    /// Returns a builder with these options.
    ///
    /// # Safety
    /// A design that is not NULL points to bytes that end with a zero.
    pub(crate) unsafe fn builder(&self) -> Result<Builder, Refusal> {
        let durability = match self.durability {
            0 if self.interval_ms == 0 => Durability::default(),
            0 => Durability::Buffered { interval: Duration::from_millis(self.interval_ms.into()) },
            1 => Durability::Strict,
            2 => Durability::OnSync,
            other => return Err(Refusal::invalid(format!("a durability of {other}: expected 0, 1 or 2"))),
        };
        let mut builder = Database::builder().durability(durability);
        let image = if self.memory != 0 { ImageMode::Private } else { ImageMode::Shared };
        builder = builder.image(image).create(self.must_exist == 0);
        if self.capacity != 0 {
            builder = builder.capacity(self.capacity);
        }
        if self.log_bytes != 0 {
            builder = builder.log_bytes(self.log_bytes);
        }
        if self.snapshot_bytes != 0 {
            builder = builder.snapshot_bytes(self.snapshot_bytes);
        }
        if !self.design.is_null() {
            // SAFETY: by the caller's contract.
            builder = builder.design(&unsafe { raw::text(self.design, "the design")? }.to_string_lossy());
        }
        Ok(builder)
    }
}
