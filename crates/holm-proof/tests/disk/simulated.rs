//! The simulated disk itself: it must lose what real disks lose, and keep what they keep.

use holm_medium::vfs::{AlignedBytes, How, Vfs, read_exact_at, write_all_at};
use holm_proof::disk::{Fault, Kind, SECTOR, SimDisk, Undecided};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

fn file() -> &'static Path {
    Path::new("/f")
}

fn synced(bytes: &[u8]) -> io::Result<SimDisk> {
    let disk = SimDisk::new();
    let open = disk.open(file(), How::CREATE)?;
    write_all_at(&*open, bytes, 0)?;
    open.sync_data()?;
    disk.sync_dir(Path::new("/"))?;
    Ok(disk)
}

#[test]
fn each_sector_and_the_length_persist_separately() -> io::Result<()> {
    let disk = synced(&[1; 2 * SECTOR])?;
    let open = disk.open(file(), How::WRITE)?;
    write_all_at(&*open, &[2; 2 * SECTOR], 0)?;
    write_all_at(&*open, &[3; 2 * SECTOR], SECTOR as u64)?;
    let mut seen = BTreeSet::new();
    assert!(disk.for_each_crash(100, |after| {
        let bytes = after.contents(file()).expect("its name is durable");
        seen.insert(bytes.chunks(SECTOR).map(|sector| sector[0]).collect::<Vec<_>>());
    }));
    let longer = [1, 2].iter().flat_map(|a| [1, 2, 3].map(|b| [0, 3].map(|c| vec![*a, b, c]))).flatten();
    let shorter = [1, 2].iter().flat_map(|a| [1, 2, 3].map(|b| vec![*a, b]));
    assert_eq!(seen, longer.chain(shorter).collect());
    open.sync_data()?;
    assert_eq!(disk.undecided(), []);
    Ok(())
}

#[test]
fn no_later_sync_writes_what_a_failed_sync_left() -> io::Result<()> {
    let disk = synced(&[1; SECTOR])?;
    let open = disk.open(file(), How::WRITE)?;
    write_all_at(&*open, &[2; SECTOR], 0)?;
    disk.fail(Kind::Sync, disk.calls().of(Kind::Sync), Fault::Eio);
    assert!(open.sync_data().is_err());
    open.sync_data()?;
    assert_eq!(disk.undecided(), [(Undecided::Sector(0), 2)]);
    assert_eq!(disk.contents(file()), Some(vec![2; SECTOR]), "the cache has it all the same");
    assert_eq!(disk.crash_to_durable().contents(file()), Some(vec![1; SECTOR]));
    write_all_at(&*open, &[3], 0)?;
    open.sync_data()?;
    assert_eq!(disk.undecided(), [], "a later write takes the sector along");
    Ok(())
}

#[test]
fn names_are_durable_with_their_directory_only() -> io::Result<()> {
    let disk = synced(&[1; 10])?;
    let (old, new) = (Path::new("/f"), Path::new("/g"));
    disk.rename(old, new)?;
    assert_eq!(disk.crash_to_durable().files(), [old]);
    assert_eq!(disk.crash_keeping_all().files(), [new]);
    disk.sync_dir(Path::new("/"))?;
    assert_eq!(disk.crash_to_durable().files(), [new]);
    disk.remove(new)?;
    assert_eq!((disk.crash_to_durable().files().len(), disk.crash_keeping_all().files().len()), (1, 0));
    let open = disk.open(old, How::CREATE)?;
    write_all_at(&*open, b"x", 0)?;
    open.sync_all()?;
    assert_eq!(disk.crash_to_durable().files(), [new], "a synced file without a synced name is gone");
    Ok(())
}

#[test]
fn a_directory_is_durable_with_the_one_above_it() -> io::Result<()> {
    let disk = SimDisk::new();
    let (folder, inside) = (Path::new("/d"), Path::new("/d/f"));
    disk.create_dir(folder)?;
    disk.open(inside, How::CREATE)?.sync_all()?;
    disk.sync_dir(folder)?;
    assert_eq!(disk.crash_to_durable().files().len(), 0, "the file is gone with its directory");
    assert_eq!(disk.crash_keeping_all().files(), [inside]);
    disk.sync_dir(Path::new("/"))?;
    assert_eq!(disk.crash_to_durable().files(), [inside]);
    Ok(())
}

#[test]
fn a_write_past_the_cache_is_durable_and_must_be_aligned() -> io::Result<()> {
    let disk = synced(&[0; 8192])?;
    let open = disk.open(file(), How { direct: true, ..How::WRITE })?;
    let mut page = AlignedBytes::zeroed(4096);
    page.as_mut_slice().fill(5);
    open.write_at(page.as_slice(), 4096)?;
    assert_eq!(disk.crash_to_durable().contents(file()).map(|bytes| bytes[4096]), Some(5));
    for (bytes, offset) in [(page.as_slice(), 512), (&page.as_slice()[..512], 0)] {
        assert_eq!(open.write_at(bytes, offset).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
    disk.refuse_direct(true);
    assert!(disk.open(file(), How { direct: true, ..How::WRITE }).is_err());
    Ok(())
}

#[test]
fn the_death_of_a_process_keeps_the_cache_and_frees_its_locks() -> io::Result<()> {
    let disk = synced(&[1; SECTOR])?;
    let open = disk.open(file(), How::WRITE)?;
    assert!(open.lock(true)? && !disk.open(file(), How::READ)?.lock(false)?);
    write_all_at(&*open, &[2; SECTOR], 0)?;
    let after = disk.kill();
    assert!(after.open(file(), How::WRITE)?.lock(true)?);
    assert_eq!(after.contents(file()), Some(vec![2; SECTOR]));
    assert_eq!(after.crash_to_durable().contents(file()), Some(vec![1; SECTOR]));
    drop(open);
    assert!(disk.open(file(), How::READ)?.lock(true)?);
    Ok(())
}

#[test]
fn lost_misdirected_and_torn_writes() -> io::Result<()> {
    let disk = synced(&[1; 4 * SECTOR])?;
    let open = disk.open(file(), How::WRITE)?;
    let next = |ahead| disk.calls().of(Kind::Write) + ahead;
    disk.fail(Kind::Write, next(0), Fault::Lost);
    disk.fail(Kind::Write, next(1), Fault::Misdirected(2));
    disk.fail(Kind::Write, next(2), Fault::TornAt(700));
    write_all_at(&*open, &[2; SECTOR], 0)?;
    open.sync_data()?;
    assert_eq!(disk.contents(file()).map(|bytes| bytes[0]), Some(2));
    write_all_at(&*open, &[3; SECTOR], SECTOR as u64)?;
    assert!(open.write_at(&[4; 2 * SECTOR], 2 * SECTOR as u64).is_err());
    assert!(open.sync_data().is_err(), "the power is off");
    let after = disk.crash_keeping_all().contents(file()).expect("its name is durable");
    let expected = [vec![1; 2 * SECTOR], vec![4; 700], vec![3; SECTOR - (700 - SECTOR)]].concat();
    assert_eq!(after[..3 * SECTOR], expected[..3 * SECTOR]);
    assert_eq!(after[3 * SECTOR..], expected[3 * SECTOR..4 * SECTOR]);
    Ok(())
}

#[test]
fn short_and_interrupted_transfers_are_looped_over() -> io::Result<()> {
    let disk = synced(&[1; 1000])?;
    let open = disk.open(file(), How::WRITE)?;
    for fault in [Fault::Short(7), Fault::Interrupted, Fault::WouldBlock] {
        for kind in [Kind::Read, Kind::Write] {
            disk.fail(kind, disk.calls().of(kind), fault);
        }
        let mut back = [0; 1000];
        let bytes: [u8; 1000] = std::array::from_fn(|i| i as u8);
        write_all_at(&*open, &bytes, 0)?;
        read_exact_at(&*open, &mut back, 0)?;
        assert_eq!(bytes, back);
    }
    disk.fail_from(Kind::Write, 0, Fault::Interrupted);
    assert_eq!(write_all_at(&*open, b"x", 0).unwrap_err().kind(), io::ErrorKind::Interrupted, "given up at last");
    Ok(())
}
