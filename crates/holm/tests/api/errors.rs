//! Every way to fail to open has an error of its own, and no attempt harms anything.

use crate::tools::{assert_sound, copy, folder, relaxed};
use holm::{Database, Durability, Error};
use std::io::ErrorKind;
use std::path::Path;

/// A small closed database.
fn made(path: &Path) {
    let db = relaxed(path);
    db.keyspace("s").and_then(|space| space.insert("k", "v")).expect("room");
    db.close().expect("a sound close");
}

#[track_caller]
fn assert_intact(path: &Path) {
    let db = relaxed(path);
    assert_eq!(db.keyspace("s").and_then(|space| space.get("k")).expect("sound").as_deref(), Some(&b"v"[..]));
    assert_sound(&db);
}

#[test]
fn where_there_is_none() {
    let folder = folder();
    for path in [folder.path().to_path_buf(), folder.path().join("absent"), folder.path().join("deep/down")] {
        match Database::builder().create(false).open(&path) {
            Err(Error::NotFound { path: told }) => assert_eq!(told, path),
            other => panic!("{other:?}"),
        }
        match Database::open_read_only(&path) {
            Err(Error::NotFound { path: told }) => assert_eq!(told, path),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing was made");
    match Database::open(folder.path().join("not/to/be/made")) {
        Err(Error::Io { operation, path, kind, source, .. }) => {
            assert_eq!((operation, path), ("creating", folder.path().join("not/to/be/made")));
            assert_eq!((kind, source.kind()), (ErrorKind::NotFound, ErrorKind::NotFound));
        }
        other => panic!("{other:?}"),
    }
    let below = folder.path().join("made");
    made(&below);
    assert_intact(&below);
    Database::builder().create(false).open(&below).expect("it is there now");
}

#[test]
fn a_folder_without_a_database_is_not_repaired() {
    let folder = folder();
    let [empty, into] = ["empty", "into"].map(|name| folder.path().join(name));
    std::fs::create_dir(&empty).expect("room");
    let refused = Database::repair(&empty, &into);
    assert!(matches!(&refused, Err(Error::NotFound { path }) if *path == empty), "{refused:?}");
    assert!(!into.exists(), "nothing was made");
}

#[test]
fn a_folder_of_somebody_else() {
    let folder = folder();
    let file = folder.path().join("thesis.tex");
    std::fs::write(&file, "years of work").expect("room");
    match Database::open(folder.path()) {
        Err(error @ Error::Foreign { .. }) => assert!(error.to_string().contains("thesis.tex"), "{error}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing was made");
    let error = Database::open(&file).expect_err("a file is no folder");
    assert!(!matches!(error, Error::NotFound { .. }), "{error:?}");
    assert_eq!(std::fs::read(&file).expect("there"), b"years of work");
}

#[test]
fn garbage_in_the_superblock() {
    let folder = folder();
    let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
    made(&whole);
    let superblock = std::fs::read(whole.join("superblock")).expect("a superblock");
    let with = |bytes: &[u8]| {
        let _ = std::fs::remove_dir_all(&broken);
        copy(&whole, &broken);
        std::fs::write(broken.join("superblock"), bytes).expect("room");
        let looked = Database::open_read_only(&broken).expect_err("garbage");
        let opened = Database::open(&broken).expect_err("garbage");
        assert_eq!(std::mem::discriminant(&looked), std::mem::discriminant(&opened), "{looked:?} {opened:?}");
        assert_eq!(std::fs::read(broken.join("superblock")).expect("there"), bytes, "left as it was");
        opened
    };
    assert!(matches!(with(b"not a database, but something else entirely"), Error::Foreign { .. }));
    assert!(matches!(with(&vec![0xa5; superblock.len()]), Error::Foreign { .. }));
    let empty = with(b"");
    assert!(matches!(empty, Error::Foreign { .. } | Error::Corrupt { .. }), "{empty:?}");
    let short = with(&superblock[..superblock.len() / 3]);
    assert!(matches!(short, Error::Foreign { .. } | Error::Corrupt { .. }), "{short:?}");
    let mut flipped = superblock.clone();
    (64..superblock.len()).step_by(64).for_each(|at| flipped[at] ^= 1);
    let flipped = with(&flipped);
    assert!(matches!(flipped, Error::Corrupt { .. }), "{flipped:?}");
    assert!(flipped.to_string().contains("expected"), "{flipped}");
    // The version follows the magic number and has a checksum of its own, which no format will change.
    let mut newer = superblock.clone();
    for slot in newer.as_chunks_mut::<4096>().0.iter_mut().filter(|slot| slot.starts_with(b"HolmPool")) {
        slot[8] = 99;
        let sum = crc32c::crc32c(&slot[..12]);
        slot[12..16].copy_from_slice(&sum.to_le_bytes());
    }
    match with(&newer) {
        error @ Error::Version { .. } => assert!(error.to_string().contains("99"), "{error}"),
        other => panic!("{other:?}"),
    }
    assert_intact(&whole);
}

/// The superblock is missing and the data is there: creating a new database would destroy the data.
#[test]
fn a_lost_superblock_is_no_new_database() {
    let folder = folder();
    made(folder.path());
    let kept = std::fs::read(folder.path().join("superblock")).expect("there");
    std::fs::remove_file(folder.path().join("superblock")).expect("there");
    let error = Database::open(folder.path()).expect_err("data without a superblock");
    assert!(matches!(error, Error::Corrupt { .. } | Error::Foreign { .. }), "{error:?}");
    std::fs::write(folder.path().join("superblock"), kept).expect("room");
    assert_intact(folder.path());
}

#[test]
fn a_lost_data_file_is_damage_and_not_absence() {
    let folder = folder();
    for lost in ["leaves", "records", "log.0", "log.1"] {
        let path = folder.path().join(lost);
        made(&path);
        std::fs::remove_file(path.join(lost)).expect("there");
        match Database::open(&path) {
            Err(Error::Corrupt { path: told, found, .. }) => assert_eq!((told, &*found), (path.join(lost), "nothing")),
            other => panic!("without {lost}: {other:?}"),
        }
    }
}

/// The papers' designs are known only to a program that brings a table of them.
#[test]
fn designs() {
    let folder = folder();
    for name in ["b-plus-plus", "blackhole", "fast_fair"] {
        let error = Database::builder().design(name).open(folder.path()).expect_err("no such design");
        assert!(matches!(error, Error::Invalid { .. }) && error.to_string().contains(name), "{error:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing was made");
    made(folder.path());
    match Database::builder().design("holm").open(folder.path()) {
        Err(error @ Error::Geometry { .. }) => {
            let text = error.to_string();
            assert!(text.contains("buffered") && text.contains("holm"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    assert_intact(folder.path());
}

#[test]
fn one_handle_at_a_time() {
    let folder = folder();
    let db = relaxed(folder.path());
    assert!(matches!(Database::open(folder.path()), Err(Error::Locked { .. })));
    assert!(matches!(Database::open_read_only(folder.path()), Err(Error::Locked { .. })));
    let same = db.clone();
    drop(db);
    assert!(matches!(Database::open(folder.path()), Err(Error::Locked { .. })), "a clone holds it too");
    let space = same.keyspace("s").expect("a name");
    let iter = space.iter();
    drop((same, space));
    assert!(matches!(Database::open(folder.path()), Err(Error::Locked { .. })), "and so does an iterator");
    drop(iter);
    Database::open(folder.path()).expect("let go");
}

#[test]
fn after_closing_reads_go_on_and_writes_do_not() {
    for durability in [Durability::OnSync, Durability::default(), Durability::Strict] {
        let folder = folder();
        let db = Database::builder().durability(durability).open(folder.path()).expect("new");
        let (other, space) = (db.clone(), db.keyspace("s").expect("a name"));
        (0..150u32).for_each(|number| space.insert(number.to_be_bytes(), "v").expect("room"));
        let prepared = db.batch().insert(&space, "late", "");
        db.close().expect("a sound close");
        #[track_caller]
        fn refused<T: std::fmt::Debug>(result: holm::Result<T>) {
            match result {
                Err(error @ Error::Poisoned { .. }) => assert!(error.to_string().contains("closed"), "{error}"),
                other => panic!("{other:?}"),
            }
        }
        refused(space.insert("late", ""));
        refused(space.remove(0u32.to_be_bytes()));
        refused(prepared.commit());
        refused(other.batch().remove(&space, 1u32.to_be_bytes()).commit());
        refused(other.keyspace("another"));
        refused(other.drop_keyspace("s"));
        // All completed operations are durable, so success is as correct as a refusal.
        assert!(matches!(other.sync(), Ok(()) | Err(Error::Poisoned { .. })));
        assert_eq!(other.keyspace("s").expect("it is there").len().expect("sound"), 150);
        assert_eq!(space.get(7u32.to_be_bytes()).expect("sound").as_deref(), Some(&b"v"[..]));
        assert_eq!(space.get_many(&[7u32.to_be_bytes()]).expect("sound").len(), 1);
        assert!(!space.contains_key("late").expect("sound"));
        assert_eq!(space.iter().rev().filter(Result::is_ok).count(), 150);
        assert_sound(&other);
        other.close().expect("closed already");
        // The refused write has not reached the files either.
        drop(space);
        let db = relaxed(folder.path());
        assert_eq!(db.recovery().source, holm::RecoveredFrom::CleanShutdown);
        assert_eq!(db.keyspace("s").expect("a name").len().expect("sound"), 150);
        assert_eq!(db.keyspaces().expect("a catalog"), ["default", "s"]);
        assert_sound(&db);
    }
}

#[test]
fn a_folder_that_may_only_be_read() {
    let folder = folder();
    made(folder.path());
    let permit = |mode| {
        use std::os::unix::fs::PermissionsExt;
        let all = ["superblock", "leaves", "records", "log.0", "log.1"].map(|name| folder.path().join(name));
        for path in all.iter().chain([&folder.path().to_path_buf()]) {
            let bits = if path.is_dir() { mode | 0o111 } else { mode };
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).expect("our own files");
        }
    };
    permit(0o444);
    if std::fs::write(folder.path().join("probe"), "").is_ok() {
        std::fs::remove_file(folder.path().join("probe")).expect("just made");
        println!("skipped: this user may write whatever the permissions say");
    } else {
        assert!(matches!(Database::open(folder.path()), Err(Error::ReadOnly { .. })));
        assert!(matches!(Database::open(folder.path().join("below")), Err(Error::ReadOnly { .. })));
        Database::open_read_only(folder.path()).expect("it may be read");
    }
    permit(0o644);
    // A file system that no user can write to.
    match Database::open("/proc/holm") {
        Err(Error::ReadOnly { .. } | Error::Io { .. }) => {}
        Err(Error::NotFound { path }) => println!("no folder can be made at {}", path.display()),
        other => panic!("{other:?}"),
    }
    assert_intact(folder.path());
}

/// When many threads create one database at once, one gets it and the others fail with `Locked`.
#[test]
fn many_make_one_database() {
    for _ in 0..20 {
        let folder = folder();
        let path = folder.path().join("made");
        let barrier = std::sync::Barrier::new(8);
        let open = || {
            barrier.wait();
            Database::builder().capacity(1 << 30).open(&path)
        };
        let opened: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let (won, lost): (Vec<_>, Vec<_>) = opened.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1);
        assert!(lost.iter().all(|lost| matches!(lost, Err(Error::Locked { .. }))), "{lost:?}");
        assert!(!path.join("superblock.new").exists());
    }
}
