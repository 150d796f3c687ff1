//! Trees are created and dropped beside one that stays. After a crash anywhere, a tree whose creation has returned
//! holds what was put into it, a dropped tree does not come back, and no two trees share a block.

use super::{Verdict, owed};
use crate::crashes::{Bounds, Crashes, Persistency};
use crate::grove::advance;
use crate::recorded::Recorded;
use crate::snapshot::Snapshot;
use crate::subject::{Subject, Tree};
use crate::trace::{Entry, Event, Mark, Site};
use holm_medium::{Epoch, FIRST_EPOCH, Ground, Pool, Quill, Result};
use holm_tree::leaf::Cut;
use holm_tree::{Root, Toward};
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

struct Wood {
    subject: &'static Subject,
    quill: Arc<Quill<Recorded>>,
    tree: Arc<dyn Tree>,
    trees: Trees,
    states: States,
}

impl Wood {
    fn over(subject: &'static Subject, quill: Quill<Recorded>) -> Self {
        let quill = Arc::new(quill);
        let tree = subject.tree(quill.clone());
        Wood { subject, quill, tree, trees: Trees::new(), states: vec![] }
    }

    fn operation<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let number = self.states.len();
        self.quill.pool().medium.mark(Mark::Begun(number));
        let done = work(self)?;
        self.quill.pool().medium.mark(Mark::Returned(number));
        let trees = self.trees.iter().filter(|(_, pairs)| !pairs.is_empty());
        let trees = trees.map(|(keyspace, pairs)| (*keyspace, pairs.clone())).collect();
        self.states.push((trees, self.quill.clock().active()));
        Ok(done)
    }

    fn plant(&mut self, keyspace: u32) -> Result<Root> {
        self.operation(|wood| wood.tree.plant(&mut wood.quill.clock().check_in()?, keyspace))
    }

    /// Puts until the tree has split once.
    fn grow(&mut self, root: &Root) -> Result<()> {
        let keyspace = root.keyspace();
        let most = self.subject.capacity as u64 + 3;
        for key in 1..=most {
            // What a tree leaves behind in its blocks lies at either end of them.
            let key = if keyspace == GOES { most + 1 - key } else { key };
            self.operation(|wood| {
                let mut stay = wood.quill.clock().check_in()?;
                let payload = u64::from(keyspace) << 32 | key;
                wood.tree.put(root, &mut stay, key, payload, None)?;
                let pairs = wood.trees.entry(keyspace).or_default();
                pairs.insert(pairs.partition_point(|pair| pair.0 < key), (key, payload));
                Ok(())
            })?;
        }
        Ok(())
    }

    fn uproot(&mut self, keyspace: u32, root: &Root) -> Result<()> {
        self.operation(|wood| {
            wood.trees.remove(&keyspace);
            wood.tree.uproot(root, &mut wood.quill.clock().check_in()?, &mut |_| {})
        })
    }

    fn found(&self, root: &Root) -> Vec<(u64, u64)> {
        let (mut pairs, mut edge) = (vec![], 0);
        loop {
            let view = self.tree.view(root, Toward::Holding(edge));
            pairs.extend(view.pairs.iter().map(|slot| (slot.head, slot.payload)));
            match view.edge.filter(|high| *high > edge) {
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
        let mut wood = Wood::over(subject, Recorded::from_image(left, active)?);
        let cut = if visible { Cut::Visible } else { Cut::At(durable) };
        let roots = wood.tree.rebuild(cut, active, 1)?.roots;
        let more = wood.plant(9)?;
        wood.grow(&more)?;
        let trees = roots.iter().map(|root| (root.keyspace(), wood.found(root)));
        Ok(trees.filter(|(_, pairs)| !pairs.is_empty()).collect())
    }
}

/// Records all operations.
fn record(subject: &'static Subject, without: &BTreeSet<Site>) -> Result<(Snapshot, Vec<Entry>, States)> {
    let medium = Recorded::new([32 * subject.block, 64]);
    let mut wood = Wood::over(subject, Pool::open(medium, FIRST_EPOCH)?);
    let root = wood.plant(STAYS)?;
    wood.grow(&root)?;
    advance(&wood.quill)?;
    let base = Snapshot::of(wood.quill.image());
    let medium = |wood: &Wood| wood.quill.pool().medium.take();
    wood.quill.pool().medium.leave_out(without);
    wood.quill.pool().medium.keep(true);
    wood.states.drain(..wood.states.len() - 1);
    let root = wood.plant(GOES)?;
    wood.grow(&root)?;
    advance(&wood.quill)?;
    wood.uproot(GOES, &root)?;
    advance(&wood.quill)?;
    advance(&wood.quill)?;
    // Together they take both released blocks, one of which linked to the other.
    let roots = [wood.plant(COMES)?, wood.plant(COMES + 1)?];
    roots.iter().try_for_each(|root| wood.grow(root))?;
    Ok((base, medium(&wood), wood.states))
}

/// A tree that is being dropped disappears leaf by leaf, while all others stay.
fn fits(found: &Trees, right: &[&Trees]) -> bool {
    let going = matches!(right, [before, after] if before.contains_key(&GOES) && !after.contains_key(&GOES));
    let others = |trees: &Trees| {
        let mut trees = trees.clone();
        trees.remove(&GOES);
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
                let found = Wood::recovered(subject, &left, crash).map_err(|error| format!("{entry}: {error}"))?;
                let deferred = subject.card.defers && crash != Persistency::Visible;
                let right = match deferred {
                    true => vec![&states[states.partition_point(|(_, label)| *label <= left.durable()) - 1].0],
                    false => states[returned..=(returned + usize::from(in_flight))].iter().map(|it| &it.0).collect(),
                };
                if fits(&found, &right) || !subject.card.keeps {
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
pub fn survives_planting_and_giving_up(subject: &'static Subject) -> Verdict {
    let mut said = String::new();
    for persistency in owed(subject) {
        said += &format!("{persistency}: {} images\n", explore(subject, persistency, &BTreeSet::new())?);
    }
    Ok(said)
}
