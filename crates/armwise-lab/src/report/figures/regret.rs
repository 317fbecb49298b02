//! Figure 6: measured regret against the bounds of Theorems 1 to 4.
//!
//! A panel per algorithm with four lines on a logarithmic axis: the mean, the worst trial, the
//! trivial bound that no algorithm can exceed, and the theorem's bound.

use super::{Figure, TITLES, angle_of, both, trials, with_error};
use crate::report::looks::title_of;
use crate::results::{RegretLine, RegretStudy, Results};
use armwise_charts::{
    Axis, Cell, ErrorMark, Ink, LinePanel, Marker, Point, Scale, Scene, Series, Table, Tick, WIDE, compact, escape,
    grid, number, rounds_axis, significant, write,
};

pub(super) fn figure(results: &Results) -> Option<Figure> {
    let study = &results.clustered.as_ref()?.regret;
    if study.t.is_empty() || study.lines.is_empty() {
        return None;
    }
    let (wide, narrow) = both(|width| scene(study, width));
    Some(Figure {
        number: 6,
        title: TITLES[5].to_owned(),
        caption: caption(study),
        alt: "Measured regret and theoretical bounds over rounds on a logarithmic axis, one panel per algorithm; the values in the last round are in the table below.".to_owned(),
        wide,
        narrow,
        numbers: numbers(study),
    })
}

fn scene(study: &RegretStudy, width: f64) -> Scene {
    let (areas, end) = grid(study.lines.len(), if width < WIDE { 1 } else { 2 }, width, 0.0, 290.0);
    let mut scene = Scene::new(width, end);
    let y = range(study);
    for (line, area) in study.lines.iter().zip(areas) {
        let panel = LinePanel {
            title: format!("{}, {}", title_of(&line.algorithm), line.theorem),
            x: axis(&study.t),
            y_title: "Regret up to round t (log scale)".to_owned(),
            y,
            series: lines(study, line),
            dodge: 0.0,
        };
        panel.draw(&mut scene, area);
    }
    scene
}

/// Positive values of all lines, by whole powers of ten.
fn range(study: &RegretStudy) -> Scale {
    let of_line = |line: &RegretLine| {
        line.measured
            .iter()
            .map(|mean| mean.mean)
            .chain(line.bound.clone())
            .chain(line.worst.clone())
            .collect::<Vec<f64>>()
    };
    let values = study.lines.iter().flat_map(of_line).chain(study.trivial.clone());
    let (low, high) = values
        .filter(|value| value.is_finite() && *value > 0.0)
        .fold((f64::INFINITY, 1.0), |(low, high): (f64, f64), value| (low.min(value), high.max(value)));
    let low = if low.is_finite() { low } else { 0.1 };
    Scale::Log { low: low * 0.8, high: (high * 1.3).max(low * 10.0) }
}

fn axis(t: &[u64]) -> Axis {
    let (low, high) = (t[0].max(1) as f64, (*t.last().unwrap_or(&1)).max(2) as f64);
    let title = "Round t".to_owned();
    if high / low < 30.0 {
        return rounds_axis(high, 200.0);
    }
    let powers = (0..12).map(|power| 10f64.powi(power)).filter(|value| *value >= low * 0.999 && *value <= high * 1.001);
    let ticks = powers.map(|value| Tick { value, label: number(value, 0) }).collect();
    Axis { title: title + " (log scale)", scale: Scale::Log { low, high }, ticks }
}

fn lines(study: &RegretStudy, line: &RegretLine) -> Vec<Series> {
    let over = |values: &[f64], what: &str| -> Vec<Point> {
        let at = |(&t, &y): (&u64, &f64)| Point {
            x: t as f64,
            y,
            error: 0.0,
            tip: format!("{what}, round {t}: {}", significant(y, 4)),
        };
        study.t.iter().zip(values).filter(|(_, value)| **value > 0.0).map(at).collect()
    };
    let mut bound = Series::reference("Bound", Ink::Text);
    bound.width = 2.0;
    bound.points = over(&line.bound, "bound");
    let mut trivial = Series::reference("Trivial", Ink::Muted);
    trivial.dash = &[1.6, 2.8];
    trivial.width = 1.5;
    trivial.points = over(&study.trivial, "trivial bound");
    let mut measured = super::series_of(&line.algorithm);
    let mut worst = measured.clone();
    "Worst trial".clone_into(&mut worst.label);
    worst.bold = false;
    worst.marker = Marker::None;
    worst.dash = &[1.6, 2.8];
    worst.width = 1.4;
    worst.error = ErrorMark::None;
    worst.points = over(&line.worst, "worst trial");
    "Mean".clone_into(&mut measured.label);
    measured.bold = false;
    measured.error = ErrorMark::Band;
    measured.every = study.t.len().div_ceil(8);
    let means: Vec<f64> = line.measured.iter().map(|mean| mean.mean).collect();
    measured.points = over(&means, "mean");
    for point in &mut measured.points {
        let margin = study
            .t
            .iter()
            .zip(&line.measured)
            .find(|(t, _)| (**t as f64 - point.x).abs() < 0.5)
            .and_then(|at| at.1.margin);
        // Kept above zero, which a logarithmic axis does not have.
        point.error = margin.unwrap_or(0.0).min(point.y * 0.9);
    }
    vec![bound, trivial, worst, measured]
}

fn caption(study: &RegretStudy) -> String {
    let last = *study.t.last().unwrap_or(&0);
    let mut text = format!(
        "The clustered case at angle {}, each algorithm with the schedule of its theorem (λ = {}, δ = {}, R = {}, S = {}), {}. Regret is expected reward: the oracle’s less that of what was chosen. The trivial bound is the most that any choice can lose. ",
        angle_of(study.angle),
        compact(study.lambda),
        compact(study.delta),
        compact(study.r),
        compact(study.s),
        trials(study.trials)
    );
    let parts: Vec<String> = study
        .lines
        .iter()
        .filter_map(|line| {
            let (bound, mean) = (line.bound.last()?, line.measured.last()?.mean);
            Some(format!("{} {}", title_of(&line.algorithm), significant(bound / mean, 2)))
        })
        .collect();
    write(
        &mut text,
        format_args!(
            "By round {} the bound is this many times the mean regret: {}. ",
            number(last as f64, 0),
            escape(&parts.join(", "))
        ),
    );
    let over: usize = study
        .lines
        .iter()
        .map(|line| line.worst.iter().zip(&line.bound).filter(|(worst, bound)| worst > bound).count())
        .sum();
    if over == 0 {
        text.push_str("No trial exceeds its bound at any point.");
    } else {
        write(&mut text, format_args!("The worst trial exceeds its bound at {over} of the points drawn."));
    }
    let vacuous = study.lines.iter().filter(|line| line.vacuous(&study.trivial));
    let vacuous: Vec<String> =
        vacuous.map(|line| format!("{} ({})", title_of(&line.algorithm), line.theorem)).collect();
    if !vacuous.is_empty() {
        write(
            &mut text,
            format_args!(
                " Vacuous at this size, at no point below the trivial bound, so that no trial could exceed it: {}.",
                escape(&vacuous.join(", "))
            ),
        );
    }
    text
}

fn numbers(study: &RegretStudy) -> String {
    let rows = study.lines.iter().map(|line| {
        let dash = || "–".to_owned();
        vec![
            Cell::text(&title_of(&line.algorithm)),
            Cell::text(&line.theorem),
            Cell::number(&line.measured.last().map_or_else(dash, |mean| with_error(*mean, 1))),
            Cell::number(&line.worst.last().map_or_else(dash, |worst| number(*worst, 1))),
            Cell::number(&study.trivial.last().map_or_else(dash, |trivial| number(*trivial, 0))),
            Cell::number(&line.bound.last().map_or_else(dash, |bound| number(*bound, 0))),
        ]
    });
    let head = [
        Cell::text("Algorithm"),
        Cell::text("Bound of"),
        Cell::number("Mean regret"),
        Cell::number("Worst trial"),
        Cell::number("Trivial bound"),
        Cell::number("Bound"),
    ];
    let last = number(*study.t.last().unwrap_or(&0) as f64, 0);
    Table { caption: format!("Regret up to round {last}"), head: head.into(), rows: rows.collect() }.html("plain")
}
