//! Figure 8: the share of runs that ever try the better of two sets, against the size of the sets.
//!
//! A panel per way to set the parameters. Below it, as a table, the same question where super arms have substitutes.

use super::{Figure, TITLES, both, trials};
use crate::report::looks::{look, title_of};
use crate::results::{Between, Interval, Results, Tried, TriedLine, TwoSets};
use armwise_charts::{
    Axis, Cell, ErrorMark, LinePanel, Point, Scale, Scene, Series, Table, Tick, escape, grid, number, percent, write,
};

pub(super) fn figure(results: &Results) -> Option<Figure> {
    let study = results.two_sets.as_ref().filter(|study| !study.panels.is_empty())?;
    let (wide, narrow) = both(|width| scene(study, width));
    let numbers = study.panels.iter().map(numbers).chain([between(&study.between)]).collect();
    Some(Figure {
        number: 8,
        title: TITLES[7].to_owned(),
        caption: caption(study),
        alt: "Line charts of the share of runs that ever try the better set against the size k of the sets, one panel per way to set the parameters; the shares are in the table below.".to_owned(),
        wide,
        narrow,
        numbers,
    })
}

/// The name of a line: the algorithm, and the scope of its draws where it is not its own.
fn named(line: &TriedLine) -> String {
    match (line.scope.as_str(), line.algorithm.as_str()) {
        ("", name) => title_of(name),
        (scope, name) => format!("{}, {scope}", title_of(name)),
    }
}

fn scene(study: &TwoSets, width: f64) -> Scene {
    let (areas, end) = grid(study.panels.len(), 1, width, 0.0, 300.0);
    let mut scene = Scene::new(width, end);
    for (panel, area) in study.panels.iter().zip(areas) {
        let panel = LinePanel {
            title: panel.label.clone(),
            x: axis(&panel.k),
            y_title: "Share of runs that ever try the better set".to_owned(),
            y: Scale::Linear { low: 0.0, high: 1.04 },
            series: lines(panel),
            dodge: 3.0,
        };
        panel.draw(&mut scene, area);
    }
    scene
}

fn axis(ks: &[usize]) -> Axis {
    let low = ks.iter().copied().min().unwrap_or(1).max(1) as f64;
    let high = ks.iter().copied().max().unwrap_or(10) as f64;
    let ticks = ks.iter().map(|&k| Tick { value: k as f64, label: number(k as f64, 0) }).collect();
    let scale = Scale::Log { low: low / 1.25, high: (high * 1.25).max(low * 2.0) };
    Axis { title: "Arms in a set, k (log scale)".to_owned(), scale, ticks }
}

fn lines(panel: &Tried) -> Vec<Series> {
    // Scopes of one algorithm differ by their dashes.
    const DASHES: [&[f64]; 4] = [&[7.0, 3.0], &[3.0, 2.5], &[9.0, 2.5, 2.0, 2.5], &[1.6, 2.8]];
    let mut scopes = 0;
    let mut all: Vec<Series> = Vec::new();
    for line in &panel.lines {
        let mut series = Series::new(&named(line), look(&line.algorithm));
        if !line.scope.is_empty() {
            series.dash = DASHES[scopes % DASHES.len()];
            series.bold = false;
            series.filled = false;
            scopes += 1;
        }
        series.error = ErrorMark::Bars;
        let point = |(&k, share): (&usize, &Interval)| Point {
            x: k as f64,
            y: share.value,
            error: 0.0,
            tip: format!("{}, k = {k}: {}", series.label, said(share)),
        };
        series.points = panel.k.iter().zip(&line.share).map(point).collect();
        all.push(series);
    }
    all.sort_by_key(|series| series.bold);
    all
}

fn said(share: &Interval) -> String {
    format!("{} ({} to {})", percent(share.value, 0), percent(share.low, 0), percent(share.high, 0))
}

fn caption(study: &TwoSets) -> String {
    let [first, second] = study.theta;
    let mut text = format!(
        "Two sets of k look-alikes each must be taken whole; arms of the first pay {first} on average, those of the second {second}, and round 1 plays the first. {} of {} rounds. Independent draws of k arms add up to a spread of √k, while what must be overcome grows with k. ",
        trials(study.trials),
        study.rounds
    );
    let found = &study.refutation;
    write(
        &mut text,
        format_args!(
            "With λ = k = {} and the theory’s v<sub>t</sub>, the better set is tried within {:.0e} rounds with a probability of at most {:.3}: the regret is then {:.2e}, Theorem 1’s bound {:.2e}.",
            number(found.k as f64, 0),
            found.rounds,
            found.tried,
            found.regret,
            found.bound
        ),
    );
    text
}

fn numbers(panel: &Tried) -> String {
    let mut head = vec![Cell::text("Policy")];
    head.extend(panel.k.iter().map(|&k| Cell::number(&format!("k = {}", number(k as f64, 0)))));
    let row = |line: &TriedLine| {
        let mut row = vec![Cell::text(&named(line))];
        row.extend(line.share.iter().map(|share| Cell::number(&said(share))));
        row
    };
    Table { caption: escape(&panel.label), head, rows: panel.lines.iter().map(row).collect() }.html("plain")
}

/// Constraints from no substitutes to plenty.
fn between(studies: &[Between]) -> String {
    let Some(first) = studies.first() else { return String::new() };
    let mut head = vec![Cell::text("Super arms")];
    head.extend(first.lines.iter().map(|line| Cell::number(&named(line))));
    let row = |study: &Between| {
        let mut row = vec![Cell::text(&meaning(study))];
        row.extend(study.lines.iter().map(|line| Cell::number(&line.share.first().map_or("–".to_owned(), said))));
        row
    };
    let caption = format!(
        "With substitutes: k = {}, λ = k, the theory’s schedules; runs in which most of a round’s arms are ever of the better kind",
        first.k
    );
    Table { caption: escape(&caption), head, rows: studies.iter().map(row).collect() }.html("plain")
}

fn meaning(study: &Between) -> String {
    let k = study.k;
    match study.constraint.as_str() {
        "explicit" => "explicit: one of two whole sets".to_owned(),
        "linear" => format!("linear: any {k} of {} of one kind", k + study.spare),
        "assignment" => "assignment: everyone gets one of two promotions, half each".to_owned(),
        "quotas" => "quotas: half with even ids, half with odd ones".to_owned(),
        "top-k" => "top-k: any k arms".to_owned(),
        other => other.to_owned(),
    }
}
