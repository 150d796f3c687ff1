//! `holm_options`: the options of an open.

use crate::code::Refusal;
use crate::growing::Growing;
use crate::raw;
use holm::{Builder, Database, Durability, ImageMode, Sweep};
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
    sweep_ms: i64,
}

/// `sweep_ms`: expired records are not removed in the background.
const HOLM_SWEEP_MANUAL: i64 = -1;

const _: () = assert!(size_of::<Options>() == 64, "laid out as in the header");

// SAFETY: as in the header: numbers, and a pointer that may be NULL.
unsafe impl Growing for Options {
    const NAME: &str = "HOLM_OPTIONS";
}

impl Options {
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
        match self.sweep_ms {
            0 => {}
            HOLM_SWEEP_MANUAL => builder = builder.sweep(Sweep::Manual),
            other => {
                let words = |_| Refusal::invalid(format!("a sweep every {other} ms: expected 0, 1 or more, or -1"));
                builder = builder.sweep(Sweep::Every(Duration::from_millis(other.try_into().map_err(words)?)));
            }
        }
        if !self.design.is_null() {
            // SAFETY: by the caller's contract.
            builder = builder.design(&unsafe { raw::text(self.design, "the design")? }.to_string_lossy());
        }
        Ok(builder)
    }
}
