//! How each algorithm looks; its title is the library's.
//!
//! An algorithm looks the same in every figure and table. The arm-wise algorithms are warm and strong (solid, filled,
//! bold), the others cool, dashed and hollow.

use armwise::{Algorithm, Description, Randomness};
use armwise_charts::{Ink, Look, Marker};

const SOLID: &[f64] = &[];
const LONG: &[f64] = &[8.0, 3.5];
const SHORT: &[f64] = &[4.0, 2.5];
const FINE: &[f64] = &[1.6, 2.8];

/// By the algorithm's place in the library's list; all algorithms after these share the last.
const STYLES: [(Ink, &[f64], Marker); 10] = [
    (Ink::Grey, FINE, Marker::Square),
    (Ink::Sky, LONG, Marker::Up),
    (Ink::Pink, LONG, Marker::Down),
    (Ink::Blue, SHORT, Marker::Circle),
    (Ink::Orange, SOLID, Marker::Circle),
    (Ink::Green, SHORT, Marker::Diamond),
    (Ink::Gold, SOLID, Marker::Diamond),
    (Ink::Stone, FINE, Marker::None),
    (Ink::Blue, FINE, Marker::Up),
    (Ink::Slate, LONG, Marker::Square),
];

fn known(name: &str) -> Option<(usize, &'static Description)> {
    Algorithm::ALL.iter().copied().enumerate().find(|(_, description)| description.name == name)
}

/// How an algorithm looks, by its name. A report is written of known algorithms only; anything else has the last style,
/// never that of another algorithm.
pub(super) fn look(name: &str) -> Look {
    let at = known(name).map_or(STYLES.len(), |(at, _)| at).min(STYLES.len() - 1);
    let ((ink, dash, marker), strong) = (STYLES[at], is_arm_wise(name));
    Look { ink, dash: if strong { SOLID } else { dash }, marker, strong }
}

/// An algorithm's name in the paper; for an unknown one its own.
pub(super) fn title_of(name: &str) -> String {
    known(name).map_or(name, |(_, description)| description.title).to_owned()
}

/// Whether an algorithm randomizes arm by arm.
pub(super) fn is_arm_wise(name: &str) -> bool {
    known(name).is_some_and(|(_, of)| of.randomness == Randomness::PerArm && of.uses_width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_a_look_of_its_own() {
        let all: Vec<(&str, Look)> =
            Algorithm::ALL.iter().map(|of| of.name).chain([""]).map(|name| (name, look(name))).collect();
        let drawn: Vec<_> =
            all.iter().map(|(_, look)| (format!("{:?}", look.dash), look.marker, look.strong)).collect();
        for (at, one) in drawn.iter().enumerate() {
            assert!(!drawn[..at].contains(one), "{} looks like another without colour", all[at].0);
        }
        for (name, look) in all {
            assert_eq!(look.strong, look.dash.is_empty(), "{name}");
        }
        assert_eq!(title_of("pc2ucb"), "PC²UCB");
        assert_eq!(["pc2ucb", "arm-wise-ts", "c2ucb", "random"].map(is_arm_wise), [true, true, false, false]);
    }
}
