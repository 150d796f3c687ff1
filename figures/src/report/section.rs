//! A figure on the page: its drawing, its claims, its numbers.

use super::drawing::{drawing, drawn};
use super::{upper, verdicts};
use crate::outcome::{Judged, Outcome, Spread, Verdict};
use crate::plot::{escaped, number};
use anyhow::Result;
use std::fmt::Write;

/// Returns the section of a figure, with a sentence about its run.
pub(super) fn section(outcome: &Outcome, run: &str) -> Result<String> {
    let mut text = format!("<section id=\"{0}\">\n<h3>{0} &middot; {1}", outcome.id, escaped(&outcome.title));
    for (verdict, count) in verdicts(&outcome.claims) {
        let _ = write!(
            text,
            " <span class=\"badge {}\">{count} {}</span>",
            class(verdict),
            verdict.name_of(outcome.expected)
        );
    }
    text.push_str("</h3>\n");
    text.push_str(&drawing(outcome)?);
    if !outcome.claims.is_empty() {
        let claimant = outcome.claimant();
        let _ = write!(text, "<table class=\"claims\">\n<thead><tr><th>ratio</th><th>{claimant}</th><th>ours</th>");
        text.push_str("<th>from &frac14; to 4</th><th>verdict</th><th>why</th></tr></thead>\n");
        outcome.claims.iter().for_each(|claim| text.push_str(&row(claim, outcome)));
        text.push_str("</table>\n");
    }
    let conditions = escaped(&upper(&outcome.conditions));
    let _ = writeln!(text, "<p class=\"small\">{conditions}. {}</p>", escaped(&outcome.note));
    let _ = writeln!(text, "<p class=\"small run\">{run}</p>\n{}</section>", numbers(outcome));
    Ok(text)
}

pub(super) fn class(verdict: Verdict) -> String {
    verdict.name().replace(' ', "-")
}

/// Returns the verdict, and beside it the cause of a difference.
pub(super) fn badges(claim: &Judged, expected: bool) -> String {
    let verdict = claim.verdict;
    let verdict = format!("<span class=\"badge {}\">{}</span>", class(verdict), verdict.name_of(expected));
    // That verdict names its cause itself.
    let cause = claim
        .cause
        .filter(|_| claim.verdict != Verdict::Unscaled)
        .map(|cause| format!(" <span class=\"badge cause\">{}</span>", cause.name()));
    let form = match claim.is_counted() {
        true => String::new(),
        false => format!(" <small title=\"{}\">another form, not counted</small>", escaped(&claim.form_of)),
    };
    verdict + &cause.unwrap_or_default() + &form
}

/// Returns the paper's ratio and ours.
pub(super) fn paper_and_ours(claim: &Judged) -> (String, String) {
    let ours = claim.ours.map_or("&ndash;".into(), |ours| match ours.least < ours.greatest {
        true => format!("{:.2} <small>{:.2} to {:.2}</small>", ours.median, ours.least, ours.greatest),
        false => format!("{:.2}", ours.median),
    });
    (escaped(&claim.paper), ours)
}

fn row(claim: &Judged, outcome: &Outcome) -> String {
    let (here, there) = (outcome.place(claim.x), outcome.place(claim.against_x));
    let ratio = match (claim.of == claim.against, claim.x == claim.against_x) {
        _ if claim.against.is_empty() => format!("{}<br><small>at {here}</small>", escaped(&claim.of)),
        (_, true) => format!("{} / {}<br><small>at {}</small>", escaped(&claim.of), escaped(&claim.against), here),
        (true, false) => format!("{}<br><small>at {here} / at {there}</small>", escaped(&claim.of)),
        (false, false) => {
            format!("{} <small>at {here}</small> / {} <small>at {there}</small>", escaped(&claim.of), claim.against)
        }
    };
    let (paper, ours) = paper_and_ours(claim);
    let needs =
        if claim.needs.is_empty() { String::new() } else { format!("<br><small>needs {}</small>", claim.needs) };
    format!(
        "<tr><td title=\"{}\">{ratio}{needs}</td><td data-label=\"{}\">{}</td><td data-label=\"ours\">{ours}</td>\
         <td class=\"track\">{}</td><td>{}</td><td class=\"why\">{}</td></tr>\n",
        escaped(&outcome.axis),
        outcome.claimant(),
        paper,
        claim
            .ours
            .filter(|_| !claim.against.is_empty())
            .map(|ours| track(&claim.paper, ours, claim.verdict))
            .unwrap_or_default(),
        badges(claim, outcome.expected),
        escaped(&claim.why),
    )
}

/// Draws the two ratios on one line, from a quarter to four times. The paper's is a vertical bar, or a range if it is a
/// word. Ours is a dot with its spread.
fn track(paper: &str, ours: Spread, verdict: Verdict) -> String {
    let at = |ratio: f64| 60.0 + 56.0 * (ratio.max(f64::MIN_POSITIVE).ln() / 4f64.ln()).clamp(-1.0, 1.0);
    let field = |from: f64, to: f64| {
        format!("<rect class=\"said\" x=\"{from:.0}\" y=\"3\" width=\"{:.0}\" height=\"12\"/>", to - from)
    };
    let bound = |paper: &str| paper.rsplit(' ').next().and_then(|bound| bound.parse().ok()).unwrap_or(1.0);
    let said = match paper.parse::<f64>() {
        Ok(ratio) => field(at(ratio) - 2.0, at(ratio) + 2.0),
        Err(_) if paper == "less" || paper == "no more" => field(4.0, 60.0),
        Err(_) if paper == "more" || paper == "no less" => field(60.0, 116.0),
        Err(_) if paper.starts_with("at most ") => field(4.0, at(bound(paper))),
        Err(_) if paper.starts_with("at least ") => field(at(bound(paper)), 116.0),
        Err(_) => field(at(0.85), at(1.15)),
    };
    format!(
        "<svg viewBox=\"0 0 120 18\" aria-hidden=\"true\" class=\"{}\"><path class=\"rule\" d=\"M4 9H116M60 \
         1V17\"/>{said} <path class=\"spread\" d=\"M{:.1} 9H{:.1}\"/><circle cx=\"{:.1}\" cy=\"9\" r=\"4\"/></svg>",
        class(verdict),
        at(ours.least),
        at(ours.greatest),
        at(ours.median),
    )
}

/// Returns a table of all medians, for readers that need exact numbers.
fn numbers(outcome: &Outcome) -> String {
    let places = outcome.places();
    let open = if drawn(outcome).len() == outcome.series.len() { "" } else { " open" };
    let unit = escaped(&outcome.unit);
    let mut text =
        format!("<details{open}><summary>Numbers: {unit}</summary><div class=\"wide\"><table>\n<tr><th></th>");
    places.iter().for_each(|place| text.push_str(&format!("<th>{}</th>", escaped(&outcome.place(*place)))));
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
