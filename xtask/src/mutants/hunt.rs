//! Runs trials with a mutant until one fails.

use super::Mutant;
use super::process::Ended;
use super::trials::Trial;
use anyhow::Result;
use std::path::Path;
use std::time::Duration;

/// What became of a mutant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// A trial failed: its name, and what was wrong.
    Caught(String, String),
    /// None of this number of trials failed, of all that reach it.
    Survived(usize, usize),
    /// No trial runs its code.
    Unreached,
}

/// Runs the trials that reach a mutant: some quick seeds, tests, and the rest of the seeds. Of the tests, half of the
/// time belongs to the quick ones, and half to those that reach the fewest mutants: they are about its code. `seconds`
/// limits the seeds, and the tests, by the time that they take without a mutant.
pub(crate) fn fate(mutant: &Mutant, trials: &[Trial], seconds: u64, temporary: &Path) -> Result<Fate> {
    let mut reaching: Vec<_> = trials.iter().filter(|trial| trial.reaches.contains(&mutant.id)).collect();
    if reaching.is_empty() {
        return Ok(Fate::Unreached);
    }
    reaching.sort_by_key(|trial| trial.takes);
    let limit = Duration::from_secs(seconds);
    let (seeds, mut tests): (Vec<_>, Vec<_>) = reaching.iter().partition(|trial| trial.is_seed);
    let seeds = within(&seeds, limit);
    let quick = within(&tests, limit / 2).len();
    let (quick, others) = tests.split_at_mut(quick);
    others.sort_by_key(|trial| trial.reaches.len());
    let first = within(seeds, limit / 4).len();
    let order = seeds[..first].iter().chain(&*quick).chain(within(others, limit / 2)).chain(&seeds[first..]);
    let mut tried = 0;
    for trial in order {
        let wrong = match trial.with(mutant.id, temporary)? {
            Ended::Well => {
                tried += 1;
                continue;
            }
            Ended::Badly(wrong) => wrong,
            Ended::Late => "timeout".into(),
            Ended::Large => "memory without end".into(),
        };
        return Ok(Fate::Caught(trial.name.clone(), wrong));
    }
    Ok(Fate::Survived(tried, reaching.len()))
}

/// The first of these trials, as many as take no longer than `limit` together; at least one.
fn within<'a, 'b>(trials: &'a [&'b Trial], limit: Duration) -> &'a [&'b Trial] {
    let mut sum = Duration::ZERO;
    let fit = trials.iter().take_while(|trial| {
        sum += trial.takes;
        sum <= limit
    });
    &trials[..fit.count().max(1).min(trials.len())]
}
