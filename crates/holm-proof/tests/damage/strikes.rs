//! Damages: what a disk, a copy or a program does to files.

use crate::lives::{FILES, Life, file, segments};
use holm_medium::vfs::Vfs;
use holm_proof::disk::SimDisk;
use rand::Rng;
use rand_pcg::Pcg64Mcg;

const PAGE: usize = 4096;

/// One damage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Strike {
    Flip {
        file: &'static str,
        byte: usize,
        bit: u8,
    },
    Overwrite {
        file: &'static str,
        at: usize,
        bytes: Vec<u8>,
    },
    Truncate {
        file: &'static str,
        len: usize,
    },
    Remove {
        file: &'static str,
    },
    Zero {
        file: &'static str,
        page: usize,
    },
    Swap {
        file: &'static str,
        pages: [usize; 2],
    },
    /// A page as it was in an earlier session.
    Yesterday {
        file: &'static str,
        page: usize,
    },
    /// A page of one file in another place, which may be in another file.
    Misdirect {
        from: (&'static str, usize),
        to: (&'static str, usize),
    },
    /// A flip in each slot of the superblock.
    BothSlots {
        bytes: [usize; 2],
    },
}

fn len_of(disk: &SimDisk, name: &str) -> usize {
    disk.contents(&file(name)).map_or(0, |bytes| bytes.len())
}

/// Some file of a database; a segment behind the first one as often as one of the others.
fn any_file(life: &Life, random: &mut Pcg64Mcg) -> &'static str {
    let file = FILES[random.random_range(0..FILES.len())];
    let segments = segments(&life.disk);
    if file == "log.1" && segments.len() > 2 { segments[random.random_range(1..segments.len())] } else { file }
}

impl Strike {
    pub(crate) fn random(life: &Life, random: &mut Pcg64Mcg) -> Strike {
        let file = any_file(life, random);
        let len = len_of(&life.disk, file).max(1);
        let pages = len.div_ceil(PAGE);
        match random.random_range(0..20) {
            0..6 => Strike::Flip { file, byte: random.random_range(0..len), bit: random.random_range(0..8) },
            6..9 => {
                let bytes = (0..random.random_range(1..200)).map(|_| random.random()).collect();
                Strike::Overwrite { file, at: random.random_range(0..len), bytes }
            }
            9..11 => Strike::Truncate { file, len: random.random_range(0..len) },
            11 => Strike::Remove { file },
            12..14 => Strike::Zero { file, page: random.random_range(0..pages) },
            14 => Strike::Swap { file, pages: [random.random_range(0..pages), random.random_range(0..pages)] },
            15..17 => Strike::Yesterday { file, page: random.random_range(0..pages) },
            17..19 => {
                let other = any_file(life, random);
                let others = len_of(&life.disk, other).div_ceil(PAGE).max(1);
                Strike::Misdirect {
                    from: (other, random.random_range(0..others)),
                    to: (file, random.random_range(0..pages)),
                }
            }
            _ => Strike::BothSlots { bytes: [random.random_range(0..284), PAGE + random.random_range(0..284)] },
        }
    }

    /// Returns the name of the damaged file.
    pub(crate) fn file(&self) -> &'static str {
        match self {
            Strike::Flip { file, .. }
            | Strike::Overwrite { file, .. }
            | Strike::Truncate { file, .. }
            | Strike::Remove { file }
            | Strike::Zero { file, .. }
            | Strike::Swap { file, .. }
            | Strike::Yesterday { file, .. }
            | Strike::Misdirect { to: (file, _), .. } => file,
            Strike::BothSlots { .. } => "superblock",
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Strike::Flip { .. } => "flip",
            Strike::Overwrite { .. } => "overwrite",
            Strike::Truncate { .. } => "truncate",
            Strike::Remove { .. } => "remove",
            Strike::Zero { .. } => "zero",
            Strike::Swap { .. } => "swap",
            Strike::Yesterday { .. } => "yesterday",
            Strike::Misdirect { .. } => "misdirect",
            Strike::BothSlots { .. } => "both slots",
        }
    }

    /// Whether what lies where it should not is whole, and was once right somewhere or at some time.
    pub(crate) fn is_replay(&self) -> bool {
        matches!(self, Strike::Swap { .. } | Strike::Yesterday { .. } | Strike::Misdirect { .. })
    }

    /// Returns the damaged disk.
    pub(crate) fn apply(&self, life: &Life) -> SimDisk {
        let disk = life.disk.kill();
        let page_of = |from: &SimDisk, name: &str, page: usize| {
            let bytes = from.contents(&file(name)).unwrap_or_default();
            bytes.get(page * PAGE..).map(|rest| rest[..rest.len().min(PAGE)].to_vec()).unwrap_or_default()
        };
        let put = |name: &str, page: usize, bytes: &[u8]| {
            let room = len_of(&disk, name).saturating_sub(page * PAGE).min(bytes.len());
            disk.overwrite(&file(name), page * PAGE, &bytes[..room]);
        };
        match self {
            Strike::Flip { file: name, byte, bit } => assert!(disk.flip(&file(name), *byte, *bit)),
            Strike::Overwrite { file: name, at, bytes } => {
                let room = len_of(&disk, name).saturating_sub(*at).min(bytes.len());
                disk.overwrite(&file(name), *at, &bytes[..room]);
            }
            Strike::Truncate { file: name, len } => assert!(disk.truncate(&file(name), *len)),
            Strike::Remove { file: name } => disk.remove(&file(name)).expect("it is there"),
            Strike::Zero { file: name, page } => put(name, *page, &[0; PAGE]),
            Strike::Swap { file: name, pages } => {
                let [one, two] = pages.map(|page| page_of(&disk, name, page));
                put(name, pages[0], &two);
                put(name, pages[1], &one);
            }
            Strike::Yesterday { file: name, page } => put(name, *page, &page_of(&life.yesterday, name, *page)),
            Strike::Misdirect { from, to } => put(to.0, to.1, &page_of(&disk, from.0, from.1)),
            Strike::BothSlots { bytes } => {
                let slots = file("superblock");
                assert!(bytes.iter().all(|byte| disk.flip(&slots, *byte, 5)));
            }
        }
        disk
    }
}
