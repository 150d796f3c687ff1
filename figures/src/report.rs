//! A page of all that has been run: one file, which needs nothing else.

use crate::outcome::{Judged, Outcome, Verdict};
use crate::plot::{self, COLOURS, escaped, number};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// A scale below this says nothing of the papers' sizes.
const SMALL: f64 = 0.1;

const STYLE: &str = include_str!("report.css");

/// Reads what is in the folder and writes the page there.
pub(crate) fn write(out: &Path, crashes: Option<&Path>) -> Result<()> {
    let mut outcomes = Vec::new();
    let listing = fs::read_dir(out).with_context(|| format!("reading {}: nothing has been run", out.display()))?;
    for path in listing.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()? {
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            let outcome: Outcome = serde_json::from_str(&text).with_context(|| format!("in {}", path.display()))?;
            outcomes.push(outcome);
        }
    }
    ensure!(!outcomes.is_empty(), "there is no figure in {}: run some first", out.display());
    outcomes.sort_by(|a, b| (&a.family, order(&a.id)).cmp(&(&b.family, order(&b.id))));
    let crashes = crashes.map(|path| fs::read_to_string(path).with_context(|| format!("reading {}", path.display())));
    let page = page(&outcomes, crashes.transpose()?.as_deref())?;
    let path = out.join("report.html");
    fs::write(&path, page).with_context(|| format!("writing {}", path.display()))?;
    println!("{} figures in {}", outcomes.len(), path.display());
    Ok(())
}

/// Numbers in a name count as numbers: 7 before 13.
fn order(id: &str) -> (String, u64, String) {
    let digits = |c: char| c.is_ascii_digit();
    let start = id.find(digits).unwrap_or(id.len());
    let end = id[start..].find(|c| !digits(c)).map_or(id.len(), |length| start + length);
    (id[..start].into(), id[start..end].parse().unwrap_or(0), id[end..].into())
}

fn page(outcomes: &[Outcome], crashes: Option<&str>) -> Result<String> {
    let mut body = String::new();
    body.push_str("<h1>The papers' figures, run again</h1>\n");
    body.push_str(&machines(outcomes));
    body.push_str(&summary(outcomes));
    let mut family = "";
    for outcome in outcomes {
        if outcome.family != family {
            family = &outcome.family;
            let _ = writeln!(body, "<h2>{}</h2>\n<p>{}</p>", escaped(family), escaped(&outcome.paper));
        }
        body.push_str(&section(outcome)?);
    }
    body.push_str(&durability());
    body.push_str(&crash_table(crashes));
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<title>Holm: figures</title>\n<style>\n{STYLE}</style>\n\
         </head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    ))
}

/// Where and how; more than one line where runs of several machines or scales are together.
fn machines(outcomes: &[Outcome]) -> String {
    let mut runs: BTreeMap<String, usize> = BTreeMap::new();
    for outcome in outcomes {
        // The load when a run began is not the machine's.
        let machine = outcome.machine.split(", load average").next().unwrap_or_default();
        let flush = &outcome.flush;
        let run = format!("{machine}; flushed by {flush}; scale {}, up to {} threads", outcome.scale, outcome.threads);
        *runs.entry(run).or_default() += 1;
    }
    let mut text = String::new();
    for (run, figures) in runs {
        let _ = writeln!(text, "<p class=\"machine\">{figures} figures: {}.</p>", escaped(&run));
    }
    if outcomes.iter().any(|outcome| outcome.scale < SMALL) {
        text.push_str(
            "<p class=\"warning\">Some of it was run at a small scale, which keeps every command alive and \
                       fits into a cache: verdicts of such a run are of small trees.</p>\n",
        );
    }
    text + "<p>Times are medians of rounds that go through all series by turns, after one that does not count; bars \
            show the least and the greatest. A ratio is taken round by round. Counts are exact. A scale is the part of \
            the paper's numbers of keys and operations.</p>\n"
}

fn summary(outcomes: &[Outcome]) -> String {
    let mut text = String::from("<table class=\"summary\">\n<tr><th>verdict</th><th>claims</th><th>of</th></tr>\n");
    for verdict in [Verdict::Reproduced, Verdict::Stronger, Verdict::Weaker, Verdict::Contradicted, Verdict::Unmeasured]
    {
        let of = |outcome: &&Outcome| outcome.claims.iter().any(|claim| claim.verdict == verdict);
        let count =
            outcomes.iter().flat_map(|outcome| &outcome.claims).filter(|claim| claim.verdict == verdict).count();
        let links: Vec<_> =
            outcomes.iter().filter(of).map(|outcome| format!("<a href=\"#{0}\">{0}</a>", outcome.id)).collect();
        let _ = writeln!(text, "<tr><td>{}</td><td>{count}</td><td>{}</td></tr>", badge(verdict), links.join(" "));
    }
    text + "</table>\n"
}

fn badge(verdict: Verdict) -> String {
    let name = verdict.name();
    format!("<span class=\"badge {}\">{name}</span>", name.replace(' ', "-"))
}

fn section(outcome: &Outcome) -> Result<String> {
    let mut text = format!("<section id=\"{0}\">\n<h3>{0} &middot; {1}</h3>\n", outcome.id, escaped(&outcome.title));
    let _ =
        writeln!(text, "<figure>\n<div class=\"wide\">{}</div>\n{}</figure>", plot::drawn(outcome)?, legend(outcome));
    if !outcome.claims.is_empty() {
        text.push_str("<div class=\"wide\"><table>\n<tr><th>ratio</th><th>paper</th><th>ours</th><th>verdict</th>");
        text.push_str("<th>why</th></tr>\n");
        outcome.claims.iter().for_each(|claim| text.push_str(&row(claim, &outcome.axis)));
        text.push_str("</table></div>\n");
    }
    let rounds = if outcome.exact { "exact".into() } else { format!("{} rounds", outcome.rounds) };
    let _ = write!(text, "<p class=\"small\">{}; {rounds}.", escaped(&outcome.conditions));
    let _ = writeln!(text, " {}</p>\n{}</section>", escaped(&outcome.note), numbers(outcome));
    Ok(text)
}

fn legend(outcome: &Outcome) -> String {
    let names = outcome.series.iter().enumerate().map(|(index, series)| {
        let colour = index % COLOURS;
        format!("<span><i style=\"background:var(--series-{colour})\"></i>{}</span>", escaped(&series.name))
    });
    format!("<figcaption>{}</figcaption>\n", names.collect::<Vec<_>>().join(" "))
}

fn row(claim: &Judged, axis: &str) -> String {
    let place = match claim.x == claim.against_x {
        true => format!("at {}", claim.x),
        false => format!("at {} and {}", claim.x, claim.against_x),
    };
    let ours = claim.ours.map_or("&ndash;".into(), |ours| {
        format!("{:.2}<br><small>{:.2} to {:.2}</small>", ours.median, ours.least, ours.greatest)
    });
    format!(
        "<tr><td title=\"{}\">{} / {}<br><small>{place}</small></td><td>{}</td><td>{ours}</td><td>{}</td>\
         <td>{}</td></tr>\n",
        escaped(axis),
        escaped(&claim.of),
        escaped(&claim.against),
        escaped(&claim.paper),
        badge(claim.verdict),
        escaped(&claim.why),
    )
}

/// All medians, for who does not trust a drawing.
fn numbers(outcome: &Outcome) -> String {
    let mut places: Vec<f64> = outcome.series.iter().flat_map(|series| &series.points).map(|point| point.x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let mut text = String::from("<details><summary>numbers</summary><div class=\"wide\"><table>\n<tr><th></th>");
    places.iter().for_each(|place| text.push_str(&format!("<th>{place}</th>")));
    text.push_str("</tr>\n");
    for series in &outcome.series {
        let _ = write!(text, "<tr><td>{}</td>", escaped(&series.name));
        for place in &places {
            match series.points.iter().find(|point| point.x == *place).map(|point| point.spread) {
                Some(spread) if outcome.exact => {
                    let _ = write!(text, "<td>{:.4}</td>", spread.median);
                }
                Some(spread) => {
                    let [least, median, greatest] = [spread.least, spread.median, spread.greatest].map(number);
                    let _ = write!(text, "<td>{median}<br><small>{least} to {greatest}</small></td>");
                }
                None => text.push_str("<td></td>"),
            }
        }
        text.push_str("</tr>\n");
    }
    text + "</table></div></details>\n"
}

/// The store's modes: when a write returns, and what is lost where the process dies and where the power fails.
const MODES: [[&str; 4]; 3] = [
    ["Strict", "when it is synced", "nothing", "nothing"],
    ["Buffered", "at once", "nothing", "at most two intervals and one sync"],
    ["OnSync", "at once", "nothing", "at most what came after the last completed sync"],
];

fn durability() -> String {
    let row = |cells: &[&str; 4]| format!("<tr><td>{}</td></tr>\n", cells.join("</td><td>"));
    format!(
        "<h2>Durability</h2>\n<div class=\"wide\"><table>\n<tr><th>mode of the store</th><th>a write returns</th>\
         <th>lost when the process dies</th><th>lost when the power fails</th></tr>\n{}</table></div>\n<p>The figures \
         above are of trees in plain memory: BD is durable by epochs, all others when an operation returns.</p>\n",
        MODES.iter().map(row).collect::<String>()
    )
}

/// What `cargo xtask crash --table` prints, as it is.
fn crash_table(crashes: Option<&str>) -> String {
    let told = match crashes {
        Some(text) => format!("<pre>{}</pre>", escaped(text)),
        None => {
            "<p>Not part of this page: <code>cargo xtask report --crashes FILE</code> puts in what <code>cargo xtask \
                 crash --table</code> has printed.</p>"
                .into()
        }
    };
    format!("<h2>Crashes</h2>\n{told}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Point, Series, Spread};

    fn outcome() -> Outcome {
        let point = |x| Point { x, samples: vec![1.0], spread: Spread { least: 0.5, median: 1.0, greatest: 2.0 } };
        let series = |name: &str| Series { name: name.into(), points: vec![point(1.0), point(2.0)] };
        Outcome {
            id: "REEF-F7".into(),
            title: "Fish & <chips>".into(),
            family: "Reefs".into(),
            paper: "of reefs".into(),
            unit: "ns".into(),
            axis: "threads".into(),
            conditions: "calm".into(),
            note: String::new(),
            machine: "one, load average 3 at the start".into(),
            flush: "Clwb".into(),
            scale: 1.0,
            threads: 2,
            rounds: 5,
            exact: false,
            series: vec![series("coral"), series("sand")],
            claims: vec![Judged {
                of: "coral".into(),
                against: "sand".into(),
                x: 1.0,
                against_x: 1.0,
                paper: "as much".into(),
                ours: Some(Spread { least: 0.9, median: 1.0, greatest: 1.1 }),
                verdict: Verdict::Reproduced,
                why: "As much.".into(),
            }],
        }
    }

    #[test]
    fn the_page_needs_nothing_else_and_is_escaped() {
        let page = page(&[outcome()], Some("a < b")).expect("a page");
        for word in ["http:", "https:", "<script", "<link", "url(", "<chips>", "#0102", "#0103"] {
            // The namespace of SVG is a name, and no place.
            assert!(!page.replace("http://www.w3.org/2000/svg", "").contains(word), "{word}");
        }
        for word in ["Fish &amp; &lt;chips&gt;", "var(--series-1)", "var(--ink)", "reproduced", "a &lt; b", "Strict"] {
            assert!(page.contains(word), "{word}");
        }
        assert!(page.matches("<svg role=").count() == 1 && page.contains("viewBox"), "{page}");
    }

    #[test]
    fn figures_stand_in_the_order_of_their_numbers() {
        let mut ids = ["MB-F13", "MB-F7b", "MB-X1", "MB-F7a", "MB-F9"];
        ids.sort_by_key(|id| order(id));
        assert_eq!(ids, ["MB-F7a", "MB-F7b", "MB-F9", "MB-F13", "MB-X1"]);
    }
}
