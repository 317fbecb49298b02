//! The width of text, and text made to fit a width.
//!
//! Browsers may set SVG in another font than the one measured here, so leave some room around a label.

use crate::widths::{UNITS, advance};

/// The width of a line of text in pixels, as Noto Sans sets it.
#[must_use]
pub fn text_width(text: &str, size: f64, bold: bool) -> f64 {
    text.chars().map(|letter| f64::from(advance(letter, bold))).sum::<f64>() * size / UNITS
}

/// Breaks running text into lines of a width in pixels.
#[must_use]
pub fn wrap(text: &str, width: f64) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match rows.last_mut() {
            Some(row) if text_width(&format!("{row} {word}"), crate::TYPE, false) <= width => {
                row.push(' ');
                row.push_str(word);
            }
            _ => rows.push(word.to_owned()),
        }
    }
    rows
}

/// The text, or where it is wider than a width its beginning and an ellipsis.
pub(crate) fn shorten(text: &str, width: f64) -> String {
    if text_width(text, crate::TYPE, false) <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut room = width - text_width("…", crate::TYPE, false);
    for letter in text.chars() {
        room -= text_width(letter.encode_utf8(&mut [0; 4]), crate::TYPE, false);
        if room < 0.0 {
            break;
        }
        short.push(letter);
    }
    short.truncate(short.trim_end().len());
    short + "…"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TYPE;

    #[test]
    fn width_grows_with_text_size_and_weight() {
        assert!(text_width("Arm-wise TS", 12.0, false) > text_width("Arm-wise", 12.0, false));
        assert!((text_width("abc", 24.0, false) - 2.0 * text_width("abc", 12.0, false)).abs() < 1e-9);
        assert!(text_width("Arm-wise TS", 12.0, true) > text_width("Arm-wise TS", 12.0, false));
    }

    #[test]
    fn long_text_is_wrapped_and_keeps_its_words() {
        let text = "Data: generated ratings with heavy tails, nothing of it comes from real people";
        let rows = wrap(text, 200.0);
        assert!(rows.len() > 1 && rows.iter().all(|row| text_width(row, TYPE, false) <= 200.0));
        assert_eq!(rows.join(" "), text);
    }

    #[test]
    fn a_label_that_is_too_long_ends_in_an_ellipsis_and_fits() {
        assert_eq!(shorten("mail", 100.0), "mail");
        for name in ["a very long name of a promotion", "שם ארוך מאוד של מבצע", "𝒜𝒷𝒸😀😀😀😀😀😀😀😀😀"]
        {
            let short = shorten(name, 100.0);
            assert!(short.ends_with('…') && text_width(&short, TYPE, false) <= 100.0, "{short}");
            assert!(name.starts_with(short.trim_end_matches('…')) && short.chars().count() > 4, "{short}");
        }
        assert_eq!(shorten("anything", 0.0), "…");
    }
}
