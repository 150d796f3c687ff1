//! A tree and the threads that work on it. The trace has the beginning and the end of each call.

use crate::fixture;
use crate::history::{Action, Call};
use crate::recorded::Recorded;
use crate::snapshot::Snapshot;
use crate::subject::{Subject, Tree};
use crate::trace::{Entry, Event, Mark};
use holm_medium::{Clock, Epoch, FIRST_EPOCH, Guard, Storage, StorageOps, Writer};
use holm_tree::{SeekTarget, TreeRoot};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use shuttle::rand::RngCore as _;
use shuttle::sync::atomic::{AtomicU64, Ordering::SeqCst};
use shuttle::thread;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

/// Blocks of the image.
const BLOCKS: usize = 14;

/// The number of pairs in the lowest leaf, where it is sparse.
const LOW: u64 = 6;

/// The number of steps that a slow caller takes: enough for another call to begin and end.
const SLOW: usize = 50;

/// A generator for one schedule: a replay of the schedule draws the same numbers.
pub(super) fn random() -> Pcg64 {
    Pcg64::seed_from_u64(shuttle::rand::thread_rng().next_u64())
}

/// The contents of a tree when the threads begin.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Shape {
    /// A few pairs in one leaf.
    Few,
    /// One leaf, full but for one pair: the next two inserts split it.
    Full,
    /// Two leaves that have lost most of their pairs: in designs that merge, a removal from the left one merges them.
    Sparse,
}

impl Shape {
    pub(super) fn draw(random: &mut Pcg64) -> Self {
        *[Shape::Few, Shape::Full, Shape::Full, Shape::Sparse].choose(random).expect("four")
    }

    /// Keys that are put, and those of them that are removed.
    fn keys(self, capacity: u64) -> (Vec<u64>, Vec<u64>) {
        let upto = |count: u64| (1..=count).map(|index| index * 10).collect();
        match self {
            Shape::Few => (upto(3), vec![]),
            Shape::Full => (upto(capacity - 1), vec![]),
            Shape::Sparse => (upto(capacity + 1), (LOW + 1..=capacity - 8).map(|index| index * 10).collect()),
        }
    }
}

/// What a caller does wrong, if anything.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Fault {
    None,
    /// Writers release the latch before the last fence of what it covers, and fence after it.
    FencesLate,
    /// Writers leave that fence to another thread, and wait until it is done.
    FencesElsewhere,
    /// Readers read the leaf without a latch.
    Rash,
    /// Readers use what they see before its epoch is durable.
    Hasty,
    /// Writers do not check, once they have the latch, whether the clock still shows their epoch.
    Unasking,
}

/// A call with its label; for a read, the label of what it saw.
#[derive(Clone, Copy, Debug)]
pub(super) struct Labelled {
    pub(super) call: Call,
    pub(super) label: Epoch,
}

/// The data to judge.
pub(super) struct Run {
    pub(super) base: Snapshot,
    pub(super) entries: Vec<Entry>,
    /// Instants are events of the trace, from 2 on: before them lie the puts of the initial contents.
    pub(super) calls: Vec<Labelled>,
    /// The number of leaves before and after.
    pub(super) leaves: [usize; 2],
}

/// The instant before an event.
pub(super) fn instant(event: usize) -> u64 {
    event as u64 + 2
}

pub(super) struct Crowd {
    subject: &'static Subject,
    writer: Arc<Writer<Recorded>>,
    tree: Arc<dyn Tree>,
    root: TreeRoot,
    past: Vec<(u64, u64)>,
    base: Snapshot,
    calls: Mutex<Vec<Labelled>>,
    /// The numbers of fences requested from, and executed by, the thread that does nothing else.
    asked: AtomicU64,
    fenced: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
enum Work {
    Call(u64, Action),
    Tick,
}

impl Crowd {
    /// A tree with its past applied to it, all of it durable.
    pub(super) fn create(subject: &'static Subject, shape: Shape) -> Self {
        let writer = Arc::new(Storage::open(Recorded::new([BLOCKS * subject.block, 64]), FIRST_EPOCH).expect("room"));
        let tree = subject.tree(writer.clone());
        let guard = || writer.clock().pin().expect("sound");
        let root = tree.create_tree(&mut guard(), subject.keyspace(1)).expect("room");
        let (puts, removes) = shape.keys(subject.capacity as u64);
        let mut past: Vec<_> = puts.iter().map(|key| (*key, key + 1)).collect();
        for (key, payload) in &past {
            tree.put(&root, &mut guard(), *key, *payload).expect("room");
        }
        for key in &removes {
            tree.remove(&root, &mut guard(), *key).expect("room");
        }
        past.retain(|pair| !removes.contains(&pair.0));
        fixture::advance(&writer).expect("sound");
        let base = Snapshot::of(writer.image());
        writer.storage().medium.keep(true);
        let (calls, asked, fenced) = (Mutex::default(), AtomicU64::new(0), AtomicU64::new(0));
        Crowd { subject, writer: writer.clone(), tree, root, past, base, calls, asked, fenced }
    }

    pub(super) fn medium(&self) -> &Recorded {
        &self.writer.storage().medium
    }

    fn calls(&self) -> MutexGuard<'_, Vec<Labelled>> {
        self.calls.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The work of each thread: a few calls on few keys, some present and some absent.
    fn plan(&self, random: &mut Pcg64) -> Vec<Vec<Work>> {
        let low = self.past[..self.past.len().min(LOW as usize)].choose(random).expect("some pairs").0;
        let other = self.past.choose(random).expect("some pairs").0;
        let keys = [low, low + 5, low + 6, other, other + 5];
        let mut payload = 1_000;
        let mut work = |random: &mut Pcg64| {
            payload += 1;
            let key = *keys.choose(random).expect("five keys");
            match random.random_range(0..8) {
                0..4 => Work::Call(key, Action::Put(payload)),
                4..6 => Work::Call(key, Action::Remove),
                _ => Work::Call(key, Action::Get),
            }
        };
        let ticks = if self.subject.capabilities.per_epoch { random.random_range(1..=3) } else { 0 };
        let threads = random.random_range(2..=4 - ticks.min(1));
        let works = (0..threads).map(|_| (0..random.random_range(1..=3)).map(|_| work(random)).collect());
        works.chain((ticks > 0).then(|| vec![Work::Tick; ticks])).collect()
    }

    /// Runs the threads, and returns their calls.
    pub(super) fn work(self, random: &mut Pcg64, fault: Fault) -> Run {
        let plan = self.plan(random);
        self.follow(&plan, fault)
    }

    /// The same with one thread, beside an idle one.
    pub(super) fn work_alone(self, random: &mut Pcg64, fault: Fault) -> Run {
        let plan = [self.plan(random).concat(), vec![]];
        self.follow(&plan, fault)
    }

    fn follow(self, plan: &[Vec<Work>], fault: Fault) -> Run {
        let (working, before) = (AtomicU64::new(plan.len() as u64), self.leaves());
        thread::scope(|scope| {
            for works in plan {
                scope.spawn(|| {
                    works.iter().for_each(|work| self.one(*work, fault));
                    working.fetch_sub(1, SeqCst);
                });
            }
            if fault == Fault::FencesElsewhere {
                scope.spawn(|| self.fence_for_others(&working));
            }
        });
        let entries = self.medium().take();
        let mut calls = self.calls().clone();
        for (event, entry) in entries.iter().enumerate() {
            match entry.event {
                Event::Mark(Mark::Begun(number)) => calls[number].call.began = instant(event),
                Event::Mark(Mark::Returned(number)) => calls[number].call.ended = Some(instant(event)),
                _ => {}
            }
        }
        let put = |(key, payload): &(u64, u64)| {
            let call = Call { key: *key, action: Action::Put(*payload), saw: None, began: 0, ended: Some(1) };
            Labelled { call, label: 0 }
        };
        calls.extend(self.past.iter().map(put));
        let leaves = [before, self.leaves()];
        Run { base: self.base, entries, calls, leaves }
    }

    fn leaves(&self) -> usize {
        let mut edge = 0;
        let next = || {
            edge = self.tree.cursor_at(&self.root, SeekTarget::Holding(edge)).edge?;
            Some(())
        };
        1 + std::iter::from_fn(next).count()
    }

    fn one(&self, work: Work, fault: Fault) {
        let Work::Call(key, action) = work else {
            return fixture::advance(&self.writer).expect("sound");
        };
        let number = {
            let mut calls = self.calls();
            calls.push(Labelled { call: Call { key, action, saw: None, began: 0, ended: None }, label: 0 });
            calls.len() - 1
        };
        self.medium().mark(Mark::Begun(number));
        let (saw, label) = self.act(key, action, fault);
        let done = &mut self.calls()[number];
        (done.call.saw, done.label) = (saw, label);
        self.medium().mark(Mark::Returned(number));
    }

    fn act(&self, key: u64, action: Action, fault: Fault) -> (Option<u64>, Epoch) {
        if action == Action::Get {
            if fault == Fault::Rash {
                return ((1..BLOCKS as u32).find_map(|number| self.subject.bare(self.writer.image(), number, key)), 0);
            }
            let lookup = self.tree.get(&self.root, key);
            return (lookup.payload, if fault == Fault::Hasty { 0 } else { lookup.stamp });
        }
        let mut guard = self.writer.clock().pin().expect("sound");
        let old = if fault == Fault::Unasking {
            // The tree gets a clock that does not advance.
            let own = Clock::new(guard.epoch(), [0, 0]);
            self.write(&mut own.pin().expect("it stands still"), key, action)
        } else {
            self.write(&mut guard, key, action)
        };
        match fault {
            Fault::FencesLate => {
                (0..SLOW).for_each(|_| thread::yield_now());
                self.writer.begin_write(&guard).fence();
            }
            Fault::FencesElsewhere => {
                let own = self.asked.fetch_add(1, SeqCst);
                while self.fenced.load(SeqCst) <= own {
                    thread::yield_now();
                }
            }
            Fault::None | Fault::Rash | Fault::Hasty | Fault::Unasking => {}
        }
        (old, guard.epoch())
    }

    fn write(&self, guard: &mut Guard<'_>, key: u64, action: Action) -> Option<u64> {
        let old = match action {
            Action::Put(payload) => self.tree.put(&self.root, guard, key, payload),
            _ => self.tree.remove(&self.root, guard, key),
        };
        old.expect("room").map(|old| old.payload)
    }

    /// Executes each fence that another thread requests.
    fn fence_for_others(&self, working: &AtomicU64) {
        while working.load(SeqCst) > 0 {
            let asked = self.asked.load(SeqCst);
            if asked > self.fenced.load(SeqCst) {
                self.writer.begin_write_at(self.writer.clock().active()).fence();
                self.fenced.store(asked, SeqCst);
            }
            thread::yield_now();
        }
    }

    /// The fences with which calls end: those after which a thread does nothing more to the medium.
    pub(super) fn last_fences(run: &Run) -> BTreeSet<crate::Site> {
        let mut last = std::collections::BTreeMap::new();
        let mut sites = BTreeSet::new();
        for entry in &run.entries {
            match entry.event {
                Event::Fence => drop(last.insert(entry.thread, entry.site())),
                Event::Mark(Mark::Returned(_)) => sites.extend(last.remove(&entry.thread).flatten()),
                Event::Mark(Mark::Begun(_)) => drop(last.remove(&entry.thread)),
                _ => {}
            }
        }
        sites
    }
}
