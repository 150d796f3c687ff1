//! Every call fails once, or from then on, or is short: errors are typed, nothing hangs, and nothing is acknowledged
//! after a failure. On a healed disk, recovery finds everything that was guaranteed.

use crate::history::{Contents, History, Mode, Session, contents};
use holm::{Durability, Error};
use holm_proof::disk::{Fault, Kind, SimDisk};

/// What the session below did before it ended.
struct Outcome {
    history: History,
    /// The error that ended it, or that closing returned.
    error: Option<Error>,
}

fn put(key: u32, len: usize) -> Vec<(usize, Vec<u8>, Option<Vec<u8>>)> {
    vec![(key as usize % 2, key.to_be_bytes().to_vec(), Some(vec![key as u8; len]))]
}

/// Opens, writes, syncs, fills half of the log so that a checkpoint is taken, writes more, closes.
fn small_session(disk: &SimDisk, mode: Mode, before: Contents) -> Outcome {
    let begun = mode.open(disk).and_then(|db| Session::begin(db, mode, before.clone()));
    let mut session = match begun {
        Ok(session) => session,
        Err(error) => return Outcome { history: History::from(before), error: Some(error) },
    };
    (0..20).for_each(|key| session.step(put(key, 40)));
    session.sync();
    (20..28).for_each(|key| session.step(put(key, 80_000)));
    session.step((30..40).flat_map(|key| put(key, 30)).collect());
    session.sync();
    session.step(vec![(0, 2_u32.to_be_bytes().to_vec(), None)]);
    session.sync();
    if session.failed.is_some() {
        refuses_everything(&session);
    }
    let closed = session.db.clone().close();
    let mut history = session.history();
    if session.failed.is_none() && closed.is_ok() {
        history.floor = history.steps.len();
    }
    Outcome { history, error: session.failed.take().or(closed.err()) }
}

/// After a failed write or sync nothing is acknowledged any more. Nor is anything while the log has no room, however
/// much memory is released.
fn refuses_everything(session: &Session) {
    let keyspace = session.db.keyspace("north").expect("it was there before");
    let refusals = [
        session.db.sync().err(),
        keyspace.insert("more", "of it").err(),
        keyspace.remove("more").err(),
        session.db.batch().insert(&keyspace, "more", "of it").commit().err(),
    ];
    let full = matches!(session.failed, Some(Error::NoSpace { .. }));
    for refusal in refusals {
        let fits =
            matches!(refusal, Some(Error::Poisoned { .. })) || full && matches!(refusal, Some(Error::NoSpace { .. }));
        assert!(fits, "after {:?}: {refusal:?}", session.failed);
    }
}

/// The thread that ends epochs, or the one that takes checkpoints, dies: every waiting caller gets an error, and
/// closing terminates.
#[test]
fn every_waiter_gets_an_error_when_a_thread_dies() {
    for (mode, beyond) in modes().into_iter().flat_map(|mode| (0..6).map(move |beyond| (mode, beyond))) {
        let disk = SimDisk::new();
        let db = mode.open(&disk).expect("a sound disk");
        let mut session = Session::begin(db, mode, Contents::new()).expect("a sound disk");
        disk.fail(Kind::Sync, disk.calls().of(Kind::Sync) + beyond, Fault::Panic);
        for key in 0..60 {
            if session.failed.is_none() {
                session.step(put(key, 80_000));
                session.sync();
            }
        }
        let failed = session.failed.clone().expect("somebody meets it");
        assert!(matches!(failed, Error::Poisoned { .. }) && failed.to_string().contains("has died"), "{failed}");
        refuses_everything(&session);
        assert!(session.db.clone().close().is_err(), "nobody knows what the thread has left undone");
        let history = session.history();
        drop(session);
        let db = mode.open(&disk).expect("what was durable is there");
        history.expect(&contents(&db, "opened anew"), "opened anew");
    }
}

fn at_every_call(mode: Mode, kind: Kind, fault: Fault, forever: bool, stride: usize) {
    let whole = SimDisk::new();
    small_session(&whole, mode, Contents::new());
    let first = small_session(&whole, mode, Contents::new());
    assert!(first.error.is_none(), "without faults: {:?}", first.error);
    let calls = whole.calls().of(kind);
    for index in (0..calls).step_by(stride) {
        let disk = SimDisk::new();
        let order = if forever { SimDisk::fail_from } else { SimDisk::fail };
        order(&disk, kind, index, fault);
        let context = format!("{mode:?}: {fault:?} at call {index} of {kind:?}, forever: {forever}");
        let created = small_session(&disk, mode, Contents::new());
        expect_typed(&created, &context);
        let opened = if created.error.is_some() { created } else { small_again(&disk, mode, &created, &context) };
        disk.heal();
        let db = mode.open(&disk).unwrap_or_else(|error| panic!("{context}: on the healed disk: {error}"));
        opened.history.expect(&contents(&db, &context), &context);
        let mut session = Session::begin(db, mode, Contents::new()).expect("a healed disk");
        session.step(put(77, 100));
        session.sync();
        assert!(session.failed.is_none(), "{context}: healed, and yet {:?}", session.failed);
    }
}

/// The same again over what the first session left.
fn small_again(disk: &SimDisk, mode: Mode, created: &Outcome, context: &str) -> Outcome {
    let mut before = Contents::new();
    for (space, key, value) in created.history.steps.iter().flatten() {
        match value {
            Some(value) => before.insert((*space, key.clone()), value.clone()),
            None => before.remove(&(*space, key.clone())),
        };
    }
    let outcome = small_session(disk, mode, before);
    expect_typed(&outcome, context);
    outcome
}

fn expect_typed(outcome: &Outcome, context: &str) {
    let typed = match &outcome.error {
        None | Some(Error::Io { .. } | Error::NoSpace { .. } | Error::Poisoned { .. }) => true,
        // The fault may also hit the check whether a database exists.
        Some(Error::Foreign { .. } | Error::Corrupt { .. }) => false,
        Some(_) => false,
    };
    assert!(typed, "{context}: {:?}", outcome.error);
}

fn modes() -> Vec<Mode> {
    Mode::over_designs(&[false, true].map(|private| Mode::new(private, Durability::OnSync)))
}

#[test]
fn an_error_at_any_call() {
    for mode in modes() {
        // Reads and writes are many and alike, page by page.
        for (kind, stride) in [(Kind::Meta, 1), (Kind::Allocate, 1), (Kind::Write, 9), (Kind::Read, 61)] {
            at_every_call(mode, kind, Fault::Eio, false, stride);
        }
        at_every_call(mode, Kind::Any, Fault::Eio, true, 97);
    }
}

#[test]
fn a_sync_that_fails_once_and_then_succeeds() {
    for mode in modes() {
        at_every_call(mode, Kind::Sync, Fault::Eio, false, 1);
    }
}

#[test]
fn a_full_disk_at_any_call() {
    // Most of the time passes until the store looks for space again, which it does for all of them at once.
    std::thread::scope(|scope| {
        for mode in modes() {
            for (kind, forever, stride) in [(Kind::Allocate, true, 1), (Kind::Write, false, 11), (Kind::Any, true, 97)]
            {
                scope.spawn(move || at_every_call(mode, kind, Fault::NoSpace, forever, stride));
            }
        }
    });
}

#[test]
fn short_transfers_change_nothing() {
    for mode in modes() {
        for (kind, fault) in
            [(Kind::Write, Fault::Short(700)), (Kind::Read, Fault::Short(3)), (Kind::Any, Fault::Interrupted)]
        {
            let disk = SimDisk::new();
            (0..400).step_by(2).for_each(|index| disk.fail(kind, index, fault));
            let outcome = small_session(&disk, mode, Contents::new());
            assert!(outcome.error.is_none(), "{mode:?} {fault:?}: {:?}", outcome.error);
            let db = mode.open(&disk).expect("short transfers are looped over");
            outcome.history.expect(&contents(&db, "short"), "short");
        }
    }
}

/// Lack of space for growth is no damage: the call reports it, existing data stays, and with space the call succeeds.
#[test]
fn a_disk_too_full_to_grow() {
    for mode in modes() {
        let disk = SimDisk::new();
        let db = mode.open(&disk).expect("no faults");
        let north = db.keyspace("north").expect("no faults");
        let key = |number: u32| number.to_be_bytes();
        disk.fail_from(Kind::Allocate, disk.calls().of(Kind::Allocate), Fault::NoSpace);
        let full = (0..10_000).find_map(|number| Some((number, north.insert(key(number), [7; 500]).err()?)));
        let (count, error) = full.expect("a disk that is full at last");
        assert!(matches!(error, Error::NoSpace { .. }), "{error:?}");
        assert_eq!(north.len().expect("sound"), u64::from(count));
        assert_eq!(north.get(key(0)).expect("reading").as_deref(), Some(&[7; 500][..]));
        let batch = (0..2_000).fold(db.batch(), |batch, number| batch.insert(&north, key(50_000 + number), [1; 500]));
        assert!(matches!(batch.commit(), Err(Error::NoSpace { .. })));
        assert_eq!(north.len().expect("sound"), u64::from(count), "of a batch without room nothing is done");
        assert!(north.remove(key(1)).expect("removing needs no room"));
        disk.heal();
        north.insert(key(90_000), [9; 500]).expect("there is room again");
        db.sync().expect("nothing is poisoned");
        assert_eq!(db.check().expect("checking").faults, Vec::<String>::new());
        drop(north);
        db.close().expect("nothing is poisoned");
        let db = mode.open(&disk).expect("no faults");
        assert_eq!(db.keyspace("north").and_then(|space| space.len()).expect("no faults"), u64::from(count));
    }
}
