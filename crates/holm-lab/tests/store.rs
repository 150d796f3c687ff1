//! The store over every design of the list: guarantees of the default designs hold for the others too. What a design
//! does not support is rejected before any file is created.

#![forbid(unsafe_code)]

#[path = "../../holm/tests/api/files.rs"]
mod files;

use files::{contents, rename_design};
use holm::{Builder, Database, Error, ImageMode};
use holm_lab::store::Laboratory;
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn with(design: &str) -> Builder {
    Database::builder().laboratory().design(design).capacity(1 << 30)
}

/// A strict design is created only over the private image. A closed database of it opens read-only like any other.
#[test]
fn whatever_the_design() {
    let shifting = ["fast_fair", "fast_fair_sentinels", "circ", "isle"];
    let others = ["buffered", "wb_tree", "fp_tree", "nv_tree", "lb_tree", "holm_strict", "ss_tree"];
    for design in shifting.into_iter().chain(others) {
        let folder = folder();
        let db = with(design).image(ImageMode::Private).open(folder.path()).expect("a new database");
        // Only leaves with states of epochs can tell what an epoch has changed.
        assert_eq!(matches!(db.feed(1), Err(Error::Unsupported { .. })), design != "buffered", "{design}");
        let space = db.keyspace("s").expect("a name");
        (0..3000u32).for_each(|number| space.insert(number.to_be_bytes(), number.to_le_bytes()).expect("room"));
        (0..1000u32).for_each(|number| assert!(space.remove(number.to_be_bytes()).expect("sound")));
        drop(space);
        db.close().expect("a sound close");
        let before = contents(folder.path());
        let looking = with(design).open_read_only(folder.path()).expect(design);
        assert_eq!((looking.stats().design.as_str(), looking.stats().records), (design, 2000));
        let space = looking.existing_keyspace("s").expect("a catalog").expect("made");
        let keys: Vec<_> = space.iter().map(|pair| pair.expect("sound").0.to_vec()).collect();
        assert!(keys.into_iter().eq((1000..3000u32).map(|number| number.to_be_bytes().to_vec())), "{design}");
        assert_eq!(space.get(1017u32.to_be_bytes()).expect("sound").as_deref(), Some(&1017u32.to_le_bytes()[..]));
        assert_eq!(looking.check().expect("a check").faults, Vec::<String>::new(), "{design}");
        assert_eq!(contents(folder.path()), before, "{design}");
    }
}

#[test]
fn a_design_that_does_not_suit_byte_strings() {
    let made = folder();
    let written = with("borders").image(ImageMode::Private).open(made.path());
    assert_eq!(std::fs::read_dir(made.path()).expect("a folder").count(), 0, "nothing was made");
    let folder = folder();
    drop(with("buffered").open(folder.path()).expect("a new database"));
    rename_design(folder.path(), b"borders\0");
    for error in [written.err(), with("buffered").open_read_only(folder.path()).err()] {
        match error {
            Some(Error::Unsupported { what }) => assert!(what.contains("borders") && what.contains("whole keys")),
            other => panic!("{other:?}"),
        }
    }
}

/// A strict design is not durable per epoch, and the kernel may write back a shared mapping at any time.
#[test]
fn a_strict_design_on_a_shared_image() {
    let folder = folder();
    let error = with("blackhole").open(folder.path()).expect_err("a strict design on a shared image");
    assert!(matches!(error, Error::Unsupported { .. }) && error.to_string().contains("blackhole"), "{error:?}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing was made");
    drop(Database::open(folder.path()).expect("a new database"));
    match with("blackhole").image(ImageMode::Private).open(folder.path()) {
        Err(error @ Error::Geometry { .. }) => {
            let text = error.to_string();
            assert!(text.contains("buffered") && text.contains("blackhole"), "{text}");
        }
        other => panic!("{other:?}"),
    }
}
