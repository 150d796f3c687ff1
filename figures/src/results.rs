//! The results in a folder: one file with all outcomes, and beside it a file for each figure that has run since then.

use crate::catalog::Chosen;
use crate::order::order;
use crate::outcome::Outcome;
use crate::run_facts::{COMMIT, RunFacts, fact};
use crate::setting::Setting;
use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use std::fs;
use std::path::{Path, PathBuf};

/// All outcomes, one line each.
pub(crate) const RESULTS: &str = "results.json";

/// What the last report was given of crashes.
pub(crate) const CRASHES: &str = "crashes.json";

/// Returns the file of a figure that has just run.
pub(crate) fn file_of(out: &Path, id: &str) -> PathBuf {
    out.join(format!("{id}.json"))
}

/// Reads a file of JSON.
pub(crate) fn parsed<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("in {}", path.display()))
}

/// Returns all outcomes, in the order of the page, and the files of single figures among them.
///
/// # Errors
/// There is no such folder, or a file in it is none of ours.
pub(crate) fn read(out: &Path) -> Result<(Vec<Outcome>, Vec<PathBuf>)> {
    let listing = fs::read_dir(out).with_context(|| format!("reading {}: nothing has been run", out.display()))?;
    let paths = listing.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let results = out.join(RESULTS);
    let mut outcomes: Vec<Outcome> = if results.exists() { parsed(&results)? } else { Vec::new() };
    let others = [results, out.join(CRASHES)];
    let is_single =
        |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json") && !others.contains(path);
    let single: Vec<_> = paths.into_iter().filter(is_single).collect();
    for path in &single {
        let outcome: Outcome = parsed(path)?;
        outcomes.retain(|other| other.id != outcome.id);
        outcomes.push(outcome);
    }
    outcomes.sort_by_key(|outcome| order(&outcome.id));
    Ok((outcomes, single))
}

/// Returns outcomes as one text, with a line for each.
pub(crate) fn packed(outcomes: &[Outcome]) -> Result<String> {
    let lines = outcomes.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    Ok(format!("[\n{}\n]\n", lines.join(",\n")))
}

/// Writes outcomes to the one file, and then removes the files of single figures, which it contains by then.
pub(crate) fn pack(out: &Path, outcomes: &[Outcome], single: Vec<PathBuf>) -> Result<()> {
    let results = out.join(RESULTS);
    fs::write(&results, packed(outcomes)?).with_context(|| format!("writing {}", results.display()))?;
    single.into_iter().try_for_each(|path| fs::remove_file(&path).with_context(|| path.display().to_string()))
}

/// Leaves out the figures that the folder has from a run of this commit under this setting.
pub(crate) fn without_those_in(
    out: &Path,
    studies: &mut Vec<Chosen>,
    setting: &Setting,
    facts: &RunFacts,
) -> Result<()> {
    if !out.exists() {
        return Ok(());
    }
    let (outcomes, _) = read(out)?;
    let is_same = |outcome: &Outcome| {
        let Outcome { scale, threads, rounds, exact, run, .. } = outcome;
        let same = (*scale, *threads) == (setting.scale, setting.threads) && (*exact || *rounds == setting.rounds);
        same && fact(run, COMMIT).is_some() && fact(run, COMMIT) == fact(facts, COMMIT)
    };
    let done = |id: &str| outcomes.iter().any(|outcome| outcome.id == id && is_same(outcome));
    studies.iter_mut().for_each(|chosen| chosen.figures.retain(|figure| !done(figure.id)));
    studies.retain(|chosen| !chosen.figures.is_empty());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Given, chosen};
    use crate::rounds;

    #[test]
    fn a_run_goes_on_where_one_of_the_same_commit_and_setting_ended() {
        let folder = std::env::temp_dir().join(format!("holm-figures-resumed-{}", std::process::id()));
        let setting = Setting::new(0.000_1, Some(1), 1).expect("a setting");
        let given = Given { reads: false, times: true, trace: false };
        let facts = |commit: &str| vec![("Commit".to_owned(), commit.to_owned())];
        let left = |setting: &Setting, facts: &RunFacts| {
            let mut studies = chosen(&["BD-X6".into(), "SYN-D1".into()], given).expect("they are there");
            without_those_in(&folder, &mut studies, setting, facts).expect("ours");
            studies.iter().flat_map(|chosen| &chosen.figures).map(|figure| figure.id).collect::<Vec<_>>()
        };
        assert_eq!(left(&setting, &facts("a")).len(), 2, "there is no folder");
        let first = chosen(&["BD-X6".into()], given).expect("it is there");
        rounds::run(&first, &setting, &folder, &facts("a")).expect("it runs");
        for packs in [false, true] {
            if packs {
                let (outcomes, single) = read(&folder).expect("ours");
                pack(&folder, &outcomes, single).expect("a disk");
            }
            assert_eq!(left(&setting, &facts("a")), ["SYN-D1"]);
            assert_eq!(left(&setting, &facts("b")).len(), 2, "another commit");
            assert_eq!(left(&setting, &RunFacts::new()).len(), 2, "a commit that is not known");
            let larger = Setting::new(0.000_2, Some(1), 1).expect("a setting");
            assert_eq!(left(&larger, &facts("a")).len(), 2, "another scale");
        }
        fs::remove_dir_all(&folder).expect("it was made");
    }
}
