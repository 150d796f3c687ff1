//! Values that take longer to copy than a busy neighbour leaves their leaf as it is.

use crate::tools::{folder, relaxed};
use holm::{Keyspace, Result};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// A copy takes longer than a thread has the processor to itself where both share one.
const LONG: usize = 32 << 20;

static VALUE: LazyLock<Vec<u8>> = LazyLock::new(|| vec![7; LONG]);

fn is_long(value: &[u8]) -> bool {
    value == *VALUE
}

/// Reads the value in every way.
fn read_in_all_ways(db: &holm::Database, space: &Keyspace) -> Result<()> {
    let mut buffer = Vec::new();
    assert!(space.get_into("long", &mut buffer)? && is_long(&buffer));
    assert!(space.get("long")?.is_some_and(|value| is_long(&value)));
    assert!(space.get_many(&["long", "none"])?[0].as_ref().is_some_and(|value| is_long(value)));
    assert!(space.first()?.is_some_and(|(_, value)| is_long(&value)));
    for mut scan in [space.iter(), space.prefix("l")] {
        assert!(scan.next().transpose()?.is_some_and(|(_, value)| is_long(&value)));
    }
    assert!(space.prefix("l").next_back().transpose()?.is_some_and(|(_, value)| is_long(&value)));
    let snapshot = db.snapshot()?;
    let then = snapshot.keyspace("reefs").expect("there");
    assert!(then.get("long")?.is_some_and(|value| is_long(&value)));
    assert!(then.iter().next().transpose()?.is_some_and(|(_, value)| is_long(&value)));
    db.read(|transaction| {
        assert!(transaction.get(space, "long")?.is_some_and(|value| is_long(&value)));
        Ok::<_, holm::Error>(())
    })?;
    db.backup_to(&mut std::io::sink())?;
    Ok(())
}

/// Each of these reads began anew for ever: a neighbour in the same leaf had changed before the copy was complete.
#[test]
fn a_long_value_is_read_beside_a_key_that_always_changes() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("reefs").expect("room");
    space.insert("long", &*VALUE).expect("room");
    let stop = AtomicBool::new(false);
    let (sender, receiver) = channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Relaxed) {
                space.increment("number", 1).expect("room");
            }
        });
        scope.spawn(|| sender.send(read_in_all_ways(&db, &space)));
        let done = receiver.recv_timeout(Duration::from_secs(100));
        stop.store(true, Relaxed);
        done.expect("each read ends").expect("sound");
    });
}
