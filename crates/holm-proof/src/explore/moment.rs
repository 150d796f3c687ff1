//! The place in a round at which a crash is tried, and what the crash must leave. Each operation that returns, each
//! epoch that is published as durable, and the recovery that has returned add to the guarantees.

use super::opened::Outcome;
use super::round::Round;
use crate::crashes::Persistency;
use crate::model::{Contents, Standing};
use crate::subject::Subject;
use crate::trace::Mark;

/// The place in a round at which a crash is tried.
pub(super) struct Moment {
    pub(super) event: usize,
    pub(super) standing: Standing,
    pub(super) recovered: bool,
    /// The storage has been closed properly: the next open needs no recovery point, although power was lost since.
    pub(super) closed: bool,
    /// What a reader has seen that no operation had stored, in words.
    pub(super) unheard_of: Option<String>,
}

impl Moment {
    /// The kind of crash that the next open assumes. A process that dies while it recovers from a loss of power leaves
    /// a state of that loss, so the open still assumes it. After a complete recovery, it assumes this round's crash.
    pub(super) fn opening(&self, round: &Round) -> Persistency {
        if self.closed {
            return Persistency::Visible;
        }
        let still = !self.recovered && round.opened != Persistency::Visible;
        if still { round.opened } else { round.persistency }
    }

    /// Advances past a mark; returns whether the guarantees are stronger now.
    pub(super) fn pass(&mut self, mark: Mark, round: &Round) -> bool {
        match mark {
            Mark::Begun(_) => {
                self.standing.in_flight = true;
                false
            }
            Mark::Returned(number) => {
                (self.standing.returned, self.standing.in_flight) = (number + 1, false);
                true
            }
            Mark::Published(epoch) => {
                self.standing.published = epoch;
                true
            }
            Mark::Told(key, payload) => {
                let told = round.history.explains(self.standing, key, payload);
                if told.is_none() {
                    self.unheard_of = Some(format!("a reader has been told of {payload:?} under key {key}"));
                }
                let tighter = told.is_none_or(|told| told > self.standing.told);
                self.standing.told = self.standing.told.max(told.unwrap_or(0));
                tighter
            }
            Mark::Recovered => {
                self.recovered = true;
                self.standing.published = round.published[1];
                true
            }
        }
    }
}

/// The contents that may be found at a moment.
pub(super) fn acceptable<'a>(
    subject: &Subject,
    round: &'a Round,
    moment: &Moment,
    outcome: &Outcome,
) -> Result<Vec<&'a Contents>, String> {
    let Outcome::Sound { cut, .. } = outcome else { return Ok(vec![]) };
    let deferred = subject.capabilities.per_epoch && moment.opening(round) != Persistency::Visible;
    let published = moment.standing.published;
    if deferred && *cut < published {
        return Err(format!("history is cut at epoch {cut}, but {published} has been declared durable"));
    }
    if deferred && moment.recovered && round.history.kept(*cut) < moment.standing.told {
        let (kept, told) = (round.history.kept(*cut), moment.standing.told);
        return Err(format!("history is cut after {kept} operations, but a reader has been told of {told}"));
    }
    Ok(match (moment.recovered, deferred) {
        (false, true) if *cut != round.base.durable() => vec![round.history.cut(*cut)],
        (false, _) => round.before.iter().collect(),
        (true, true) => vec![round.history.cut(*cut)],
        (true, false) => round.history.strict(moment.standing),
    })
}

/// What is wrong, and what would have been right.
pub(super) fn judge(
    subject: &Subject,
    round: &Round,
    moment: &Moment,
    outcome: &Outcome,
) -> Result<(), (String, String)> {
    match outcome {
        Outcome::Broken(wrong) => Err((wrong.clone(), "a tree that works".into())),
        Outcome::Sound { .. } if !subject.capabilities.stores_pairs => Ok(()),
        Outcome::Sound { contents, .. } => {
            if let Some(unheard_of) = &moment.unheard_of {
                return Err((unheard_of.clone(), "what somebody had stored".into()));
            }
            let right = acceptable(subject, round, moment, outcome).map_err(|wrong| (wrong, "all of it".into()))?;
            if right.contains(&&**contents) {
                return Ok(());
            }
            let right: Vec<_> = right.iter().map(|contents| format!("{contents:?}")).collect();
            Err(("the contents".into(), right.join(" or ")))
        }
    }
}
