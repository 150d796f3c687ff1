//! What the superblock and the files say against keeping what the page cache has, one reason at a time. In use, other
//! checks would often find the same later, so only this test sees each of them alone.

use crate::session::superblock;
use holm_medium::doubts;
use holm_medium::superblock::{ImageKind, State, Superblock};
use holm_medium::vfs::{Identity, Vfs};
use holm_proof::disk::SimDisk;

/// What is said of a superblock, beside files with the identities that a sound one has.
fn said_of(change: impl FnOnce(&mut Superblock, &mut [Identity; 2])) -> Option<&'static str> {
    let disk = SimDisk::new();
    let mut superblock = Superblock { boot_id: disk.boot_id(), ..superblock() };
    superblock.records.trusted = true;
    let mut identities = [superblock.leaves, superblock.records];
    change(&mut superblock, &mut identities);
    doubts(&disk, &superblock, identities, ImageKind::Shared)
}

#[test]
fn each_reason_for_doubt_is_one_alone() {
    assert_eq!(said_of(|_, _| ()), None);
    let boot = "the machine has been started anew";
    assert_eq!(said_of(|superblock, _| superblock.boot_id = Some([9; 16])), Some(boot));
    assert_eq!(said_of(|superblock, _| superblock.boot_id = None), Some(boot));
    let mark = said_of(|superblock, _| superblock.state = State::Poisoned);
    assert!(mark.is_some_and(|why| why.contains("marked")), "{mark:?}");
    let private = said_of(|superblock, _| superblock.image = ImageKind::Private);
    assert!(private.is_some_and(|why| why.contains("private")), "{private:?}");
    for file in 0..2 {
        let changes: [fn(&mut Identity); 4] =
            [|it| it.device += 1, |it| it.inode += 1, |it| it.birth_ns += 1, |it| it.file_system += 1];
        for change in changes {
            let why = said_of(|_, identities| change(&mut identities[file]));
            assert!(why.is_some_and(|why| why.contains("copies")), "file {file}: {why:?}");
        }
        let why = said_of(|superblock, identities| {
            [&mut superblock.leaves, &mut superblock.records][file].trusted = false;
            identities[file].trusted = false;
        });
        assert!(why.is_some_and(|why| why.contains("page cache")), "file {file}: {why:?}");
    }
}
