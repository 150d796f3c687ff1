//! Draws a figure: bars for few points or for categories, lines otherwise. Each number is drawn with its spread. Bars
//! are filled with hatches that the page defines, and points of lines have marks, so that no series needs its colour.
//!
//! Where a claim of a paper is a ratio, a hollow circle shows where it would put the series: that ratio times the
//! median of what it is compared with.
//!
//! Points are evenly spaced, as on the papers' axes. The page defines the colours, for light and for dark mode. The
//! drawing uses placeholder colours that no drawing would use otherwise, and the final step replaces them by the page's
//! names.

use crate::outcome::{Judged, Outcome, Point, Series, places};
use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;

/// Width of the drawing in units. A narrow screen scales it down, and it stays readable.
const WIDTH: u32 = 460;
const HEIGHT: u32 = 290;

/// Font size of all text.
const LETTERS: u32 = 17;

/// Height of a line of text, width of a letter as screens show them, and the total width of all points.
const LINE: i32 = 15;
const LETTER: usize = 8;
const ROOM: usize = 384;

/// Up to this number of points, a continuous series is drawn as bars.
const FEW: usize = 3;

/// Colours of series on the page.
pub(crate) const COLOURS: usize = 8;

/// The shapes of marks, as corners: a square, a triangle, a square on its corner, a triangle on its tip, a cross bar.
/// The page's legend has the same ones.
pub(crate) const MARKS: [&[(i32, i32)]; 5] = [
    &[(-3, -3), (3, -3), (3, 3), (-3, 3)],
    &[(-5, 4), (5, 4), (0, -5)],
    &[(0, -5), (5, 0), (0, 5), (-5, 0)],
    &[(-5, -4), (5, -4), (0, 5)],
    &[(-5, -2), (5, -2), (5, 2), (-5, 2)],
];

/// The page's colour for text and for reference lines.
const INK: RGBColor = RGBColor(1, 2, 3);
const FAINT: RGBColor = RGBColor(1, 2, 4);
/// The page's background.
const GROUND: RGBColor = RGBColor(1, 2, 5);

/// The size of most texts; the page's style sheet states it once.
const FONT_SIZE: &str = " font-size=\"13.709677419354838\"";

type Drawn = std::result::Result<(), Box<dyn std::error::Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'b, SVGBackend<'a>, Cartesian2d<Flat, Flat>>;
type Flat = plotters::coord::types::RangedCoordf64;

fn colour(series: usize) -> RGBColor {
    RGBColor(1, 3, (series % COLOURS) as u8)
}

/// What the bars of a series are filled with.
fn fill(series: usize) -> RGBColor {
    RGBColor(1, 4, (series % COLOURS) as u8)
}

/// A drawing as SVG.
pub(crate) struct Picture {
    pub(crate) svg: String,
    /// At least one of the paper's values is within the axis.
    pub(crate) has_papers_values: bool,
}

/// Returns the drawing of some series of a figure.
pub(crate) fn drawn(outcome: &Outcome, series: &[&Series]) -> Result<Picture> {
    let mut svg = String::new();
    let has_papers_values = draw(outcome, series, &mut svg).map_err(|error| anyhow!("{}: {error}", outcome.id))?;
    svg = svg.replace("#010203", "var(--ink)").replace("#010204", "var(--faint)").replace("#010205", "var(--ground)");
    for series in 0..COLOURS {
        svg = svg.replace(&format!("#0103{series:02X}"), &format!("var(--series-{series})"));
        svg = svg.replace(&format!("#0104{series:02X}"), &format!("url(#fill-{series})"));
    }
    // The page determines the width.
    let size = format!("<svg width=\"{WIDTH}\" height=\"{HEIGHT}\"");
    let about = format!("<svg role=\"img\" aria-label=\"{} {}\"", outcome.id, escaped(&outcome.title));
    Ok(Picture { svg: slim(&svg.replacen(&size, &about, 1)), has_papers_values })
}

/// Removes what the page's style sheet states once for all drawings, and the defaults of SVG: a third of the page.
fn slim(svg: &str) -> String {
    let mut slim = String::with_capacity(svg.len());
    for line in svg.lines() {
        let is_text = slim.ends_with('>') && slim.rsplit('\n').next().is_some_and(|last| last.starts_with("<text "));
        if !slim.is_empty() && !is_text && line != "</text>" {
            slim.push('\n');
        }
        slim.push_str(line);
    }
    for default in [" opacity=\"1\"", " stroke-width=\"1\"", " font-family=\"sans-serif\"", FONT_SIZE] {
        slim = slim.replace(default, "");
    }
    slim + "\n"
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The vertical axis.
struct Upright {
    /// Logarithmic, for a line that spans several powers of ten.
    logarithmic: bool,
    range: Range<f64>,
}

impl Upright {
    fn of(series: &[&Series], said: &[Said], bars: bool) -> Self {
        let points = || series.iter().flat_map(|series| &series.points);
        let medians = || points().map(|point| point.spread.median);
        let most = points().map(|point| point.spread.greatest).fold(0.0, f64::max);
        let (least, high) = (medians().fold(f64::MAX, f64::min), medians().fold(f64::MIN_POSITIVE, f64::max));
        if !bars && least > 0.0 && high / least >= 100.0 {
            return Upright { logarithmic: true, range: least.log10().floor()..most.log10().ceil() };
        }
        // One disturbed round must not flatten the rest, nor a paper's value far above them.
        let said = said.iter().map(|said| said.y).filter(|y| *y <= 2.0 * high).fold(0.0, f64::max);
        Upright { logarithmic: false, range: 0.0..(most.min(1.6 * high).max(said) * 1.06) }
    }

    fn at(&self, y: f64) -> f64 {
        let y = if self.logarithmic { y.max(f64::MIN_POSITIVE).log10() } else { y };
        y.clamp(self.range.start, self.range.end)
    }

    /// Returns whether the axis reaches a value.
    fn shows(&self, y: f64) -> bool {
        y > 0.0 && self.range.contains(&if self.logarithmic { y.log10() } else { y })
    }

    fn label(&self, y: f64) -> String {
        match self.logarithmic {
            true if (y - y.round()).abs() > 1e-6 => String::new(),
            true => number(10f64.powf(y)),
            false => tick(y, self.range.end),
        }
    }
}

/// Where a paper's claim puts a series.
struct Said {
    series: usize,
    x: f64,
    y: f64,
}

/// Returns the places of claims that are numbers, of cells that were measured. Only the series that the claim is about
/// must be drawn.
fn said(outcome: &Outcome, drawn: &[&Series]) -> Vec<Said> {
    let place = |claim: &Judged| {
        let paper: f64 = claim.paper.parse().ok()?;
        let series = drawn.iter().position(|series| series.name == claim.of)?;
        let median = |name: &str, x: f64| {
            let points = &outcome.series.iter().find(|series| series.name == name)?.points;
            points.iter().find(|point| point.x.to_bits() == x.to_bits()).map(|point| point.spread.median)
        };
        median(&claim.of, claim.x)?;
        let against = if claim.against.is_empty() { 1.0 } else { median(&claim.against, claim.against_x)? };
        Some(Said { series, x: claim.x, y: paper * against })
    };
    outcome.claims.iter().filter_map(place).collect()
}

/// Returns whether the drawing of some series of a figure has bars.
pub(crate) fn has_bars(outcome: &Outcome, series: &[&Series]) -> bool {
    !outcome.continuous || places(series.iter().copied()).len() <= FEW
}

/// Draws, and returns whether one of the paper's values is within the axis.
fn draw(outcome: &Outcome, drawn: &[&Series], svg: &mut String) -> Result<bool, Box<dyn std::error::Error>> {
    let places = places(drawn.iter().copied());
    let bars = has_bars(outcome, drawn);
    let said = said(outcome, drawn);
    let upright = Upright::of(drawn, &said, bars);
    let room = ROOM / places.len().max(1);
    let names: Vec<_> = places.iter().map(|x| wrapped(&outcome.place(*x), room)).collect();
    let lines = names.iter().map(Vec::len).max().unwrap_or(1) as i32;
    let root = SVGBackend::with_string(svg, (WIDTH, HEIGHT)).into_drawing_area();
    let mut chart = ChartBuilder::on(&root)
        .margin(6)
        .x_label_area_size(LINE * (lines + 1) + 14)
        .y_label_area_size(64)
        .build_cartesian_2d(-0.5..places.len() as f64 - 0.5, upright.range.clone())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(FAINT)
        .axis_style(INK)
        .label_style(("sans-serif", LETTERS).into_font().color(&INK))
        .axis_desc_style(("sans-serif", LETTERS).into_font().color(&INK))
        .set_tick_mark_size(LabelAreaPosition::Bottom, 0)
        .x_labels(1)
        .y_labels(7)
        .x_label_formatter(&|_| String::new())
        .y_label_formatter(&|y| upright.label(*y))
        .y_desc(&outcome.unit)
        .draw()?;
    let at = |point: &Point| places.iter().position(|place| *place == point.x).unwrap_or(0) as f64;
    let wide = 0.8 / drawn.len().max(1) as f64;
    for (index, series) in drawn.iter().enumerate() {
        let aside = (index as f64 + 0.5) * wide - 0.4;
        let mut own: Vec<_> = series.points.iter().map(|point| (at(point), point)).collect();
        own.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        if bars {
            let own: Vec<_> = own.iter().map(|(x, point)| (x + aside, *point)).collect();
            draw_bars(&mut chart, &own, &upright, wide, fill(index))?;
        } else {
            // Series that share a point are drawn slightly side by side.
            let own: Vec<_> = own.iter().map(|(x, point)| (x + aside / 4.0, *point)).collect();
            draw_line(&mut chart, &own, &upright, index)?;
        }
        let theirs = said.iter().filter(|said| said.series == index && upright.shows(said.y));
        chart.draw_series(theirs.map(|said| {
            let x = places.iter().position(|place| *place == said.x).unwrap_or(0) as f64;
            let aside = if bars { aside } else { aside / 4.0 };
            let middle = EmptyElement::at((x + aside, upright.at(said.y)));
            middle + Circle::new((0, 0), 4, GROUND.filled()) + Circle::new((0, 0), 4, INK.stroke_width(1))
        }))?;
    }
    let bottom = |x: usize| chart.plotting_area().map_coordinate(&(x as f64, upright.range.start));
    let middle = chart.plotting_area().get_pixel_range().0;
    let middle = i32::midpoint(middle.start, middle.end);
    let longest = names.iter().flatten().map(String::len).max().unwrap_or(0) as u32;
    // No name may overlap the next one.
    let letters = LETTERS.min(LETTERS * room as u32 / (longest * LETTER as u32 + 3)).max(LETTERS / 2);
    for (x, name) in names.iter().enumerate() {
        write(&root, name, letters, bottom(x))?;
    }
    write(&root, std::slice::from_ref(&outcome.axis), LETTERS, (middle, bottom(0).1 + LINE * lines + 6))?;
    root.present()?;
    drop(chart);
    drop(root);
    Ok(said.iter().any(|said| upright.shows(said.y)))
}

fn draw_bars(chart: &mut Chart<'_, '_>, own: &[(f64, &Point)], upright: &Upright, wide: f64, fill: RGBColor) -> Drawn {
    let half = wide * 0.44;
    chart.draw_series(own.iter().map(|(x, point)| {
        Rectangle::new([(x - half, upright.range.start), (x + half, upright.at(point.spread.median))], fill.filled())
    }))?;
    draw_spreads(chart, own, upright, INK)
}

/// Draws a line with a mark at each point. Marks differ from series to series, for readers who do not see the colours.
fn draw_line(chart: &mut Chart<'_, '_>, own: &[(f64, &Point)], upright: &Upright, series: usize) -> Drawn {
    let colour = colour(series);
    let line: Vec<_> = own.iter().map(|(x, point)| (*x, upright.at(point.spread.median))).collect();
    chart.draw_series(LineSeries::new(line.iter().copied(), colour.stroke_width(2)))?;
    let mark = MARKS[series % MARKS.len()];
    chart.draw_series(line.into_iter().map(|point| EmptyElement::at(point) + Polygon::new(mark, colour.filled())))?;
    draw_spreads(chart, own, upright, colour)
}

fn draw_spreads(chart: &mut Chart<'_, '_>, own: &[(f64, &Point)], upright: &Upright, colour: RGBColor) -> Drawn {
    let apart = own.iter().filter(|(_, point)| point.spread.least < point.spread.greatest);
    chart.draw_series(apart.map(|(x, point)| {
        let ends = [point.spread.least, point.spread.greatest];
        PathElement::new(ends.map(|y| (*x, upright.at(y))).to_vec(), colour.stroke_width(1))
    }))?;
    Ok(())
}

/// Writes lines of text below each other, centred below a point.
fn write(root: &Area<'_>, lines: &[String], letters: u32, (x, y): (i32, i32)) -> Drawn {
    let style = ("sans-serif", letters).into_font().color(&INK).pos(Pos::new(HPos::Center, VPos::Top));
    for (index, line) in lines.iter().enumerate() {
        root.draw_text(line, &style, (x, y + 4 + LINE * index as i32))?;
    }
    Ok(())
}

/// Wraps a name into lines of at most this width, unless a single word is wider.
fn wrapped(name: &str, wide: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in name.split(' ') {
        match lines.last_mut() {
            Some(line) if (line.len() + 1 + word.len()) * LETTER <= wide => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Formats a number on an axis with this end. All numbers of an axis have the same format.
fn tick(value: f64, end: f64) -> String {
    match end {
        _ if value == 0.0 => "0".into(),
        end if end >= 10_000.0 => format!("{}k", value / 1_000.0),
        end if end >= 5.0 => format!("{value:.0}"),
        end if end >= 1.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Formats a number as briefly as its magnitude allows.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1_000_000.0 => format!("{:.0}M", value / 1_000_000.0),
        size if size >= 10_000.0 => format!("{:.0}k", value / 1_000.0),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_wrapped_between_words_alone() {
        assert_eq!(wrapped("unsorted leaves", 100), ["unsorted", "leaves"]);
        assert_eq!(wrapped("as one", 100), ["as one"]);
        assert_eq!(wrapped("inseparable", 8), ["inseparable"]);
    }

    #[test]
    fn ticks_of_one_axis_are_alike() {
        assert_eq!([0.0, 5_000.0, 15_000.0].map(|y| tick(y, 20_000.0)), ["0", "5k", "15k"]);
        assert_eq!([0.0, 0.5, 1.0].map(|y| tick(y, 2.0)), ["0", "0.5", "1.0"]);
    }
}
