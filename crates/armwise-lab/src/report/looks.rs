//! How each algorithm looks and what the paper calls it.
//!
//! An algorithm looks the same in every figure and table. The arm-wise algorithms are warm and strong (solid, filled,
//! bold), the others cool, dashed and hollow.

use armwise_charts::{Ink, Look, Marker};

const SOLID: &[f64] = &[];
const LONG: &[f64] = &[8.0, 3.5];
const SHORT: &[f64] = &[4.0, 2.5];
const FINE: &[f64] = &[1.6, 2.8];

/// Name, name in the paper and look, in the paper's order.
const LOOKS: [(&str, &str, Look); 8] = [
    ("greedy", "Greedy", existing(Ink::Grey, FINE, Marker::Square)),
    ("comblin-ucb", "CombLinUCB", existing(Ink::Sky, LONG, Marker::Up)),
    ("comblin-ts", "CombLinTS", existing(Ink::Pink, LONG, Marker::Down)),
    ("c2ucb", "C²UCB", existing(Ink::Blue, SHORT, Marker::Circle)),
    ("pc2ucb", "PC²UCB", arm_wise(Ink::Orange, Marker::Circle)),
    ("round-wise-ts", "Round-wise TS", existing(Ink::Green, SHORT, Marker::Diamond)),
    ("arm-wise-ts", "Arm-wise TS", arm_wise(Ink::Gold, Marker::Diamond)),
    ("random", "Random", existing(Ink::Stone, FINE, Marker::None)),
];

/// The look of a name that is not known here.
const OTHER: Look = existing(Ink::Slate, LONG, Marker::Square);

const fn existing(ink: Ink, dash: &'static [f64], marker: Marker) -> Look {
    Look { ink, dash, marker, strong: false }
}

const fn arm_wise(ink: Ink, marker: Marker) -> Look {
    Look { ink, dash: SOLID, marker, strong: true }
}

/// How an algorithm looks, by its name.
pub(super) fn look(name: &str) -> Look {
    LOOKS.iter().find(|known| known.0 == name).map_or(OTHER, |known| known.2)
}

/// An algorithm's name in the paper; for an unknown one its own.
pub(super) fn title_of(name: &str) -> String {
    LOOKS.iter().find(|known| known.0 == name).map_or(name, |known| known.1).to_owned()
}

/// Whether an algorithm draws arm by arm.
pub(super) fn is_arm_wise(name: &str) -> bool {
    look(name).strong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_a_look_of_its_own() {
        for name in armwise::Algorithm::NAMES {
            assert!(LOOKS.iter().any(|known| known.0 == name), "{name}");
        }
        let all: Vec<(&str, Look)> = LOOKS.iter().map(|known| (known.0, known.2)).chain([("", OTHER)]).collect();
        let drawn: Vec<_> =
            all.iter().map(|(_, look)| (format!("{:?}", look.dash), look.marker, look.strong)).collect();
        for (at, one) in drawn.iter().enumerate() {
            assert!(!drawn[..at].contains(one), "{} looks like another without colour", all[at].0);
        }
        for (name, look) in all {
            assert_eq!(look.strong, look.dash.is_empty(), "{name}");
        }
    }
}
