//! The superblock: what must be known of a database before any of its other files can be believed.
//!
//! Two slots of a page each, in the file `pool`, written in turn: a torn write spoils the older state only, and the
//! valid slot with the greater sequence counts. A slot's number is the lowest bit of its sequence, so a write always
//! goes to the slot that is not in force, and one that landed in the other slot is noticed.
//!
//! ```text
//!   0  magic "HolmPool"                    8 bytes     all numbers little-endian
//!   8  format version                      4
//!  12  CRC32C of the 12 bytes before       4           these 16 bytes never change their meaning
//!  16  CRC32C of the page, this field zero 4
//!  20  line bytes                          4
//!  24  sequence                            8
//!  32  uuid                               16
//!  48  leaf block bytes 4, keys kind 4, state 4, image kind 4
//!  64  design, zero-padded                32
//!  96  created by, zero-padded            32
//! 128  boot generation 8, epoch 8
//! 144  boot id                            16           zeros: unknown
//! 160  log start: half 8, pass 8, sequence 8
//! 184  identity of `leaves`, of `records`: device, inode, birth, file system, trusted, 8 each
//! 264  bytes of `leaves`, of `records`, 8 each: what a clean database has at least
//! 280  zeros to the page's end
//! ```
//!
//! The version has a checksum of its own: a file of a later format says so even though this program cannot check the
//! rest of it, and a flipped bit in the version is not taken for one. Promises that [`Superblock::write`] has made the
//! new state durable when it returns; what the states mean, and in which order other files are synced, is left to the
//! journaled medium.

#![forbid(unsafe_code)]

use crate::error::{MediumError, Result};
use crate::log::LogStart;
use crate::vfs::{How, Identity, PAGE, Vfs, VfsFile, read_exact_at, write_all_at};
use std::io;
use std::path::{Path, PathBuf};

/// The format that this program reads and writes.
pub const VERSION: u32 = 1;

/// The longest name of a design, in bytes.
pub const NAME_BYTES: usize = 32;

/// Bytes of the line that every layout is made of.
const LINE: u32 = 64;

const MAGIC: [u8; 8] = *b"HolmPool";
const SLOT: usize = PAGE as usize;
const SLOTS: u64 = 2;

/// The shape of a database, fixed at its creation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes of a leaf block; a multiple of 64.
    pub leaf_block: u32,
    /// The design's name; 1 to [`NAME_BYTES`] bytes.
    pub design: String,
    /// Which kind of keys; the numbers are the store's.
    pub keys: u32,
}

impl Geometry {
    /// An error that names the first difference, if `found` is not this shape.
    ///
    /// # Errors
    ///
    /// [`MediumError::Geometry`].
    pub fn expect(&self, found: &Geometry) -> Result<()> {
        let differs = |what, found: String, expected: String| {
            if found == expected { Ok(()) } else { Err(MediumError::Geometry { what, found, expected }) }
        };
        differs("design", found.design.clone(), self.design.clone())?;
        differs("leaf block size", found.leaf_block.to_string(), self.leaf_block.to_string())?;
        differs("kind of keys", found.keys.to_string(), self.keys.to_string())
    }
}

/// What the last writer left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Everything is in the data files; the log holds nothing that is needed.
    Clean,
    /// A session is running, or died.
    Dirty,
    /// A session met an error that left files and memory in doubt: recover as after a loss of power.
    Poisoned,
}

/// What the image's stores go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// A shared mapping of the data files.
    Shared,
    /// Memory of the process; only checkpoints reach the data files.
    Private,
}

/// The superblock's contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Greater than any written before; [`Superblock::write`] raises it.
    pub sequence: u64,
    /// Name of this database, drawn at random when it was made.
    pub uuid: [u8; 16],
    /// Its shape.
    pub geometry: Geometry,
    /// How often it was opened for writing.
    pub boot_generation: u64,
    /// What the last writer left behind.
    pub state: State,
    /// The machine's boot in which it was last opened; `None` if that was not known.
    pub boot_id: Option<[u8; 16]>,
    /// The `leaves` file as it was then.
    pub leaves: Identity,
    /// The `records` file as it was then.
    pub records: Identity,
    /// Everything up to this epoch is complete in the data files.
    pub epoch: u64,
    /// Where the log goes on from there.
    pub log_start: LogStart,
    /// What the image's stores go to.
    pub image: ImageKind,
    /// Bytes of `leaves` and `records` when this was written: a clean database has no log to say how long they were.
    pub lengths: [u64; 2],
    /// The version of the program that made the database; at most [`NAME_BYTES`] bytes.
    pub created_by: String,
}

/// The file of the superblock.
pub fn pool_path(dir: &Path) -> PathBuf {
    dir.join("pool")
}

impl Superblock {
    /// Makes the file `pool` in `dir`, durably with its name, and gives it back locked. Its appearance is what makes
    /// the directory a database, so every other file must be durable before.
    ///
    /// # Errors
    ///
    /// [`MediumError::Locked`] if somebody else is making one; [`MediumError::Io`] of kind `AlreadyExists` if there is
    /// one; [`MediumError::TooLarge`] for a name that is too long; [`MediumError::NoSpace`],
    /// [`MediumError::ReadOnly`], [`MediumError::Io`].
    pub fn create(&mut self, vfs: &dyn Vfs, dir: &Path) -> Result<Box<dyn VfsFile>> {
        let (path, fresh) = (pool_path(dir), dir.join("pool.new"));
        let doing = "creating the superblock";
        let io = |e: io::Error| MediumError::io(doing, &fresh, e);
        let file = vfs.open(&fresh, How::CREATE).map_err(|e| MediumError::opening_to_write(doing, &fresh, e))?;
        if !file.lock(true).map_err(io)? {
            return Err(MediumError::Locked { path });
        }
        // Looked for under the lock: whoever made one in the meantime held it.
        if vfs.exists(&path).map_err(io)? {
            return Err(MediumError::io(doing, &path, io::ErrorKind::AlreadyExists.into()));
        }
        self.sequence = 1;
        let older = self.encode()?;
        self.sequence = 2;
        let both = [self.encode()?, older].concat();
        file.set_len(0).map_err(io)?;
        write_all_at(&*file, &both, 0).map_err(io)?;
        // Crash before this sync and after the renaming: a name that leads to an empty superblock.
        file.sync_all().map_err(io)?;
        vfs.rename(&fresh, &path).map_err(io)?;
        vfs.sync_dir(dir).map_err(|e| MediumError::io("syncing the directory", dir, e))?;
        Ok(file)
    }

    /// Reads both slots of `file` and gives the one in force. `path` is for messages.
    ///
    /// # Errors
    ///
    /// [`MediumError::Version`] if either slot is of another format; otherwise, if neither is valid,
    /// [`MediumError::Foreign`] or [`MediumError::Corrupt`], saying what was found; [`MediumError::Geometry`] for lines
    /// of another size; [`MediumError::Io`].
    pub fn read(file: &dyn VfsFile, path: &Path) -> Result<Superblock> {
        let io = |e: io::Error| MediumError::io("reading the superblock", path, e);
        let len = file.len().map_err(io)?;
        let mut bytes = vec![0; (SLOTS * PAGE).min(len) as usize];
        read_exact_at(file, &mut bytes, 0).map_err(io)?;
        if len < SLOTS * PAGE {
            return Err(refuse_a_short_file(path, &bytes));
        }
        let slots = [decode(&bytes[..SLOT], 0), decode(&bytes[SLOT..], 1)];
        if let Some(found) = slots.iter().find_map(|slot| slot.as_ref().err().and_then(Fault::version)) {
            return Err(MediumError::Version { found, supported: VERSION });
        }
        match slots {
            [Ok(one), Ok(two)] => Ok(if one.sequence > two.sequence { one } else { two }),
            [Ok(one), Err(fault)] | [Err(fault), Ok(one)] => match fault {
                // A valid checksum over a meaning unknown is no torn write: going back to the older state would lose.
                Fault::Meaning(..) | Fault::Line(_) => Err(fault.explain(path, &bytes)),
                Fault::Magic | Fault::Version(_) | Fault::Checksum { .. } => Ok(one),
            },
            // The fault that tells more: a slot without magic may be a torn one, a broken checksum is Holm's.
            [Err(Fault::Magic), Err(fault)] | [Err(fault), Err(_)] => Err(fault.explain(path, &bytes)),
        }
    }

    /// Writes these contents to the slot that is not in force, under the next sequence, and returns when they are
    /// durable.
    ///
    /// # Errors
    ///
    /// [`MediumError::NoSpace`], [`MediumError::Io`]: either state may be in force then, and the sequence here is
    /// unchanged, so that a mark written afterwards goes to the same slot and not over the other.
    pub fn write(&mut self, file: &dyn VfsFile, path: &Path) -> Result<()> {
        let io = |e: io::Error| MediumError::io("writing the superblock", path, e);
        let mut next = self.clone();
        next.sequence += 1;
        write_all_at(file, &next.encode()?, (next.sequence & 1) * PAGE).map_err(io)?;
        // Crash before this sync: the other slot is untouched and in force.
        file.sync_data().map_err(io)?;
        self.sequence = next.sequence;
        Ok(())
    }

    fn encode(&self) -> Result<Vec<u8>> {
        for (what, name) in [("the design's name", &self.geometry.design), ("the version's name", &self.created_by)] {
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
        let mut fields = Fields::of(self);
        fields.walk(&mut numbers);
        let crc = crc32c::crc32c(&page);
        page[16..20].copy_from_slice(&crc.to_le_bytes());
        Ok(page)
    }
}

/// Why a slot is not valid.
#[derive(Clone, Debug)]
enum Fault {
    Magic,
    Version(u32),
    Checksum { slot: u64, found: u32, right: u32 },
    Line(u32),
    Meaning(u64, &'static str, String, &'static str),
}

impl Fault {
    fn version(&self) -> Option<u32> {
        match self {
            Fault::Version(found) => Some(*found),
            _ => None,
        }
    }

    fn explain(self, path: &Path, bytes: &[u8]) -> MediumError {
        let corrupt = |slot: u64, what, found, expected| MediumError::Corrupt {
            path: path.to_path_buf(),
            offset: slot * PAGE,
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
            Fault::Line(found) => {
                MediumError::Geometry { what: "size of a line", found: found.to_string(), expected: LINE.to_string() }
            }
            Fault::Meaning(slot, what, found, expected) => corrupt(slot, what, found, expected.into()),
        }
    }
}

fn decode(page: &[u8], slot: u64) -> std::result::Result<Superblock, Fault> {
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

fn refuse_a_short_file(path: &Path, bytes: &[u8]) -> MediumError {
    if bytes.len() >= MAGIC.len() && bytes[..MAGIC.len()] != MAGIC {
        return foreign(path, bytes);
    }
    MediumError::Corrupt {
        path: path.to_path_buf(),
        offset: bytes.len() as u64,
        what: "the length of the superblock's file",
        found: format!("{} bytes", bytes.len()),
        expected: format!("{} bytes at least", SLOTS * PAGE),
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
    }

    /// The names were seen to fit.
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
            log: [u64::from(block.log_start.half), block.log_start.pass, block.log_start.sequence],
            identities: [of_file(&block.leaves), of_file(&block.records)],
            lengths: block.lengths,
        }
    }

    fn judge(self, slot: u64) -> std::result::Result<Superblock, Fault> {
        if self.line != LINE {
            return Err(Fault::Line(self.line));
        }
        let strange = |what, found: u64, expected| Fault::Meaning(slot, what, found.to_string(), expected);
        if self.sequence & 1 != slot {
            return Err(strange("the superblock's sequence", self.sequence, "the parity of its slot"));
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
        let [half, pass, sequence] = self.log;
        if half > 1 {
            return Err(strange("the half where the log begins", half, "0 or 1"));
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
            log_start: LogStart { half: half as u8, pass, sequence },
            image,
            lengths: self.lengths,
            created_by: text(&self.created_by).ok_or_else(|| not_text(slot, "the version's name", &self.created_by))?,
        })
    }
}

fn text(padded: &[u8]) -> Option<String> {
    let end = padded.iter().position(|&byte| byte == 0).unwrap_or(padded.len());
    String::from_utf8(padded[..end].to_vec()).ok()
}

fn not_text(slot: u64, what: &'static str, bytes: &[u8]) -> Fault {
    Fault::Meaning(slot, what, bytes.escape_ascii().to_string(), "UTF-8")
}

/// A place in the page, moving on with each field.
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
