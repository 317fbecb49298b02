//! Figure 1: the estimated rewards of a deterministic and an arm-wise policy on clusters.
//!
//! Both panels share one axis and one posterior, every arm is a dot, chosen arms are coloured,
//! and under each cluster stands how many of its arms were chosen.

use super::{Figure, TITLES, angle_of, both, centred};
use crate::report::looks::{is_arm_wise, look, title_of};
use crate::results::{Estimated, Panel, Results};
use armwise_charts::{
    Anchor, Area, Axis, Frame, Ink, Paint, Scale, Scene, Shape, TYPE, Text, Tick, WIDE, escape, grid, number,
    text_width, ticks_linear, write,
};

pub(super) fn figure(results: &Results) -> Option<Figure> {
    let estimated = &results.clustered.as_ref()?.estimated;
    if estimated.panels.is_empty() || estimated.cluster.is_empty() {
        return None;
    }
    let (wide, narrow) = both(|width| scene(estimated, width));
    Some(Figure {
        number: 1,
        title: TITLES[0].to_owned(),
        caption: caption(estimated),
        alt: alt(estimated),
        wide,
        narrow,
        numbers: String::new(),
    })
}

/// The number of clusters.
fn clusters(estimated: &Estimated) -> usize {
    estimated.cluster.iter().max().map_or(0, |last| last + 1)
}

/// How many arms of each cluster a policy chose.
fn chosen_of(estimated: &Estimated, panel: &Panel) -> Vec<usize> {
    let mut counts = vec![0; clusters(estimated)];
    for (&cluster, &chosen) in estimated.cluster.iter().zip(&panel.chosen) {
        counts[cluster] += usize::from(chosen);
    }
    counts
}

fn scene(estimated: &Estimated, width: f64) -> Scene {
    const FOOT: f64 = 26.0;
    let columns = if width < WIDE { 1 } else { 2 };
    let values = estimated.panels.iter().flat_map(|panel| &panel.estimate).chain(&estimated.expected).copied();
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((0.0, 0.0), |(low, high): (f64, f64), value| (low.min(value), high.max(value)));
    let air = ((high - low) * 0.05).max(1e-9);
    let y = Scale::Linear { low: low - air, high: high + air };
    let (areas, end) = grid(estimated.panels.len(), columns, width, 0.0, 360.0);
    let mut scene = Scene::new(width, end + FOOT);
    for (panel, area) in estimated.panels.iter().zip(areas) {
        draw(&mut scene, estimated, panel, area, y);
    }
    key(&mut scene, end, estimated);
    scene
}

/// The room for the labels on the left: ticks above, the names of the two rows below.
fn gutter(ticks: &[Tick]) -> f64 {
    Frame::gutter(ticks).max(text_width("cluster", TYPE, false) + 8.0)
}

fn draw(scene: &mut Scene, estimated: &Estimated, panel: &Panel, area: Area, y: Scale) {
    let count = clusters(estimated);
    let (Scale::Linear { low, high } | Scale::Log { low, high }) = y;
    let mut y_ticks = ticks_linear(low, high, 5);
    // The lowest label would stand on the row of clusters.
    y_ticks.retain(|tick| tick.value > low + 0.05 * (high - low));
    let gutter = gutter(&y_ticks);
    let frame = Frame {
        edge: area.left,
        left: area.left + gutter,
        top: area.top + Frame::HEAD,
        width: area.width - gutter,
        height: area.height - Frame::HEAD - Frame::FOOT - 20.0,
        x: Axis {
            title: String::new(),
            scale: Scale::Linear { low: -0.5, high: count as f64 - 0.5 },
            ticks: (0..count).map(|at| Tick { value: at as f64, label: (at + 1).to_string() }).collect(),
        },
        y: Axis { title: "Estimated reward of each arm".to_owned(), scale: y, ticks: y_ticks },
    };
    let kind = if is_arm_wise(&panel.algorithm) { "one draw per arm" } else { "no draw per arm" };
    frame.draw(scene, &format!("{}: {kind}", title_of(&panel.algorithm)));
    dots(scene, estimated, panel, &frame);
    truth(scene, estimated, &frame);
    let counts = chosen_of(estimated, panel);
    let row = frame.bottom() + 38.0;
    scene.text(Text::new((frame.left - 7.0, row), "chosen").anchor(Anchor::End).ink(Ink::Muted));
    scene.text(Text::new((frame.left - 7.0, frame.bottom() + 18.0), "cluster").anchor(Anchor::End).ink(Ink::Muted));
    for (cluster, &chosen) in counts.iter().enumerate() {
        let text = centred((frame.px(cluster as f64), row), &chosen.to_string());
        scene.text(if chosen > 0 { text.ink(Ink::Text).bold(true) } else { text });
    }
}

/// Arms of a cluster side by side in the order of their ids; the chosen ones on top.
fn dots(scene: &mut Scene, estimated: &Estimated, panel: &Panel, frame: &Frame) {
    let mut sizes = vec![0usize; clusters(estimated)];
    for &cluster in &estimated.cluster {
        sizes[cluster] += 1;
    }
    let mut seen = vec![0usize; sizes.len()];
    let (mut left_out, mut taken) = (Vec::new(), Vec::new());
    for (arm, &cluster) in estimated.cluster.iter().enumerate() {
        let place = (seen[cluster] as f64 + 0.5) / sizes[cluster] as f64;
        seen[cluster] += 1;
        let (Some(&estimate), Some(&chosen)) = (panel.estimate.get(arm), panel.chosen.get(arm)) else { continue };
        if estimate.is_finite() {
            let at = (frame.px(cluster as f64 + (place - 0.5) * 0.8), frame.py(estimate));
            if chosen { taken.push(at) } else { left_out.push(at) }
        }
    }
    scene.shape(Shape::Dots { at: left_out, r: 1.3 }, Paint::fill(Ink::Quiet));
    scene.shape(Shape::Dots { at: taken, r: 2.1 }, Paint::fill(look(&panel.algorithm).ink));
}

/// The mean expected reward of each cluster, as a short line.
fn truth(scene: &mut Scene, estimated: &Estimated, frame: &Frame) {
    for cluster in 0..clusters(estimated) {
        let members = estimated.cluster.iter().zip(&estimated.expected).filter(|&(&of, _)| of == cluster);
        let (sum, count) = members.fold((0.0, 0usize), |(sum, count), (_, &expected)| (sum + expected, count + 1));
        if count > 0 {
            let y = frame.py(sum / count as f64);
            let at = |share: f64| (frame.px(cluster as f64 + share), y);
            scene.line(at(-0.42), at(0.42), Paint::stroke(Ink::Text, 1.6));
        }
    }
}

fn key(scene: &mut Scene, top: f64, estimated: &Estimated) {
    let inks: Vec<Ink> = estimated.panels.iter().map(|panel| look(&panel.algorithm).ink).collect();
    let y = top + 12.0;
    let mut x = 2.0;
    for (place, ink) in inks.iter().enumerate() {
        let at = vec![(x + place as f64 * 7.0, y - 4.0)];
        scene.shape(Shape::Dots { at, r: 2.6 }, Paint::fill(*ink));
    }
    x += inks.len() as f64 * 7.0;
    for (text, rule) in [("chosen", None), ("not chosen", Some(false)), ("expected reward", Some(true))] {
        match rule {
            Some(false) => {
                scene.shape(Shape::Dots { at: vec![(x, y - 4.0)], r: 1.8 }, Paint::fill(Ink::Quiet));
                x += 7.0;
            }
            Some(true) => {
                scene.line((x, y - 4.0), (x + 18.0, y - 4.0), Paint::stroke(Ink::Text, 1.6));
                x += 23.0;
            }
            None => {}
        }
        scene.text(Text::new((x, y), text).ink(Ink::Muted));
        x += text_width(text, TYPE, false) + 20.0;
    }
}

fn touched(counts: &[usize]) -> usize {
    counts.iter().filter(|&&count| count > 0).count()
}

fn caption(estimated: &Estimated) -> String {
    let mut text = format!(
        "Round {} at angle {}, from one and the same posterior; {} of {} arms are chosen. Dots are arms, side by side within their cluster; long lines are the expected rewards, which no policy sees. ",
        estimated.round,
        angle_of(estimated.angle),
        number(estimated.k as f64, 0),
        number(estimated.cluster.len() as f64, 0)
    );
    for panel in &estimated.panels {
        let counts = chosen_of(estimated, panel);
        let verb = if is_arm_wise(&panel.algorithm) { "spreads its choice over" } else { "takes its arms from" };
        write(
            &mut text,
            format_args!(
                "<b>{}</b> ({}) {verb} {} of {} clusters. ",
                escape(&title_of(&panel.algorithm)),
                super::in_words(&panel.algorithm, &panel.params),
                touched(&counts),
                counts.len()
            ),
        );
    }
    text
}

fn alt(estimated: &Estimated) -> String {
    let parts: Vec<String> = estimated
        .panels
        .iter()
        .map(|panel| {
            let counts = chosen_of(estimated, panel);
            format!("{} chooses arms of {} of {} clusters", title_of(&panel.algorithm), touched(&counts), counts.len())
        })
        .collect();
    format!("Estimated reward of every arm by cluster, chosen arms marked: {}.", parts.join("; "))
}
