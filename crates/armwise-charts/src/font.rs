//! The font of PNG pictures: Noto Sans, regular and bold, which travels with the program.
//!
//! Noto Sans is under the SIL Open Font License 1.1, which allows it to be bundled with any
//! software as long as its licence goes with it: `LICENSE-OFL` at the root of the repository. SVG names the font and
//! falls back to the reader's own; layout measures with the copy of its widths in `widths.rs`.

use std::sync::LazyLock;
use ttf_parser::{Face, GlyphId};

static REGULAR: LazyLock<Face<'static>> = LazyLock::new(|| open(notosans::REGULAR_TTF));
static BOLD: LazyLock<Face<'static>> = LazyLock::new(|| open(notosans::BOLD_TTF));

fn open(bytes: &'static [u8]) -> Face<'static> {
    Face::parse(bytes, 0).expect("the bundled font is a valid TrueType file")
}

/// The face to set text in.
pub(crate) fn face(bold: bool) -> &'static Face<'static> {
    if bold { &BOLD } else { &REGULAR }
}

/// The glyph of a character; a question mark for a character that the font does not have.
pub(crate) fn glyph(face: &Face<'_>, letter: char) -> GlyphId {
    face.glyph_index(letter).or_else(|| face.glyph_index('?')).unwrap_or(GlyphId(0))
}

/// The width of a line of text in pixels, as it is drawn.
pub(crate) fn width(text: &str, size: f64, bold: bool) -> f64 {
    let face = face(bold);
    let units: f64 = text.chars().map(|letter| advance(face, letter)).sum();
    units * size / f64::from(face.units_per_em())
}

/// How far the pen moves after a character, in font units.
pub(crate) fn advance(face: &Face<'_>, letter: char) -> f64 {
    f64::from(face.glyph_hor_advance(glyph(face, letter)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_has_every_character_the_figures_use() {
        for bold in [false, true] {
            for letter in "AZaz09 .,:;()[]%+-\u{2212}×±≤≥²λαθσπτ|<>=/·–—′√…".chars() {
                assert!(face(bold).glyph_index(letter).is_some(), "{letter:?}, bold {bold}");
            }
        }
    }
}
