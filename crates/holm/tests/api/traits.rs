//! What the types promise to the compiler, and how they format themselves.

use crate::tools::{folder, relaxed};
use holm::{Batch, Builder, Database, Durability, Error, Iter, Keyspace, ReadOnlyDatabase, ReadOnlyKeyspace, Report};
use holm::{Slice, Stats};
use std::collections::HashSet;
use std::error::Error as _;
use std::fmt::Debug;
use std::iter::FusedIterator;

fn travels<T: Send + 'static>() {}
fn shares<T: Send + Sync + 'static>() {}
fn clones<T: Clone>() {}
fn shows<T: Debug>() {}

#[test]
fn handles_travel_between_threads_and_carry_no_lifetimes() {
    shares::<Database>();
    shares::<Keyspace>();
    shares::<ReadOnlyDatabase>();
    shares::<ReadOnlyKeyspace>();
    shares::<Slice>();
    shares::<Error>();
    shares::<Stats>();
    shares::<Report>();
    shares::<Builder>();
    shares::<Iter>();
    shares::<Batch>();
    travels::<holm::Result<Option<Slice>>>();
    clones::<Database>();
    clones::<Keyspace>();
    clones::<ReadOnlyDatabase>();
    clones::<ReadOnlyKeyspace>();
    clones::<Slice>();
    clones::<Error>();
    clones::<Builder>();
    shows::<Database>();
    shows::<Batch>();
    shows::<Builder>();
    fn walks<T: DoubleEndedIterator<Item = holm::Result<(Slice, Slice)>> + FusedIterator>() {}
    walks::<Iter>();
    fn fails<T: std::error::Error + Send + Sync + 'static>() {}
    fails::<Error>();
}

#[test]
fn what_is_shown_is_short_whatever_it_holds() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("shown").expect("a name");
    for number in 0..500u32 {
        space.insert(number.to_be_bytes(), vec![1; 1000]).expect("room");
    }
    let batch = (0..500u32).fold(db.batch(), |batch, number| batch.insert(&space, number.to_be_bytes(), [1; 1000]));
    let longest = vec![b'k'; holm::MAX_KEY];
    let mut iter = space.range(&longest[..]..);
    assert!(iter.next().is_none());
    let (folder_name, of) = (folder.path().display().to_string(), |shown: &dyn Debug| format!("{shown:?}"));
    for shown in [of(&db), of(&space), of(&batch), of(&iter), of(&Database::builder()), of(&Error::from_nothing())] {
        assert!(shown.len() < 400 + folder_name.len(), "{} bytes: {shown:.500}", shown.len());
    }
    assert!(of(&db).contains(&folder_name) && of(&space).contains("shown") && of(&batch).contains("500"));
    let large = Slice::from(vec![b'x'; 1 << 20]);
    assert!(of(&large).len() < 400, "a slice of a megabyte is shown in {} bytes", of(&large).len());
    assert_eq!(of(&Slice::from(&b"a\0\xff"[..])), r#"b"a\x00\xff""#);
}

trait FromNothing {
    fn from_nothing() -> Self;
}
impl FromNothing for Error {
    fn from_nothing() -> Self {
        Error::Invalid { what: "nothing".into() }
    }
}

#[test]
fn slices_are_byte_strings() {
    let (a, b) = (Slice::from(&b"a"[..]), Slice::from(b"ab".to_vec()));
    assert!(a < b && a == b"a"[..] && <Slice as PartialEq<&[u8]>>::eq(&b, &&b"ab"[..]) && a == a.clone() && a != b);
    assert_eq!(Vec::from(b.clone()), b"ab");
    assert_eq!((a.len(), a.as_ref(), Slice::from(vec![]).is_empty()), (1, &b"a"[..], true));
    let set: HashSet<Slice> = [a, b].into_iter().collect();
    // Found by its contents: equal hashes through `Borrow`.
    assert!(set.contains(&b"ab"[..]) && !set.contains(&b"b"[..]));
}

#[test]
fn errors_lead_to_their_cause() {
    let folder = folder();
    // A name longer than any file system allows: the system refuses it and says why.
    let name = "file".repeat(100);
    let error = Database::open(folder.path().join(name)).expect_err("a name of 400 bytes");
    let cause = error.source().unwrap_or_else(|| panic!("{error:?} has a cause"));
    assert!(cause.downcast_ref::<std::io::Error>().is_some(), "{cause:?}");
    assert!(error.to_string().contains("file"), "{error} names the path");
    let boxed: Box<dyn std::error::Error + Send + Sync> = error.into();
    assert!(boxed.downcast_ref::<Error>().is_some());
}

#[test]
fn the_default_is_buffered_for_ten_milliseconds() {
    let Durability::Buffered { interval } = Durability::default() else { panic!("buffered is the default") };
    assert_eq!(interval.as_millis(), 10);
}
