//! Figure 9: the regret of every algorithm on every problem, relative to the best tuned one, with parameters set in three ways.
//!
//! A panel per problem with a row per algorithm and three marks in it. All panels share one axis, so that they can be read down.

use super::{Figure, TITLES, both, trials};
use crate::report::looks::title_of;
use crate::results::{Contender, How, Results, Way, Which, WhichProblem};
use armwise_charts::{
    Anchor, Area, Axis, Cell, Frame, Ink, Paint, Scale, Scene, Shape, Table, Text, Tick, WIDE, compact, escape, grid,
    number, text_width, write,
};

/// The height of a row.
const ROW: f64 = 24.0;
/// The size of type that names rows.
const TYPE: f64 = 13.0;
/// The three ways, as they are called and painted.
pub(crate) const WAYS: [(How, &str, Ink); 3] = [
    (How::Automatic, "automatic", Ink::Orange),
    (How::Tuned, "tuned", Ink::Blue),
    (How::Default, "default", Ink::Grey),
];

pub(super) fn figure(results: &Results) -> Option<Figure> {
    let study = results.which.as_ref().filter(|study| !study.problems.is_empty())?;
    let (wide, narrow) = both(|width| scene(study, width));
    Some(Figure {
        number: 9,
        title: TITLES[8].to_owned(),
        caption: caption(study),
        alt: "Dot plots of regret relative to the best tuned algorithm, one panel per problem, one row per algorithm, with automatic, tuned and default parameters; the numbers are in the tables below.".to_owned(),
        wide,
        narrow,
        numbers: study.problems.iter().map(numbers).collect(),
    })
}

/// The name of a contender.
pub(crate) fn named(contender: &Contender) -> String {
    let title = title_of(&contender.algorithm);
    if contender.variant.is_empty() { title } else { format!("{title}, {}", contender.variant) }
}

fn scene(study: &Which, width: f64) -> Scene {
    let most = study.problems.iter().map(|problem| problem.contenders.len()).max().unwrap_or(0) as f64;
    let height = 34.0 + ROW * most + Frame::FOOT;
    let (areas, end) = grid(study.problems.len(), if width < WIDE { 1 } else { 2 }, width, 24.0, height);
    let mut scene = Scene::new(width, end);
    let mut x = 6.0;
    for (how, name, _) in WAYS {
        mark(&mut scene, how, (x, 8.0), "");
        scene.text(Text::new((x + 9.0, 12.4), name).ink(Ink::Muted));
        x += 24.0 + text_width(name, TYPE, false);
    }
    let names = study.problems.iter().flat_map(|problem| &problem.contenders).map(named);
    let gutter = names.map(|name| text_width(&name, TYPE, false)).fold(0.0, f64::max) + 12.0;
    let scale = scale(study);
    for (problem, area) in study.problems.iter().zip(areas) {
        panel(&mut scene, problem, area, gutter.min(area.width * 0.5), scale);
    }
    scene
}

/// From a little below the smallest ratio to the largest, at most 30.
fn scale(study: &Which) -> Scale {
    let ways = study.problems.iter().flat_map(|problem| &problem.contenders).flat_map(|contender| &contender.ways);
    let values = ways.map(|way| way.relative.value).filter(|value| value.is_finite() && *value > 0.0);
    let (low, high) = values.fold((1.0_f64, 2.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    Scale::Log { low: (low * 0.9).max(0.2), high: (high * 1.1).min(30.0) }
}

fn panel(scene: &mut Scene, problem: &WhichProblem, area: Area, gutter: f64, scale: Scale) {
    let count = problem.contenders.len() as f64;
    let ticks = [0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0].map(|value| Tick { value, label: compact(value) });
    let frame = Frame {
        edge: area.left,
        left: area.left + gutter,
        top: area.top + 34.0,
        width: area.width - gutter - 12.0,
        height: ROW * count,
        x: Axis { title: "Regret, best tuned = 1 (log scale)".to_owned(), scale, ticks: ticks.into() },
        y: Axis { title: String::new(), scale: Scale::Linear { low: count, high: 0.0 }, ticks: Vec::new() },
    };
    frame.draw(scene, "");
    scene.text(Text::new((area.left, area.top + 16.0), problem.label.as_str()).size(14.0).bold(true));
    let one = frame.px(1.0);
    scene.line((one, frame.top), (one, frame.bottom()), Paint::stroke(Ink::Axis, 1.0));
    for (place, contender) in problem.contenders.iter().enumerate() {
        let y = frame.py(place as f64 + 0.5);
        scene.line((frame.left, y), (frame.right(), y), Paint::stroke(Ink::Grid, 1.0));
        if contender.ways.is_empty() {
            continue;
        }
        let name = named(contender);
        let best = place == problem.best;
        scene.text(Text::new((frame.left - 8.0, y + 4.4), name.as_str()).anchor(Anchor::End).bold(best));
        for (at, (how, word, ink)) in WAYS.into_iter().enumerate() {
            let Some(way) = contender.way(how).filter(|way| way.relative.value > 0.0) else { continue };
            let y = y + (at as f64 - 1.0) * 5.0;
            let (low, high) = (way.relative.low.max(1e-3), way.relative.high.max(1e-3));
            scene.line((frame.px(low), y), (frame.px(high), y), Paint::stroke(ink, 1.3));
            let tip = format!("{}, {name}, {word}: {}", problem.label, ratio(way));
            mark(scene, how, (frame.px(way.relative.value), y), &tip);
        }
    }
}

/// A filled circle, a square and a small triangle: the ways differ without colour, too.
fn mark(scene: &mut Scene, how: How, (x, y): (f64, f64), tip: &str) {
    let (shape, ink) = match how {
        How::Automatic => (Shape::Circle { at: (x, y), r: 4.2 }, Ink::Orange),
        How::Tuned => (Shape::Rect { x: x - 3.2, y: y - 3.2, width: 6.4, height: 6.4 }, Ink::Blue),
        How::Default => (Shape::Polygon(vec![(x, y - 4.2), (x + 4.0, y + 3.0), (x - 4.0, y + 3.0)]), Ink::Grey),
    };
    scene.shape_with_tip(shape, Paint::fill(ink), tip);
}

/// `1.23 (1.10 to 1.36)`; regret is never below 0, so neither is what is said of it.
pub(crate) fn ratio(way: &Way) -> String {
    let interval = way.relative;
    if interval.high > 1e6 {
        return number(interval.value, 2);
    }
    format!("{} ({} to {})", number(interval.value, 2), number(interval.low.max(0.0), 2), number(interval.high, 2))
}

fn caption(study: &Which) -> String {
    let grid: Vec<String> = study.grid.iter().map(|&value| compact(value)).collect();
    let mut text = format!(
        "Regret is the oracle’s expected reward less that of what was chosen, over all rounds, divided by that of the tuned setting that earned most on the tuning trials (bold), or by a thousandth of what the oracle earns where that setting lost less. Tuned: the best of the grid {} on trials of their own; everything is measured on other trials, the same for all. Lines are 95% intervals of the paired ratios. ",
        escape(&grid.join(", "))
    );
    for problem in &study.problems {
        write(
            &mut text,
            format_args!(
                "<b>{}</b>: {}; tuned on {}, measured on {}. ",
                escape(&problem.label),
                escape(&problem.about),
                trials(problem.tuning_trials),
                trials(problem.trials)
            ),
        );
    }
    if study.problems.iter().any(|problem| problem.generated) {
        text.push_str("<strong class=\"flag\">Generated ratings, not MovieLens, where it says so.</strong>");
    }
    text
}

fn numbers(problem: &WhichProblem) -> String {
    let head = [
        Cell::text("Algorithm"),
        Cell::number("Regret, automatic"),
        Cell::number("Regret, tuned"),
        Cell::number("Regret, default"),
        Cell::number("Reward, automatic / tuned"),
        Cell::number("Reward, default / tuned"),
        Cell::number("Reward, automatic"),
        Cell::text("Tuned to"),
    ];
    let dash = || Cell::number("–");
    let row = |contender: &Contender| {
        let cell = |how: How| contender.way(how).map_or_else(dash, |way| Cell::number(&ratio(way)));
        let automatic = contender.way(How::Automatic);
        let share = |how: How| {
            contender.way(how).map_or_else(dash, |way| {
                let of = way.of_tuned;
                Cell::number(&format!("{} ({} to {})", number(of.value, 3), number(of.low, 3), number(of.high, 3)))
            })
        };
        let [share, default_share] = [How::Automatic, How::Default].map(share);
        let earned = automatic.map_or_else(dash, |way| Cell::number(&super::with_error(way.reward, 1)));
        let params = contender.way(How::Tuned).map_or(String::new(), |way| {
            let all = way.params.iter().map(|(name, value)| format!("{name} = {value}"));
            all.collect::<Vec<String>>().join(", ")
        });
        let [automatic, tuned, default] = [How::Automatic, How::Tuned, How::Default].map(cell);
        vec![
            Cell::text(&named(contender)),
            automatic,
            tuned,
            default,
            share,
            default_share,
            earned,
            Cell::text(&params),
        ]
    };
    let caption = format!(
        "{}: oracle {}, random choice {}",
        problem.label,
        number(problem.oracle.mean, 1),
        super::with_error(problem.random, 1)
    );
    let rows = problem.contenders.iter().map(row).collect();
    Table { caption: escape(&caption), head: head.into(), rows }.html("plain")
}
