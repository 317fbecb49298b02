//! Finds the decision that a response is about.
//!
//! A customer and a promotion name a decision only where there is exactly one in all rounds (or in the round that is
//! given). Taking the newest would count a file twice if it is read again a week later. Rounds that were revoked were
//! never sent, so a customer's response cannot be about them.

use super::{Campaign, DecisionId, Kind, Named, Rejection, RoundInfo, learn::Response};
use crate::{Error, config::RewardRule};
use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
};

/// What happened to a decision so far, in order.
pub(super) type History = Vec<(Kind, Option<f64>)>;

pub(super) struct Finder<'a> {
    campaign: &'a Campaign,
    round: Option<u64>,
    /// The outcomes of the rounds asked about so far.
    histories: RefCell<BTreeMap<u64, HashMap<DecisionId, History>>>,
    /// The allowed rewards in the rounds asked about so far.
    rules: RefCell<BTreeMap<u64, RewardRule>>,
}

impl<'a> Finder<'a> {
    pub(super) fn new(campaign: &'a Campaign, round: Option<u64>) -> Self {
        Self { campaign, round, histories: RefCell::default(), rules: RefCell::default() }
    }

    pub(super) fn campaign(&self) -> &Campaign {
        self.campaign
    }

    fn info(&self, id: DecisionId) -> Option<&RoundInfo> {
        self.campaign.rounds().get(&id.round)
    }

    pub(super) fn closed(&self, id: DecisionId) -> bool {
        self.info(id).is_some_and(RoundInfo::closed)
    }

    fn revoked(&self, id: DecisionId) -> bool {
        self.info(id).is_some_and(RoundInfo::revoked)
    }

    /// What rewards may be, by the rules of the decision's round.
    pub(super) fn reward_rule(&self, id: DecisionId) -> Result<RewardRule, Error> {
        if let Some(rule) = self.rules.borrow().get(&id.round) {
            return Ok(*rule);
        }
        let rule = self.campaign.config_of(id.round)?.reward;
        self.rules.borrow_mut().insert(id.round, rule);
        Ok(rule)
    }

    /// The decision, or why it is put aside.
    pub(super) fn find(&self, response: &Response) -> Result<Result<DecisionId, Rejection>, Error> {
        let round = match (&response.round, self.round) {
            (None, round) => round,
            (Some(text), option) => match (text.trim().parse::<u64>(), option) {
                (Ok(row), Some(asked)) if row != asked => return Ok(Err(Rejection::OtherRound { row, asked })),
                (Ok(round), _) => Some(round),
                (Err(_), _) => return Ok(Err(Rejection::BadRound(text.clone()))),
            },
        };
        let found = match (&response.decision, &response.customer) {
            (Some(text), _) => match text.parse::<DecisionId>() {
                Ok(id) => self.campaign.journal.decision(id)?.into_iter().collect(),
                Err(()) => return Ok(Err(Rejection::BadDecision(text.clone()))),
            },
            (None, Some(customer)) => self.campaign.journal.decisions_of(customer)?,
            (None, None) => return Ok(Err(Rejection::Nobody)),
        };
        Ok(self.pick(response, round, &found))
    }

    fn pick(&self, response: &Response, round: Option<u64>, found: &[Named]) -> Result<DecisionId, Rejection> {
        if let (Some(text), true) = (&response.decision, found.is_empty()) {
            return Err(Rejection::UnknownDecision(text.clone()));
        }
        let customer = response.customer.as_deref();
        if found.is_empty() {
            return Err(Rejection::UnknownCustomer(customer.unwrap_or_default().to_owned()));
        }
        if let Some(promotion) = &response.promotion
            && self.campaign.config().block(promotion).is_none()
        {
            return Err(Rejection::UnknownPromotion(promotion.clone()));
        }
        let fits = |found: &&Named| {
            response.promotion.as_ref().is_none_or(|promotion| *promotion == found.promotion)
                && round.is_none_or(|round| round == found.id.round)
                && customer.is_none_or(|customer| customer == found.customer)
        };
        let (revoked, matching): (Vec<&Named>, Vec<&Named>) =
            found.iter().filter(fits).partition(|found| self.revoked(found.id));
        match (&matching[..], &revoked[..]) {
            ([one], _) => Ok(one.id),
            ([], [one, ..]) => Err(Rejection::Revoked(one.id.round)),
            ([], []) => Err(self.misses(response, found)),
            _ => Err(Rejection::Ambiguous(matching.iter().map(|found| found.id).collect())),
        }
    }

    /// There are decisions, but not the one that the row is about.
    fn misses(&self, response: &Response, found: &[Named]) -> Rejection {
        let Named { customer, promotion, .. } = found[0].clone();
        if let Some(decision) = response.decision.clone() {
            return Rejection::OtherDecision { decision, promotion, customer };
        }
        let sent = found.iter().filter(|found| !self.revoked(found.id));
        Rejection::NotChosen { customer, chosen: sent.map(|found| (found.id, found.promotion.clone())).collect() }
    }

    /// What happened to a decision so far.
    pub(super) fn history(&self, id: DecisionId) -> Result<History, Error> {
        let mut histories = self.histories.borrow_mut();
        if let Some(known) = histories.get(&id.round) {
            return Ok(known.get(&id).cloned().unwrap_or_default());
        }
        let mut of_round: HashMap<DecisionId, History> = HashMap::new();
        for heard in self.campaign.heard(id.round)? {
            of_round.entry(heard.outcome.decision).or_default().push((heard.kind, heard.outcome.reward));
        }
        let history = of_round.get(&id).cloned().unwrap_or_default();
        histories.insert(id.round, of_round);
        Ok(history)
    }
}
