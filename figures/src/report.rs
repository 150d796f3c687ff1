//! Writes a page of all results: one self-contained file.

mod answers;
mod designs;
mod drawing;
mod errata;
mod machines;
mod originals;
mod section;
mod tables;

use crate::catalog;
use crate::judge::{Ran, judge};
use crate::outcome::{Judged, Outcome, Verdict};
use crate::plot::escaped;
use crate::results::{self, CRASHES};
use anyhow::{Context, Result, ensure};
use machines::Machines;
use section::section;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The papers' own scale.
const FULL: f64 = 1.0;

const STYLE: &str = include_str!("report.css");

/// Reads the results in the folder, writes the page there, packs the outcomes into one file, and returns them.
pub(crate) fn write(out: &Path, crashes: Option<&Path>) -> Result<Vec<Outcome>> {
    let (mut outcomes, single) = results::read(out)?;
    outcomes.iter_mut().for_each(judge_again);
    ensure!(!outcomes.is_empty(), "there is no figure in {}: run some first", out.display());
    results::pack(out, &outcomes, single)?;
    if let Some(path) = crashes {
        // The file may be the kept one itself, which a copy would empty.
        let table = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        fs::write(out.join(CRASHES), table).with_context(|| format!("writing the table of {}", path.display()))?;
    }
    let page = page(&outcomes, fs::read_to_string(out.join(CRASHES)).ok().as_deref())?;
    let path = out.join("report.html");
    fs::write(&path, page).with_context(|| format!("writing {}", path.display()))?;
    println!("{} figures in {}", outcomes.len(), path.display());
    Ok(outcomes)
}

/// Judges the results by today's claims, which may be newer than the run.
fn judge_again(outcome: &mut Outcome) {
    let Some((family, figure)) = catalog::figure(&outcome.id) else { return };
    let ran = Ran { expected: family.expected, scale: outcome.scale, threads: outcome.threads };
    outcome.claims = figure.claims.iter().map(|claim| judge(claim, ran, &outcome.series)).collect();
    outcome.note = figure.note.into();
    (outcome.axis, outcome.name_of) = (figure.axis.label().into(), figure.axis.name_of());
    outcome.words = figure.axis.words().iter().map(ToString::to_string).collect();
}

/// Returns the families with results, in the order of the list, and then families that are not in the list.
fn families(outcomes: &[Outcome]) -> Vec<&str> {
    let mut names: Vec<&str> = catalog::families().map(|family| family.name).collect();
    names.extend(outcomes.iter().map(|outcome| &*outcome.family));
    let mut found = Vec::new();
    for name in names {
        if !found.contains(&name) && outcomes.iter().any(|outcome| outcome.family == name) {
            found.push(name);
        }
    }
    found
}

fn page(outcomes: &[Outcome], crashes: Option<&str>) -> Result<String> {
    let mut body = String::from("<h1 id=\"top\">The papers' figures, run again</h1>\n");
    body.push_str(
        "<p class=\"lead\">What five papers on B+-trees in persistent memory and in plain memory have measured, \
         measured again with the designs of Holm: each claim as a ratio, the paper's beside ours.</p>\n",
    );
    let machines_of = Machines::of(outcomes);
    body.push_str(&drawing::fills());
    body.push_str(&contents(outcomes));
    body.push_str(&answers::answers(outcomes));
    body.push_str(&designs::designs(outcomes, crashes));
    body.push_str(&errata::errata());
    body.push_str(&originals::originals());
    body.push_str(&machines(outcomes, &machines_of));
    body.push_str(&answers::figures_by_verdict(outcomes));
    for name in families(outcomes) {
        let of: Vec<_> = outcomes.iter().filter(|outcome| outcome.family == name).collect();
        let paper = of.first().map_or("", |outcome| &outcome.paper);
        let _ = writeln!(
            body,
            "<h2 id=\"{}\">{} <a class=\"top\" href=\"#top\">top</a></h2>\n<p>{}.</p>",
            anchor(name),
            escaped(name),
            escaped(&upper(paper))
        );
        if let Some(family) = catalog::families().find(|family| family.name == name) {
            if !family.without.is_empty() {
                let _ = writeln!(
                    body,
                    "<p>Not implemented, and so in none of these figures: {}.</p>",
                    escaped(family.without)
                );
            }
            body.push_str(&tables::missing(&catalog::missing(family, |id| of.iter().any(|outcome| outcome.id == id))));
        }
        body.push_str("<div class=\"family\">\n");
        for outcome in of {
            body.push_str(&section(outcome, &machines_of.run_of(outcome))?);
        }
        body.push_str("</div>\n");
    }
    body.push_str(&tables::durability());
    body.push_str(&tables::crashes(crashes));
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<title>Holm: figures</title>\n<style>\n{STYLE}</style>\n\
         </head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    ))
}

fn anchor(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}

fn upper(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// Describes machines and conditions.
fn machines(outcomes: &[Outcome], machines: &Machines<'_>) -> String {
    let mut text = String::from("<h2 id=\"machine\">Machine <a class=\"top\" href=\"#top\">top</a></h2>\n");
    text.push_str(&machines.table());
    if outcomes.iter().any(|outcome| outcome.scale < FULL) {
        text.push_str(
            "<p class=\"warning\">Some of it was run below the papers' scale: claims that this decides are marked as \
             not measured at this scale.</p>\n",
        );
    }
    text + "<p>A machine of one core is one of the two that a figure of one thread was bound to. Times are medians of \
            rounds that go through all series by turns, after one that does not count. A figure with a seed had \
            another order in each round, which the seed repeats; one without had the same order in all. Thin lines go \
            from the least to the greatest, and end at the edge of the drawing. A hollow circle is where the paper's \
            ratio would put a series. A ratio is taken round by round. Counts are exact.</p>\n"
}

fn contents(outcomes: &[Outcome]) -> String {
    let named = |sections: &[(&str, &str)]| -> Vec<(String, String)> {
        sections.iter().map(|(id, name)| ((*id).to_owned(), (*name).to_owned())).collect()
    };
    let first = named(&[
        ("headlines", "Headline claims"),
        ("designs", "Designs"),
        ("errata", "Errata"),
        ("originals", "Published codes"),
        ("machine", "Machine"),
    ]);
    let links = families(outcomes).into_iter().map(|name| (anchor(name), escaped(name)));
    let others = named(&[("durability", "Durability"), ("crashes", "Crashes")]);
    let links: Vec<_> = first
        .into_iter()
        .chain(links)
        .chain(others)
        .map(|(id, name)| format!("<a href=\"#{id}\">{name}</a>"))
        .collect();
    format!("<nav>{}</nav>\n", links.join(" "))
}

/// Returns how many claims have each verdict, for verdicts that occur. Each statement counts once.
fn verdicts(claims: &[Judged]) -> impl Iterator<Item = (Verdict, usize)> {
    let count = |verdict| claims.iter().filter(|claim| claim.is_counted() && claim.verdict == verdict).count();
    Verdict::ALL.into_iter().map(move |verdict| (verdict, count(verdict))).filter(|(_, count)| *count > 0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::outcome::{Point, Series, Spread};
    use crate::results::{RESULTS, packed, parsed};
    use std::path::PathBuf;

    pub(crate) fn outcome() -> Outcome {
        let point = |x| Point { x, samples: vec![1.0], spread: Spread { least: 0.5, median: 1.0, greatest: 2.0 } };
        let series = |name: &str| Series { name: name.into(), points: vec![point(1.0), point(2.0)] };
        Outcome {
            id: "REEF-F7".into(),
            title: "Fish & <chips>".into(),
            family: "Reefs".into(),
            paper: "of reefs".into(),
            expected: false,
            unit: "ns".into(),
            axis: "threads".into(),
            words: vec![],
            name_of: None,
            continuous: true,
            conditions: "calm".into(),
            note: String::new(),
            run: vec![("Compiler".into(), "of <reefs>".into())],
            machine: "one, ext4 on /dev/shoal, load average 3 at the start".into(),
            flush: "Clwb".into(),
            scale: 1.0,
            threads: 2,
            rounds: 5,
            seed: Some(4_711),
            exact: false,
            seconds: 1.0,
            series: vec![series("coral"), series("sand")],
            claims: vec![Judged {
                of: "coral".into(),
                against: "sand".into(),
                x: 1.0,
                against_x: 1.0,
                paper: "as much".into(),
                ours: Some(Spread { least: 0.9, median: 1.0, greatest: 1.1 }),
                verdict: Verdict::Reproduced,
                needs: String::new(),
                cause: None,
                headline: "Coral grows".into(),
                form_of: String::new(),
                why: "As much.".into(),
            }],
        }
    }

    #[test]
    fn the_page_needs_nothing_else_and_is_escaped() {
        let page = page(&[outcome()], Some("a < b")).expect("a page");
        for word in ["http:", "https:", "<script", "<link", "url(h", "url(/", "<chips>", "shoal", "#0102", "#0103"] {
            // The namespace of SVG is a name, not an address.
            assert!(!page.replace("http://www.w3.org/2000/svg", "").contains(word), "{word}");
        }
        for word in [
            "Fish &amp; &lt;chips&gt;",
            "var(--series-1)",
            "var(--ink)",
            "reproduced",
            "a &lt; b",
            "Strict",
            "Coral grows",
            "seed 4711",
        ] {
            assert!(page.contains(word), "{word}");
        }
        // The drawing, the line of its claim, and two series in the legend.
        assert!(page.matches("<svg role=").count() == 1 && page.matches("viewBox").count() == 4, "{page}");
    }

    #[test]
    fn a_statement_in_two_forms_counts_once_by_the_papers() {
        let mut outcome = outcome();
        let other = Judged {
            verdict: Verdict::Contradicted,
            cause: Some(crate::claim::Cause::Unequal),
            headline: String::new(),
            form_of: "REEF-F7, coral / sand".into(),
            ..outcome.claims[0].clone()
        };
        outcome.claims.push(other);
        let page = page(&[outcome], None).expect("a page");
        assert!(page.contains("of 1 claims, 1 hold.") && !page.contains("<th>contradicted</th>"), "{page}");
        assert!(page.contains("another form, not counted") && page.contains(">contradicted</span>"), "{page}");
    }

    fn kept_in(file: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/report").join(file)
    }

    /// The results that the repository keeps, judged by today's claims.
    fn kept() -> Vec<Outcome> {
        let mut outcomes: Vec<Outcome> = parsed(&kept_in(RESULTS)).expect("kept results");
        outcomes.iter_mut().for_each(judge_again);
        outcomes
    }

    /// With `HOLM_WRITE=1` in the environment, the test writes the page: after a change of claims or of the page, no
    /// figure has to be run again.
    #[test]
    fn the_kept_page_is_what_its_results_give() {
        let outcomes = kept();
        let crashes = fs::read_to_string(kept_in(CRASHES)).expect("kept crashes");
        let (path, wanted) = (kept_in("report.html"), page(&outcomes, Some(&crashes)).expect("a page"));
        if std::env::var_os("HOLM_WRITE").is_some() {
            fs::write(&path, wanted).expect("the page can be written");
            fs::write(kept_in(RESULTS), packed(&outcomes).expect("results")).expect("the results can be written");
        } else {
            let same = fs::read_to_string(&path).is_ok_and(|text| text == wanted);
            assert!(same, "HOLM_WRITE=1 cargo test -p holm-figures the_kept_page writes {}", path.display());
        }
    }

    #[test]
    fn every_difference_of_the_kept_run_has_a_cause() {
        let mut unexplained = Vec::new();
        for outcome in kept() {
            let differs = |claim: &&Judged| claim.verdict.differs() || claim.verdict == Verdict::Stronger;
            let without = outcome.claims.iter().filter(differs).filter(|claim| claim.cause.is_none());
            unexplained.extend(without.map(|it| format!("{}: {} / {} at {}", outcome.id, it.of, it.against, it.x)));
        }
        assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
    }

    #[test]
    fn hypotheses_are_counted_apart_and_bounds_are_no_contradictions() {
        let outcomes = kept();
        let judged = |id: &str, of: &str, against: &str| {
            let outcome = outcomes.iter().find(|outcome| outcome.id == id).expect("a kept figure");
            outcome.claims.iter().find(|it| it.of == of && it.against == against).expect("a claim").verdict
        };
        // Recovery in 0.39 of the time is what the paper claims, and more.
        assert_eq!(judged("BD-X2", "BD", "LB"), Verdict::Reproduced);
        assert_eq!(judged("SYN-S1", "HOLM", "ISLE"), Verdict::Reproduced);
        assert_eq!(judged("SENT-F6a", "CIRC_S", "CIRC"), Verdict::Contradicted);
        assert_eq!(judged("SENT-F7b", "FF_S, 4 KiB", "FF, 4 KiB"), Verdict::Weaker);
        assert_eq!(judged("SENT-F4c", "CIRC_F", "CIRC"), Verdict::Contradicted);
        let page = page(&outcomes, None).expect("a page");
        let (papers, own) = (page.find("Claims of the papers"), page.find("Hypotheses of our own"));
        assert!(papers.zip(own).is_some_and(|(papers, own)| papers < own));
        assert!(page.contains("<th>refuted</th>") && page.contains("Sentinels are up to 60.1 percent faster"));
    }
}
