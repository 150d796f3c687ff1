//! Trees are created and dropped beside one that stays. After a crash anywhere, a tree whose creation has returned
//! holds what was put into it, a dropped tree does not come back, and no two trees share a block.

use super::{Verdict, owed};
use crate::crashes::{Bounds, Crashes, Persistency};
use crate::fixture::advance;
use crate::recorded::Recorded;
use crate::snapshot::Snapshot;
use crate::subject::{Subject, Tree};
use crate::trace::{Entry, Event, Mark, Site};
use holm_medium::{Epoch, FIRST_EPOCH, Result, Storage, StorageOps, Writer};
use holm_tree::leaf::RecoveryPoint;
use holm_tree::{SeekTarget, TreeRoot};
use rand::SeedableRng;
use rand_pcg::Pcg64;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Pairs of each keyspace that has any.
type Trees = BTreeMap<u32, Vec<(u64, u64)>>;

/// The contents after each operation, and the operation's label.
type States = Vec<(Trees, Epoch)>;

const STAYS: u32 = 1;
const GOES: u32 = 2;
const COMES: u32 = 3;

struct TreesFixture {
    subject: &'static Subject,
    writer: Arc<Writer<Recorded>>,
    tree: Arc<dyn Tree>,
    trees: Trees,
    states: States,
}

impl TreesFixture {
    fn over(subject: &'static Subject, writer: Writer<Recorded>) -> Self {
        let writer = Arc::new(writer);
        let tree = subject.tree(writer.clone());
        TreesFixture { subject, writer, tree, trees: Trees::new(), states: vec![] }
    }

    fn operation<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let number = self.states.len();
        self.writer.storage().medium.mark(Mark::Begun(number));
        let done = work(self)?;
        self.writer.storage().medium.mark(Mark::Returned(number));
        let trees = self.trees.iter().filter(|(_, pairs)| !pairs.is_empty());
        let trees = trees.map(|(keyspace, pairs)| (*keyspace, pairs.clone())).collect();
        self.states.push((trees, self.writer.clock().active()));
        Ok(done)
    }

    fn create(&mut self, number: u32) -> Result<TreeRoot> {
        let keyspace = self.subject.keyspace(number);
        self.operation(|fixture| fixture.tree.create_tree(&mut fixture.writer.clock().pin()?, keyspace))
    }

    /// Puts until the tree has split once.
    fn grow(&mut self, root: &TreeRoot) -> Result<()> {
        let keyspace = root.keyspace();
        let most = self.subject.capacity as u64 + 3;
        for key in 1..=most {
            // What a tree leaves behind in its blocks lies at either end of them.
            let key = if keyspace == self.subject.keyspace(GOES) { most + 1 - key } else { key };
            self.operation(|fixture| {
                let mut guard = fixture.writer.clock().pin()?;
                let payload = u64::from(keyspace) << 32 | key;
                fixture.tree.put(root, &mut guard, key, payload)?;
                let pairs = fixture.trees.entry(keyspace).or_default();
                pairs.insert(pairs.partition_point(|pair| pair.0 < key), (key, payload));
                Ok(())
            })?;
        }
        Ok(())
    }

    fn drop_tree(&mut self, root: &TreeRoot) -> Result<()> {
        self.operation(|fixture| {
            fixture.trees.remove(&root.keyspace());
            fixture.tree.drop_tree(root, &mut fixture.writer.clock().pin()?, &mut |_| {})
        })
    }

    fn found(&self, root: &TreeRoot) -> Vec<(u64, u64)> {
        let (mut pairs, mut edge) = (vec![], 0);
        loop {
            let cursor = self.tree.cursor_at(root, SeekTarget::Holding(edge));
            pairs.extend(cursor.pairs.iter().map(|slot| (slot.head, slot.payload)));
            match cursor.edge.filter(|high| *high > edge) {
                Some(high) => edge = high,
                None => return pairs,
            }
        }
    }

    /// Recovers what a crash left, and creates one more tree, which must not take a block of the others.
    fn recovered(subject: &'static Subject, left: &Snapshot, crash: Persistency) -> Result<Trees> {
        let visible = crash == Persistency::Visible;
        let durable = left.durable();
        let active = if visible { durable + 3 } else { durable + 1 };
        let mut fixture = TreesFixture::over(subject, Recorded::from_image(left, active)?);
        let recovery_point = if visible { RecoveryPoint::Visible } else { RecoveryPoint::At(durable) };
        let roots = fixture.tree.rebuild(recovery_point, active, 1)?.roots;
        let more = fixture.create(9)?;
        fixture.grow(&more)?;
        let trees = roots.iter().map(|root| (root.keyspace(), fixture.found(root)));
        Ok(trees.filter(|(_, pairs)| !pairs.is_empty()).collect())
    }
}

/// Records all operations.
fn record(subject: &'static Subject, without: &BTreeSet<Site>) -> Result<(Snapshot, Vec<Entry>, States)> {
    let medium = Recorded::new([32 * subject.block, 64]);
    let mut fixture = TreesFixture::over(subject, Storage::open(medium, FIRST_EPOCH)?);
    let root = fixture.create(STAYS)?;
    fixture.grow(&root)?;
    advance(&fixture.writer)?;
    let base = Snapshot::of(fixture.writer.image());
    let medium = |fixture: &TreesFixture| fixture.writer.storage().medium.take();
    fixture.writer.storage().medium.leave_out(without);
    fixture.writer.storage().medium.keep(true);
    fixture.states.drain(..fixture.states.len() - 1);
    let root = fixture.create(GOES)?;
    fixture.grow(&root)?;
    advance(&fixture.writer)?;
    fixture.drop_tree(&root)?;
    advance(&fixture.writer)?;
    advance(&fixture.writer)?;
    // Together they take both released blocks, one of which linked to the other.
    let roots = [fixture.create(COMES)?, fixture.create(COMES + 1)?];
    roots.iter().try_for_each(|root| fixture.grow(root))?;
    Ok((base, medium(&fixture), fixture.states))
}

/// The tree of the keyspace `goes`, while it is being dropped, disappears leaf by leaf; all others stay.
fn fits(goes: u32, found: &Trees, right: &[&Trees]) -> bool {
    let going = matches!(right, [before, after] if before.contains_key(&goes) && !after.contains_key(&goes));
    let others = |trees: &Trees| {
        let mut trees = trees.clone();
        trees.remove(&goes);
        trees
    };
    right.contains(&found) || going && others(found) == *right[1]
}

/// Crashes the operations everywhere, with some sites left out.
///
/// # Errors
/// A description of what should not have been found.
pub(crate) fn explore(
    subject: &'static Subject,
    crash: Persistency,
    without: &BTreeSet<Site>,
) -> std::result::Result<u64, String> {
    let (base, entries, states) = record(subject, without).map_err(|error| error.to_string())?;
    let bounds = Bounds { exhaustive: 12, pairs: 2, random: 4 };
    let mut random = Pcg64::seed_from_u64(1);
    let mut crashes = Crashes::new(crash, base);
    let (mut returned, mut in_flight, mut seen) = (0, false, BTreeSet::new());
    for (event, entry) in entries.iter().enumerate() {
        let now = entry.event == Event::Fence || matches!(entry.event, Event::Mark(Mark::Begun(_)));
        if now || crash == Persistency::Visible {
            crashes.visit(&bounds, &mut random, |choice| {
                if !seen.insert((choice.content, returned, in_flight)) {
                    return Ok(());
                }
                let left = choice.snapshot();
                let found =
                    TreesFixture::recovered(subject, &left, crash).map_err(|error| format!("{entry}: {error}"))?;
                let deferred = subject.capabilities.per_epoch && crash != Persistency::Visible;
                let right = match deferred {
                    true => vec![&states[states.partition_point(|(_, label)| *label <= left.durable()) - 1].0],
                    false => states[returned..=(returned + usize::from(in_flight))].iter().map(|it| &it.0).collect(),
                };
                if fits(subject.keyspace(GOES), &found, &right) || !subject.capabilities.stores_pairs {
                    return Ok(());
                }
                Err(format!("{crash}: crashed at event {event}, {entry}: found {found:?}, expected one of {right:?}"))
            })?;
        }
        crashes.pass(event, entry);
        match entry.event {
            Event::Mark(Mark::Begun(_)) => in_flight = true,
            Event::Mark(Mark::Returned(_)) => (returned, in_flight) = (returned + 1, false),
            _ => {}
        }
    }
    Ok(seen.len() as u64)
}

/// The sites that the operations reach.
///
/// # Errors
/// A description of what went wrong without any crash.
pub(crate) fn sites(subject: &'static Subject) -> std::result::Result<BTreeSet<Site>, String> {
    let (_, entries, _) = record(subject, &BTreeSet::new()).map_err(|error| error.to_string())?;
    Ok(crate::trace::sites(&entries))
}

/// Trees are created and dropped.
///
/// # Errors
/// What should not have been found.
pub fn survives_creating_and_dropping_trees(subject: &'static Subject) -> Verdict {
    let mut said = String::new();
    for persistency in owed(subject) {
        said += &format!("{persistency}: {} images\n", explore(subject, persistency, &BTreeSet::new())?);
    }
    Ok(said)
}
