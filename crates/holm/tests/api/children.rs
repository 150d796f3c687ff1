//! Child processes: this program starts itself once more for each of them.

use crate::moved;
use crate::tools::{self, assert_sound, folder};
use holm::{Database, Durability, Error, RecoveredFrom};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const PATH: &str = "HOLM_TEST_PATH";
const PART: &str = "HOLM_TEST_PART";

/// A child that has reported that it is ready, and that ends when its standard input does.
pub(crate) struct Other {
    child: Child,
    ask: Option<ChildStdin>,
    /// Kept open, so that the child can still write to it.
    tells: BufReader<ChildStdout>,
    pub(crate) said: String,
}

impl Other {
    pub(crate) fn start(part: &str, path: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("a program"))
            .args(["--exact", "children::the_other_process", "--ignored", "--nocapture", "--test-threads=1"])
            .envs([(PATH, path.as_os_str()), (PART, part.as_ref())])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child");
        let ask = child.stdin.take();
        let tells = BufReader::new(child.stdout.take().expect("piped"));
        let mut other = Other { child, ask, tells, said: String::new() };
        other.listen();
        other
    }

    fn listen(&mut self) {
        let lines = self.tells.by_ref().lines().map_while(Result::ok);
        let said = lines.filter_map(|line| line.split_once("says: ").map(|(_, it)| it.into())).next();
        self.said = said.expect("the child says one thing");
    }

    /// Lets the child continue to its next report.
    pub(crate) fn go_on(&mut self) {
        self.ask.as_mut().and_then(|ask| ask.write_all(b"go on\n").ok()).expect("a child that listens");
        self.listen();
    }

    pub(crate) fn finish(mut self) {
        drop(self.ask.take());
        self.child.wait().expect("our own child");
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().expect("our own child");
        self.child.wait().expect("our own child");
    }
}

/// Runs work on a thread of its own, and reports once the work has called back. The thread ends with the process.
pub(crate) fn begin(words: &str, say: &dyn Fn(&str), work: impl FnOnce(&dyn Fn()) + Send + 'static) {
    let (begun, hear) = std::sync::mpsc::channel();
    std::thread::spawn(move || work(&|| begun.send(()).expect("the main thread")));
    hear.recv().expect("work that begins");
    say(words);
}

/// Not a test: the body of a child.
#[test]
#[ignore = "the part of another process"]
fn the_other_process() {
    let (Some(path), Ok(part)) = (std::env::var_os(PATH), std::env::var(PART)) else { return };
    let say = |words: &str| {
        let mut out = std::io::stdout();
        writeln!(out, "\nsays: {words}").and_then(|()| out.flush()).expect("a listener");
        // Until the parent closes the pipe, or kills this process.
        let _ = std::io::stdin().read_line(&mut String::new());
    };
    match &*part {
        "hold" => {
            let db = tools::open(path).expect("nobody else");
            say("open");
            drop(db);
        }
        "idle" => say("idle"),
        "leave" => say(&moved::leave(Path::new(&path))),
        "rewrite" => match tools::open(path) {
            Ok(db) => {
                let space = db.keyspace("s").expect("a name");
                (0..2_000_u32).for_each(|number| assert!(space.remove(number.to_be_bytes()).expect("sound")));
                space.insert("new", [7; 100]).expect("room");
                drop(space);
                db.close().expect("a sound close");
                say("rewritten");
            }
            Err(error) => say(&error.to_string()),
        },
        "try" => match tools::open(path) {
            Err(Error::Locked { .. }) => say("locked"),
            other => say(&format!("{other:?}")),
        },
        "look" => {
            let looking = Database::open_read_only(path).expect("closed");
            say(&looking
                .existing_keyspace("s")
                .expect("a catalog")
                .map_or(0, |space| space.len().expect("sound"))
                .to_string());
        }
        "write" => {
            let db = tools::builder().durability(Durability::OnSync).open(path).expect("nobody else");
            let space = db.keyspace("s").expect("a name");
            (0..5000u32).for_each(|number| space.insert(number.to_be_bytes(), [1; 50]).expect("room"));
            (0..5000u32).step_by(2).for_each(|number| assert!(space.remove(number.to_be_bytes()).expect("sound")));
            db.batch().insert(&space, "a", "1").insert(&space, "b", "2").commit().expect("room");
            say("acknowledged");
        }
        "count" => {
            let db = tools::builder().durability(Durability::Strict).open(path).expect("nobody else");
            let space = db.keyspace("s").expect("a name");
            let count = |number: u32| space.insert("counter", number.to_be_bytes()).expect("a disk");
            (1..=25).for_each(count);
            say("25");
            (26..=40).for_each(count);
            say("40");
        }
        "reuse" => crate::back_in_time::reuse_until_killed(Path::new(&path), &say),
        "mark" => crate::marks::mark_until_killed(Path::new(&path), &say),
        "apply" => crate::backup_kills::apply_until_killed(Path::new(&path), &say),
        "restore" => crate::backup_kills::restore_until_killed(Path::new(&path), &say),
        "fill address space" => crate::handles::fill_address_space(Path::new(&path), &say),
        "expire" => crate::expiry::sweep_until_killed(Path::new(&path), &say),
        other => panic!("no part named {other}"),
    }
}

#[test]
fn one_process_at_a_time_writes() {
    let folder = folder();
    let holder = Other::start("hold", folder.path());
    assert_eq!(holder.said, "open");
    assert!(matches!(tools::open(folder.path()), Err(Error::Locked { .. })));
    assert!(matches!(Database::open_read_only(folder.path()), Err(Error::Locked { .. })));
    holder.finish();
    let db = tools::open(folder.path()).expect("let go");
    let other = Other::start("try", folder.path());
    assert_eq!(other.said, "locked");
    other.finish();
    db.close().expect("a sound close");
}

#[test]
fn any_number_of_processes_look() {
    let folder = folder();
    let db = tools::open(folder.path()).expect("new");
    db.keyspace("s").and_then(|space| space.insert("k", "v")).expect("room");
    db.close().expect("a sound close");
    let looking = Database::open_read_only(folder.path()).expect("closed");
    let others = [Other::start("look", folder.path()), Other::start("look", folder.path())];
    others.iter().for_each(|other| assert_eq!(other.said, "1"));
    assert!(matches!(tools::open(folder.path()), Err(Error::Locked { .. })), "nobody writes beside one who looks");
    others.into_iter().for_each(Other::finish);
    drop(looking);
    tools::open(folder.path()).expect("let go");
}

/// Acknowledged and never synced: kept, because only the process died.
#[test]
fn what_a_killed_process_did_is_there() {
    let folder = folder();
    let writer = Other::start("write", folder.path());
    assert_eq!(writer.said, "acknowledged");
    writer.kill();
    assert!(matches!(Database::open_read_only(folder.path()), Err(Error::NotClean { .. })));
    let db = tools::open(folder.path()).expect("it recovers");
    assert!(
        db.recovery().source != RecoveredFrom::CleanShutdown && db.recovery().source != RecoveredFrom::Created,
        "{:?}",
        db.recovery()
    );
    if db.recovery().source != RecoveredFrom::PageCache {
        println!("skipped: this file system's page cache is not trusted ({:?})", db.recovery());
        return;
    }
    let space = db.keyspace("s").expect("a name");
    assert_eq!(space.len().expect("sound"), 2502);
    for number in 0..5000u32 {
        assert_eq!(space.contains_key(number.to_be_bytes()).expect("sound"), number % 2 == 1, "{number}");
    }
    assert_eq!(space.get("b").expect("sound").as_deref(), Some(&b"2"[..]));
    assert_sound(&db);
}
