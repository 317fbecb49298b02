//! Scales and ticks at round numbers.
//!
//! Ticks step by 1, 2, 2.5 or 5 times a power of ten, and the axis ends where the data end plus a
//! margin, not at the next tick, so that no room is wasted.

#![expect(clippy::cast_sign_loss, reason = "counts and colours, all of them clamped or positive by construction")]

use crate::{compact, number};

/// From values to the unit interval.
#[derive(Debug, Clone, Copy)]
pub enum Scale {
    /// Evenly.
    Linear {
        /// The value at 0.
        low: f64,
        /// The value at 1.
        high: f64,
    },
    /// By logarithms; both ends above zero.
    Log {
        /// The value at 0.
        low: f64,
        /// The value at 1.
        high: f64,
    },
}

impl Scale {
    /// Where a value lies between the two ends, 0 to 1.
    pub(crate) fn at(self, value: f64) -> f64 {
        match self {
            Self::Linear { low, high } => (value - low) / (high - low),
            Self::Log { low, high } => (value / low).ln() / (high / low).ln(),
        }
    }

    /// The same, kept between the ends.
    pub(crate) fn within(self, value: f64) -> f64 {
        let at = self.at(value);
        if at.is_finite() { at.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Whether a value is between the ends, rounding aside.
    pub(crate) fn holds(self, value: f64) -> bool {
        (-1e-9..=1.0 + 1e-9).contains(&self.at(value))
    }
}

/// A value with its label.
#[derive(Debug, Clone)]
pub struct Tick {
    /// Where it stands on the axis.
    pub value: f64,
    /// What is written there.
    pub label: String,
}

/// About `count` ticks at round numbers between two values.
#[must_use]
pub fn ticks_linear(low: f64, high: f64, count: usize) -> Vec<Tick> {
    let span = high - low;
    if span.is_nan() || span <= 0.0 || !span.is_finite() {
        return Vec::new();
    }
    let rough = span / count.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .min_by(|a, b| (a / rough).ln().abs().total_cmp(&(b / rough).ln().abs()))
        .unwrap_or(power);
    let decimals = decimals_of(step);
    // Nobody reads more digits than these.
    let plain = step > 1e-9 && low.abs().max(high.abs()) < 1e12;
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last)
        .map(|place| place as f64 * step)
        .map(|value| Tick { value, label: if plain { number(value, decimals) } else { compact(value) } })
        .collect()
}

/// Ticks at powers of ten between two values, written out unless they exceed 100,000; every second or third one where they would be many.
pub(crate) fn ticks_log(low: f64, high: f64, most: i32) -> Vec<Tick> {
    let first = (low.log10() - 1e-9).ceil() as i32;
    let last = (high.log10() + 1e-9).floor() as i32;
    let every = 1 + (last - first).max(0) / most.max(1);
    let plain = last <= 5;
    (first..=last)
        .filter(|power| (power - first) % every == 0)
        .map(|power| Tick { value: 10f64.powi(power), label: power_label(power, plain) })
        .collect()
}

fn power_label(power: i32, plain: bool) -> String {
    if plain && power >= -3 || (0..=1).contains(&power) {
        number(10f64.powi(power), (-power).max(0) as usize)
    } else {
        let digits: String = power
            .to_string()
            .chars()
            .map(|letter| match letter {
                '-' => '\u{207b}',
                '1' => '\u{b9}',
                '2' => '\u{b2}',
                '3' => '\u{b3}',
                other => char::from_u32(0x2070 + other.to_digit(10).unwrap_or(0)).unwrap_or('?'),
            })
            .collect();
        format!("10{digits}")
    }
}

/// The decimals that tell multiples of a step apart.
fn decimals_of(step: f64) -> usize {
    (0..9)
        .find(|&decimals| ((step * 10f64.powi(decimals)).round() / 10f64.powi(decimals) - step).abs() < step * 1e-6)
        .unwrap_or(9) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(labels(&ticks_linear(0.0, 480.0, 5)), ["0", "100", "200", "300", "400"]);
        assert_eq!(labels(&ticks_linear(-0.11, 0.31, 4)), ["\u{2212}0.1", "0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(labels(&ticks_linear(0.0, 10.0, 4)), ["0.0", "2.5", "5.0", "7.5", "10.0"]);
        assert!(ticks_linear(0.0, 1e300, 4).iter().all(|tick| tick.label.len() < 30));
        assert!(ticks_linear(1.0, 1.0, 4).is_empty());
        assert!(ticks_linear(f64::NAN, 1.0, 4).is_empty());
    }

    #[test]
    fn log_ticks_are_powers_of_ten() {
        assert_eq!(labels(&ticks_log(5.0, 2e4, 6)), ["10", "100", "1,000", "10,000"]);
        assert_eq!(labels(&ticks_log(1e5, 2e7, 6)), ["10⁵", "10⁶", "10⁷"]);
    }

    #[test]
    fn scales_map_their_ends() {
        for scale in [Scale::Linear { low: 2.0, high: 8.0 }, Scale::Log { low: 2.0, high: 8.0 }] {
            assert!(scale.at(2.0).abs() < 1e-12 && (scale.at(8.0) - 1.0).abs() < 1e-12);
        }
        assert!((Scale::Log { low: 1.0, high: 100.0 }.at(10.0) - 0.5).abs() < 1e-12);
        assert!(Scale::Log { low: 1.0, high: 100.0 }.within(0.0).abs() < 1e-12);
    }
}
