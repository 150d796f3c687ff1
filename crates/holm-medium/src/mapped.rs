//! Media that the CPU reaches by loads and stores: persistent memory, CXL, a tmpfs file, plain memory.
//!
//! One type covers all of them. The flush instruction, the emulated latency and the counting of requests are settings
//! of the open medium. Their branch costs far less than the flush beside it.

use crate::counters::{Counters, Counts};
use crate::error::{MediumError, Result};
use crate::flush::{Flush, spin};
use crate::image::Image;
use crate::latency::Latency;
use crate::loc::{Area, LINE};
use crate::medium::Medium;
use crate::region::{Backing, Region};
use crate::vfs::VfsFile;
use crate::word::Word;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a mapped medium behaves.
#[derive(Clone, Debug)]
pub struct MappedOptions {
    /// The flush instruction; detected by default. [`Flush::Nothing`] where the caches are declared persistent.
    pub flush: Flush,
    /// Emulated latency, *added* to the cost of the real flush. State it beside every figure measured with it.
    pub latency: Latency,
    /// Whether writes, flushes and fences are counted, and the blocks that a medium would write for them.
    pub count: bool,
    /// The most bytes that the leaf area and the record area may ever have: address space, not memory.
    pub reserve: [usize; 2],
}

impl Default for MappedOptions {
    fn default() -> Self {
        MappedOptions {
            flush: Flush::detect(),
            latency: Latency::Nothing,
            count: false,
            reserve: [64 << 30, 512 << 30],
        }
    }
}

/// Persistent memory, CXL, tmpfs or plain memory.
pub struct Mapped {
    image: Arc<Image>,
    files: Option<[Box<dyn VfsFile>; 2]>,
    path: PathBuf,
    options: MappedOptions,
    counters: Counters,
}

impl Mapped {
    /// Plain memory: lost with the process.
    ///
    /// # Errors
    /// `Io` where the address space cannot be reserved.
    pub fn anonymous(options: MappedOptions) -> Result<Self> {
        let reserve = |bytes| {
            Region::reserve(bytes, Backing::Anonymous)
                .map_err(|error| MediumError::io("reserving address space", Path::new("(memory)"), error))
        };
        let image = Image::new(reserve(options.reserve[0])?, reserve(options.reserve[1])?);
        Ok(Mapped {
            image: Arc::new(image),
            files: None,
            path: PathBuf::from("(memory)"),
            options,
            counters: Counters::default(),
        })
    }

    /// Heap memory of fixed sizes, in bytes: for small tests, and for Miri, which cannot map.
    pub fn heap(leaves: usize, records: usize, options: MappedOptions) -> Self {
        let image = Image::heap(leaves, records);
        Mapped {
            image: Arc::new(image),
            files: None,
            path: PathBuf::from("(heap)"),
            options,
            counters: Counters::default(),
        }
    }

    /// Two files of one folder, mapped shared. `backing` is [`Backing::Dax`] for persistent memory, which the kernel
    /// refuses where the file system is not DAX. It is [`Backing::File`] for tmpfs, which survives the death of the
    /// process only.
    ///
    /// # Errors
    /// `Unsupported` for simulated files and where the kernel refuses the mapping; `Io` otherwise.
    pub fn files(path: &Path, files: [Box<dyn VfsFile>; 2], backing: Backing, options: MappedOptions) -> Result<Self> {
        let mut areas = Vec::new();
        for (file, reserve) in files.iter().zip(options.reserve) {
            let fd =
                file.fd().ok_or(MediumError::Unsupported { what: "mapping a file that the kernel does not know" })?;
            let io = |error| MediumError::io("mapping", path, error);
            let region = Region::reserve(reserve, backing).map_err(io)?;
            let len = file.len().map_err(io)?;
            region.grow(len as usize, Some(fd)).map_err(|error| match error.kind() {
                ErrorKind::Unsupported => MediumError::Unsupported { what: "MAP_SYNC: this file system is not DAX" },
                _ => io(error),
            })?;
            areas.push(region);
        }
        let (Some(records), Some(leaves)) = (areas.pop(), areas.pop()) else { unreachable!("two files, two areas") };
        let image = Image::new(leaves, records);
        Ok(Mapped {
            image: Arc::new(image),
            files: Some(files),
            path: path.into(),
            options,
            counters: Counters::default(),
        })
    }

    /// The operations on this medium so far, if it counts them.
    pub fn counts(&self) -> Counts {
        self.counters.sum()
    }

    /// The options of this medium.
    pub fn options(&self) -> &MappedOptions {
        &self.options
    }
}

impl Medium for Mapped {
    #[inline]
    fn image(&self) -> &Arc<Image> {
        &self.image
    }

    #[inline]
    fn wrote(&self, _: &Word, _: u64) {
        if self.options.count {
            self.counters.wrote(1);
        }
    }

    #[inline]
    fn filled(&self, words: &[Word]) {
        if self.options.count {
            self.counters.wrote(words.len() as u64);
        }
    }

    #[inline]
    fn flush(&self, line: u64) {
        if self.options.count {
            self.counters.flushed(line);
        }
        if self.options.flush != Flush::Nothing
            && let Some([word, ..]) = self.image.words(line * LINE, 1)
        {
            self.options.flush.line(word);
        }
        match self.options.latency {
            Latency::Nothing => {}
            Latency::Line(ns) => spin(ns),
            Latency::Fence { .. } => self.counters.pend(),
        }
    }

    #[inline]
    fn fence(&self) {
        if self.options.count {
            self.counters.fenced();
        }
        self.options.flush.fence();
        if let Latency::Fence { fence_ns, line_ns } = self.options.latency {
            let lines = self.counters.take_pending();
            if lines > 0 {
                let all = u64::from(fence_ns) + lines * u64::from(line_ns);
                spin(u32::try_from(all).unwrap_or(u32::MAX));
            }
        }
    }

    fn grow(&self, area: Area, len: u64) -> Result<()> {
        let io = |error| MediumError::io("growing", &self.path, error);
        let file = self.files.as_ref().map(|files| &files[area as usize]);
        if let Some(file) = file {
            let old = file.len().map_err(io)?;
            if len > old {
                file.allocate(old, len - old).map_err(io)?;
            }
        }
        self.image.area(area).grow(len as usize, file.and_then(|file| file.fd())).map_err(io)
    }
}
