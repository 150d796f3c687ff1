//! The list: a line for each family, and what is found in it by name.

use crate::families::{epochs, isle, map, sentinels, subnodes, synthesis};
use crate::study::{Family, Figure, Study};
use anyhow::{Result, bail};
use std::fmt::Write;

const FAMILIES: &[&Family] =
    &[&sentinels::FAMILY, &isle::FAMILY, &epochs::FAMILY, &subnodes::FAMILY, &map::FAMILY, &synthesis::FAMILY];

/// A study, and those of its figures that are asked for.
pub(crate) struct Chosen {
    pub(crate) family: &'static Family,
    pub(crate) study: &'static Study,
    pub(crate) figures: Vec<&'static Figure>,
}

/// Every figure with its state.
pub(crate) fn listed() -> String {
    let mut text = String::new();
    for family in FAMILIES {
        let _ = writeln!(text, "{}: {}", family.name, family.paper);
        for figure in family.studies.iter().flat_map(|study| study.figures) {
            let state = if figure.note.is_empty() { "runs" } else { "runs; see its note" };
            let _ = writeln!(text, "  {:<12} {:<64} {state}", figure.id, figure.title);
        }
        for absent in family.absent {
            let _ = writeln!(text, "  {:<12} {:<64} not here: {}", absent.id, absent.title, absent.why);
        }
    }
    text
}

/// Of each study the figures that are meant, by their names or the beginnings of them; `all` means all.
pub(crate) fn chosen(ids: &[String]) -> Result<Vec<Chosen>> {
    for id in ids {
        let runs = |name: &str| means(id, name);
        let figures = || FAMILIES.iter().flat_map(|family| family.studies).flat_map(|study| study.figures);
        if figures().any(|figure| runs(figure.id)) {
            continue;
        }
        match FAMILIES.iter().flat_map(|family| family.absent).find(|absent| runs(absent.id)) {
            Some(absent) => bail!("{}: {}: {}", absent.id, absent.title, absent.why),
            None => bail!("no figure is named {id}: see `cargo xtask figures --list`"),
        }
    }
    let studies = FAMILIES.iter().flat_map(|family| family.studies.iter().map(move |study| (*family, study)));
    let chosen = studies.map(|(family, study)| {
        let wanted = |figure: &&Figure| ids.iter().any(|id| means(id, figure.id));
        Chosen { family, study, figures: study.figures.iter().filter(wanted).collect() }
    });
    Ok(chosen.filter(|chosen| !chosen.figures.is_empty()).collect())
}

fn means(asked: &str, name: &str) -> bool {
    let beginning = || name.get(..asked.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(asked));
    asked == "all" || beginning()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Setting;
    use std::collections::BTreeSet;

    #[test]
    fn every_figure_is_there_once_and_its_claims_name_what_is_measured() {
        let setting = Setting::new(0.000_1, Some(8), 1).expect("a setting");
        let mut names = BTreeSet::new();
        for family in FAMILIES {
            for absent in family.absent {
                assert!(names.insert(absent.id) && !absent.why.is_empty(), "{}", absent.id);
            }
            for study in family.studies {
                let cells = (study.cells)(&setting);
                let is_there = |series: &str, x: f64| cells.iter().any(|cell| cell.series == series && cell.x == x);
                for figure in study.figures {
                    assert!(names.insert(figure.id), "{} twice", figure.id);
                    for claim in figure.claims {
                        let against = claim.against_x.unwrap_or(claim.x);
                        let both = is_there(claim.of, claim.x) && is_there(claim.against, against);
                        assert!(both, "{}: {} against {} at {}", figure.id, claim.of, claim.against, claim.x);
                    }
                }
            }
        }
        let of = |paper: &str| names.iter().filter(|name| name.starts_with(paper)).count();
        assert_eq!(["SENT-", "ISLE-", "BD-", "SS-", "MB-", "SYN-"].map(of), [17, 12, 10, 18, 20, 13]);
    }

    #[test]
    fn figures_are_found_by_name_and_what_is_not_here_says_why() {
        let ids = |asked: &[&str]| {
            let asked: Vec<_> = asked.iter().map(ToString::to_string).collect();
            chosen(&asked)
                .map(|all| all.iter().flat_map(|one| &one.figures).map(|figure| figure.id).collect::<Vec<_>>())
        };
        assert_eq!(ids(&["sent-f4a"]).expect("it is there"), ["SENT-F4a"]);
        assert_eq!(ids(&["SENT-F4"]).expect("both are there"), ["SENT-F4a", "SENT-F4b"]);
        assert!(ids(&["SS-F7"]).expect_err("not here").to_string().contains("SS-F7"));
        assert!(ids(&["REEF"]).expect_err("no such figure").to_string().contains("--list"));
        assert!(ids(&["all"]).expect("all").len() > 30);
    }
}
