//! The list of families, one line each, and lookups by name.

use crate::families::{epochs, isle, map, sentinels, subnodes, synthesis};
use crate::order::order;
use crate::study::{Absent, Family, Figure, Needs, Study};
use anyhow::{Result, bail};
use std::fmt::Write;

const FAMILIES: &[&Family] =
    &[&sentinels::FAMILY, &isle::FAMILY, &epochs::FAMILY, &subnodes::FAMILY, &map::FAMILY, &synthesis::FAMILY];

/// A study, and those of its figures that are requested.
pub(crate) struct Chosen {
    pub(crate) family: &'static Family,
    pub(crate) study: &'static Study,
    pub(crate) figures: Vec<&'static Figure>,
}

/// What this build and this run provide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given {
    /// Words report that they are read.
    pub(crate) reads: bool,
    /// Times are meaningful.
    pub(crate) times: bool,
    /// A recorded trace is available.
    pub(crate) trace: bool,
}

impl Given {
    /// Returns why a study cannot run, if it cannot.
    fn lacks(self, study: &Study) -> Option<&'static str> {
        match study.needs {
            Needs::Reads => (!self.reads).then_some("counted by a build that sees reads: --reads"),
            _ if !self.times => Some("not for a build that sees reads: without --reads"),
            Needs::Trace => (!self.trace).then_some("of a recorded trace: --trace FILE"),
            Needs::Nothing => None,
        }
    }
}

/// A figure that a folder has no data for, and why.
pub(crate) struct Missing {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) why: &'static str,
}

/// Returns the families, in order.
pub(crate) fn families() -> impl Iterator<Item = &'static Family> {
    FAMILIES.iter().copied()
}

/// Returns a figure, and its family, by its name.
pub(crate) fn figure(id: &str) -> Option<(&'static Family, &'static Figure)> {
    let figures = |family: &'static Family| family.studies.iter().flat_map(|study| study.figures);
    FAMILIES.iter().find_map(|family| Some((*family, figures(family).find(|figure| figure.id == id)?)))
}

/// Returns the series of a figure that are drawn, in their order; none if it has no selection, and so all are drawn.
pub(crate) fn drawn(id: &str) -> Option<&'static [&'static str]> {
    let mut all = FAMILIES.iter().flat_map(|family| family.drawn);
    all.find(|drawn| drawn.figures.iter().any(|prefix| id.starts_with(prefix))).map(|drawn| drawn.series)
}

/// Returns the figures of a family that are missing from a folder.
pub(crate) fn missing(family: &Family, is_there: impl Fn(&str) -> bool) -> Vec<Missing> {
    let absent = family.absent.iter().map(|Absent { id, title, why }| Missing { id, title, why });
    let figures = family.studies.iter().flat_map(|study| study.figures.iter().map(move |figure| (study, figure)));
    let others = figures.filter(|(_, figure)| !is_there(figure.id)).map(|(study, figure)| {
        let why = match study.needs {
            Needs::Nothing => "was not run",
            Needs::Reads => "counted by a build that sees reads: --reads",
            Needs::Trace => "of a recorded trace: --trace FILE",
        };
        Missing { id: figure.id, title: figure.title, why }
    });
    others.chain(absent).collect()
}

/// Lists figures with their states, in the order of the page: the requested ones, or all if none is named.
pub(crate) fn listed(ids: &[String]) -> Result<String> {
    let mut text = String::new();
    let mut found = vec![false; ids.len()];
    for family in FAMILIES {
        let figures = family.studies.iter().flat_map(|study| study.figures.iter().map(move |figure| (study, figure)));
        let here = figures.map(|(study, figure)| {
            let state = match study.needs {
                Needs::Nothing => "runs",
                Needs::Reads => "runs with --reads",
                Needs::Trace => "runs with --trace FILE",
            };
            (figure.id, figure.title, state.to_owned())
        });
        let absent = family.absent.iter().map(|it| (it.id, it.title, format!("not here: {}", it.why)));
        let mut rows: Vec<_> = here.chain(absent).collect();
        for (id, found) in ids.iter().zip(&mut found) {
            *found |= rows.iter().any(|(name, ..)| means(id, name));
        }
        rows.retain(|(name, ..)| ids.is_empty() || ids.iter().any(|id| means(id, name)));
        rows.sort_by_key(|(name, ..)| order(name));
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{}: {}", family.name, family.paper);
        if !family.without.is_empty() {
            let _ = writeln!(text, "  not implemented, so these figures omit: {}", family.without);
        }
        for (name, title, state) in rows {
            let _ = writeln!(text, "  {name:<13} {title:<62} {state}");
        }
    }
    match ids.iter().zip(found).find(|(_, found)| !found) {
        Some((id, _)) => bail!("no figure is named {id}: see `cargo xtask figures --list`"),
        None => Ok(text),
    }
}

/// Returns the requested figures of each study, selected by their names or prefixes of names. `all` selects all that
/// can run.
pub(crate) fn chosen(ids: &[String], given: Given) -> Result<Vec<Chosen>> {
    let studies = || FAMILIES.iter().flat_map(|family| family.studies.iter().map(move |study| (*family, study)));
    for id in ids {
        let mut meant = studies().filter(|(_, study)| study.figures.iter().any(|figure| means(id, figure.id)));
        if meant.clone().any(|(_, study)| given.lacks(study).is_none()) {
            continue;
        }
        if let Some(why) = meant.find_map(|(_, study)| given.lacks(study)) {
            bail!("{id}: {why}");
        }
        match FAMILIES.iter().flat_map(|family| family.absent).find(|absent| means(id, absent.id)) {
            Some(absent) => bail!("{}: {}: {}", absent.id, absent.title, absent.why),
            None => bail!("no figure is named {id}: see `cargo xtask figures --list`"),
        }
    }
    let runnable = studies().filter(|(_, study)| given.lacks(study).is_none());
    let chosen = runnable.map(|(family, study)| {
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
    use crate::claim::Claim;
    use crate::plot::COLOURS;
    use crate::setting::Setting;
    use crate::study::Axis;
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
                for figure in study.figures {
                    let words = figure.axis.words();
                    let is_there = |series: &str, x: f64| match figure.axis {
                        Axis::Measures(..) => cells.iter().any(|cell| cell.series == series) && x < words.len() as f64,
                        _ => cells.iter().any(|cell| cell.series == series && cell.x == x),
                    };
                    let named = |x: f64| words.is_empty() || x.fract() == 0.0 && (0.0..words.len() as f64).contains(&x);
                    let is_axis = matches!(figure.axis, Axis::Words(..));
                    assert!(!is_axis || cells.iter().all(|cell| named(cell.x)), "{}: a place of no name", figure.id);
                    assert!(names.insert(figure.id), "{} twice", figure.id);
                    for claim in figure.claims {
                        let against = claim.against_x.unwrap_or(claim.x);
                        let other = claim.against.is_none_or(|series| is_there(series, against));
                        let both = is_there(claim.of, claim.x) && other;
                        let from = claim.from.is_none_or(|from| {
                            is_there(claim.of, from) && claim.against.is_some_and(|it| is_there(it, from))
                        });
                        assert!(from, "{}: {} from {:?}", figure.id, claim.of, claim.from);
                        assert!(both, "{}: {} against {:?} at {}", figure.id, claim.of, claim.against, claim.x);
                        assert!(claim.because.ends_with('.'), "{}: {} for no reason", figure.id, claim.of);
                    }
                }
            }
        }
        let of = |paper: &str| names.iter().filter(|name| name.starts_with(paper)).count();
        assert_eq!(["SENT-", "ISLE-", "BD-", "SS-", "MB-", "SYN-"].map(of), [24, 18, 20, 32, 26, 34]);
    }

    /// A figure with more series than colours was a table alone: those of the papers' headlines among them.
    #[test]
    fn every_figure_can_be_drawn_with_what_its_headlines_are_about() {
        let setting = Setting::new(0.000_1, Some(8), 1).expect("a setting");
        for (study, figure) in FAMILIES.iter().flat_map(|family| family.studies).flat_map(|study| {
            let figures = study.figures.iter();
            figures.map(move |figure| (study, figure))
        }) {
            let measured: BTreeSet<_> = (study.cells)(&setting).iter().map(|cell| cell.series).collect();
            let drawn = drawn(figure.id).map_or_else(|| measured.iter().copied().collect(), <[_]>::to_vec);
            assert!(drawn.len() <= COLOURS, "{}: {} series", figure.id, drawn.len());
            assert!(drawn.iter().all(|series| measured.contains(series)), "{}: {drawn:?}", figure.id);
            for claim in figure.claims.iter().filter(|claim| !claim.headline.is_empty()) {
                assert!(drawn.contains(&claim.of), "{}: {} is not drawn", figure.id, claim.of);
                assert!(claim.against.is_none_or(|it| drawn.contains(&it)), "{}: {:?}", figure.id, claim.against);
            }
        }
    }

    /// `cargo xtask artifact` names them, because the name of a family without such figures is refused.
    #[test]
    fn these_families_count_reads() {
        let counts = |family: &&&Family| family.studies.iter().any(|study| study.needs == Needs::Reads);
        let names: Vec<_> = FAMILIES.iter().filter(counts).map(|family| family.name).collect();
        assert_eq!(names, ["Sentinels", "Isle-Tree", "SSTree", "Synthesis"]);
    }

    #[test]
    fn another_form_is_one_of_a_claim_that_is_there_and_has_the_headline() {
        for claim in
            FAMILIES.iter().flat_map(|family| family.studies).flat_map(|study| study.figures).flat_map(|it| it.claims)
        {
            let Some(printed) = claim.form_of else { continue };
            let (_, figure) = figure(printed.figure).expect("a figure");
            let is_it = |other: &&Claim| {
                let series = other.of == printed.of && other.against == printed.against;
                series && other.x == printed.x.unwrap_or(claim.x) && other.said == claim.said
            };
            let found = figure.claims.iter().find(is_it);
            let found = found.unwrap_or_else(|| panic!("{printed:?} at {}", claim.x));
            assert!(found.form_of.is_none() && claim.headline.is_empty(), "{printed:?}: {}", claim.headline);
        }
    }

    #[test]
    fn those_that_are_named_are_listed_in_the_order_of_their_numbers() {
        let told = |ids: &[&str]| listed(&ids.iter().map(ToString::to_string).collect::<Vec<_>>());
        let names = |text: String| {
            let rows = text.lines().filter_map(|line| line.strip_prefix("  ")).filter(|row| !row.starts_with("not"));
            rows.filter_map(|row| row.split(' ').next().map(String::from)).collect::<Vec<_>>()
        };
        assert_eq!(
            names(told(&["isle-f7"]).expect("they are there")),
            ["ISLE-F7a", "ISLE-F7b", "ISLE-F7c", "ISLE-F7d"]
        );
        assert_eq!(names(told(&["SS-X1", "BD-X4"]).expect("they are there")), ["BD-X4", "SS-X1"]);
        assert!(told(&["SENT", "REEF"]).expect_err("no such figure").to_string().contains("REEF"));
        assert_eq!(names(told(&[]).expect("all")), names(told(&["all"]).expect("all")));
    }

    #[test]
    fn figures_are_found_by_name_and_what_is_not_here_says_why() {
        let given = |reads, trace| Given { reads, times: !reads, trace };
        let told = |asked: &[&str], given| {
            let asked: Vec<_> = asked.iter().map(ToString::to_string).collect();
            chosen(&asked, given)
                .map(|all| all.iter().flat_map(|one| &one.figures).map(|figure| figure.id).collect::<Vec<_>>())
        };
        let ids = |asked: &[&str]| told(asked, given(false, false));
        assert_eq!(ids(&["sent-f4a"]).expect("it is there"), ["SENT-F4a"]);
        assert_eq!(ids(&["SENT-F4"]).expect("both are there"), ["SENT-F4a", "SENT-F4b", "SENT-F4c", "SENT-F4d"]);
        assert!(ids(&["SS-X1"]).expect_err("not here").to_string().contains("SS-X1"));
        assert!(ids(&["SENT-X2"]).expect_err("another build's").to_string().contains("--reads"));
        assert!(ids(&["BD-F2-own"]).expect_err("no trace").to_string().contains("--trace"));
        assert_eq!(told(&["SENT-X"], given(true, false)).expect("it is there"), ["SENT-X2", "SENT-X3a", "SENT-X3b"]);
        assert_eq!(told(&["BD-F2-own"], given(false, true)).expect("it is there"), ["BD-F2-own"]);
        assert!(ids(&["REEF"]).expect_err("no such figure").to_string().contains("--list"));
        assert!(ids(&["all"]).expect("all").len() > 30);
    }
}
