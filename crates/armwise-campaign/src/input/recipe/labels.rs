//! Features in the user's own words: what each is called, and which contrasts a report shows.
//!
//! An effect is a contrast c, so that c'theta is in units of reward: one standard deviation more of a number, this
//! category instead of the most common one. A single coordinate of a one-hot code is not an effect, since the code and
//! the constant say the same thing twice. The effects of a cross are those of its columns, multiplied: by how much the
//! two changes together do more than each alone.

use super::{Fitted, Recipe};
use crate::table::flag;

/// A question that theta answers: by how much does the reward change.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The column.
    pub column: String,
    /// What changes, for example `+1 sd (12.3)` or `north instead of south`.
    pub change: String,
    /// The contrast: the effect is its inner product with theta.
    pub contrast: Vec<f64>,
}

/// The words of two levels that say yes and no, in the order of the levels.
fn yes_or_no(levels: &[String]) -> Option<[&'static str; 2]> {
    match levels {
        [a, b] => match [flag(a)?, flag(b)?] {
            [false, true] => Some(["no", "yes"]),
            [true, false] => Some(["yes", "no"]),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a column of numbers holds nothing but 0 and 1, told by its mean p and its variance, which is p (1 - p) then:
/// between 0 and 1 no other numbers have so large a variance.
fn is_yes_or_no(mean: f64, sd: f64) -> bool {
    let expected = mean * (1.0 - mean);
    mean > 0.0 && mean < 1.0 && (sd * sd - expected).abs() < 1e-9 * expected
}

/// A bin in words.
fn bin(edges: &[f64], place: usize) -> String {
    match (place.checked_sub(1).and_then(|before| edges.get(before)), edges.get(place)) {
        (None, None) => "any".to_owned(),
        (None, Some(end)) => format!("below {end}"),
        (Some(start), None) => format!("{start} or more"),
        (Some(start), Some(end)) => format!("{start} to {end}"),
    }
}

impl Recipe {
    /// The column and the value that each feature stands for.
    #[must_use]
    pub fn labels(&self) -> Vec<String> {
        let constant = self.bias.then(|| "(constant)".to_owned());
        constant.into_iter().chain(self.columns.iter().flat_map(|column| self.labels_of(column))).collect()
    }

    fn labels_of(&self, column: &Fitted) -> Vec<String> {
        match column {
            Fitted::Numeric { name, log: true, .. } => vec![format!("log of {name}")],
            Fitted::Numeric { name, .. } => vec![name.clone()],
            Fitted::Categorical { name, levels, .. } => {
                levels.iter().map(|level| format!("{name} = {level}")).collect()
            }
            Fitted::Bins { name, edges, .. } => {
                (0..=edges.len()).map(|place| format!("{name} {}", bin(edges, place))).collect()
            }
            Fitted::Vector { name, dim, .. } => (0..*dim).map(|place| format!("{name}[{place}]")).collect(),
            Fitted::Cross { left, right, .. } => {
                let (left, right) = (self.labels_of(&self.columns[*left]), self.labels_of(&self.columns[*right]));
                left.iter().flat_map(|left| right.iter().map(move |right| format!("{left} x {right}"))).collect()
            }
        }
    }

    /// The effects worth showing.
    #[must_use]
    pub fn effects(&self) -> Vec<Effect> {
        let dim = self.dim();
        let mut effects = Vec::new();
        for (place, column) in self.columns.iter().enumerate() {
            let first = self.first(place);
            for (change, own) in self.changes(column) {
                let mut contrast = vec![0.0; dim];
                contrast[first..first + own.len()].iter_mut().zip(own).for_each(|(to, own)| *to = self.scale * own);
                effects.push(Effect { column: column.name().to_owned(), change, contrast });
            }
        }
        effects
    }

    /// The changes of a column, each with its contrast among the column's own features before scaling.
    fn changes(&self, column: &Fitted) -> Vec<(String, Vec<f64>)> {
        let one = |dim: usize, up: usize, down: Option<usize>| {
            let mut contrast = vec![0.0; dim];
            contrast[up] = 1.0;
            down.into_iter().for_each(|down| contrast[down] = -1.0);
            contrast
        };
        let instead = |common: usize, levels: &[String]| {
            let others = (0..levels.len()).filter(|place| *place != common);
            let words = yes_or_no(levels);
            let word = |place: usize| words.map_or(levels[place].as_str(), |words| words[place]);
            let change = |place: usize| format!("{} instead of {}", word(place), word(common));
            others.map(|place| (change(place), one(levels.len(), place, Some(common)))).collect()
        };
        match column {
            Fitted::Numeric { name, sd, log: true, .. } => {
                vec![(format!("1 + {name} doubled"), vec![std::f64::consts::LN_2 / sd])]
            }
            Fitted::Numeric { mean, sd, clip: None, .. } if is_yes_or_no(*mean, *sd) => {
                vec![("yes instead of no".to_owned(), vec![1.0 / sd])]
            }
            Fitted::Numeric { sd, .. } => vec![(format!("+1 sd ({sd:.4})"), vec![1.0])],
            Fitted::Categorical { levels, common, .. } => instead(*common, levels),
            Fitted::Bins { edges, common, .. } => {
                let levels: Vec<String> = (0..=edges.len()).map(|place| bin(edges, place)).collect();
                instead(*common, &levels)
            }
            Fitted::Vector { dim, .. } => {
                (0..*dim).map(|place| (format!("[{place}] + 1"), one(*dim, place, None))).collect()
            }
            Fitted::Cross { left, right, .. } => {
                let (left, right) = (&self.columns[*left], &self.columns[*right]);
                let mut changes = Vec::new();
                for (of_left, a) in self.changes(left) {
                    for (of_right, b) in self.changes(right) {
                        let (left, right) = (left.name(), right.name());
                        let change = format!("{left} {of_left} and {right} {of_right} together, beyond each alone");
                        changes.push((change, a.iter().flat_map(|a| b.iter().map(move |b| a * b)).collect()));
                    }
                }
                changes
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::MissingRule;

    #[test]
    fn a_column_of_zeros_and_ones_is_yes_instead_of_no() {
        let of = |values: &[f64]| {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let sd = (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt();
            let missing = MissingRule::Error;
            let column = Fitted::Numeric { name: "n".to_owned(), missing, mean, sd, log: false, clip: None };
            let recipe =
                Recipe { bias: false, columns: vec![column], scale: 1.0, sample: values.len(), as_given: false };
            let effect = recipe.effects().remove(0);
            (effect.change, effect.contrast[0] * sd)
        };
        let (change, steps) = of(&[0.0, 1.0, 1.0, 0.0, 0.0]);
        assert_eq!(change, "yes instead of no");
        // From 0 to 1 is one divided by the standard deviation in standardised units.
        assert!((steps - 1.0).abs() < 1e-12);
        for other in [&[0.0, 0.5, 1.0][..], &[0.0, 1.0, 2.0], &[1.0, 1.0], &[-1.0, 1.0]] {
            assert!(of(other).0.starts_with("+1 sd"), "{other:?}");
        }
    }

    #[test]
    fn two_categories_that_say_yes_and_no_are_called_so() {
        let words = |levels: &[&str]| yes_or_no(&levels.iter().map(|&level| level.to_owned()).collect::<Vec<_>>());
        assert_eq!(words(&["0", "1"]), Some(["no", "yes"]));
        assert_eq!(words(&["Y", "n"]), Some(["yes", "no"]));
        assert_eq!(words(&["north", "south"]), None);
        assert_eq!(words(&["0", "1", "2"]), None);
    }
}
