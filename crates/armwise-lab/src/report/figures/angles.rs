//! Figure 2: cumulative reward against the angle of the clusters.
//!
//! One panel per protocol over the same axes, fresh trials first. Comparing the two shows how much is gained by
//! choosing parameters on the evaluated trials themselves.

use super::{Figure, TITLES, angle_label, both, paired, series_of, trials, tuned, under, with_error, with_interval};
use crate::report::looks::title_of;
use crate::results::{Angle, Clustered, Comparison, Protocol, Results};
use armwise_charts::{
    Axis, Cell, Ink, LinePanel, Point, Scale, Scene, Series, Table, Tick, WIDE, escape, grid, number, percent, range,
    write,
};

pub(super) fn figure(results: &Results) -> Option<Figure> {
    let clustered = results.clustered.as_ref()?;
    let protocols: Vec<Protocol> = [Protocol::Fresh, Protocol::Paper]
        .into_iter()
        .filter(|&protocol| clustered.angles.iter().any(|angle| under(&angle.comparisons, protocol).is_some()))
        .collect();
    if protocols.is_empty() {
        return None;
    }
    let (wide, narrow) = both(|width| scene(clustered, &protocols, width));
    Some(Figure {
        number: 2,
        title: TITLES[1].to_owned(),
        caption: caption(clustered, &protocols),
        alt: alt(clustered),
        wide,
        narrow,
        numbers: protocols.iter().map(|&protocol| numbers(clustered, protocol)).collect(),
    })
}

fn scene(clustered: &Clustered, protocols: &[Protocol], width: f64) -> Scene {
    let panels: Vec<(Protocol, Vec<Series>)> =
        protocols.iter().map(|&protocol| (protocol, lines(&clustered.angles, protocol))).collect();
    let everything: Vec<Series> = panels.iter().flat_map(|(_, series)| series.clone()).collect();
    let y = range(&everything, true);
    let (areas, end) = grid(panels.len(), 1, width, 0.0, if width < WIDE { 370.0 } else { 390.0 });
    let mut scene = Scene::new(width, end);
    for ((protocol, series), area) in panels.into_iter().zip(areas) {
        let panel = LinePanel {
            title: panel_title(clustered, protocol),
            x: axis(&clustered.angles),
            y_title: format!("Cumulative reward after {} rounds (mean, 95% interval)", clustered.rounds),
            y,
            series,
            dodge: if width < WIDE { 2.0 } else { 5.0 },
        };
        panel.draw(&mut scene, area);
    }
    scene
}

fn panel_title(clustered: &Clustered, protocol: Protocol) -> String {
    let count = count_of(clustered, protocol);
    match protocol {
        Protocol::Fresh => format!("Fresh: tuned on other trials, {}", trials(count)),
        Protocol::Paper => format!("Paper: best of the grid, same {}", trials(count)),
    }
}

fn count_of(clustered: &Clustered, protocol: Protocol) -> usize {
    let comparisons = clustered.angles.iter().filter_map(|angle| under(&angle.comparisons, protocol));
    comparisons.flat_map(|comparison| &comparison.algorithms).map(|tuned| tuned.trials).max().unwrap_or(0)
}

fn axis(angles: &[Angle]) -> Axis {
    let low = angles.iter().map(|angle| angle.angle).fold(f64::INFINITY, f64::min);
    let high = angles.iter().map(|angle| angle.angle).fold(f64::NEG_INFINITY, f64::max);
    let air = ((high - low) * 0.05).max(0.05);
    Axis {
        title: "Angle of the clusters to the common axis (radians)".to_owned(),
        scale: Scale::Linear { low: low - air, high: high + air },
        ticks: angles.iter().map(|angle| Tick { value: angle.angle, label: angle_label(&angle.label) }).collect(),
    }
}

/// The oracle, random choice, the existing algorithms and, on top, the arm-wise ones.
fn lines(angles: &[Angle], protocol: Protocol) -> Vec<Series> {
    let mut oracle = Series::reference("Oracle", Ink::Text);
    let mut names: Vec<&str> = Vec::new();
    for (angle, comparison) in at_angles(angles, protocol) {
        oracle.points.push(Point { x: angle.angle, y: comparison.oracle.mean, error: 0.0, tip: String::new() });
        for tuned in &comparison.algorithms {
            if !names.contains(&tuned.algorithm.as_str()) {
                names.push(&tuned.algorithm);
            }
        }
    }
    let mut all = vec![oracle];
    for name in names {
        let mut series = series_of(name);
        for (angle, comparison) in at_angles(angles, protocol) {
            if let Some(tuned) = tuned(comparison, name) {
                let reward = tuned.cumulative_reward;
                let tip = format!("{}, {}: {}", series.label, angle_label(&angle.label), with_error(reward, 1));
                let error = reward.margin.unwrap_or(0.0);
                series.points.push(Point { x: angle.angle, y: reward.mean, error, tip });
            }
        }
        all.push(series);
    }
    all.sort_by_key(|series| series.bold);
    all
}

fn at_angles(angles: &[Angle], protocol: Protocol) -> impl Iterator<Item = (&Angle, &Comparison)> {
    angles.iter().filter_map(move |angle| Some((angle, under(&angle.comparisons, protocol)?)))
}

fn caption(clustered: &Clustered, protocols: &[Protocol]) -> String {
    let clusters = clustered.d.saturating_sub(1);
    let mut text = format!(
        "Each round {} of {} arms are chosen from {clusters} clusters (d = {}, arms {}, ties {}). Bars are 95% intervals. ",
        number(clustered.k as f64, 0),
        number(clustered.n as f64, 0),
        clustered.d,
        escape(&clustered.order),
        escape(&clustered.ties)
    );
    let protocol = protocols[0];
    if let Some((angle, comparison)) = at_angles(&clustered.angles, protocol).last() {
        let of_oracle = |name: &str| {
            let tuned = tuned(comparison, name)?;
            let share = percent(tuned.cumulative_reward.mean / comparison.oracle.mean, 0);
            Some(format!("{} {} ({share})", title_of(name), with_error(tuned.cumulative_reward, 1)))
        };
        let shares: Vec<String> =
            ["pc2ucb", "arm-wise-ts", "greedy", "c2ucb", "round-wise-ts"].into_iter().filter_map(of_oracle).collect();
        let place = escape(&angle_label(&angle.label));
        write(
            &mut text,
            format_args!(
                "At {place}, in rewards and as a share of the oracle’s {}: {}. ",
                number(comparison.oracle.mean, 1),
                shares.join("; ")
            ),
        );
        for (a, b) in [("pc2ucb", "c2ucb"), ("arm-wise-ts", "round-wise-ts")] {
            if let Some(pair) = paired(comparison, a, b) {
                let (a, b) = (title_of(a), title_of(b));
                write(&mut text, format_args!("{a} − {b} on the same trials: {}. ", with_interval(pair.difference, 1)));
            }
        }
    }
    text
}

fn alt(clustered: &Clustered) -> String {
    let labels: Vec<String> = clustered.angles.iter().map(|angle| angle_label(&angle.label)).collect();
    format!(
        "Line chart of mean cumulative reward of the algorithms, random choice and the oracle at the angles {}; the numbers are in the table below it.",
        labels.join(", ")
    )
}

fn numbers(clustered: &Clustered, protocol: Protocol) -> String {
    let mut head = vec![Cell::text("Algorithm")];
    head.extend(at_angles(&clustered.angles, protocol).map(|(angle, _)| Cell::number(&angle_label(&angle.label))));
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for series in lines(&clustered.angles, protocol) {
        let mut row = vec![Cell::text(&series.label)];
        row.extend(series.points.iter().map(|point| {
            let error = if point.error > 0.0 { format!(" ± {}", number(point.error, 1)) } else { String::new() };
            Cell::number(&format!("{}{error}", number(point.y, 1)))
        }));
        rows.push(row);
    }
    Table { caption: escape(&panel_title(clustered, protocol)), head, rows }.html("plain")
}
