//! The time of day as text. It dates entries; no result depends on it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now, in UTC: `2026-03-02T09:15:00Z`.
pub(crate) fn now() -> String {
    at(SystemTime::now())
}

/// A time in UTC.
pub(crate) fn at(time: SystemTime) -> String {
    text(time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()))
}

/// So long before a date like `2026-03-02T09:15:00Z`.
pub(crate) fn before(at: &str, span: std::time::Duration) -> String {
    seconds(at).map_or_else(|| at.to_owned(), |seconds| text(seconds.saturating_sub(span.as_secs())))
}

/// Seconds since 1970 as a date, by counting days in eras of 400 years that begin in March.
pub(crate) fn text(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Seconds since 1970 of a date like `2026-03-02T09:15:00Z`.
pub(crate) fn seconds(at: &str) -> Option<u64> {
    let part = |range: std::ops::Range<usize>| at.get(range)?.parse::<u64>().ok();
    let (year, month, day) = (part(0..4)?, part(5..7)?, part(8..10)?);
    let (hour, minute, second) = (part(11..13)?, part(14..16)?, part(17..19)?);
    if year < 1970 || !(1..=12).contains(&month) {
        return None;
    }
    // Years begin in March here, so that the leap day is the last of a year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    Some((days - 719_468) * 86_400 + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_dates_come_out() {
        // From `date -u -d @N`.
        for (seconds, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_772_442_900, "2026-03-02T09:15:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
        ] {
            assert_eq!(super::text(seconds), date);
            assert_eq!(super::seconds(date), Some(seconds));
        }
        assert_eq!(super::seconds("yesterday"), None);
    }
}
