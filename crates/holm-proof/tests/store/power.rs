//! Power fails at any call, with any of the unsynced sectors written and the others not. Processes die in between.
//! Power fails again while recovery repairs the damage.

use crate::history::{Contents, History, Mode, Session, contents, random_step};
use holm::{Durability, RecoveredFrom};
use holm_proof::disk::{Fault, Kind, SimDisk};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The number of sessions in one disk's life.
const SESSIONS: u64 = 5;

/// The number of lives of a disk, in each mode; `HOLM_LIVES` overrides it.
const LIVES: u64 = 15;

struct Life {
    disk: SimDisk,
    mode: Mode,
    random: Pcg64Mcg,
    serial: u64,
    /// What the last session did.
    history: History,
    /// Whether power was lost since the last session, or only the process died, or neither.
    end: End,
    context: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Closed,
    Killed,
    Cut,
}

impl Life {
    fn new(mode: Mode, seed: u64) -> Life {
        let disk = SimDisk::new();
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        disk.refuse_direct(random.random_ratio(1, 3));
        Life { disk, mode, random, serial: 0, history: History::default(), end: End::Closed, context: String::new() }
    }

    fn order_power_cut(&mut self, within: u64) {
        let kind = [Kind::Any, Kind::Write, Kind::Sync][self.random.random_range(0..3)];
        let after = self.random.random_range(0..within);
        self.disk.fail(kind, self.disk.calls().of(kind) + after, Fault::PowerCut);
    }

    fn lose_power(&mut self) {
        self.disk = self.disk.crash_seeded(self.random.random());
        self.end = End::Cut;
    }

    /// Opens, and sometimes loses power meanwhile; the contents must fit.
    fn open(&mut self) -> (holm::Database, Contents) {
        for _ in 0..2 {
            if self.random.random_ratio(1, 2) {
                self.order_power_cut(60);
            }
            match self.mode.open(&self.disk) {
                Ok(db) => {
                    self.disk.heal();
                    match db.sync() {
                        Ok(()) => return self.look(db),
                        // What was ordered has met the threads that had just begun.
                        Err(error) => self.context = format!("{}, cut after open ({error})", self.context),
                    }
                }
                Err(error) => self.context = format!("{}, cut in open ({error})", self.context),
            }
            self.lose_power();
        }
        let db = self.mode.open(&self.disk);
        let db = db.unwrap_or_else(|error| panic!("{}: cannot be opened: {error}", self.context));
        self.look(db)
    }

    fn look(&mut self, db: holm::Database) -> (holm::Database, Contents) {
        let found = contents(&db, &self.context);
        if db.recovery().source == RecoveredFrom::PageCache {
            // Only the process had died, between two calls.
            self.history.floor = self.history.steps.len();
        }
        self.history.expect(&found, &format!("{} {:?}", self.context, db.recovery()));
        let kept = match db.recovery().source {
            RecoveredFrom::PageCache => self.end == End::Killed,
            RecoveredFrom::CleanShutdown => true,
            RecoveredFrom::Created => self.history.floor == 0,
            RecoveredFrom::Log { .. } => self.end == End::Cut || (self.end == End::Killed && self.mode.private),
            _ => false,
        };
        assert!(kept, "{}: after {:?}, {:?}", self.context, self.end, db.recovery());
        (db, found)
    }

    fn live(&mut self, session: u64) {
        let (db, found) = self.open();
        self.history = History::from(found.clone());
        let Ok(mut session) = Session::begin(db, self.mode, found).map_err(|error| {
            self.context = format!("{}, session {session} refused ({error})", self.context);
        }) else {
            return self.lose_power();
        };
        if self.random.random_ratio(1, 2) {
            self.order_power_cut(150);
        }
        let thin = self.random.random_ratio(1, 3);
        for _ in 0..self.random.random_range(1..250) {
            session.step(random_step(&mut self.random, &mut self.serial, thin));
            if self.random.random_ratio(1, 30) {
                session.sync();
            }
            if self.random.random_ratio(1, 40) {
                session.remove_range(&mut self.random);
            }
            if self.random.random_ratio(1, 10) {
                self.disk.write_back(self.random.random(), 4);
            }
        }
        self.history = session.history();
        self.finish(session);
    }

    fn finish(&mut self, session: Session) {
        let healthy = session.failed.is_none();
        match self.random.random_range(0..4) {
            0 => {
                let closed = session.db.clone().close();
                if closed.is_ok() && healthy {
                    self.history.floor = self.history.steps.len();
                    self.end = End::Closed;
                    if self.random.random_ratio(1, 2) {
                        drop(session);
                        self.lose_power();
                    }
                } else {
                    self.lose_power();
                }
            }
            1 if healthy => {
                let after = self.disk.kill();
                // Unless power failed in a call of a background thread: then there is no process left to kill.
                if session.db.sync().is_err() {
                    return self.lose_power();
                }
                (self.disk, self.end) = (after, End::Killed);
            }
            _ => self.lose_power(),
        }
    }
}

#[test]
fn what_power_leaves_is_a_prefix() {
    let lives = std::env::var("HOLM_LIVES").ok().and_then(|lives| lives.parse().ok()).unwrap_or(LIVES);
    for mode in Mode::all() {
        for seed in 0..lives {
            let mut life = Life::new(mode, seed);
            for session in 0..SESSIONS {
                life.context = format!("{mode:?} seed {seed} session {session}");
                life.live(session);
            }
            life.context = format!("{mode:?} seed {seed} at the end");
            drop(life.open());
        }
    }
}

/// The name of a database's folder lies in the folder above it. If that were not synced, a loss of power could take a
/// new database with all that it has acknowledged.
#[test]
fn a_new_database_is_there_after_a_loss_of_power() {
    let (disk, mode) = (SimDisk::new(), Mode::new(false, Durability::Strict));
    let db = mode.open(&disk).expect("nothing fails");
    db.keyspace("s").and_then(|space| space.insert("k", "v")).expect("nothing fails");
    let left = disk.crash_to_durable();
    drop(db);
    let db = mode.builder(&left).create(false).open("/d").expect("its name is durable");
    let value = db.keyspace("s").and_then(|space| space.get("k")).expect("sound");
    assert_eq!(value.as_deref(), Some(&b"v"[..]));
}
