//! The drawing of a figure with its legend: which series it has, what their bars are filled with, and where the paper's
//! own values are.

use crate::catalog;
use crate::outcome::{Outcome, Series};
use crate::plot::{self, COLOURS, MARKS, escaped};
use anyhow::Result;

/// What distinguishes bars besides their colour, as strokes in a square of eight by eight.
const HATCHES: [&str; COLOURS] = [
    "",
    "M-2 2L2 -2M-2 10L10 -2M6 10L10 6",
    "M0 4H8",
    "M-2 6L2 10M-2 -2L10 10M6 -2L10 2",
    "M4 0V8",
    "M0 4H8M4 0V8",
    "M3 4H5",
    "M-2 2L2 -2M-2 10L10 -2M6 10L10 6M-2 6L2 10M-2 -2L10 10M6 -2L10 2",
];

/// Returns what the bars of all drawings are filled with. The page has it once.
pub(super) fn fills() -> String {
    let fill = |(index, hatch): (usize, &&str)| {
        format!(
            "<pattern id=\"fill-{index}\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\"><rect width=\"8\" \
             height=\"8\" fill=\"var(--series-{index})\"/><path d=\"{hatch}\" stroke=\"var(--ground)\" \
             stroke-width=\"1.5\"/></pattern>\n"
        )
    };
    let fills: String = HATCHES.iter().enumerate().map(fill).collect();
    format!("<svg class=\"fills\" width=\"0\" height=\"0\" aria-hidden=\"true\">\n{fills}</svg>\n")
}

/// Returns the series that are drawn; none if there are more than colours, and nothing says which.
pub(super) fn drawn(outcome: &Outcome) -> Vec<&Series> {
    let wanted = catalog::drawn(&outcome.id);
    let is_wanted = |series: &&Series| wanted.is_none_or(|wanted| wanted.contains(&&*series.name));
    let series: Vec<_> = outcome.series.iter().filter(is_wanted).collect();
    if series.len() > COLOURS { Vec::new() } else { series }
}

/// Returns the drawing and its legend; nothing if no series is drawn.
pub(super) fn drawing(outcome: &Outcome) -> Result<String> {
    let series = drawn(outcome);
    if series.is_empty() {
        return Ok(String::new());
    }
    let has_bars = plot::has_bars(outcome, &series);
    let entry = |(index, series): (usize, &&Series)| {
        let (colour, mark) = (index % COLOURS, index % MARKS.len());
        let sign = match has_bars {
            true => format!(
                "<svg viewBox=\"0 0 16 16\" aria-hidden=\"true\"><rect width=\"16\" height=\"16\" \
                 fill=\"url(#fill-{colour})\"/></svg>"
            ),
            false => format!("<i class=\"mark-{mark}\" style=\"background:var(--series-{colour})\"></i>"),
        };
        format!("<span>{sign}{}</span>", escaped(&series.name))
    };
    let mut legend: Vec<String> = series.iter().enumerate().map(entry).collect();
    let picture = plot::drawn(outcome, &series)?;
    if picture.has_papers_values {
        legend.push(format!("<span><i class=\"theirs\"></i>the {}</span>", outcome.claimant()));
    }
    let others = outcome.series.iter().filter(|it| !series.iter().any(|drawn| drawn.name == it.name));
    let others: Vec<_> = others.map(|series| escaped(&series.name)).collect();
    if !others.is_empty() {
        legend.push(format!("<small>in the numbers below alone: {}</small>", others.join("; ")));
    }
    Ok(format!("<figure>\n{}\n<figcaption>{}</figcaption>\n</figure>\n", picture.svg, legend.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::super::tests::outcome;
    use super::*;

    #[test]
    fn bars_differ_without_their_colours() {
        for (index, hatch) in HATCHES.iter().enumerate() {
            assert!(!HATCHES[..index].contains(hatch), "{hatch}");
        }
        let text = drawing(&outcome()).expect("it is drawn");
        for fill in ["url(#fill-0)", "url(#fill-1)"] {
            // In the drawing at two places, and in the legend.
            assert_eq!(text.matches(fill).count(), 3, "{text}");
        }
        assert!(fills().contains("id=\"fill-1\""));
    }

    #[test]
    fn a_legend_names_the_paper_where_its_values_are_drawn() {
        let mut outcome = outcome();
        assert!(!drawing(&outcome).expect("it is drawn").contains("the paper"), "it gives no number");
        outcome.claims[0].paper = "1.5".into();
        assert!(drawing(&outcome).expect("it is drawn").contains("the paper</span>"));
        outcome.claims[0].paper = "150".into();
        assert!(!drawing(&outcome).expect("it is drawn").contains("the paper"), "the axis ends below");
    }

    #[test]
    fn a_figure_of_many_series_is_drawn_with_its_selection_and_names_the_others() {
        let mut outcome = outcome();
        outcome.id = "ISLE-F7b".into();
        let point = outcome.series[0].points.clone();
        let of = |name: &str| Series { name: name.into(), points: point.clone() };
        outcome.series = ["NV", "FP", "ISLE", "FF, inner nodes volatile"].map(of).into();
        let text = drawing(&outcome).expect("it is drawn");
        assert!(text.contains("alone: FF, inner nodes volatile") && !text.contains("url(#fill-3)"), "{text}");
        outcome.id = "REEF-F7".into();
        outcome.series = (0..=COLOURS).map(|number| of(&number.to_string())).collect();
        assert_eq!(drawing(&outcome).expect("no drawing"), "");
    }
}
