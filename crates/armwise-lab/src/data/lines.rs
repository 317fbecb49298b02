//! One line of a ratings file.
//!
//! A line is parsed from its bytes in one pass, without splitting it first, because ml-20m has
//! 20 million of them. Anything but exactly the expected columns is refused.

/// How the columns of a file are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    /// `,` or `::`.
    separator: &'static [u8],
    /// Whether a timestamp follows the rating.
    timestamp: bool,
    /// Whether the first line names the columns.
    pub(crate) header: bool,
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault<'a> {
    /// It is not made of the expected columns.
    Malformed(&'static str),
    /// Its rating is a number, but none of the ten.
    Range(&'a [u8]),
}

impl Format {
    /// The format of a file with this first line.
    pub(crate) fn of(first: &[u8]) -> Option<Self> {
        if first.windows(2).any(|pair| pair == b"::") {
            return Some(Self { separator: b"::", timestamp: true, header: false });
        }
        let comma = |timestamp| Some(Self { separator: b",", timestamp, header: true });
        match first {
            b"userId,movieId,rating,timestamp" => comma(true),
            b"userId,movieId,rating" => comma(false),
            _ => None,
        }
    }

    /// The user's id, the movie's id and the half stars of a line.
    #[inline]
    pub(crate) fn parse<'a>(&self, line: &'a [u8]) -> Result<(u32, u32, u8), Fault<'a>> {
        const MISSING: Fault<'static> = Fault::Malformed("a column is missing");
        let (user, rest) = id(line).ok_or(Fault::Malformed("the user is not a whole number below 2^32"))?;
        let rest = rest.strip_prefix(self.separator).ok_or(MISSING)?;
        let (movie, rest) = id(rest).ok_or(Fault::Malformed("the movie is not a whole number below 2^32"))?;
        let rest = rest.strip_prefix(self.separator).ok_or(MISSING)?;
        let end = rest.iter().position(|byte| *byte == self.separator[0]).unwrap_or(rest.len());
        let half = half_stars(&rest[..end])?;
        let rest = &rest[end..];
        if self.timestamp {
            let time = rest.strip_prefix(self.separator).ok_or(MISSING)?;
            if time.is_empty() || !time.iter().all(u8::is_ascii_digit) {
                return Err(Fault::Malformed("the timestamp is not a whole number"));
            }
        } else if !rest.is_empty() {
            return Err(Fault::Malformed("there are too many columns"));
        }
        Ok((user, movie, half))
    }
}

/// The number at the start of `text`, and what follows it.
#[inline]
fn id(text: &[u8]) -> Option<(u32, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 || digits > 10 {
        return None;
    }
    let number = text[..digits].iter().fold(0, |number: u64, byte| 10 * number + u64::from(byte - b'0'));
    Some((u32::try_from(number).ok()?, &text[digits..]))
}

#[inline]
fn half_stars(text: &[u8]) -> Result<u8, Fault<'_>> {
    let half = match *text {
        [star @ b'1'..=b'5'] | [star @ b'1'..=b'5', b'.', b'0'] => 2 * (star - b'0'),
        [star @ b'0'..=b'4', b'.', b'5'] => 2 * (star - b'0') + 1,
        _ => unusual_half_stars(text)?,
    };
    Ok(half)
}

/// Ratings written in no usual way, such as `4.00`, `7` or `NaN`.
#[cold]
fn unusual_half_stars(text: &[u8]) -> Result<u8, Fault<'_>> {
    let value: f64 = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(Fault::Malformed("the rating is not a number"))?;
    (1..=10).find(|half| (2.0 * value - f64::from(*half)).abs() < f64::EPSILON).ok_or(Fault::Range(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(first: &'static str, line: &'static str) -> Result<(u32, u32, u8), Fault<'static>> {
        Format::of(first.as_bytes()).expect("a known first line").parse(line.as_bytes())
    }

    const CSV: &str = "userId,movieId,rating,timestamp";
    const DAT: &str = "1::1193::5::978300760";

    #[test]
    fn every_rating_of_the_scale_is_read_in_every_spelling() {
        for half in 1..=10u8 {
            let stars = f64::from(half) / 2.0;
            for text in [format!("{stars}"), format!("{stars:.1}"), format!("{stars:.2}")] {
                assert_eq!(half_stars(text.as_bytes()), Ok(half), "{text}");
            }
        }
    }

    #[test]
    fn both_formats_are_read() {
        assert_eq!(parse(CSV, "138493,71619,2.5,1255811136"), Ok((138_493, 71_619, 5)));
        assert_eq!(parse("userId,movieId,rating", "1,2,0.5"), Ok((1, 2, 1)));
        assert_eq!(parse(DAT, "6040::1097::4::956715569"), Ok((6040, 1097, 8)));
        assert_eq!(parse(DAT, "1::122::4.5::838985046"), Ok((1, 122, 9)));
    }

    #[test]
    fn anything_else_is_refused() {
        for first in
            ["", "userId,movieId,tag,timestamp", "movieId,title,genres", "1,2,3.0,4", "user id movie id rating"]
        {
            assert_eq!(Format::of(first.as_bytes()), None, "{first}");
        }
        for rating in ["0", "0.0", "5.5", "6", "-1", "3.7", "NaN", "inf", "10"] {
            let line = format!("1,2,{rating},3");
            let fault = Format::of(CSV.as_bytes()).expect("the header").parse(line.as_bytes());
            assert_eq!(fault, Err(Fault::Range(rating.as_bytes())));
        }
        for line in ["", "1", "1,2", "1,2,3.0", "1,2,3.0,", "1,2,3.0,x", "1,2,,3", "1,2,x,3", ",2,3.0,4", "a,2,3.0,4"] {
            assert!(matches!(parse(CSV, line), Err(Fault::Malformed(_))), "{line}");
        }
        for line in ["1,2,3.0,4,5", "4294967296,2,3.0,4", "99999999999999999999,2,3.0,4", "-1,2,3.0,4", "1 ,2,3.0,4"] {
            assert!(matches!(parse(CSV, line), Err(Fault::Malformed(_))), "{line}");
        }
        assert!(matches!(parse(DAT, "1:2:3:4"), Err(Fault::Malformed(_))));
        assert!(matches!(parse("userId,movieId,rating", "1,2,3.0,4"), Err(Fault::Malformed(_))));
    }
}
