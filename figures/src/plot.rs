//! A figure drawn: lines over places that are evenly spaced, as the papers' axes are, each point with its spread.
//!
//! Colours are those of the page, which has them for light and for dark: the drawing names each by a number that no
//! drawing would choose, and the numbers are replaced by the page's names once it is drawn.

use crate::outcome::Outcome;
use anyhow::{Result, anyhow};
use plotters::prelude::*;

const WIDTH: u32 = 640;
const HEIGHT: u32 = 340;

/// Colours of series on the page.
pub(crate) const COLOURS: usize = 8;

/// The page's text and its lines of reference.
const INK: RGBColor = RGBColor(1, 2, 3);
const FAINT: RGBColor = RGBColor(1, 2, 4);

fn colour(series: usize) -> RGBColor {
    RGBColor(1, 3, (series % COLOURS) as u8)
}

/// The drawing as SVG.
pub(crate) fn drawn(outcome: &Outcome) -> Result<String> {
    let mut svg = String::new();
    draw(outcome, &mut svg).map_err(|error| anyhow!("{}: {error}", outcome.id))?;
    svg = svg.replace("#010203", "var(--ink)").replace("#010204", "var(--faint)");
    for series in 0..COLOURS {
        svg = svg.replace(&format!("#0103{series:02X}"), &format!("var(--series-{series})"));
    }
    // As wide as the page lets it be.
    let size = format!("<svg width=\"{WIDTH}\" height=\"{HEIGHT}\"");
    let about = format!("<svg role=\"img\" aria-label=\"{} {}\"", outcome.id, escaped(&outcome.title));
    Ok(svg.replacen(&size, &about, 1))
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn draw(outcome: &Outcome, svg: &mut String) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut places: Vec<f64> = outcome.series.iter().flat_map(|series| &series.points).map(|point| point.x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let at = |x: f64| places.iter().position(|place| *place == x).unwrap_or(0) as f64;
    let points = || outcome.series.iter().flat_map(|series| &series.points);
    let most = points().map(|point| point.spread.greatest).fold(0.0, f64::max).max(f64::MIN_POSITIVE) * 1.08;
    let root = SVGBackend::with_string(svg, (WIDTH, HEIGHT)).into_drawing_area();
    let text = |size: u32| ("sans-serif", size).into_font().color(&INK);
    let mut chart = ChartBuilder::on(&root)
        .margin(8)
        .x_label_area_size(48)
        .y_label_area_size(72)
        .build_cartesian_2d(-0.4..places.len() as f64 - 0.6, 0.0..most)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(FAINT)
        .axis_style(INK)
        .label_style(text(17))
        .axis_desc_style(text(17))
        .set_tick_mark_size(LabelAreaPosition::Bottom, 0)
        .x_labels(places.len() * 5)
        .x_label_formatter(&|x| label_of(&places, *x))
        .y_label_formatter(&|y| number(*y))
        .x_desc(&outcome.axis)
        .y_desc(&outcome.unit)
        .draw()?;
    for (index, series) in outcome.series.iter().enumerate() {
        let own = colour(index);
        // Side by side, where several stand at one place.
        let aside = (index as f64 - (outcome.series.len() - 1) as f64 / 2.0) * 0.04;
        let x = |x: f64| at(x) + aside;
        let mut line: Vec<_> = series.points.iter().map(|point| (x(point.x), point.spread.median)).collect();
        line.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        chart.draw_series(LineSeries::new(line.iter().copied(), own.stroke_width(2)))?;
        chart.draw_series(line.iter().map(|point| Circle::new(*point, 4, own.filled())))?;
        chart.draw_series(series.points.iter().map(|point| {
            let ends = [point.spread.least, point.spread.greatest];
            PathElement::new(ends.map(|y| (x(point.x), y)).to_vec(), own.stroke_width(1))
        }))?;
    }
    root.present()?;
    Ok(())
}

/// The name of a place, and nothing between places.
fn label_of(places: &[f64], x: f64) -> String {
    let nearest = x.round();
    if (x - nearest).abs() > 1e-6 || nearest < 0.0 {
        return String::new();
    }
    places.get(nearest as usize).map_or(String::new(), ToString::to_string)
}

/// A number as short as its size allows.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 10_000.0 => format!("{:.0}k", value / 1_000.0),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
