//! From features back to the customer's own values, for whoever asks why.
//!
//! Features are rounded to single precision, so a number comes back with six digits. A row that was shortened is
//! recognised by its constant, which is its factor.

use super::{Fitted, Recipe, unlog};

impl Recipe {
    /// What each feature stands for with this customer, in the units of the table: a number's value; none for what its
    /// label says already.
    #[must_use]
    pub fn own_values(&self, features: &[f64]) -> Vec<Option<String>> {
        let factor = if self.bias { features.first().copied().unwrap_or(self.scale) } else { self.scale };
        let raw: Vec<f64> = features.iter().map(|x| x / factor).collect();
        let mut own: Vec<Option<String>> = if self.bias { vec![None] } else { Vec::new() };
        for column in &self.columns {
            own.extend(self.own_of(column, &raw, own.len()));
        }
        own
    }

    fn own_of(&self, column: &Fitted, raw: &[f64], first: usize) -> Vec<Option<String>> {
        let Some(own) = raw.get(first..first + column.dim()) else { return vec![None; column.dim()] };
        match column {
            Fitted::Numeric { mean, sd, log, .. } => {
                let value = own[0] * sd + mean;
                vec![Some(digits(if *log { unlog(value) } else { value }))]
            }
            Fitted::Vector { .. } => own.iter().map(|value| Some(digits(*value))).collect(),
            Fitted::Categorical { .. } | Fitted::Bins { .. } => vec![None; own.len()],
            Fitted::Cross { left, right, .. } => {
                let of = |place: usize| self.own_of(&self.columns[place], raw, self.first(place));
                let (left, right) = (of(*left), of(*right));
                let both = |left: &Option<String>, right: &Option<String>| match (left, right) {
                    (Some(left), Some(right)) => Some(format!("{left} x {right}")),
                    (left, right) => left.clone().or_else(|| right.clone()),
                };
                left.iter().flat_map(|left| right.iter().map(move |right| both(left, right))).collect()
            }
        }
    }
}

/// A number with six significant digits and no more zeros than it needs.
fn digits(number: f64) -> String {
    let rounded: f64 = format!("{number:.5e}").parse().unwrap_or(number);
    let rounded = if rounded.abs() < 1e-9 { 0.0 } else { rounded };
    rounded.to_string()
}
