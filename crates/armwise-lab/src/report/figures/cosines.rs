//! Figure 3: the distribution of the cosine similarities of feature vectors.
//!
//! Bars are shares of all pairs, and the band of nearly orthogonal pairs is marked with its share
//! and with what random directions would give, without which the share says little.

use super::{Figure, TITLES, both, data_line, generated_note};
use crate::results::{Cosines, Data, Results};
use armwise_charts::{
    Anchor, Axis, Frame, Ink, Paint, Scale, Scene, Shape, Text, WIDE, number, percent, significant, ticks_linear,
};

pub(super) fn figure(results: &Results) -> Option<Figure> {
    let promotions = results.promotions.as_ref()?;
    let (cosines, data) = (&promotions.cosines, &promotions.data);
    if cosines.share.is_empty() || cosines.edges.len() != cosines.share.len() + 1 {
        return None;
    }
    let (wide, narrow) = both(|width| scene(cosines, data, width));
    Some(Figure {
        number: 3,
        title: TITLES[2].to_owned(),
        caption: caption(cosines, data),
        alt: format!(
            "Histogram of cosine similarities between feature vectors of users; {} of pairs lie between −0.1 and 0.1.",
            percent(cosines.near_orthogonal, 1)
        ),
        wide,
        narrow,
        numbers: String::new(),
    })
}

fn scene(cosines: &Cosines, data: &Data, width: f64) -> Scene {
    let mut scene = Scene::new(width, 0.0);
    let top = data_line(&mut scene, data, 0.0);
    let height = if width < WIDE { 210.0 } else { 260.0 };
    let highest = cosines.share.iter().copied().filter(|share| share.is_finite()).fold(0.0, f64::max).max(1e-9);
    let y = Scale::Linear { low: 0.0, high: highest * 1.18 };
    let mut y_ticks = ticks_linear(0.0, highest * 1.18, 5);
    for tick in &mut y_ticks {
        tick.label = format!("{}%", significant(tick.value * 100.0, 2).trim_end_matches(".0"));
    }
    let left = Frame::gutter(&y_ticks);
    let ends = (cosines.edges[0], cosines.edges[cosines.edges.len() - 1]);
    let frame = Frame {
        edge: 0.0,
        left,
        top: top + Frame::HEAD - 20.0,
        width: width - left - 8.0,
        height,
        x: Axis {
            title: "Cosine similarity of two users, bias element left out".to_owned(),
            scale: Scale::Linear { low: ends.0, high: ends.1 },
            ticks: ticks_linear(ends.0, ends.1, if width < WIDE { 4 } else { 10 }),
        },
        y: Axis { title: "Share of all pairs".to_owned(), scale: y, ticks: y_ticks },
    };
    scene.height = frame.bottom() + Frame::FOOT;
    let band = (frame.px(-0.1), frame.px(0.1));
    let area = Shape::Rect { x: band.0, y: frame.top, width: band.1 - band.0, height: frame.height };
    scene.shape(area, Paint::fill(Ink::Grid).faded(0.8));
    frame.draw(&mut scene, "");
    for (bin, &share) in cosines.share.iter().enumerate() {
        let (from, to) = (frame.px(cosines.edges[bin]), frame.px(cosines.edges[bin + 1]));
        let y = frame.py(share);
        let gap = if to - from > 4.0 { 0.8 } else { 0.0 };
        if share > 0.0 {
            let bar = Shape::Rect { x: from, y, width: to - from - gap, height: frame.bottom() - y };
            let range = format!("{} to {}", number(cosines.edges[bin], 2), number(cosines.edges[bin + 1], 2));
            scene.shape_with_tip(bar, Paint::fill(Ink::Blue), format!("{range}: {}", percent(share, 2)));
        }
    }
    note(&mut scene, cosines, &frame, band.1);
    scene
}

fn note(scene: &mut Scene, cosines: &Cosines, frame: &Frame, right: f64) {
    let rows = [
        (format!("{} of pairs within ±0.1", percent(cosines.near_orthogonal, 1)), true),
        (format!("random directions: {}", percent(cosines.near_orthogonal_random, 1)), false),
    ];
    // To the left of the band there is room as well, but pairs of like users make the right side the one to explain.
    for (row, (text, bold)) in rows.into_iter().enumerate() {
        let at = (right + 8.0, frame.top + 14.0 + 18.0 * row as f64);
        scene.text(Text::new(at, text).anchor(Anchor::Start).bold(bold));
    }
}

fn caption(cosines: &Cosines, data: &Data) -> String {
    format!(
        "{} users, all {} pairs, d − 1 = {} factors. {} of pairs have a cosine between −0.1 and 0.1 (grey band); independent random directions in as many dimensions would have {}. The paper calls many feature vectors almost orthogonal; compare the two shares to see how far that is the geometry of {} dimensions and how far it is the data.{}",
        number(cosines.users as f64, 0),
        number(cosines.pairs as f64, 0),
        data.d.saturating_sub(1),
        percent(cosines.near_orthogonal, 1),
        percent(cosines.near_orthogonal_random, 1),
        data.d.saturating_sub(1),
        generated_note(data)
    )
}
