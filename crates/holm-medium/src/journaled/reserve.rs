//! How much address space an area reserves.
//!
//! A chosen capacity is reserved or refused. Otherwise an area reserves the most that its file could ever become, and
//! less where one process opens many databases. A reservation leaves as much address space again for the rest of the
//! process, so that no database takes the last of it.

use crate::error::{MediumError, Result};
use crate::region::{Backing, Region};
use crate::vfs::VfsFile;
use std::path::Path;

/// The least address space that an area gets if no capacity was chosen, in bytes.
const LEAST: usize = 1 << 30;

/// The same, as a multiple of what the area holds when it is opened.
const LEAST_GROWTH: usize = 4;

/// How much address space an area gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserve {
    /// This many bytes, which a user has chosen.
    Exactly(usize),
    /// No more than this many bytes, and than the size of the area's file system. Less where the process has too
    /// little address space.
    AtMost(usize),
}

impl Reserve {
    /// Returns the most bytes that the area may ever have.
    pub fn most(self) -> usize {
        match self {
            Reserve::Exactly(bytes) | Reserve::AtMost(bytes) => bytes,
        }
    }
}

/// Reserves address space for an area of `len` bytes, and never less than that.
pub(super) fn reserve_area(
    file: &dyn VfsFile,
    path: &Path,
    reserve: Reserve,
    len: usize,
    backing: Backing,
) -> Result<Region> {
    let wanted = match reserve {
        Reserve::Exactly(bytes) => {
            let bytes = bytes.max(len);
            return Region::reserve(bytes, backing).map_err(|error| refused(path, bytes, &error));
        }
        Reserve::AtMost(bytes) => bytes.max(len),
    };
    let most = file.file_system_bytes().map_or(wanted, |size| most_of(size, wanted, len));
    let least = most.min(LEAST.max(len.saturating_mul(LEAST_GROWTH)));
    Region::reserve_up_to(most, least, backing).map_err(|error| refused(path, least, &error))
}

/// A file does not outgrow its file system, unless the file system itself grows: hence the rounding up.
fn most_of(file_system: u64, wanted: usize, len: usize) -> usize {
    let size = usize::try_from(file_system).ok().and_then(usize::checked_next_power_of_two);
    size.map_or(wanted, |size| wanted.min(size.max(LEAST))).max(len)
}

fn refused(path: &Path, bytes: usize, error: &std::io::Error) -> MediumError {
    let what = format!(
        "the process has no {bytes} bytes of address space left ({error}): open it with a smaller `capacity`, or close \
         other databases of this process"
    );
    MediumError::io("reserving address space for", path, std::io::Error::new(error.kind(), what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vfs::{How, RealFs, Vfs};

    #[test]
    fn a_file_does_not_outgrow_its_file_system() {
        assert_eq!(most_of(300 << 30, 1 << 40, 0), 512 << 30);
        assert_eq!(most_of(300 << 40, 1 << 40, 0), 1 << 40);
        assert_eq!(most_of(1 << 20, 1 << 40, 0), LEAST);
        assert_eq!(most_of(u64::MAX, 1 << 40, 0), 1 << 40);
        // Existing data counts, whatever size the file system reports.
        assert_eq!(most_of(1 << 20, 1 << 40, 3 << 30), 3 << 30);
    }

    #[test]
    #[cfg(not(miri))]
    fn a_refusal_names_the_option() {
        let path = std::env::temp_dir().join(format!("holm-reserve-{}", std::process::id()));
        let file = RealFs.open(&path, How::CREATE).expect("a file of our own");
        let refused = reserve_area(&*file, &path, Reserve::Exactly(1 << 60), 0, Backing::File).map(drop);
        let told = refused.expect_err("more than any process has").to_string();
        assert!(told.contains("capacity") && told.contains(&(1_u64 << 60).to_string()), "{told}");
        let granted = reserve_area(&*file, &path, Reserve::AtMost(1 << 60), 0, Backing::File).expect("less will do");
        assert!(granted.reserved() >= LEAST && granted.reserved() < 1 << 60, "{}", granted.reserved());
        RealFs.remove(&path).expect("our own");
    }
}
