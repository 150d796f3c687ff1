//! One trace, from known contents on: a recorded script, or the continuation of an image that a crash left.

use super::plan::Plan;
use super::violation;
use crate::crashes::Persistency;
use crate::fixture::TreeFixture;
use crate::model::{Contents, History, Step};
use crate::script::{Script, aftermath};
use crate::snapshot::Snapshot;
use crate::subject::Subject;
use crate::trace::{Entry, Event};
use crate::verdict::Violation;
use holm_medium::Epoch;
use std::any::Any;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// A trace, and its origin.
pub(super) struct Round {
    pub(super) title: String,
    /// Which stores a crash may lose here.
    pub(super) persistency: Persistency,
    /// The kind of crash with which its recovery began; without recovery, the same.
    pub(super) opened: Persistency,
    pub(super) base: Snapshot,
    pub(super) entries: Vec<Entry>,
    /// Every word that the trace stores, ascending: in every image all other words are the base's.
    pub(super) varying: Vec<u64>,
    pub(super) scratch: BTreeSet<u64>,
    pub(super) history: History,
    pub(super) steps: Vec<Step>,
    /// The epoch published as durable when the trace begins, and when its recovery has returned.
    pub(super) published: [Epoch; 2],
    /// The contents that may be found while recovery has not returned, with the base's recovery point; empty without
    /// recovery.
    pub(super) before: Vec<Contents>,
    pub(super) depth: usize,
}

/// An image to continue from, with the contents that may be found in it.
pub(super) struct Branch {
    pub(super) left: Snapshot,
    pub(super) opening: Persistency,
    pub(super) contents: Rc<Contents>,
    pub(super) before: Vec<Contents>,
}

fn varying(entries: &[Entry]) -> Vec<u64> {
    let mut stored = BTreeSet::new();
    for entry in entries {
        match &entry.event {
            Event::Write { loc, .. } => stored.extend([*loc]),
            Event::Fill { loc, values } => stored.extend((0..values.len() as u64).map(|index| loc + index * 8)),
            _ => {}
        }
    }
    stored.into_iter().collect()
}

impl Round {
    /// Records a script.
    pub(super) fn first(subject: &'static Subject, script: &Script, plan: &Plan) -> Result<Round, Box<Violation>> {
        let run = || {
            let (fixture, mut history) =
                TreeFixture::create_at(plan.first, subject, script, plan.end_epoch, &plan.without)?;
            let (base, published) = (Snapshot::of(fixture.image()), [fixture.published(); 2]);
            if let Some(reader) = plan.reader {
                reader.look_on(&fixture, script, plan.persistency)?;
            }
            fixture.run(&script.steps, &mut history)?;
            fixture.medium().show(None);
            let (entries, scratch) = (fixture.medium().take(), fixture.medium().scratch());
            let title = script.name.clone();
            let (steps, before, varying) = (script.steps.clone(), vec![], varying(&entries));
            let (persistency, opened, depth) = (plan.persistency, plan.persistency, plan.depth);
            Ok(Round {
                title,
                persistency,
                opened,
                base,
                entries,
                varying,
                scratch,
                history,
                steps,
                published,
                before,
                depth,
            })
        };
        caught(run).map_err(|wrong| Box::new(violation(subject, plan, &script.name, wrong)))
    }

    /// Records the recovery of an image and a few further steps, which `number` selects.
    pub(super) fn after(
        &self,
        subject: &'static Subject,
        branch: Branch,
        plan: &Plan,
        number: u64,
    ) -> Result<Round, Box<Violation>> {
        let title = format!("{}, recovered", self.title);
        let Plan { later, end_epoch, without, .. } = plan;
        let steps = aftermath(&branch.contents, number, subject.capacity);
        let mut history = History::from(&branch.contents);
        let run = || {
            let fixture = TreeFixture::revive(subject, &branch.left, branch.opening, *end_epoch, without)?;
            let published = [branch.left.durable(), fixture.published()];
            // Each step is a thread of its own: a writer's fences complete no flush of the recovery.
            fixture.run(&steps, &mut history)?;
            Ok((fixture.medium().take(), fixture.medium().scratch(), published))
        };
        let (entries, new_scratch, published) =
            caught(run).map_err(|wrong| Box::new(violation(subject, plan, &title, wrong)))?;
        let (scratch, varying) = (self.scratch.union(&new_scratch).copied().collect(), varying(&entries));
        let Branch { left: base, opening: opened, before, .. } = branch;
        let (persistency, depth) = (*later, self.depth - 1);
        Ok(Round {
            title,
            persistency,
            opened,
            base,
            entries,
            varying,
            scratch,
            history,
            steps,
            published,
            before,
            depth,
        })
    }
}

/// Runs a function; a panic is one more failure.
fn caught<T>(run: impl FnOnce() -> holm_medium::Result<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(panic) => Err(panicked(&*panic)),
    }
}

pub(crate) fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    format!("it panicked: {}", text.unwrap_or("without words"))
}
