//! Where the part of a data file ends that was ever written.
//!
//! A data file can end in gigabytes of holes: large pages that were given back, and space that was preallocated. So the
//! file system is asked for its next data, in windows that go from the end to the front. A window without data is
//! dropped, and the one before it is twice as long. A window with data is halved, until it is short enough to be read.
//! A file system can call zeros data. So the words of a window decide, and the search goes on before it.

#![forbid(unsafe_code)]

use super::data_files::Journaled;
use crate::image::Image;
use crate::loc::Area;
use crate::vfs::VfsFile;
use std::ops::Range;

/// Bytes of the shortest window. It is read from its first data on, so this bounds what is read of a hole behind data.
const PIECE: u64 = 64 << 10;

impl Journaled {
    /// Returns where an area's last word lies that is not zero, and ends, in bytes; 0 if there is none. Reads the data
    /// behind that word, and of each hole less than 64 KiB, where the file system shows holes; otherwise all bytes
    /// behind it. No other thread may store meanwhile.
    pub fn written_len(&self, area: Area) -> u64 {
        written_len(&*self.files[area as usize], &self.image, area)
    }
}

fn written_len(file: &dyn VfsFile, image: &Image, area: Area) -> u64 {
    let len = image.area(area).len() as u64 / 8 * 8;
    end_of_words(len, &|offset| file.next_data(offset), &mut |bytes| last_word(image, area, bytes))
}

/// Returns where the last word ends that is not zero. `next_data` has the meaning of [`VfsFile::next_data`], and
/// `last_word` returns where the last such word of a range of bytes ends.
fn end_of_words(
    len: u64,
    next_data: &dyn Fn(u64) -> Option<u64>,
    last_word: &mut dyn FnMut(Range<u64>) -> Option<u64>,
) -> u64 {
    let (mut end, mut window) = (len, PIECE);
    while end > 0 {
        let start = end.saturating_sub(window);
        match next_data(start).filter(|data| *data < end) {
            None => (end, window) = (start, window * 2),
            Some(_) if window > PIECE => window /= 2,
            Some(data) => match last_word(data / 8 * 8..end) {
                Some(found) => return found,
                None => end = start,
            },
        }
    }
    0
}

fn last_word(image: &Image, area: Area, bytes: Range<u64>) -> Option<u64> {
    let words = image.words(area.at(bytes.start), ((bytes.end - bytes.start) / 8) as usize)?;
    let last = words.iter().rposition(|word| word.read() != 0)?;
    Some(bytes.start + (last as u64 + 1) * 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::{Backing, LARGE_PAGE, Region};
    use crate::vfs::{FORMAT_PAGE, How, MemoryFs, TemporaryFs, Vfs, write_all_at};
    use std::io;
    use std::path::Path;

    /// A page of a simulated file.
    #[derive(Clone, Copy, PartialEq)]
    enum Page {
        Hole,
        Zeros,
        /// Its last word that is not zero.
        Word(u64),
    }

    /// A file of pages, and what a search has read of it.
    struct Pages {
        pages: Vec<Page>,
        /// Whether the file system shows holes.
        shown: bool,
        read: Vec<Range<u64>>,
    }

    impl Pages {
        fn of(pages: Vec<Page>, shown: bool) -> Self {
            Pages { pages, shown, read: Vec::new() }
        }

        /// The words one by one, from the end.
        fn walk(&self) -> u64 {
            let words = self.pages.iter().enumerate().rev().find_map(|(page, contents)| match contents {
                Page::Word(word) => Some(page as u64 * FORMAT_PAGE + (word + 1) * 8),
                Page::Hole | Page::Zeros => None,
            });
            words.unwrap_or(0)
        }

        fn search(&mut self) -> u64 {
            let Pages { pages, shown, read } = self;
            let next_data = |offset: u64| {
                let page = offset / FORMAT_PAGE;
                let later = pages.iter().skip(page as usize).position(|page| !*shown || *page != Page::Hole)?;
                Some(((page + later as u64) * FORMAT_PAGE).max(offset))
            };
            let mut last_word = |bytes: Range<u64>| {
                read.push(bytes.clone());
                let words = (bytes.start / FORMAT_PAGE..bytes.end.div_ceil(FORMAT_PAGE)).rev().filter_map(|page| {
                    let Page::Word(word) = pages[page as usize] else { return None };
                    Some(page * FORMAT_PAGE + (word + 1) * 8)
                });
                words.into_iter().find(|end| bytes.start < *end && *end <= bytes.end)
            };
            end_of_words(pages.len() as u64 * FORMAT_PAGE, &next_data, &mut last_word)
        }
    }

    #[test]
    fn a_search_finds_what_a_walk_over_all_words_finds() {
        let mut state = 1_u64;
        let mut next = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for case in 0..3_000 {
            let (count, density) = (next(100), next(20) + 1);
            let pages = (0..count).map(|_| match next(density) {
                0 => Page::Word([0, 511, 77][next(3) as usize]),
                1..4 => Page::Zeros,
                _ => Page::Hole,
            });
            let mut pages = Pages::of(pages.collect(), case % 4 > 0);
            assert_eq!(pages.search(), pages.walk(), "case {case}");
            let is_data = |bytes: &Range<u64>| pages.pages[(bytes.start / FORMAT_PAGE) as usize] != Page::Hole;
            assert!(!pages.shown || pages.read.iter().all(is_data), "case {case} reads from a hole on");
            assert!(pages.read.iter().all(|bytes| bytes.end - bytes.start <= PIECE), "case {case}");
        }
    }

    #[test]
    fn a_long_hole_costs_few_questions_and_no_read() {
        for data in [0, 4096, 1 << 30, (1 << 40) - (3 << 30), (1 << 40) - 4096] {
            let (asked, mut read) = (std::cell::Cell::new(0), 0);
            let next_data = |offset| {
                asked.set(asked.get() + 1);
                (offset < data + FORMAT_PAGE).then_some(data.max(offset))
            };
            let mut last_word = |bytes: Range<u64>| {
                read += bytes.end - bytes.start;
                (bytes.contains(&(data + 16))).then_some(data + 24)
            };
            assert_eq!(end_of_words(1 << 40, &next_data, &mut last_word), data + 24);
            assert!(asked.get() < 100 && read <= PIECE, "{} questions, {read} bytes, data at {data}", asked.get());
        }
    }

    const LEN: usize = 2 * LARGE_PAGE;

    /// A file and its shared mapping.
    struct Mapped {
        file: Box<dyn VfsFile>,
        image: Image,
    }

    impl Mapped {
        fn new(vfs: &dyn Vfs, path: &Path) -> io::Result<Self> {
            let file = vfs.open(path, How::CREATE)?;
            file.set_len(LEN as u64)?;
            let region = Region::reserve(LEN, Backing::File)?;
            region.grow(LEN, file.fd())?;
            Ok(Mapped { file, image: Image::new(region, Region::heap(0)) })
        }

        /// Stores a word through the mapping.
        fn store(&self, offset: u64) {
            self.image.words(Area::Leaves.at(offset), 1).unwrap()[0].fill(7);
        }

        fn search(&self) -> u64 {
            written_len(&*self.file, &self.image, Area::Leaves)
        }

        /// Reads all words, also those of holes.
        fn walk(&self) -> u64 {
            last_word(&self.image, Area::Leaves, 0..LEN as u64).unwrap_or(0)
        }
    }

    /// Changes a file.
    type Change = fn(&Mapped) -> io::Result<()>;

    const MIB: u64 = 1 << 20;

    /// Each change of a file, and where its last word ends then.
    const CASES: [(&str, Change, u64); 13] = [
        ("nothing", |_| Ok(()), 0),
        ("space alone", |mapped| mapped.file.allocate(0, LEN as u64), 0),
        ("zeros", |mapped| write_all_at(&*mapped.file, &[0; 70_000], MIB), 0),
        ("the first word", |mapped| write_all_at(&*mapped.file, &[1], 0), 8),
        ("the last word of a page", |mapped| write_all_at(&*mapped.file, &[1], MIB - 1), MIB),
        ("the last word", |mapped| write_all_at(&*mapped.file, &[1], LEN as u64 - 8), LEN as u64),
        (
            "words far apart",
            |mapped| {
                [0, MIB, 3 * MIB + 4096].into_iter().try_for_each(|at| write_all_at(&*mapped.file, &[1, 0], at))?;
                mapped.file.sync_data()
            },
            3 * MIB + 4104,
        ),
        (
            "a punched middle",
            |mapped| {
                [0, 3 * MIB].into_iter().try_for_each(|at| write_all_at(&*mapped.file, &[1], at))?;
                mapped.file.punch(MIB, MIB)
            },
            3 * MIB + 8,
        ),
        (
            "a punched end, mapped and stored before",
            |mapped| {
                [65_536, 3 * MIB, 4 * MIB - 8].into_iter().for_each(|at| mapped.store(at));
                mapped.file.punch(2 * MIB, 2 * MIB)
            },
            65_544,
        ),
        (
            "a store into a hole",
            |mapped| {
                mapped.store(2 * MIB + 40);
                Ok(())
            },
            2 * MIB + 48,
        ),
        (
            "a store into preallocated space",
            |mapped| {
                mapped.file.allocate(0, LEN as u64)?;
                mapped.file.sync_data()?;
                mapped.store(3 * MIB - 8);
                Ok(())
            },
            3 * MIB,
        ),
        (
            "a store into a punched page that was read since",
            |mapped| {
                mapped.store(MIB);
                mapped.file.punch(0, 2 * MIB)?;
                assert_eq!(mapped.walk(), 0);
                mapped.store(MIB + 4096);
                Ok(())
            },
            MIB + 4104,
        ),
        (
            "a store that was synced, behind pages that were prefaulted",
            |mapped| {
                mapped.file.allocate(0, LEN as u64)?;
                mapped.store(MIB);
                mapped.file.sync_data()?;
                mapped.image.area(Area::Leaves).populate(MIB as usize, MIB as usize);
                mapped.image.area(Area::Leaves).warm(2 * MIB as usize, MIB as usize);
                Ok(())
            },
            MIB + 8,
        ),
    ];

    /// Where the file system shows no holes, the search reads them; the answer is the same.
    #[test]
    #[cfg(not(miri))]
    fn a_search_finds_what_a_walk_finds_in_files_of_the_system() {
        let (disk, memory) = (TemporaryFs::new().unwrap(), MemoryFs::default());
        for (number, (case, change, expected)) in CASES.into_iter().enumerate() {
            for vfs in [&disk as &dyn Vfs, &memory] {
                let mapped = Mapped::new(vfs, &disk.folder().join(number.to_string())).unwrap();
                match change(&mapped) {
                    Err(error) if error.kind() == io::ErrorKind::Unsupported => continue,
                    changed => changed.unwrap(),
                }
                assert_eq!(mapped.search(), expected, "{case}");
                assert_eq!(mapped.walk(), expected, "{case}, word by word");
                assert_eq!(mapped.search(), expected, "{case}, once all pages were read");
            }
        }
    }

    /// A read through a mapping gives a hole of such a file memory.
    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn a_search_reads_no_hole() -> io::Result<()> {
        let mapped = Mapped::new(&MemoryFs::default(), Path::new("/file"))?;
        mapped.store(8);
        let used = mapped.file.disk_bytes()?;
        assert_eq!(mapped.search(), 16);
        let read = mapped.file.disk_bytes()? - used;
        assert!(read < PIECE, "the search has read {read} bytes of the hole");
        mapped.walk();
        assert!(mapped.file.disk_bytes()? >= LEN as u64, "a walk reads it all");
        Ok(())
    }
}
