//! The nine figures, each drawn for a page and for a telephone, with a caption that gives its numbers.
//!
//! A figure is `None` where the results have no data for it, and the page says so.

mod angles;
mod average;
mod contenders;
mod cosines;
mod estimated;
mod regret;
mod sensitivity;
mod touched;
mod tried;

pub(crate) use contenders::{named as contender_name, ratio as relative};

use crate::report::looks::{look, title_of};
use crate::results::{Comparison, Curve, Data, Interval, Mean, Paired, Params, Protocol, Results, Tuned};
use armwise::Algorithm;
use armwise_charts::{Anchor, ErrorMark, Ink, NARROW, Point, Scene, Series, Text, WIDE, compact, escape, number, wrap};

/// A figure, ready for the page and for files.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    pub(crate) number: usize,
    pub(crate) title: String,
    /// Markup: what to see, with the numbers.
    pub(crate) caption: String,
    /// Plain text: what the picture shows, for those who do not see it.
    pub(crate) alt: String,
    pub(crate) wide: Scene,
    pub(crate) narrow: Scene,
    /// Markup: the numbers behind the picture as a table; may be empty.
    pub(crate) numbers: String,
}

/// The titles of the nine figures; the paper has the first four.
pub(crate) const TITLES: [&str; 9] = [
    "Estimated rewards on clusters",
    "Cumulative reward against the angle of the clusters",
    "Cosine similarity of feature vectors",
    "Average reward per round, sending promotions",
    "Clusters touched per round, at once and in batches",
    "Measured regret against the bounds of the theory",
    "Sensitivity to the parameters",
    "Two sets that must be taken whole",
    "Which algorithm, and who sets its parameters",
];

/// All figures that the results have data for, by number.
pub(crate) fn all(results: &Results) -> Vec<Figure> {
    let makers = [
        estimated::figure,
        angles::figure,
        cosines::figure,
        average::figure,
        touched::figure,
        regret::figure,
        sensitivity::figure,
        tried::figure,
        contenders::figure,
    ];
    makers.into_iter().filter_map(|make| make(results)).collect()
}

/// Draws a figure twice.
fn both(draw: impl Fn(f64) -> Scene) -> (Scene, Scene) {
    (draw(WIDE), draw(NARROW))
}

/// Draws a line from `top` on that names the data, and returns where it ends. Generated data are called so.
fn data_line(scene: &mut Scene, data: &Data, top: f64) -> f64 {
    let label = format!("Data: {}", data_label(data));
    let mut y = top;
    for row in wrap(&format!("{label}; features {}", data.features), scene.width) {
        y += 16.0;
        scene.text(Text::new((0.0, y - 3.0), row).ink(if data.generated { Ink::Text } else { Ink::Muted }));
    }
    y + 6.0
}

/// The data's name, which begins with `generated` where they are.
pub(crate) fn data_label(data: &Data) -> String {
    match (data.generated, data.label.as_str()) {
        (true, "generated" | "") => "generated ratings".to_owned(),
        (true, label) if !label.starts_with("generated") => format!("generated, {label}"),
        (_, label) => label.to_owned(),
    }
}

/// A muted text that is centred at a place.
fn centred(at: (f64, f64), text: &str) -> Text {
    Text::new(at, text).anchor(Anchor::Middle).ink(Ink::Muted)
}

/// A line in an algorithm's look.
fn series_of(name: &str) -> Series {
    Series::new(&title_of(name), look(name))
}

/// A curve over rounds 1, 2, ...; `ties` adds the tie rule to the name.
fn series_of_curve(curve: &Curve, ties: bool) -> Series {
    let mut series = series_of(&curve.algorithm);
    if ties {
        series.label = format!("{}, ties {}", series.label, curve.ties);
        if curve.ties == "random" {
            series.dash = &[1.5, 2.0];
            series.filled = true;
        }
    }
    series.error = ErrorMark::Band;
    series.points = points_over_rounds(&curve.points, &series.label);
    series
}

/// Whether a study runs one algorithm under several tie rules.
fn names_with_ties(curves: &[Curve], one: &Curve) -> bool {
    curves.iter().filter(|curve| curve.algorithm == one.algorithm).count() > 1
}

fn points_over_rounds(points: &[Mean], label: &str) -> Vec<Point> {
    let at = |(place, point): (usize, &Mean)| Point {
        x: (place + 1) as f64,
        y: point.mean,
        error: point.margin.unwrap_or(0.0),
        tip: format!("{label}, round {}: {}", place + 1, with_error(*point, 2)),
    };
    points.iter().enumerate().map(at).collect()
}

/// `227.4 ± 5.5`: a mean with its 95% margin; `227.4 ± n/a` where a single unit has none.
pub(crate) fn with_error(mean: Mean, decimals: usize) -> String {
    format!("{} ± {}", number(mean.mean, decimals), margin_of(mean, decimals))
}

/// A mean's 95% margin.
pub(crate) fn margin_of(mean: Mean, decimals: usize) -> String {
    mean.margin.map_or("n/a".to_owned(), |margin| number(margin, decimals))
}

/// `+142.8 (95% interval 137.1 to 148.5)`.
fn with_interval(interval: Interval, decimals: usize) -> String {
    let sign = if interval.value > 0.0 { "+" } else { "" };
    format!(
        "{sign}{} (95% interval {} to {})",
        number(interval.value, decimals),
        number(interval.low, decimals),
        number(interval.high, decimals)
    )
}

/// The comparison under a protocol.
pub(crate) fn under(comparisons: &[Comparison], protocol: Protocol) -> Option<&Comparison> {
    comparisons.iter().find(|comparison| comparison.protocol == protocol)
}

/// An algorithm's result in a comparison.
pub(crate) fn tuned<'a>(comparison: &'a Comparison, algorithm: &str) -> Option<&'a Tuned> {
    comparison.algorithms.iter().find(|tuned| tuned.algorithm == algorithm)
}

/// A pair of a comparison.
fn paired<'a>(comparison: &'a Comparison, a: &str, b: &str) -> Option<&'a Paired> {
    comparison.paired.iter().find(|pair| pair.a == a && pair.b == b)
}

/// An angle for axes and texts: `pi/4` becomes `π/4`.
fn angle_label(label: &str) -> String {
    label.replace("pi", "π")
}

/// An angle in radians as a fraction of pi where it is one.
fn angle_of(angle: f64) -> String {
    for parts in [2u32, 3, 4, 6, 8, 12, 16, 32] {
        for times in 1..=parts {
            if (angle - std::f64::consts::PI * f64::from(times) / f64::from(parts)).abs() < 1e-9 {
                return if times == 1 { format!("π/{parts}") } else { format!("{times}π/{parts}") };
            }
        }
    }
    number(angle, 3)
}

/// `1 trial`, `5 trials`.
pub(crate) fn trials(count: usize) -> String {
    format!("{} trial{}", number(count as f64, 0), if count == 1 { "" } else { "s" })
}

/// A parameter of an algorithm as the paper writes it.
pub(crate) fn symbol<'n>(algorithm: &str, name: &'n str) -> &'n str {
    let parameter = Algorithm::describe(algorithm).and_then(|description| description.parameter(name));
    parameter.map_or(name, |parameter| parameter.symbol)
}

/// Parameters in the order of the algorithm's own, those that it does not have at the end.
pub(crate) fn in_order<'p>(algorithm: &str, params: &'p Params) -> Vec<(&'p str, f64)> {
    let own = Algorithm::describe(algorithm).map_or(&[][..], |description| description.parameters);
    let place = |name: &str| own.iter().position(|parameter| parameter.name == name).unwrap_or(own.len());
    let mut list: Vec<(&str, f64)> = params.iter().map(|(name, &value)| (name.as_str(), value)).collect();
    list.sort_by_key(|(name, _)| place(name));
    list.into_iter().map(|(name, value)| (symbol(algorithm, name), value)).collect()
}

/// `λ = 1, α = 0.1`, as markup.
fn in_words(algorithm: &str, params: &Params) -> String {
    let list: Vec<String> = in_order(algorithm, params)
        .into_iter()
        .map(|(symbol, value)| format!("{symbol} = {}", compact(value)))
        .collect();
    escape(&list.join(", "))
}

/// A sentence for captions on generated data; empty for real data.
pub(crate) fn generated_note(data: &Data) -> String {
    if data.generated {
        " <strong class=\"flag\">Generated ratings, not MovieLens.</strong>".to_owned()
    } else {
        format!(" Data: {}.", escape(&data.label))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_are_fractions_of_pi() {
        assert_eq!(angle_of(std::f64::consts::FRAC_PI_2), "π/2");
        assert_eq!(angle_of(std::f64::consts::PI * 3.0 / 8.0), "3π/8");
        assert_eq!(angle_of(1.0), "1.000");
        assert_eq!(angle_label("3pi/8"), "3π/8");
    }
}
