//! Colours by role, and how each algorithm looks: colour, dash and marker.
//!
//! An algorithm looks the same everywhere. The arm-wise algorithms are warm, solid, filled and
//! bold; the others are cool, dashed and hollow; so the two groups part also without colour. The hues are those of
//! Okabe and Ito for colour-blind readers, darkened on white and lightened on black until lines stand out 3:1.

#![expect(clippy::cast_sign_loss, reason = "counts and colours, all of them clamped or positive by construction")]

use crate::report::html::write;
use armwise::{Algorithm, Randomness};

/// What a mark is painted with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Text and whatever must stand out like text.
    Text,
    /// Text of the second rank.
    Muted,
    /// Axes and ticks.
    Axis,
    /// Grid lines and other quiet marks.
    Grid,
    /// The ground that the picture stands on.
    Paper,
    /// Arms that were not chosen, and other data in the background.
    Quiet,
    /// An algorithm's colour, by its place in the list of looks.
    Algorithm(usize),
    /// A step of the colour scale of heat maps, 0 to 255; the same in light and dark.
    Heat(u8),
    /// Text on a step of that scale.
    OnHeat(u8),
}

type Rgb = [u8; 3];

/// Role, light, dark.
const ROLES: [(&str, Rgb, Rgb); 6] = [
    ("text", [0x1b, 0x1b, 0x1a], [0xec, 0xea, 0xe6]),
    ("muted", [0x59, 0x58, 0x55], [0xae, 0xab, 0xa5]),
    ("axis", [0x8b, 0x89, 0x85], [0x7d, 0x7a, 0x75]),
    ("grid", [0xe6, 0xe4, 0xdf], [0x35, 0x33, 0x30]),
    ("paper", [0xff, 0xff, 0xff], [0x16, 0x15, 0x14]),
    ("quiet", [0xb9, 0xb6, 0xb0], [0x5f, 0x5c, 0x58]),
];

/// The shape of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marker {
    None,
    Circle,
    Square,
    Diamond,
    Up,
    Down,
}

/// How an algorithm looks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// Its name in the paper; empty for one that is not known here.
    pub(crate) title: &'static str,
    /// Whether it randomizes arm by arm.
    pub(crate) arm_wise: bool,
    pub(crate) ink: Ink,
    pub(crate) dash: &'static [f64],
    pub(crate) marker: Marker,
}

/// Colours and shapes.
#[derive(Debug, Clone, Copy)]
struct Style {
    light: Rgb,
    dark: Rgb,
    dash: &'static [f64],
    marker: Marker,
}

const SOLID: &[f64] = &[];
const LONG: &[f64] = &[8.0, 3.5];
const SHORT: &[f64] = &[4.0, 2.5];
const FINE: &[f64] = &[1.6, 2.8];

/// By the algorithm's place in the library's list; all algorithms after these share the last.
const STYLES: [Style; 9] = [
    style(0x6f_6f6f, 0xa9_a9a9, FINE, Marker::Square),
    style(0x35_94d1, 0x8f_d0fb, LONG, Marker::Up),
    style(0xb3_568d, 0xe3_95c4, LONG, Marker::Down),
    style(0x00_558c, 0x4a_9be0, SHORT, Marker::Circle),
    style(0xd5_5e00, 0xff_8b42, SOLID, Marker::Circle),
    style(0x00_855f, 0x36_c498, SHORT, Marker::Diamond),
    style(0xb8_8000, 0xf1_b932, SOLID, Marker::Diamond),
    style(0x94_918c, 0x86_837e, FINE, Marker::None),
    style(0x44_4444, 0xcc_cccc, LONG, Marker::Square),
];

const fn style(light: u32, dark: u32, dash: &'static [f64], marker: Marker) -> Style {
    Style { light: rgb(light), dark: rgb(dark), dash, marker }
}

const fn rgb(hex: u32) -> Rgb {
    [(hex >> 16) as u8, (hex >> 8) as u8, hex as u8]
}

/// How an algorithm looks, by its name. A report is written of known algorithms only; anything else has the last style
/// and no title, never those of another algorithm.
pub(crate) fn look(name: &str) -> Look {
    let known = Algorithm::ALL.iter().enumerate().find(|(_, description)| description.name == name);
    let at = known.map_or(STYLES.len(), |(at, _)| at).min(STYLES.len() - 1);
    let arm_wise = known.is_some_and(|(_, of)| of.randomness == Randomness::PerArm && of.uses_width);
    let Style { dash, marker, .. } = STYLES[at];
    Look {
        title: known.map_or("", |(_, description)| description.title),
        arm_wise,
        ink: Ink::Algorithm(at),
        dash: if arm_wise { SOLID } else { dash },
        marker,
    }
}

/// Five colours of cividis, which colour-blind readers see in the same order as everyone.
const HEAT: [Rgb; 5] =
    [[0x00, 0x22, 0x4e], [0x41, 0x4d, 0x6b], [0x7c, 0x7b, 0x78], [0xbc, 0xae, 0x6c], [0xfe, 0xe8, 0x38]];

fn heat(step: u8) -> Rgb {
    let at = f64::from(step) / 255.0 * (HEAT.len() - 1) as f64;
    let from = (at.floor() as usize).min(HEAT.len() - 2);
    let share = at - from as f64;
    std::array::from_fn(|part| {
        let (a, b) = (f64::from(HEAT[from][part]), f64::from(HEAT[from + 1][part]));
        (a + (b - a) * share).round() as u8
    })
}

/// A value's step on the colour scale between two ends.
pub(crate) fn heat_range(value: f64, low: f64, high: f64) -> u8 {
    if high > low { ((value - low) / (high - low) * 255.0).clamp(0.0, 255.0).round() as u8 } else { 255 }
}

/// The relative luminance of the web content accessibility guidelines.
fn luminance(colour: Rgb) -> f64 {
    let [r, g, b] = colour.map(|part| {
        let part = f64::from(part) / 255.0;
        if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

impl Ink {
    /// The colour on white.
    pub(crate) fn light(self) -> Rgb {
        match self {
            Self::Algorithm(at) => STYLES[at].light,
            Self::Heat(step) => heat(step),
            Self::OnHeat(step) if luminance(heat(step)) > 0.18 => [0, 0, 0],
            Self::OnHeat(_) => [0xff, 0xff, 0xff],
            _ => ROLES[self.role()].1,
        }
    }

    fn role(self) -> usize {
        match self {
            Self::Muted => 1,
            Self::Axis => 2,
            Self::Grid => 3,
            Self::Paper => 4,
            Self::Quiet => 5,
            _ => 0,
        }
    }

    /// The name of the variable that holds the colour in a page; none for colours that are the same in light and dark.
    pub(crate) fn variable(self) -> Option<String> {
        match self {
            Self::Algorithm(at) => Some(format!("a{at}")),
            Self::Heat(_) | Self::OnHeat(_) => None,
            _ => Some(ROLES[self.role()].0.to_owned()),
        }
    }
}

/// A colour as `#rrggbb`.
pub(crate) fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// The colours as declarations of variables for a style sheet.
pub(crate) fn variables(dark: bool) -> String {
    let roles = ROLES.iter().map(|&(name, on_white, on_black)| (name.to_owned(), on_white, on_black));
    let styles = STYLES.iter().enumerate().map(|(at, style)| (format!("a{at}"), style.light, style.dark));
    let mut out = String::new();
    for (name, on_white, on_black) in roles.chain(styles) {
        write(&mut out, format_args!("--{name}:{};", hex(if dark { on_black } else { on_white })));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contrast(a: Rgb, b: Rgb) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_and_lines_stand_out_in_light_and_dark() {
        let (white, black) = (ROLES[4].1, ROLES[4].2);
        for (name, light, dark) in &ROLES[..2] {
            assert!(contrast(*light, white) >= 4.5 && contrast(*dark, black) >= 4.5, "{name}");
        }
        for (at, style) in STYLES.iter().enumerate() {
            assert!(contrast(style.light, white) >= 3.0, "{at} on white: {}", contrast(style.light, white));
            assert!(contrast(style.dark, black) >= 3.0, "{at} on black: {}", contrast(style.dark, black));
        }
        for step in 0..=255 {
            assert!(contrast(Ink::OnHeat(step).light(), Ink::Heat(step).light()) >= 4.5, "heat {step}");
        }
    }

    #[test]
    fn every_algorithm_has_a_look_of_its_own() {
        for description in Algorithm::ALL {
            assert_eq!(look(description.name).title, description.title);
        }
        let looks: Vec<Look> = Algorithm::NAMES.iter().map(|name| look(name)).collect();
        let drawn: Vec<_> = STYLES.iter().map(|style| (format!("{:?}", style.dash), style.marker)).collect();
        for (at, one) in drawn.iter().enumerate() {
            assert!(!drawn[..at].contains(one), "{at} looks like another without colour");
        }
        for (look, name) in looks.iter().zip(Algorithm::NAMES) {
            assert_eq!(look.arm_wise, look.dash.is_empty(), "{name}");
        }
        for look in looks.iter().take(STYLES.len() - 1) {
            let Ink::Algorithm(at) = look.ink else { panic!("{look:?}") };
            assert_eq!(look.dash, STYLES[at].dash, "the style was made for {}", look.title);
        }
    }

    #[test]
    fn an_unknown_name_looks_like_no_algorithm() {
        let unknown = look("ucb");
        assert_eq!(unknown.title, "");
        assert!(Algorithm::NAMES.iter().take(STYLES.len() - 1).all(|name| look(name).ink != unknown.ink));
    }
}
