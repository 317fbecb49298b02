//! Uplift: what the sends brought beyond what their customers would have done anyway.
//!
//! Compared are, in closed rounds, the sends with the customers of the hold-out whom the same rules would have chosen.
//! The comparison is made within strata, so that a good week, or a promotion that pays more, cannot pass for uplift,
//! and the interval counts a customer who comes back once, since that is how the hold-out was drawn.
//!
//! ```text
//! stratum s     the rounds of a promotion, consecutive ones joined until each side has LEAST rewards
//! n_s, m_s      sends and hold-out decisions with a reward in it, w_s = n_s / sum n_s
//! uplift        sum_s w_s (mean of sends in s - mean of hold-out in s)
//! u_c           of customer c: sum over its rewards of (w_s / n_s) sqrt(n_s / (n_s - 1)) (reward - mean of its side in s)
//! variance      sum of u_c^2 over the customers of both sides (with m_s for the hold-out)
//! ```
//! With one stratum and no customer twice, this is the variance of Welch's test. The quantile is Student's, with
//! Welch's degrees of freedom; those of a side are k (1 - strata / rewards), where k = 1 / sum_c (share of c in the
//! weights)^2 is the number of customers that it is worth. Shocks of a round are on both sides of the difference, so
//! they need no clusters of their own: the interval is about the effect in the rounds that were played.

use super::{past::Past, tally::Tally};
use crate::{
    Campaign, Error,
    core::{Fate, Sent},
};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::{collections::BTreeMap, fmt};

/// The least number of rewards of each side in a stratum.
const LEAST: usize = 10;

/// Sends compared with the hold-out's customers who would have been chosen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UpliftLine {
    /// The promotion, or `all`.
    pub promotion: String,
    /// The sends that are compared; their mean.
    pub sent: Tally,
    /// The hold-out; its mean is weighted as the sends are, by promotion and round.
    pub hold_out: Tally,
    /// The difference of the mean rewards.
    pub uplift: Option<f64>,
    /// Half the width of its 95 % interval.
    pub half_width: Option<f64>,
    /// The degrees of freedom of its interval.
    pub freedom: Option<f64>,
    /// Why there is none.
    pub refused: Option<NoUplift>,
    /// Sends of closed rounds that nobody of the hold-out can be compared with.
    pub left_out: u64,
    /// What it is worth, where the rules say what a reward is worth and what a send costs.
    pub profit: Option<Money>,
}

/// What the uplift of the sends is worth, and what they cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Money {
    /// The value of the uplift of all sends that are compared.
    pub value: f64,
    /// What these sends cost, and those that did not arrive.
    pub cost: f64,
    /// The value less the cost.
    pub profit: f64,
    /// Half the width of the 95 % interval of the value and of the profit.
    pub half_width: f64,
    /// The profit per unit of cost; none where nothing is paid.
    pub roi: Option<f64>,
    /// Half the width of its 95 % interval.
    pub roi_half_width: Option<f64>,
}

/// Why there is no uplift.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NoUplift {
    /// No round with sends is closed, and those who answer early are not like the others.
    NoClosedRound,
    /// The hold-out has no outcomes.
    NoOutcomes {
        /// How many of the hold-out would have been chosen.
        chosen: u64,
    },
    /// Too few of the hold-out have an outcome, and those who have one may not be like the others.
    TooFewOutcomes {
        /// How many have one.
        heard: u64,
        /// How many would have been chosen.
        chosen: u64,
        /// The share that the rules ask for.
        answered_share: f64,
    },
    /// Nobody of the hold-out, or too few to tell how much they vary.
    TooSmall {
        /// How many have an outcome.
        heard: u64,
    },
}

impl fmt::Display for NoUplift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoClosedRound => f.write_str("no round is closed yet"),
            Self::NoOutcomes { chosen } => write!(
                f,
                "no outcomes of the hold-out yet: {chosen} customers wait for theirs; give them as you give answers, zeros \
                 included, or let the rules say that silence is the default reward for the hold-out too"
            ),
            Self::TooFewOutcomes { heard, chosen, answered_share } => write!(
                f,
                "outcomes of {heard} of {chosen} customers of the hold-out: at least {} % are needed; zeros count as \
                 outcomes, and the rules can say that silence is the default reward for the hold-out too",
                100.0 * answered_share
            ),
            Self::TooSmall { heard } => write!(
                f,
                "{heard} customers of the hold-out with an outcome are too few to compare with; a larger share in the \
                 hold-out or more rounds help"
            ),
        }
    }
}

/// Compares sends and hold-out, promotion by promotion and over all; no lines if there is no hold-out.
///
/// # Errors
/// [`Error::Damaged`].
pub fn uplift_of(campaign: &Campaign) -> Result<Vec<UpliftLine>, Error> {
    among(campaign, &Past::all(campaign)?)
}

/// The same among some rounds.
pub(super) fn among(campaign: &Campaign, past: &[Past]) -> Result<Vec<UpliftLine>, Error> {
    let (mut rows, mut rules, mut any) = (Vec::new(), BTreeMap::new(), false);
    for Past { info, rows: of_round } in past.iter().filter(|one| !one.info.revoked()) {
        any |= info.counts.hold_out.chosen > 0;
        if info.closed() {
            rows.extend(of_round.iter().map(|(sent, fate)| (sent, *fate)));
            rules.insert(info.round, campaign.config_of(info.round)?);
        }
    }
    if !any {
        return Ok(Vec::new());
    }
    let needed = campaign.config().uplift.answered_share;
    let names = campaign.promotions().into_iter().map(Some);
    // What a reward is worth and what the send cost, by the rules of its round. What a column says a customer costs is
    // not known any more.
    let money = |sent: &Sent| -> Option<(f64, f64)> {
        let rules = rules.get(&sent.id.round).filter(|rules| rules.limits.cost.is_none())?;
        let promotion = &rules.promotion[rules.block(&sent.promotion)?];
        Some((promotion.value?, promotion.cost.unwrap_or(0.0)))
    };
    Ok(names.chain([None]).map(|name| line(name, &rows, needed, &money)).collect())
}

/// `rows` are those of closed rounds.
fn line(
    name: Option<&str>,
    rows: &[(&Sent, Fate)],
    needed: f64,
    money: &dyn Fn(&Sent) -> Option<(f64, f64)>,
) -> UpliftLine {
    let own = || rows.iter().copied().filter(|(sent, _)| name.is_none_or(|name| name == sent.promotion));
    let tally = |hold_out: bool| Tally::of(own().filter(|(sent, _)| sent.hold_out == hold_out).map(|(_, fate)| fate));
    let (sent, hold_out) = (tally(false), tally(true));
    let mut line = UpliftLine {
        promotion: name.unwrap_or("all").to_owned(),
        sent,
        hold_out,
        uplift: None,
        half_width: None,
        freedom: None,
        refused: None,
        left_out: 0,
        profit: None,
    };
    let (heard, chosen) = (hold_out.answered + hold_out.silent, hold_out.delivered);
    let strata = strata(own(), |_| 1.0);
    line.left_out = strata.iter().filter(|stratum| !stratum.is_usable()).map(|stratum| stratum.sent.len() as u64).sum();
    let strata: Vec<Stratum<'_>> = strata.into_iter().filter(Stratum::is_usable).collect();
    line.refused = match () {
        () if own().next().is_none() => Some(NoUplift::NoClosedRound),
        () if chosen > 0 && heard == 0 => Some(NoUplift::NoOutcomes { chosen }),
        () if (heard as f64) < needed * chosen as f64 => {
            Some(NoUplift::TooFewOutcomes { heard, chosen, answered_share: needed })
        }
        () if strata.is_empty() => Some(NoUplift::TooSmall { heard }),
        () => None,
    };
    if line.refused.is_none() {
        let Compared { sends, others, freedom, half_width } = Compared::of(&strata);
        (line.uplift, line.freedom) = (Some(sends.mean - others.mean), freedom);
        line.half_width = Some(half_width);
        line.profit = profit(own(), money);
        for (tally, side) in [(&mut line.sent, &sends), (&mut line.hold_out, &others)] {
            tally.mean = Some(side.mean);
            tally.half_width = Some(side.variance.sqrt() * quantile(side.freedom.max(1.0)));
        }
    }
    line
}

/// What the uplift of some sends is worth; none unless it is known of all of them.
fn profit<'a>(
    rows: impl Iterator<Item = (&'a Sent, Fate)> + Clone,
    money: &dyn Fn(&Sent) -> Option<(f64, f64)>,
) -> Option<Money> {
    rows.clone().all(|(sent, _)| money(sent).is_some()).then_some(())?;
    let worth = |sent: &Sent| money(sent).map_or(0.0, |(value, _)| value);
    let strata: Vec<Stratum<'_>> = strata(rows.clone(), worth).into_iter().filter(Stratum::is_usable).collect();
    let sends = strata.iter().map(|stratum| stratum.sent.len()).sum::<usize>() as f64;
    let Compared { sends: own, others, half_width, .. } = Compared::of(&strata);
    // Sends that nobody can be compared with have no part in the value, so they have none in the cost.
    let (paid, all) = rows.filter(|(sent, _)| !sent.hold_out).fold((0.0, 0.0), |(paid, all), (sent, fate)| {
        let counts = fate.reward().is_some() || fate == Fate::Undelivered;
        let cost = money(sent).map_or(0.0, |(_, cost)| cost);
        (paid + if counts { cost } else { 0.0 }, all + if fate.reward().is_some() { 1.0 } else { 0.0 })
    });
    let (value, half_width, cost) = (sends * (own.mean - others.mean), sends * half_width, paid * sends / all);
    let per_cost = |amount: f64| (cost > 0.0).then(|| amount / cost);
    let (roi, roi_half_width) = (per_cost(value - cost), per_cost(half_width));
    Some(Money { value, cost, profit: value - cost, half_width, roi, roi_half_width })
}

/// The two sides beside each other.
struct Compared {
    sends: Side,
    others: Side,
    freedom: Option<f64>,
    half_width: f64,
}

impl Compared {
    fn of(strata: &[Stratum<'_>]) -> Self {
        let [mut sends, mut others] = [false, true].map(|hold_out| Side::new(strata, hold_out));
        // Rewards that are all the same say nothing about how much they vary.
        let (of_sends, of_others) = (sends.spread, others.spread);
        sends.widen(of_others);
        others.widen(of_sends);
        let variance = sends.variance + others.variance;
        let of = |side: &Side| side.variance * side.variance / side.freedom;
        let freedom = Some(variance * variance / (of(&sends) + of(&others))).filter(|freedom| freedom.is_finite());
        let freedom = freedom.map(|freedom| freedom.max(1.0));
        Self { half_width: variance.sqrt() * freedom.map_or(0.0, quantile), sends, others, freedom }
    }
}

/// 97.5 % of Student's distribution lie below.
fn quantile(freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |student| student.inverse_cdf(0.975))
}

/// Rewards with their customers.
type Rewards<'a> = Vec<(&'a str, f64)>;

/// What is compared with each other.
#[derive(Default)]
struct Stratum<'a> {
    sent: Rewards<'a>,
    hold_out: Rewards<'a>,
}

impl Stratum<'_> {
    fn has(&self, least: usize) -> bool {
        self.sent.len() >= least && self.hold_out.len() >= least
    }

    fn is_usable(&self) -> bool {
        self.has(2)
    }
}

/// The strata of each promotion, rounds in ascending order; `worth` is what a unit of reward is worth.
fn strata<'a>(rows: impl Iterator<Item = (&'a Sent, Fate)>, worth: impl Fn(&Sent) -> f64) -> Vec<Stratum<'a>> {
    let mut rounds: BTreeMap<(&str, u64), Stratum<'_>> = BTreeMap::new();
    for (sent, fate) in rows {
        let Some(reward) = fate.reward() else { continue };
        let stratum = rounds.entry((&sent.promotion, sent.id.round)).or_default();
        let side = if sent.hold_out { &mut stratum.hold_out } else { &mut stratum.sent };
        side.push((&sent.customer, reward * worth(sent)));
    }
    let mut all: Vec<(&str, Stratum<'_>)> = Vec::new();
    for ((promotion, _), round) in rounds {
        // A stratum that is full is left alone, unless what comes last for its promotion is not.
        match all.last_mut() {
            Some((own, last)) if *own == promotion && !last.has(LEAST) => {
                last.sent.extend(round.sent);
                last.hold_out.extend(round.hold_out);
            }
            _ => all.push((promotion, round)),
        }
    }
    let mut joined: Vec<(&str, Stratum<'_>)> = Vec::new();
    for (promotion, stratum) in all {
        match joined.last_mut() {
            Some((own, last)) if *own == promotion && !stratum.has(LEAST) => {
                last.sent.extend(stratum.sent);
                last.hold_out.extend(stratum.hold_out);
            }
            _ => joined.push((promotion, stratum)),
        }
    }
    joined.into_iter().map(|(_, stratum)| stratum).collect()
}

/// The sends, or the hold-out.
struct Side {
    mean: f64,
    variance: f64,
    freedom: f64,
    /// The variance of a single reward.
    spread: f64,
    /// The variance of the mean for rewards of variance 1.
    unit: f64,
}

impl Side {
    fn new(strata: &[Stratum<'_>], hold_out: bool) -> Self {
        let sends: f64 = strata.iter().map(|stratum| stratum.sent.len() as f64).sum();
        let (mut mean, mut squares, mut rewards) = (0.0, 0.0, 0.0);
        let mut customers: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for stratum in strata {
            let weight = stratum.sent.len() as f64 / sends;
            let own = if hold_out { &stratum.hold_out } else { &stratum.sent };
            let count = own.len() as f64;
            let own_mean = own.iter().map(|(_, reward)| reward).sum::<f64>() / count;
            mean += weight * own_mean;
            rewards += count;
            for (customer, reward) in own {
                let off = reward - own_mean;
                squares += off * off;
                let (sum, share) = customers.entry(customer).or_default();
                *sum += weight / count * (count / (count - 1.0)).sqrt() * off;
                *share += weight / count;
            }
        }
        let unit: f64 = customers.values().map(|(_, share)| share * share).sum();
        let strata = strata.len() as f64;
        Self {
            mean,
            variance: customers.values().map(|(sum, _)| sum * sum).sum(),
            freedom: (1.0 - strata / rewards) / unit,
            spread: squares / (rewards - strata),
            unit,
        }
    }

    /// Takes the other side's spread if its own rewards do not vary.
    fn widen(&mut self, spread: f64) {
        if self.spread == 0.0 {
            self.variance = spread * self.unit;
        }
    }
}
