//! Numbers as text: fixed decimals, thousands separated, a true minus sign.
//!
//! Nothing is ever printed in a locale, so the same results give the same bytes everywhere.

#![expect(clippy::cast_sign_loss, reason = "counts and colours, all of them clamped or positive by construction")]

/// A number with fixed decimals: `11,147.2`.
#[must_use]
pub fn number(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let plain = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = plain.split_once('.').map_or((plain.as_str(), None), |(w, f)| (w, Some(f)));
    let mut text = String::new();
    if value < 0.0 && plain.bytes().any(|digit| (b'1'..=b'9').contains(&digit)) {
        text.push('\u{2212}');
    }
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

/// A number with as many digits as it needs, at least `digits` significant ones: `0.0123`, `1.23`, `123`, `12,345`.
#[must_use]
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return number(value, 0);
    }
    let exponent = value.abs().log10().floor();
    let decimals = (digits as f64 - 1.0 - exponent).clamp(0.0, 12.0);
    number(value, decimals as usize)
}

/// A parameter or a tick as people write it: `0.01`, `1`, `100`; `1e6` and `2.5e−7` beyond that.
#[must_use]
pub fn compact(value: f64) -> String {
    let size = value.abs();
    if value != 0.0 && !(1e-4..1e6).contains(&size) {
        return format!("{value:e}").replace('-', "\u{2212}");
    }
    let mut text = format!("{value:.6}");
    while text.ends_with('0') {
        text.pop();
    }
    if text.ends_with('.') {
        text.pop();
    }
    let decimals = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    number(value, decimals)
}

/// A share as a percentage: `41.2%`.
#[must_use]
pub fn percent(share: f64, decimals: usize) -> String {
    format!("{}%", number(share * 100.0, decimals))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_separated_and_signed() {
        assert_eq!(number(11_147.24, 1), "11,147.2");
        assert_eq!(number(-1_234_567.0, 0), "\u{2212}1,234,567");
        assert_eq!(number(-0.04, 1), "0.0");
        assert_eq!(number(999.96, 1), "1,000.0");
        assert_eq!(number(f64::NAN, 1), "–");
    }

    #[test]
    fn parameters_are_as_people_write_them() {
        assert_eq!(compact(0.01), "0.01");
        assert_eq!(compact(100.0), "100");
        assert_eq!(compact(10_000.0), "10,000");
        assert_eq!(compact(1e-7), "1e\u{2212}7");
        assert_eq!(compact(0.0), "0");
    }

    #[test]
    fn significant_digits() {
        assert_eq!(significant(0.012_34, 3), "0.0123");
        assert_eq!(significant(1234.6, 3), "1,235");
        assert_eq!(percent(0.4123, 1), "41.2%");
    }
}
