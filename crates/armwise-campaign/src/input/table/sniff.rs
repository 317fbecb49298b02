//! What the first 64 KB of a text table tell: its separator, and the decimal mark of its numbers.
//!
//! Commas, semicolons and tabs that are not in quotes are counted in the header. One kind decides, none means a single
//! column, and two are ambiguous. The decimal mark is open only where fields are not separated by commas.

use super::{
    numbers::decimal_of,
    rules::{Decimal, Separator},
};

/// The separator that a first line `sep=;` states, as spreadsheets write and read it, and the length of that line.
pub(super) fn stated(head: &[u8]) -> Option<(Separator, usize)> {
    let end = head.iter().position(|&byte| byte == b'\n')?;
    let line = head[..end].strip_suffix(b"\r").unwrap_or(&head[..end]);
    let [separator] = line.strip_prefix(b"sep=")? else { return None };
    Separator::of_byte(*separator).map(|separator| (separator, end + 1))
}

/// The separator that the header shows.
pub(super) fn separator(head: &[u8]) -> Result<Separator, String> {
    let mut found = Vec::new();
    let (mut quoted, mut begun) = (false, false);
    for &byte in head {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted && begun => break,
            _ => {}
        }
        begun |= !byte.is_ascii_whitespace();
        if let Some(separator) = Separator::of_byte(byte).filter(|separator| !quoted && !found.contains(separator)) {
            found.push(separator);
        }
    }
    match &found[..] {
        [] => Ok(Separator::Comma),
        [one] => Ok(*one),
        several => {
            let word = |&separator: &Separator| match separator {
                Separator::Comma => "commas",
                Separator::Semicolon => "semicolons",
                Separator::Tab => "tabs",
            };
            let words: Vec<&str> = several.iter().map(word).collect();
            let names: Vec<String> = several.iter().map(|&one| format!("{:?}", <&str>::from(one))).collect();
            Err(format!(
                "the header has {}, so it is not clear which of them separates columns; give separator = {}, or put \
                 names that hold one of them in quotes",
                words.join(" and "),
                names.join(" or ")
            ))
        }
    }
}

/// The decimal mark of a table's numbers; none if it is not clear.
pub(super) fn decimal(head: &[u8], separator: Separator) -> Option<Decimal> {
    if separator == Separator::Comma {
        return Some(Decimal::Point);
    }
    // What is cut off at the end is not looked at, since a cut number may say something else.
    let whole = head.iter().rposition(|&byte| byte == b'\n').map_or(&[][..], |end| &head[..end]);
    let lines = whole.split(|&byte| byte == b'\n').skip(1);
    let fields = lines.flat_map(|line| line.split(|&byte| byte == separator.byte()));
    let texts = fields.filter_map(|field| std::str::from_utf8(field).ok()).map(|text| text.trim().trim_matches('"'));
    decimal_of(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_tells_the_separator_or_it_must_be_given() {
        for (head, expected) in [
            ("a,b\n1;2,3\n", Some(Separator::Comma)),
            ("a;b\n1,5;2\n", Some(Separator::Semicolon)),
            ("a\tb\n", Some(Separator::Tab)),
            ("\n\"a;b\",c\n", Some(Separator::Comma)),
            ("customer\na;b\n", Some(Separator::Comma)),
            ("a,b;c\n", None),
            ("a\tb,c\n", None),
        ] {
            assert_eq!(separator(head.as_bytes()).ok(), expected, "{head:?}");
        }
        let problem = separator(b"a,b;c\n").expect_err("two separators");
        assert!(problem.contains("commas and semicolons") && problem.contains("separator = \",\""), "{problem}");
        assert_eq!(stated(b"sep=;\r\na;b\n"), Some((Separator::Semicolon, 7)));
        assert_eq!(stated(b"sep=x\na;b\n"), None);
        assert_eq!(stated(b"separator\n"), None);
    }

    #[test]
    fn a_file_of_whole_numbers_tells_no_decimal_mark() {
        let of = |text: &str| decimal(text.as_bytes(), Separator::Semicolon);
        assert_eq!(of("a;b\n1;2\n"), None);
        assert_eq!(of("a;b\n1;\"2,5\"\n"), Some(Decimal::Comma));
        assert_eq!(of("a;b\n1;2,25\n1;2.25\n"), None);
        assert_eq!(of("a;b\n1;2\n1;2,2"), None, "the last line may be cut off");
        assert_eq!(decimal(b"a,b\n1,2\n", Separator::Comma), Some(Decimal::Point));
    }
}
