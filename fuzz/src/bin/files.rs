//! Arbitrary bytes as damage to the files of a database. An open must return an error, or find what was written. It
//! must never panic and never hang.
//!
//! A closed database has checksums over all its bytes, so whatever it returns without an error is everything that was
//! written. Leaves of a killed database have no checksums except in their pairs. For such a database the test only
//! requires that the open terminates.

#![no_main]

#[path = "../../../crates/holm-proof/tests/store/history.rs"]
#[expect(dead_code, reason = "the tests use more of it than this program")]
mod history;

/// The design of the databases here, for the tests' histories.
mod designs {
    pub(crate) use holm_tree::designs::entries as table;

    pub(crate) const DEFAULT: &str = "buffered";

    pub(crate) struct Tested {
        pub(crate) name: &'static str,
        pub(crate) per_epoch: bool,
    }

    pub(crate) fn tested() -> &'static [Tested] {
        &[Tested { name: DEFAULT, per_epoch: true }]
    }
}

use history::{Contents, History, Mode, Session, contents, random_step};
use holm::{Durability, Error};
use holm_proof::disk::SimDisk;
use libfuzzer_sys::fuzz_target;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use std::path::Path;
use std::sync::LazyLock;

/// A database without damage.
struct FuzzFiles {
    mode: Mode,
    disk: SimDisk,
    /// The history of a closed database, which must be found complete.
    whole: Option<History>,
}

impl FuzzFiles {
    fn new(private: bool, closed: bool) -> FuzzFiles {
        let mode = Mode::new(private, Durability::OnSync);
        let disk = SimDisk::new();
        let db = mode.open(&disk).expect("a sound disk");
        let mut session = Session::begin(db, mode, Contents::new()).expect("a sound disk");
        let (mut random, mut serial) = (Pcg64Mcg::seed_from_u64(7), 0);
        for turn in 0..400 {
            session.step(random_step(&mut random, &mut serial, false));
            if turn % 100 == 99 {
                session.sync();
            }
        }
        let killed = disk.kill();
        if !closed {
            return FuzzFiles { mode, disk: killed, whole: None };
        }
        let mut whole = session.history();
        whole.floor = whole.steps.len();
        session.db.clone().close().expect("a sound disk");
        drop(session);
        FuzzFiles { mode, disk, whole: Some(whole) }
    }
}

static GROUNDS: LazyLock<[FuzzFiles; 4]> =
    LazyLock::new(|| [(false, true), (false, false), (true, true), (true, false)].map(|(a, b)| FuzzFiles::new(a, b)));

/// Applies one change to a file, encoded in seven bytes.
fn damage(disk: &SimDisk, file: &Path, change: &[u8; 7]) {
    let bytes = disk.contents(file).unwrap_or_default();
    let [_, what, low, middle, high, one, other] = *change;
    let Some(place) = (u32::from_le_bytes([low, middle, high, 0]) as usize).checked_rem(bytes.len()) else { return };
    let old = |from: usize, len: usize| &bytes[from..bytes.len().min(from + len)];
    let (at, mut with) = match what % 8 {
        which @ (0 | 1) => {
            disk.truncate(file, if which == 0 { place } else { bytes.len() + place % 10_000 });
            return;
        }
        2 => (place, vec![0; 64]),
        // A misdirected write: a line from another place.
        3 => (usize::from(one) * 64 % bytes.len(), old(place / 64 * 64, 64).to_vec()),
        4 => (place, vec![bytes[place] ^ one]),
        5 => (place, old(place, 8).iter().rev().copied().collect()),
        6 => (place, vec![one, other]),
        _ => (place, (u64::from(one) << (other % 64)).to_le_bytes().to_vec()),
    };
    with.truncate(bytes.len() - at);
    disk.overwrite(file, at, &with);
}

fuzz_target!(|bytes: &[u8]| {
    let Some((which, changes)) = bytes.split_first() else { return };
    let ground = &GROUNDS[usize::from(*which) % GROUNDS.len()];
    let disk = ground.disk.kill();
    let files = disk.files();
    for change in changes.as_chunks().0.iter().take(8) {
        damage(&disk, &files[usize::from(change[0]) % files.len()], change);
    }
    let db = match ground.mode.open(&disk) {
        Ok(db) => db,
        Err(
            Error::Corrupt { .. }
            | Error::Foreign { .. }
            | Error::NotClean { .. }
            | Error::Io { .. }
            | Error::NoSpace { .. },
        ) => return,
        Err(error) => panic!("an error of another kind: {error:?}"),
    };
    let sound = db.check().is_ok_and(|report| report.faults.is_empty());
    match &ground.whole {
        Some(whole) if sound => whole.expect(&contents(&db, "closed"), "closed"),
        _ => {
            for name in db.keyspaces().unwrap_or_default() {
                let Ok(Some(keyspace)) = db.existing_keyspace(&name) else { continue };
                keyspace.iter().for_each(drop);
                keyspace.iter().rev().for_each(drop);
            }
        }
    }
});
