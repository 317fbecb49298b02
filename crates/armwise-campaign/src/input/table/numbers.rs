//! Numbers and flags in text: with a decimal point, with a decimal comma, or with a mark that is not known.
//!
//! `1.234` is 1.234 to one reader and 1234 to another, and so is `1,234`. Where a file does not show which it means,
//! such a text is ambiguous and not read; whoever reads it says so with row and column.

use super::rules::Decimal;

/// What a text is as a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Parsed {
    /// A finite number.
    Number(f64),
    /// `nan`, `inf` and the like.
    NotFinite,
    /// A number with the other decimal mark than the one that was told or found.
    OtherMark,
    /// With one decimal mark one number, with the other another one.
    Ambiguous,
    /// Not a number.
    Not,
}

/// Reads a text as a number; `decimal` is none where the mark is not known.
pub(crate) fn parse(text: &str, decimal: Option<Decimal>) -> Parsed {
    let text = text.trim();
    match decimal {
        Some(Decimal::Point) => match with_point(text) {
            Parsed::Not if text.contains(',') => other_mark(text),
            parsed => parsed,
        },
        Some(Decimal::Comma) if text.contains('.') => {
            if with_point(text) == Parsed::Not {
                Parsed::Not
            } else {
                Parsed::OtherMark
            }
        }
        Some(Decimal::Comma) => with_point(&text.replacen(',', ".", 1)),
        None => match evidence(text) {
            Some(Evidence::Ambiguous) => Parsed::Ambiguous,
            _ if text.contains(',') => other_mark(text),
            _ => with_point(text),
        },
    }
}

fn with_point(text: &str) -> Parsed {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Parsed::Number(number),
        Ok(_) => Parsed::NotFinite,
        Err(_) => Parsed::Not,
    }
}

fn other_mark(text: &str) -> Parsed {
    if with_point(&text.replacen(',', ".", 1)) == Parsed::Not { Parsed::Not } else { Parsed::OtherMark }
}

/// What a text says about the decimal mark of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    Certain(Decimal),
    /// Digits, a mark and three digits: the mark may separate thousands.
    Ambiguous,
}

fn evidence(text: &str) -> Option<Evidence> {
    let digits = text.trim().trim_start_matches(['-', '+']);
    let (whole, fraction) = digits.split_once(['.', ','])?;
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let thousands = fraction.len() == 3 && whole.len() <= 3 && !whole.starts_with('0');
    let mark = if digits.contains(',') { Decimal::Comma } else { Decimal::Point };
    Some(if thousands { Evidence::Ambiguous } else { Evidence::Certain(mark) })
}

/// The decimal mark that some texts of a file show, if those that are certain agree.
pub(super) fn decimal_of<'a>(texts: impl Iterator<Item = &'a str>) -> Option<Decimal> {
    let mut found = None;
    for text in texts {
        match (evidence(text), found) {
            (Some(Evidence::Certain(mark)), Some(other)) if mark != other => return None,
            (Some(Evidence::Certain(mark)), _) => found = Some(mark),
            _ => {}
        }
    }
    found
}

/// What a flag says: true and false, 1 and 0, yes and no, y and n, in any case.
pub(crate) fn flag(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "y" | "1.0" => Some(true),
        "false" | "0" | "no" | "n" | "0.0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_comma_is_read_only_where_it_is_known() {
        let [point, comma] = [Some(Decimal::Point), Some(Decimal::Comma)];
        for (text, decimal, expected) in [
            ("12.5", point, Parsed::Number(12.5)),
            ("12,5", point, Parsed::OtherMark),
            ("12,5", comma, Parsed::Number(12.5)),
            (" -0,25 ", comma, Parsed::Number(-0.25)),
            ("1,5e3", comma, Parsed::Number(1500.0)),
            ("12.5", comma, Parsed::OtherMark),
            ("1.234,5", comma, Parsed::Not),
            ("1,234,5", comma, Parsed::Not),
            ("12", comma, Parsed::Number(12.0)),
            ("12.5", None, Parsed::Number(12.5)),
            ("1.234", None, Parsed::Ambiguous),
            ("1,234", None, Parsed::Ambiguous),
            ("0.234", None, Parsed::Number(0.234)),
            ("1234.567", None, Parsed::Number(1234.567)),
            ("12,5", None, Parsed::OtherMark),
            ("nan", None, Parsed::NotFinite),
            ("inf", comma, Parsed::NotFinite),
            ("a,b", point, Parsed::Not),
            ("", point, Parsed::Not),
        ] {
            assert_eq!(parse(text, decimal), expected, "{text} {decimal:?}");
        }
    }

    #[test]
    fn the_mark_is_found_only_where_numbers_agree_about_it() {
        for (texts, expected) in [
            (&["12,5", "3", "1,234"][..], Some(Decimal::Comma)),
            (&["12.5", "north", "1.234"], Some(Decimal::Point)),
            (&["12,5", "12.5"], None),
            (&["1,234", "1.234"], None),
            (&["0,125"], Some(Decimal::Comma)),
            (&["1, 2", "a.b", "10.0.0.1"], None),
        ] {
            assert_eq!(decimal_of(texts.iter().copied()), expected, "{texts:?}");
        }
    }
}
