//! What each feature does to the reward, promotion by promotion, with intervals.
//!
//! An effect is a contrast of theta (see `recipe/labels.rs`), its standard error is
//! noise * |contrast|_{V^-1}, and the noise is the root mean square residual of the promotion's own rewards. Where uplift
//! is the objective, an effect is one on uplift: the same contrast of what happens without a send is subtracted, and
//! the two errors add up.

use super::{past::Past, tally::Z};
use crate::{
    Campaign, Error,
    config::Objective,
    core::{Fate, NO_SEND, Sent},
};
use armwise::{Model, Posterior};
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

/// What is known of a block, with the noise of its rewards.
struct Known {
    posterior: Posterior,
    noise: f64,
}

/// What is known of a block from these decisions; none if they are too few to tell the noise.
fn known<'a>(
    campaign: &Campaign,
    (model, lambda): (&Model, f64),
    name: &str,
    own: impl Iterator<Item = &'a (Sent, Fate)>,
) -> Result<Option<Known>, Error> {
    // What nothing was learned of may have no block yet.
    let Some(block) = campaign.block(name).filter(|&block| block < model.blocks().len()) else { return Ok(None) };
    let posterior = model.posterior(block as u32, lambda)?;
    let residuals =
        own.filter_map(|(sent, fate)| Some(fate.reward()? - fate.predicted(posterior.mean(&sent.features))));
    let (count, squares) = residuals.fold((0.0, 0.0), |(count, sum), off| (count + 1.0, sum + off * off));
    let freedom = count - campaign.recipe().dim() as f64;
    Ok((freedom >= 1.0).then(|| Known { posterior, noise: (squares / freedom).sqrt() }))
}

pub(super) fn effects(campaign: &Campaign, past: &[Past]) -> Result<Vec<EffectLine>, Error> {
    let all = || past.iter().flat_map(|one| &one.rows);
    let model = campaign.model()?;
    let model = (&model, campaign.lambda(&model)?);
    let base = match campaign.config().objective {
        Objective::Response => None,
        Objective::Uplift => known(campaign, model, NO_SEND, all().filter(|(sent, _)| sent.hold_out))?,
    };
    if base.is_none() && campaign.config().objective == Objective::Uplift {
        return Ok(Vec::new());
    }
    let contrasts = campaign.recipe().effects();
    let mut lines = Vec::new();
    for promotion in campaign.promotions() {
        let own = all().filter(|(sent, _)| !sent.hold_out && sent.promotion == promotion);
        let Some(own) = known(campaign, model, promotion, own)? else { continue };
        let of = |known: &Known, contrast: &[f64]| {
            (known.posterior.mean(contrast), Z * known.noise * known.posterior.width(contrast))
        };
        lines.extend(contrasts.iter().map(|effect| {
            let (own, base) = (of(&own, &effect.contrast), base.as_ref().map(|base| of(base, &effect.contrast)));
            let base = base.unwrap_or_default();
            EffectLine {
                promotion: promotion.to_owned(),
                column: effect.column.clone(),
                change: effect.change.clone(),
                effect: own.0 - base.0,
                half_width: own.1.hypot(base.1),
                together: false,
            }
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
