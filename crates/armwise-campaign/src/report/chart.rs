//! A small chart: bars or points with intervals, as SVG.
//!
//! One kind of chart serves the whole page, because one thing is shown throughout: a number with
//! its interval per group. It is written here, since the crates that draw bring fonts and canvases along.

use std::fmt::Write;

/// A bar with its interval.
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) value: Option<f64>,
    pub(super) half_width: Option<f64>,
    /// A second value, drawn as a mark.
    pub(super) mark: Option<f64>,
    pub(super) hatched: bool,
}

/// Text that may stand in HTML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The usual width of a letter.
const LETTER: f64 = 7.0;

/// A label that leaves room for others; the table under the chart has the whole name.
fn shortened(label: &str) -> String {
    if label.chars().count() <= 20 { label.to_owned() } else { label.chars().take(19).chain(['\u{2026}']).collect() }
}

/// A round number not below `largest / ticks`.
fn step(span: f64, ticks: f64) -> f64 {
    let raw = (span / ticks).max(1e-12);
    let power = 10_f64.powf(raw.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|&step| step >= raw).unwrap_or(raw)
}

/// Bars from zero, side by side.
pub(super) fn bars(title: &str, bars: &[Bar]) -> String {
    let (width, left, top) = (760.0, 60.0, 12.0);
    let slot = (width - left - 10.0) / bars.len().max(1) as f64;
    let labels: Vec<String> = bars.iter().map(|bar| shortened(&bar.label)).collect();
    let longest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0) as f64 * LETTER;
    // Labels that do not fit side by side are slanted; where even these would touch, some are left out.
    let slanted = longest > slot - 4.0;
    let bottom = if slanted { 24.0 + 0.65 * longest } else { 36.0 };
    let every = if slanted { (14.0 / slot).ceil().max(1.0) } else { 1.0 };
    let height = 224.0 + bottom;
    let ends = bars.iter().flat_map(|bar| {
        let half = bar.half_width.unwrap_or(0.0);
        [bar.value.map(|value| value + half), bar.value.map(|value| value - half), bar.mark]
    });
    let (low, high) = ends.flatten().fold((0.0_f64, 0.0_f64), |(low, high), end| (low.min(end), high.max(end)));
    let step = step(high - low, 5.0);
    let (low, high) = ((low / step).floor() * step, ((high / step).ceil() * step).max(step));
    let y = |value: f64| top + (high - value) / (high - low) * (height - top - bottom);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\"><defs><pattern id=\"open\" width=\"6\" \
         height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"3\" height=\"6\" \
         class=\"bar\"/></pattern></defs>",
        escape(title)
    );
    let digits = (0..6).find(|&digits| step * 10_f64.powi(digits) >= 0.999).unwrap_or(6).unsigned_abs() as usize;
    let mut tick = low;
    while tick <= high + step / 2.0 {
        let at = y(tick);
        let text = format!("{:.digits$}", tick + 0.0);
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{left}\" x2=\"{width}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
            left - 6.0,
            at + 4.0
        );
        tick += step;
    }
    for (place, bar) in bars.iter().enumerate() {
        let middle = left + slot * (place as f64 + 0.5);
        let half = (slot * 0.35).min(40.0);
        if let Some(value) = bar.value {
            let (from, to) = (y(value.max(0.0)), y(value.min(0.0)));
            let fill = if bar.hatched { " fill=\"url(#open)\" stroke=\"#2b6cb0\"" } else { " class=\"bar\"" };
            let _ = write!(
                svg,
                "<rect x=\"{:.1}\" y=\"{from:.1}\" width=\"{:.1}\" height=\"{:.1}\"{fill}/>",
                middle - half,
                2.0 * half,
                (to - from).max(0.5)
            );
            if let Some(half_width) = bar.half_width {
                let (from, to) = (y(value + half_width), y(value - half_width));
                let _ = write!(
                    svg,
                    "<path class=\"whisker\" d=\"M{middle:.1} {from:.1}V{to:.1}M{0:.1} {from:.1}h8M{0:.1} {to:.1}h8\"/>",
                    middle - 4.0
                );
            }
        }
        if let Some(mark) = bar.mark {
            let _ = write!(svg, "<circle class=\"mark\" cx=\"{middle:.1}\" cy=\"{:.1}\" r=\"4\"/>", y(mark));
        }
        if place as f64 % every >= 1.0 {
            continue;
        }
        let (y, label) = (height - bottom + 18.0, escape(&labels[place]));
        let _ = if slanted {
            let x = middle + 4.0;
            write!(svg, "<text transform=\"translate({x:.1} {y:.1}) rotate(-40)\" text-anchor=\"end\">{label}</text>")
        } else {
            write!(svg, "<text x=\"{middle:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{label}</text>")
        };
    }
    format!("<div class=wide>{svg}</svg></div>")
}
