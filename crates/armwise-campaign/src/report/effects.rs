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
        }));
    }
    Ok(lines)
}
