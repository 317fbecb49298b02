//! What each feature does to the reward, promotion by promotion, with intervals.
//!
//! An effect is a contrast of theta (see `recipe/labels.rs`), its standard error is
//! noise * |contrast|_{V^-1}, and the noise is the root mean square residual of the promotion's own rewards.

use super::tally::Z;
use crate::{
    Campaign, Error,
    core::{Fate, Sent},
};
use armwise::Policy;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};

/// What a feature does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EffectLine {
    /// The promotion.
    pub promotion: String,
    /// The column.
    pub column: String,
    /// What changes.
    pub change: String,
    /// By how much the reward changes.
    pub effect: f64,
    /// Half the width of its 95 % interval.
    pub half_width: f64,
    /// Whether zero stays outside when all intervals of the report are widened so that they hold together (Bonferroni).
    pub together: bool,
}

pub(super) fn effects(campaign: &Campaign, real: &[&(Sent, Fate)]) -> Result<Vec<EffectLine>, Error> {
    let model = campaign.model()?;
    let ridge = campaign.config().algorithm.ridge();
    let contrasts = campaign.recipe().effects();
    let mut lines = Vec::new();
    // A promotion of which nothing was learned may have no block yet.
    for (block, promotion) in campaign.promotions().iter().enumerate().take(model.blocks().len()) {
        let posterior = model.posterior(block as u32, ridge)?;
        let own = real.iter().filter(|(sent, _)| sent.promotion == *promotion);
        let residuals = own.filter_map(|(sent, fate)| Some(fate.reward()? - posterior.mean(&sent.features)));
        let (count, squares) = residuals.fold((0.0, 0.0), |(count, sum), off| (count + 1.0, sum + off * off));
        let freedom = count - campaign.recipe().dim() as f64;
        if freedom < 1.0 {
            continue;
        }
        let noise = (squares / freedom).sqrt();
        lines.extend(contrasts.iter().map(|effect| EffectLine {
            promotion: promotion.clone(),
            column: effect.column.clone(),
            change: effect.change.clone(),
            effect: posterior.mean(&effect.contrast),
            half_width: Z * noise * posterior.width(&effect.contrast),
            together: false,
        }));
    }
    let widened = widened(lines.len());
    lines.iter_mut().for_each(|line| line.together = line.effect.abs() > widened * line.half_width);
    Ok(lines)
}

/// How many times as wide as one interval each of `count` intervals must be, so that all hold in 95 % of cases.
fn widened(count: usize) -> f64 {
    let normal = Normal::standard();
    normal.inverse_cdf(1.0 - 0.025 / count.max(1) as f64) / Z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_intervals_are_widened_as_the_table_of_the_normal_law_says() {
        // The quantiles at 0.975, 0.99875 and 0.9995 from a printed table.
        for (count, quantile) in [(1, 1.959_964), (20, 3.023_341), (50, 3.290_527)] {
            assert!((widened(count) * Z - quantile).abs() < 1e-5, "{count}");
        }
    }
}
