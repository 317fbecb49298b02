//! Why a customer was chosen, or was not.
//!
//! The model of that round is summed again from the journal, with the rules that held then and the library's own
//! arithmetic, so these are the numbers that decided. A customer who was not chosen is looked up in the given table.

use super::{Campaign, Command, RoundInfo, Sent};
use crate::{
    Error,
    config::Config,
    input::Source,
    recipe::Recipe,
    round::{is_in_hold_out, resting},
};
use armwise::{Arms, Auto, Column, Constraint, Learner, Model, Names, Policy, Round, number_of};
use serde::Serialize;

/// What a feature adds to the estimated reward.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contribution {
    /// The feature, in the words of the table.
    pub feature: String,
    /// x_j.
    pub value: f64,
    /// The customer's own value, as in the table; none where the feature's name says it.
    pub own: Option<String>,
    /// theta_hat_j x_j.
    pub adds: f64,
}

/// A customer and a promotion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WhyPromotion {
    /// The promotion.
    pub promotion: String,
    /// The decision, where it was chosen.
    pub decision: Option<String>,
    /// Whether the decision is one of the hold-out, which is not contacted.
    pub hold_out: bool,
    /// Whether the customer may get it, as the table that was given says.
    pub eligible: bool,
    /// The estimated reward.
    pub mean: f64,
    /// Its uncertainty.
    pub width: f64,
    /// The customer's own draw.
    pub draw: Option<f64>,
    /// What was maximised.
    pub score: f64,
    /// 1, 2, ... within the promotion, where it was chosen.
    pub rank: Option<u32>,
    /// How probable it was that it would be chosen, where it was and the round found out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// How probable it was that it was looked at, where its reward says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub examined: Option<f64>,
    /// The lowest score that was chosen for this promotion.
    pub threshold: Option<f64>,
    /// The largest contributions to the mean.
    pub contributions: Vec<Contribution>,
}

/// Why a customer was chosen, or was not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Why {
    /// The customer.
    pub customer: String,
    /// The round.
    pub round: u64,
    /// Whether the round was taken back, so that nothing was sent.
    pub revoked: bool,
    /// Whether the customer rested after an earlier send.
    pub resting: bool,
    /// Whether the customer is in the hold-out, which is never contacted.
    pub hold_out: bool,
    /// The parameters that the algorithm chose by itself in this round; none where all were given, or nothing was scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto: Option<Auto>,
    /// Every promotion, by falling score; none for a customer who was not chosen, where no table was given.
    pub promotions: Vec<WhyPromotion>,
}

/// Explains a customer in a round: unless one is given, the last one in which it was chosen that was not revoked.
/// `table` is needed for a customer who was not chosen.
///
/// # Errors
/// [`Error::NeverChosen`] for a customer who needs a table, [`Error::NotFound`] for one who is not in it.
pub fn why(campaign: &Campaign, customer: &str, round: Option<u64>, table: Option<&dyn Source>) -> Result<Why, Error> {
    let found = campaign.journal.decisions_of(customer)?;
    let mut chosen = None;
    for named in found.iter().rev() {
        let Some(info) = campaign.find_round(named.id.round)? else { continue };
        chosen = chosen.or(Some(info.round));
        if !info.revoked() {
            chosen = Some(info.round);
            break;
        }
    }
    let last = campaign.rounds().keys().next_back().copied();
    let info = match (round, chosen, table, last) {
        (Some(round), ..) | (None, Some(round), ..) | (None, None, Some(_), Some(round)) => campaign.round(round)?,
        _ => return Err(unknown(customer)),
    };
    let (round, config) = (info.round, campaign.config_of(info.round)?);
    campaign.not_compacted(round)?;
    let sent = campaign.sent(round)?;
    let heard = if info.revoked() { Vec::new() } else { campaign.heard(round)? };
    let last = |sent: &Sent| heard.iter().rfind(|own| own.outcome.decision == sent.id)?.outcome.answer;
    let own = |promotion: &str| sent.iter().find(|sent| sent.customer == customer && sent.promotion == promotion);
    let chosen = sent.iter().find(|sent| sent.customer == customer);
    let resting = chosen.is_none() && resting(campaign, &config, round, info.hold_out_alike)?.contains(customer);
    let hold_out = is_in_hold_out(&config, customer);
    let (customer_name, revoked) = (customer.to_owned(), info.revoked());
    let (auto, promotions) = (None, Vec::new());
    let mut why = Why { customer: customer_name, round, revoked, resting, hold_out, auto, promotions };
    let (features, eligible, segment) = match (chosen, table) {
        (Some(sent), _) => (sent.features.to_vec(), vec![true; config.promotion.len()], sent.segment.clone()),
        (None, Some(table)) => found_in(&*campaign.recipe_of(round)?, &config, table, customer)?,
        (None, None) if resting || hold_out => return Ok(why),
        (None, None) => return Err(unknown(customer)),
    };
    let recipe = campaign.recipe_of(round)?;
    let learner = campaign.learner_by(config.algorithm, &campaign.model_of(&info)?, (&config, &recipe))?;
    why.auto = learner.auto(Round::new(info.seed, round))?;
    let (labels, own_values) = (recipe.labels(), recipe.own_values(&features));
    let who = (&Names::new([customer])?, segment.as_deref().map_or(0.0, number_of));
    for (block, promotion) in config.promotion.iter().enumerate() {
        let arm = explain(&learner, Round::new(info.seed, round), &features, who, (block, config.promotion.len()))?;
        let theta = learner.posterior(block as u32)?.theta_hat().to_vec();
        let mut contributions: Vec<Contribution> = labels
            .iter()
            .zip(&features)
            .zip(&theta)
            .zip(&own_values)
            .filter(|(((_, x), _), _)| **x != 0.0)
            .map(|(((feature, &value), theta), own)| Contribution {
                feature: feature.clone(),
                value,
                own: own.clone(),
                adds: theta * value,
            })
            .collect();
        contributions.sort_by(|a, b| b.adds.abs().total_cmp(&a.adds.abs()).then_with(|| a.feature.cmp(&b.feature)));
        contributions.truncate(8);
        let own = own(&promotion.name);
        let others = sent.iter().filter(|sent| !sent.hold_out && sent.promotion == promotion.name);
        why.promotions.push(WhyPromotion {
            promotion: promotion.name.clone(),
            decision: own.map(|sent| campaign.tag().name(sent.id)),
            hold_out: own.is_some_and(|sent| sent.hold_out),
            eligible: eligible[block],
            mean: arm.mean,
            width: arm.width,
            draw: arm.draw,
            score: arm.score,
            rank: own.map(|sent| sent.rank),
            probability: own.and_then(|sent| sent.probability),
            examined: own.and_then(|sent| last(sent)?.examined),
            threshold: others.map(|sent| sent.score).reduce(f64::min),
            contributions,
        });
    }
    why.promotions.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.promotion.cmp(&b.promotion)));
    Ok(why)
}

impl Campaign {
    /// The model that chose a round: the one in force after the entry that it names, or before its own.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Refused`] where single decisions were given up since.
    pub fn model_of(&self, info: &RoundInfo) -> Result<Model, Error> {
        let entry = self.journal.entry(info.seq)?;
        let named = entry.as_ref().and_then(|entry| match entry.command() {
            Ok(Command::Choose(chosen)) => chosen.model,
            _ => None,
        });
        self.model_at(named.unwrap_or(info.seq))
    }
}

fn unknown(customer: &str) -> Error {
    Error::NeverChosen { customer: customer.to_owned() }
}

/// One arm's numbers: the choice among this arm alone, by its name and the number of its segment.
fn explain(
    learner: &Learner,
    round: Round,
    features: &[f64],
    (names, segment): (&Names, f64),
    (block, blocks): (usize, usize),
) -> Result<armwise::ChosenArm, Error> {
    let mut eligible = vec![false; blocks];
    eligible[block] = true;
    let scope = learner.policy().scope();
    let columns = scope.column().map(|name| Column { name, values: std::slice::from_ref(&segment) });
    let arms = Arms::new(features, features.len())?.with_names(names)?.with_eligible(&eligible)?;
    let arms = arms.with_columns(columns.as_slice())?;
    let decision = learner.choose(round, &arms, &Constraint::top_k(1))?;
    Ok(decision.arms.into_iter().next().expect("exactly one arm is chosen"))
}

/// A customer's features, for which promotions it is eligible, and its segment.
type Row = (Vec<f64>, Vec<bool>, Option<String>);

/// Looks a customer up in a table.
fn found_in(recipe: &Recipe, config: &Config, table: &dyn Source, customer: &str) -> Result<Row, Error> {
    let mut columns: Vec<String> = recipe.names().map(str::to_owned).collect();
    columns.push(config.customer.clone());
    columns.extend(config.promotion.iter().filter_map(|promotion| promotion.eligible.clone()));
    columns.extend(config.algorithm.scope().column().map(str::to_owned));
    for rows in table.batches(Some(&columns))? {
        let rows = rows?;
        let mut place = None;
        rows.each_text(&config.customer, |row, text| {
            if text == Some(customer) {
                place = Some(row);
            }
            Ok(())
        })?;
        if let Some(row) = place {
            let dim = recipe.dim();
            let features = &recipe.apply(&rows)?.0[row * dim..(row + 1) * dim];
            let features = features.iter().map(|&x| f64::from(x)).collect();
            let flag = |column: &Option<String>| match column {
                Some(column) => Ok(rows.flags(column)?[row]),
                None => Ok(true),
            };
            let eligible = config.promotion.iter().map(|promotion| flag(&promotion.eligible));
            let mut segment = None;
            if let Some(column) = config.algorithm.scope().column() {
                rows.each_text(column, |at, text| {
                    if at == row {
                        segment = text.map(str::to_owned);
                    }
                    Ok(())
                })?;
            }
            return Ok((features, eligible.collect::<Result<_, Error>>()?, segment));
        }
    }
    Err(Error::NotFound { what: "customer", name: format!("{customer:?}"), hint: format!(" in {}", table.name()) })
}
