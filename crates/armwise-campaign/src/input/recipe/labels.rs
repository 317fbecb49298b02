//! Features in the user's own words: what each is called, and which contrasts a report shows.
//!
//! An effect is a contrast c, so that c'theta is in units of reward: one standard deviation more
//! of a number, this category instead of the most common one. A single coordinate of a one-hot code is not an effect,
//! since the code and the constant say the same thing twice.

use super::{Fitted, Recipe};

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

impl Recipe {
    /// The column and the value that each feature stands for.
    #[must_use]
    pub fn labels(&self) -> Vec<String> {
        let mut labels = Vec::with_capacity(self.dim());
        if self.bias {
            labels.push("(constant)".to_owned());
        }
        for column in &self.columns {
            match column {
                Fitted::Numeric { name, .. } => labels.push(name.clone()),
                Fitted::Categorical { name, levels, .. } => {
                    labels.extend(levels.iter().map(|level| format!("{name} = {level}")));
                }
                Fitted::Vector { name, dim, .. } => labels.extend((0..*dim).map(|place| format!("{name}[{place}]"))),
            }
        }
        labels
    }

    /// The effects worth showing.
    #[must_use]
    pub fn effects(&self) -> Vec<Effect> {
        let dim = self.dim();
        let contrast = |up: usize, down: Option<usize>| {
            let mut contrast = vec![0.0; dim];
            contrast[up] = self.scale;
            down.into_iter().for_each(|down| contrast[down] = -self.scale);
            contrast
        };
        let mut effects = Vec::new();
        let mut first = usize::from(self.bias);
        for column in &self.columns {
            let name = column.name().to_owned();
            match column {
                Fitted::Numeric { sd, .. } => {
                    let change = format!("+1 sd ({sd:.4})");
                    effects.push(Effect { column: name, change, contrast: contrast(first, None) });
                }
                Fitted::Categorical { levels, common, .. } => {
                    for (place, level) in levels.iter().enumerate().filter(|(place, _)| place != common) {
                        let change = format!("{level} instead of {}", levels[*common]);
                        let contrast = contrast(first + place, Some(first + common));
                        effects.push(Effect { column: name.clone(), change, contrast });
                    }
                }
                Fitted::Vector { dim, .. } => {
                    for place in 0..*dim {
                        let change = format!("[{place}] + 1");
                        effects.push(Effect { column: name.clone(), change, contrast: contrast(first + place, None) });
                    }
                }
            }
            first += column.dim();
        }
        effects
    }
}
