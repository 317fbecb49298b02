//! Past rounds as logs: for each policy, what it would have done in every round.

use super::{Disagreement, Sampled, Tables, weaker};
use crate::{
    Campaign, Error,
    config::Config,
    core::{Sent, fates},
    round::Past,
};
use armwise::{
    Algorithm, Inclusion, Learner, Method, Pick, Policy, Posterior, Quota, Randomness, Scope,
    evaluate::{Design, LoggedArm, LoggedRound, Wanted},
};
use std::collections::{BTreeMap, HashMap};

/// The numbers that promotions and segments have in a log.
pub(super) struct Numbers {
    promotions: Vec<String>,
    segments: Vec<String>,
}

impl Numbers {
    pub(super) fn new(campaign: &Campaign) -> Self {
        Self { promotions: campaign.promotions().into_iter().map(str::to_owned).collect(), segments: Vec::new() }
    }

    fn promotion(&self, name: &str) -> u32 {
        self.promotions.iter().position(|own| own == name).unwrap_or_default() as u32
    }

    /// The number of a segment, from 1.
    fn segment(&mut self, name: Option<&str>) -> u32 {
        let Some(name) = name else { return 0 };
        let place = self.segments.iter().position(|own| own == name).unwrap_or_else(|| {
            self.segments.push(name.to_owned());
            self.segments.len() - 1
        });
        place as u32 + 1
    }

    pub(super) fn promotions(&self) -> impl Iterator<Item = (u32, &str)> {
        (0..).zip(self.promotions.iter().map(String::as_str))
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = (u32, &str)> {
        (1..).zip(self.segments.iter().map(String::as_str))
    }
}

/// What was found of some rounds.
pub(super) struct Found {
    /// For each policy, the rounds.
    pub(super) rounds: Vec<Vec<LoggedRound>>,
    /// For each policy, how its probabilities were found.
    pub(super) methods: Vec<String>,
    /// How those of the logging policy were.
    pub(super) method: String,
    pub(super) design: Design,
    /// How many sends have a probability in the journal, and those that do not agree with the rows.
    pub(super) logged: u64,
    pub(super) disagreements: Vec<Disagreement>,
    pub(super) sampled: Vec<Sampled>,
}

/// The rounds as logs of each policy.
pub(super) fn logged_rounds(
    campaign: &Campaign,
    rounds: &[u64],
    policies: &[Algorithm],
    tables: &Tables<'_>,
    numbers: &mut Numbers,
) -> Result<Found, Error> {
    let mut found = Found {
        rounds: vec![Vec::new(); policies.len()],
        methods: vec![String::new(); policies.len()],
        method: String::new(),
        design: Design::FixedCounts,
        logged: 0,
        disagreements: Vec::new(),
        sampled: Vec::new(),
    };
    for &round in rounds {
        let past = match tables.of(round) {
            Some(table) => Past::read(campaign, round, table)?,
            None => Past::kept(campaign, round)?.ok_or_else(|| Error::NeedsTables { rounds: vec![round] })?,
        };
        if past.one_in > 1 {
            found.sampled.push(Sampled { round, one_in: past.one_in });
        }
        found.design = weaker(found.design, design(&past.config));
        let seen = Seen::new(campaign, &past, numbers)?;
        seen.method.name().clone_into(&mut found.method);
        found.logged += seen.logged;
        found.disagreements.extend(seen.disagreements.iter().cloned());
        for (place, algorithm) in policies.iter().enumerate() {
            let (logged, method) = seen.by(campaign, &past, *algorithm)?;
            found.rounds[place].push(logged);
            method.name().clone_into(&mut found.methods[place]);
        }
    }
    Ok(found)
}

/// How the sends of a round hang together.
fn design(config: &Config) -> Design {
    let fixed = |quota: &Option<Quota>| matches!(quota, Some(Quota::Exactly(_)));
    let own = matches!(config.algorithm.scope(), Scope::Own | Scope::BestOf(_));
    match config.algorithm.description().randomness {
        Randomness::PerArm if own => {
            let counts = config.promotion.iter().all(|promotion| fixed(&promotion.quota));
            if counts && config.limits.budget.is_none() { Design::FixedCounts } else { Design::Independent }
        }
        _ => Design::Shared,
    }
}

/// A past round with what does not depend on the target.
struct Seen {
    blocks: usize,
    /// Of each arm, row by row: the probability of the logging policy, and the expected reward.
    probability: Vec<f64>,
    /// Whether probabilities were sampled, so that a 0 says only that no fresh round chose the arm.
    sampled: bool,
    mean: Vec<f64>,
    /// Of each block, its number in the log; of each row, its segment's.
    promotion: Vec<u32>,
    segment: Vec<u32>,
    /// The sends, and what they paid.
    sends: Vec<(Pick, f64)>,
    method: Method,
    /// How many sends have a probability in the journal, and those that do not agree with the rows.
    logged: u64,
    disagreements: Vec<Disagreement>,
}

impl Seen {
    fn new(campaign: &Campaign, past: &Past, numbers: &mut Numbers) -> Result<Self, Error> {
        let (config, rows) = (&past.config, past.offer.len());
        let blocks = config.promotion.len();
        let logging = past.learner(campaign, config.algorithm)?;
        let ridge = logging.policy().ridge();
        let worth = |block: usize, reward: f64| {
            let promotion = &config.promotion[block];
            if config.is_profit() {
                promotion.value.unwrap_or(1.0) * reward - promotion.cost.unwrap_or(0.0)
            } else {
                reward
            }
        };
        let model = campaign.of_rules(&past.model, config)?;
        let posteriors: Vec<Posterior> =
            (0..blocks as u32).map(|block| model.posterior(block, ridge)).collect::<Result<_, _>>()?;
        let mut mean = Vec::with_capacity(rows * blocks);
        for row in 0..rows {
            let x = past.offer.features(row);
            mean.extend(posteriors.iter().enumerate().map(|(block, posterior)| worth(block, posterior.mean(&x))));
        }
        let row_of: HashMap<&str, usize> = (0..rows).map(|row| (past.offer.customer(row), row)).collect();
        let (mut sends, mut known) = (Vec::new(), Vec::new());
        for (sent, fate) in fates(campaign, past.round.t)?.into_iter().filter(|(sent, _)| !sent.hold_out) {
            let pick = place(&sent, &row_of, config).ok_or_else(|| Error::NotFound {
                what: "customer",
                name: format!("{:?}", sent.customer),
                hint: " in the table".to_owned(),
            })?;
            // What did not arrive has earned nothing.
            sends.push((pick, worth(pick.block, fate.reward().unwrap_or(0.0))));
            known.extend(sent.probability.map(|logged| (pick, logged)));
        }
        let picks: Vec<Pick> = sends.iter().map(|&(pick, _)| pick).collect();
        let Inclusion { mut probabilities, method, .. } = chances(past, &logging, &picks)?;
        // What is logged is what counts: it was found before the draws, by the program that chose.
        let (logged, mut disagreements) = (known.len() as u64, Vec::new());
        let sampled = !matches!(method, Method::Exact | Method::Degenerate);
        for (pick, logged) in known {
            let derived = std::mem::replace(&mut probabilities[pick.row * blocks + pick.block], logged);
            // Where either is sampled they differ by chance.
            let exact = !sampled && past.one_in == 1;
            if exact && (logged - derived).abs() > AGREES * logged.max(derived) {
                let customer = past.offer.customer(pick.row).to_owned();
                disagreements.push(Disagreement { round: past.round.t, customer, logged, derived });
            }
        }
        counted_again(past, &logging, &picks, &mut probabilities)?;
        Ok(Self {
            logged,
            disagreements,
            blocks,
            probability: probabilities,
            sampled,
            mean,
            promotion: config.promotion.iter().map(|promotion| numbers.promotion(&promotion.name)).collect(),
            segment: (0..rows).map(|row| numbers.segment(past.offer.segment(row))).collect(),
            sends,
            method,
        })
    }

    /// The round as a policy's log.
    fn by(&self, campaign: &Campaign, past: &Past, algorithm: Algorithm) -> Result<(LoggedRound, Method), Error> {
        let picks: Vec<Pick> = self.sends.iter().map(|&(pick, _)| pick).collect();
        let Inclusion { probabilities: target, method, .. } =
            chances(past, &past.learner(campaign, algorithm)?, &picks)?;
        let arm = |&(Pick { row, block }, reward): &(Pick, f64)| {
            let place = row * self.blocks + block;
            LoggedArm {
                id: row as u64,
                block: self.promotion[block],
                segment: self.segment[row],
                reward,
                probability: self.probability[place],
                target: target[place].min(1.0),
                mean: self.mean[place],
            }
        };
        let mut wanted: BTreeMap<(u32, u32), Wanted> = BTreeMap::new();
        for (place, &own) in target.iter().enumerate().filter(|(_, own)| **own > 0.0) {
            let (block, segment) = (self.promotion[place % self.blocks], self.segment[place / self.blocks]);
            let wanted = wanted.entry((block, segment)).or_insert(Wanted { block, segment, ..Wanted::default() });
            wanted.count += own;
            wanted.reward += own * self.mean[place];
            if self.probability[place] <= IMPOSSIBLE {
                *(if self.sampled { &mut wanted.unseen } else { &mut wanted.unsupported }) += own;
            }
            wanted.thin += if self.probability[place] < armwise::evaluate::THIN { own } else { 0.0 };
        }
        let arms = self.sends.iter().map(arm).collect();
        Ok((LoggedRound { t: past.round.t, arms, wanted: wanted.into_values().collect() }, method))
    }
}

/// Two probabilities agree if they differ by less than this share: what is cheap is exact to 1e-9 of 1.
const AGREES: f64 = 1e-5;
/// A probability below this is nothing but rounding.
const IMPOSSIBLE: f64 = 1e-12;

fn place(sent: &Sent, rows: &HashMap<&str, usize>, config: &Config) -> Option<Pick> {
    Some(Pick { row: *rows.get(&*sent.customer)?, block: config.block(&sent.promotion)? })
}

/// The probability of each arm, row by row, as accurately as the sends need.
fn chances(past: &Past, learner: &Learner, sends: &[Pick]) -> Result<Inclusion, Error> {
    Ok(past.offer.with_arms(|arms| learner.inclusion_around(past.round, arms, &past.constraint, sends))?)
}

/// How many fresh rounds are counted where fewer leave a send without a count.
const MORE: [usize; 2] = [1 << 14, 1 << 17];

/// Finds the probabilities of sends once more that no fresh round chose: they were chosen, so none of them can have none.
fn counted_again(past: &Past, learner: &Learner, sends: &[Pick], probabilities: &mut [f64]) -> Result<(), Error> {
    let blocks = past.config.promotion.len();
    let place = |pick: &Pick| pick.row * blocks + pick.block;
    let never = |probabilities: &[f64]| -> Vec<Pick> {
        sends.iter().copied().filter(|pick| probabilities[place(pick)] <= 0.0).collect()
    };
    let mut left = never(probabilities);
    for often in MORE {
        if left.is_empty() {
            return Ok(());
        }
        let again =
            |arms: &armwise::Arms<'_>| learner.inclusion_of(past.round, arms, &past.constraint, &left, Some(often));
        let found = past.offer.with_arms(again)?;
        left.iter().zip(found.probabilities).for_each(|(pick, pi)| probabilities[place(pick)] = pi);
        left = never(probabilities);
    }
    let Some(first) = left.first() else { return Ok(()) };
    let (customer, promotion) = (past.offer.customer(first.row), &past.config.promotion[first.block].name);
    let (round, often) = (past.round.t, MORE[MORE.len() - 1]);
    let why = format!(
        "in round {round} customer {customer:?} got {promotion:?}, but none of {often} fresh rounds does that again: it is too \
         rare for its probability to be counted"
    );
    Err(Error::NothingToEvaluate { why })
}
