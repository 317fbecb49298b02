//! Colours by name, each with a light and a dark value, and the colour scale of heat maps.
//!
//! A page declares every colour as a CSS variable of the same name, once for light and once for dark; pictures in it
//! refer to the variables. The hues are those of Okabe and Ito for colour-blind readers, darkened on white and lightened
//! on black until lines stand out 3:1; a test holds them to it.

#![expect(clippy::cast_sign_loss, reason = "colours, all of them clamped or positive by construction")]

use crate::html::write;

/// What a mark is painted with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
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
    /// Data in the background, such as arms that were not chosen.
    Quiet,
    /// A colour for data.
    Grey,
    /// A colour for data, light blue.
    Sky,
    /// A colour for data.
    Pink,
    /// A colour for data, and the one for bars.
    Blue,
    /// A colour for data, and the one for what must be noticed.
    Orange,
    /// A colour for data.
    Green,
    /// A colour for data.
    Gold,
    /// A colour for data, a lighter grey.
    Stone,
    /// A colour for data, a darker grey.
    Slate,
    /// A step of the colour scale of heat maps, 0 to 255; the same in light and dark.
    Heat(u8),
    /// Text on a step of that scale.
    OnHeat(u8),
}

type Rgb = [u8; 3];

/// The colours that have a variable: ink, name, on white, on black.
const COLOURS: [(Ink, &str, u32, u32); 15] = [
    (Ink::Text, "text", 0x1b_1b1a, 0xec_eae6),
    (Ink::Muted, "muted", 0x59_5855, 0xae_aba5),
    (Ink::Axis, "axis", 0x8b_8985, 0x7d_7a75),
    (Ink::Grid, "grid", 0xe6_e4df, 0x35_3330),
    (Ink::Paper, "paper", 0xff_ffff, 0x16_1514),
    (Ink::Quiet, "quiet", 0xb9_b6b0, 0x5f_5c58),
    (Ink::Grey, "grey", 0x6f_6f6f, 0xa9_a9a9),
    (Ink::Sky, "sky", 0x35_94d1, 0x8f_d0fb),
    (Ink::Pink, "pink", 0xb3_568d, 0xe3_95c4),
    (Ink::Blue, "blue", 0x00_558c, 0x4a_9be0),
    (Ink::Orange, "orange", 0xd5_5e00, 0xff_8b42),
    (Ink::Green, "green", 0x00_855f, 0x36_c498),
    (Ink::Gold, "gold", 0xb8_8000, 0xf1_b932),
    (Ink::Stone, "stone", 0x94_918c, 0x86_837e),
    (Ink::Slate, "slate", 0x44_4444, 0xcc_cccc),
];

const fn rgb(hex: u32) -> Rgb {
    [(hex >> 16) as u8, (hex >> 8) as u8, hex as u8]
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
pub(crate) fn heat_step(value: f64, low: f64, high: f64) -> u8 {
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
            Self::Heat(step) => heat(step),
            Self::OnHeat(step) if luminance(heat(step)) > 0.18 => [0, 0, 0],
            Self::OnHeat(_) => [0xff, 0xff, 0xff],
            _ => rgb(self.entry().map_or(0, |entry| entry.2)),
        }
    }

    fn entry(self) -> Option<&'static (Self, &'static str, u32, u32)> {
        COLOURS.iter().find(|entry| entry.0 == self)
    }

    /// The name of the variable that holds the colour in a page; none for colours that are the same in light and dark.
    pub(crate) fn variable(self) -> Option<&'static str> {
        self.entry().map(|entry| entry.1)
    }
}

/// A colour as `#rrggbb`.
pub(crate) fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// The colours as declarations of variables for a style sheet.
pub(crate) fn variables(dark: bool) -> String {
    let mut out = String::new();
    for (_, name, on_white, on_black) in COLOURS {
        write(&mut out, format_args!("--{name}:{};", hex(rgb(if dark { on_black } else { on_white }))));
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
        let of = |ink: Ink| ink.entry().map(|entry| (rgb(entry.2), rgb(entry.3))).expect("a colour with a variable");
        let (white, black) = of(Ink::Paper);
        for ink in [Ink::Text, Ink::Muted] {
            let (light, dark) = of(ink);
            assert!(contrast(light, white) >= 4.5 && contrast(dark, black) >= 4.5, "{ink:?}");
        }
        for (ink, ..) in &COLOURS[6..] {
            let (light, dark) = of(*ink);
            assert!(contrast(light, white) >= 3.0, "{ink:?} on white: {}", contrast(light, white));
            assert!(contrast(dark, black) >= 3.0, "{ink:?} on black: {}", contrast(dark, black));
        }
        for step in 0..=255 {
            assert!(contrast(Ink::OnHeat(step).light(), Ink::Heat(step).light()) >= 4.5, "heat {step}");
        }
    }

    #[test]
    fn light_and_dark_declare_the_same_variables() {
        let names = |dark: bool| -> Vec<String> {
            variables(dark).split(';').map(|one| one.split(':').next().unwrap_or_default().to_owned()).collect()
        };
        assert_eq!(names(false), names(true));
        assert!(variables(false).contains("--blue:#00558c;") && variables(true).contains("--blue:#4a9be0;"));
    }
}
