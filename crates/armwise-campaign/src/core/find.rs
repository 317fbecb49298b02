//! Finds the decision that a response is about.
//!
//! A row names a decision, or a customer in a round: its own, or the one that the whole table is about. The round's
//! decisions are read and checked against the journal first, so a row is put aside because of what was decided, never
//! because of damage. Everything is seen as it was after entry `until`, so that a request that is sent again is judged
//! as it was at first.

use super::{Answer, Campaign, DecisionId, Feedback, Kind, Rejection, RoundInfo, Tag, learn::Response};
use crate::{
    Error,
    config::{RewardRule, Silence},
};
use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    rc::Rc,
};

/// What happened to a decision so far, in order.
pub(super) type History = Vec<(Kind, Option<Answer>)>;

/// What a decision is about.
struct About {
    customer: Rc<str>,
    promotion: String,
    hold_out: bool,
}

/// Whom and what the decisions of a round are about, checked against the journal.
#[derive(Default)]
struct Names {
    /// By the decision's number.
    all: HashMap<u32, About>,
    by_customer: HashMap<Rc<str>, Vec<u32>>,
}

pub(super) struct Finder<'a> {
    campaign: &'a Campaign,
    /// The round that all rows must be about.
    asked: Option<u64>,
    /// The round of rows that name neither a decision nor a round.
    stated: Option<u64>,
    /// Later entries are not seen.
    until: u64,
    names: RefCell<BTreeMap<u64, Rc<Names>>>,
    /// The outcomes of the rounds asked about so far.
    histories: RefCell<BTreeMap<u64, HashMap<DecisionId, History>>>,
    /// The rules of the rounds asked about so far.
    rules: RefCell<BTreeMap<u64, (RewardRule, Silence)>>,
    /// Whether other rounds are looked through for a clearer reason why a row is put aside.
    looks_elsewhere: bool,
}

impl<'a> Finder<'a> {
    pub(super) fn new(campaign: &'a Campaign, feedback: Feedback, asked: Option<u64>, until: u64) -> Self {
        let (names, histories, rules) = (RefCell::default(), RefCell::default(), RefCell::default());
        let looks_elsewhere = true;
        let mut finder = Self { campaign, asked, stated: asked, until, names, histories, rules, looks_elsewhere };
        if let ([only], None) = (&finder.rounds(feedback)[..], asked) {
            finder.stated = Some(*only);
        }
        finder
    }

    /// For rows each of which names its decision or its round. Where an arm may have been chosen a million times, its
    /// other decisions are not looked at.
    pub(super) fn by_name(campaign: &'a Campaign, until: u64) -> Self {
        let (names, histories, rules) = (RefCell::default(), RefCell::default(), RefCell::default());
        Self { campaign, asked: None, stated: None, until, names, histories, rules, looks_elsewhere: false }
    }

    /// The round of rows that name neither a decision nor a round.
    pub(super) fn stated(&self) -> Option<u64> {
        self.stated
    }

    /// The rounds that a table can be about: first rewards are for open rounds only, while corrections and bounces
    /// change closed ones too.
    pub(super) fn rounds(&self, feedback: Feedback) -> Vec<u64> {
        let first = matches!(feedback, Feedback::Rewards | Feedback::Responders { .. });
        let by = |seq: Option<u64>| seq.is_some_and(|seq| seq <= self.until);
        let rounds = self.campaign.rounds().values().filter(|info| info.seq <= self.until);
        rounds.filter(|info| !(by(info.revoked_by) || first && by(info.closed_by))).map(|info| info.round).collect()
    }

    fn info(&self, round: u64) -> Result<Option<Cow<'a, RoundInfo>>, Error> {
        Ok(self.campaign.find_round(round)?.filter(|info| info.seq <= self.until))
    }

    fn is_known(&self, round: u64) -> Result<bool, Error> {
        Ok(self.info(round)?.is_some())
    }

    pub(super) fn closed(&self, round: u64) -> Result<bool, Error> {
        Ok(self.info(round)?.and_then(|info| info.closed_by).is_some_and(|seq| seq <= self.until))
    }

    /// Whether a decision is one of the hold-out.
    pub(super) fn in_hold_out(&self, id: DecisionId) -> Result<bool, Error> {
        Ok(self.names(id.round)?.all.get(&id.number).is_some_and(|about| about.hold_out))
    }

    /// Whether the end of the round's window gave a decision the default reward. To the hold-out it gives none unless
    /// the rules say so, so its outcomes may come later.
    pub(super) fn silenced(&self, id: DecisionId) -> Result<bool, Error> {
        let closed = self.closed(id.round)?;
        let unknown = closed && self.in_hold_out(id)? && self.rules(id.round)?.1 == Silence::Unknown;
        Ok(closed && !unknown)
    }

    fn revoked(&self, round: u64) -> Result<bool, Error> {
        Ok(self.info(round)?.and_then(|info| info.revoked_by).is_some_and(|seq| seq <= self.until))
    }

    /// Why nothing can be heard of a round, whatever a row says.
    fn shut(&self, round: u64) -> Result<Option<Rejection>, Error> {
        if self.revoked(round)? {
            return Ok(Some(Rejection::Revoked(round)));
        }
        Ok(self.campaign.is_held(round, self.until)?.then_some(Rejection::Held(round)))
    }

    /// What rewards may be, by the rules of the decision's round; without a decision, by the latest rules.
    pub(super) fn reward_rule(&self, found: Option<DecisionId>) -> Result<RewardRule, Error> {
        let Some(id) = found else { return Ok(self.campaign.config_after(self.until)?.reward) };
        Ok(self.rules(id.round)?.0)
    }

    /// The rules of a round, as far as they judge its outcomes.
    fn rules(&self, round: u64) -> Result<(RewardRule, Silence), Error> {
        if let Some(rules) = self.rules.borrow().get(&round) {
            return Ok(*rules);
        }
        let config = self.campaign.config_of(round)?;
        let rules = (config.reward, config.uplift.silence);
        self.rules.borrow_mut().insert(round, rules);
        Ok(rules)
    }

    fn names(&self, round: u64) -> Result<Rc<Names>, Error> {
        if let Some(names) = self.names.borrow().get(&round) {
            return Ok(Rc::clone(names));
        }
        let mut names = Names::default();
        self.campaign.each_sent(round, &mut |sent| {
            let customer: Rc<str> = sent.customer.into();
            names.by_customer.entry(Rc::clone(&customer)).or_default().push(sent.id.number);
            let about = About { customer, promotion: sent.promotion, hold_out: sent.hold_out };
            names.all.insert(sent.id.number, about);
        })?;
        let names = Rc::new(names);
        self.names.borrow_mut().insert(round, Rc::clone(&names));
        Ok(names)
    }

    /// The decision, or why it is put aside.
    pub(super) fn find(&self, response: &Response) -> Result<Result<DecisionId, Rejection>, Error> {
        let round = match (&response.round, self.asked) {
            (None, asked) => asked,
            (Some(text), asked) => match (text.trim().parse::<u64>(), asked) {
                (Ok(row), Some(asked)) if row != asked => return Ok(Err(Rejection::OtherRound { row, asked })),
                (Ok(round), _) => Some(round),
                (Err(_), _) => return Ok(Err(Rejection::BadRound(text.clone()))),
            },
        };
        match (&response.decision, &response.customer) {
            (Some(text), _) => self.named(text, response, round),
            (None, Some(customer)) => self.of_customer(customer, response, round.or(self.stated)),
            (None, None) => Ok(Err(Rejection::Nobody)),
        }
    }

    /// A row that names a decision; what else it says must fit.
    fn named(
        &self,
        text: &str,
        response: &Response,
        round: Option<u64>,
    ) -> Result<Result<DecisionId, Rejection>, Error> {
        let Some((id, tag)) = Tag::read(text) else { return Ok(Err(Rejection::BadDecision(text.to_owned()))) };
        if tag.is_some_and(|tag| tag != self.campaign.tag()) {
            return Ok(Err(Rejection::OtherCampaign { decision: text.to_owned(), own: self.campaign.tag() }));
        }
        let unknown = Ok(Err(Rejection::UnknownDecision(text.to_owned())));
        if !self.is_known(id.round)? {
            return unknown;
        }
        if id.round <= self.campaign.compacted() {
            return Ok(Err(Rejection::Compacted(id.round)));
        }
        let names = self.names(id.round)?;
        let Some(About { customer, promotion, .. }) = names.all.get(&id.number) else { return unknown };
        if let Some(rejection) = self.unknown_promotion(response) {
            return Ok(Err(rejection));
        }
        let fits = response.promotion.as_ref().is_none_or(|own| own == promotion)
            && response.customer.as_ref().is_none_or(|own| **own == **customer)
            && round.is_none_or(|round| round == id.round);
        if !fits {
            return Ok(Err(Rejection::OtherDecision {
                decision: text.to_owned(),
                promotion: promotion.clone(),
                customer: customer.to_string(),
            }));
        }
        Ok(self.shut(id.round)?.map_or(Ok(id), Err))
    }

    /// A row that names a customer: its decision in this round, if there is exactly one.
    fn of_customer(
        &self,
        customer: &str,
        response: &Response,
        round: Option<u64>,
    ) -> Result<Result<DecisionId, Rejection>, Error> {
        let fits = |promotion: &str| response.promotion.as_ref().is_none_or(|own| own == promotion);
        let mut found = Vec::new();
        if let Some(round) = round
            && self.is_known(round)?
        {
            if round <= self.campaign.compacted() {
                return Ok(Err(Rejection::Compacted(round)));
            }
            let names = self.names(round)?;
            let numbers = names.by_customer.get(customer).into_iter().flatten();
            let fitting = numbers.filter(|number| names.all.get(number).is_some_and(|about| fits(&about.promotion)));
            found.extend(fitting.map(|&number| DecisionId { round, number }));
        }
        match (&found[..], round) {
            ([one], _) => return Ok(self.shut(one.round)?.map_or(Ok(*one), Err)),
            ([_, ..], Some(round)) if self.revoked(round)? => return Ok(Err(Rejection::Revoked(round))),
            ([_, ..], _) => return Ok(Err(Rejection::Ambiguous(found))),
            ([], _) => {}
        }
        if !self.looks_elsewhere {
            let chosen = Vec::new();
            return Ok(Err(Rejection::NotChosen { customer: customer.to_owned(), chosen }));
        }
        // It is put aside in any case; what else is known of the customer only makes the reason clearer.
        let elsewhere = self.campaign.journal.decisions_of(customer)?;
        let (mut taken_back, mut there) = (None, Vec::new());
        for named in elsewhere {
            let round = named.id.round;
            if self.revoked(round)? {
                taken_back = taken_back.or(Some(round));
            } else if self.is_known(round)? {
                there.push(named);
            }
        }
        let mut elsewhere = there;
        Ok(Err(match (self.unknown_promotion(response), taken_back) {
            (None, Some(round)) if elsewhere.is_empty() => Rejection::Revoked(round),
            _ if elsewhere.is_empty() => Rejection::UnknownCustomer(customer.to_owned()),
            (Some(rejection), _) => rejection,
            (None, _) if round.is_none() && elsewhere.iter().any(|named| fits(&named.promotion)) => {
                elsewhere.retain(|named| fits(&named.promotion));
                Rejection::Ambiguous(elsewhere.into_iter().map(|named| named.id).collect())
            }
            (None, _) => {
                let chosen = elsewhere.into_iter().map(|named| (named.id, named.promotion)).collect();
                Rejection::NotChosen { customer: customer.to_owned(), chosen }
            }
        }))
    }

    fn unknown_promotion(&self, response: &Response) -> Option<Rejection> {
        let promotion = response.promotion.as_ref()?;
        self.campaign.block(promotion).is_none().then(|| Rejection::UnknownPromotion(promotion.clone()))
    }

    /// Whether a row about the decision was put aside for a bad value while it was pending.
    pub(super) fn is_aside(&self, id: DecisionId) -> Result<bool, Error> {
        self.campaign.is_aside(id, self.until)
    }

    /// Whether a decision has no outcome and was not counted as silent.
    pub(super) fn is_pending(&self, id: DecisionId) -> Result<bool, Error> {
        Ok(self.history(id)?.is_empty() && (!self.closed(id.round)? || self.is_aside(id)?))
    }

    /// What happened to a decision so far.
    pub(super) fn history(&self, id: DecisionId) -> Result<History, Error> {
        let mut histories = self.histories.borrow_mut();
        if let Some(known) = histories.get(&id.round) {
            return Ok(known.get(&id).cloned().unwrap_or_default());
        }
        let mut of_round: HashMap<DecisionId, History> = HashMap::new();
        for heard in self.campaign.heard(id.round)?.into_iter().filter(|heard| heard.seq <= self.until) {
            of_round.entry(heard.outcome.decision).or_default().push((heard.kind, heard.outcome.answer));
        }
        let history = of_round.get(&id).cloned().unwrap_or_default();
        histories.insert(id.round, of_round);
        Ok(history)
    }
}
