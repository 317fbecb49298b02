//! Finds the decision that a response is about.
//!
//! A customer and a promotion name a decision only where there is exactly one in all rounds (or
//! in the round that is given). Taking the newest would count a file twice that is read again a week later.

use super::{Rejected, Response};
use crate::{
    Campaign, Error,
    file::{DecisionId, EventKind, RoundInfo},
};
use rusqlite::{OptionalExtension, params};
use std::collections::BTreeMap;

/// A decision as far as looking up needs it.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) id: DecisionId,
    customer: String,
    promotion: String,
}

/// What happened to a decision so far, in order.
pub(super) type History = Vec<(EventKind, Option<f64>)>;

pub(super) struct Finder<'a> {
    campaign: &'a Campaign,
    rounds: BTreeMap<u64, RoundInfo>,
    round: Option<u64>,
}

impl<'a> Finder<'a> {
    pub(super) fn new(campaign: &'a Campaign, round: Option<u64>) -> Self {
        Self { campaign, rounds: campaign.rounds(), round }
    }

    pub(super) fn campaign(&self) -> &Campaign {
        self.campaign
    }

    pub(super) fn closed(&self, id: DecisionId) -> bool {
        self.rounds.get(&id.round).is_some_and(|round| round.closed)
    }

    /// The decision, or why it is put aside.
    pub(super) fn find(&self, response: &Response) -> Result<Result<DecisionId, Rejected>, Error> {
        let round = match (&response.round, self.round) {
            (None, round) => round,
            (Some(text), option) => match (text.trim().parse::<u64>(), option) {
                (Ok(round), Some(option)) if round != option => {
                    return Ok(reject("conflict", format!("the row is about round {round}, not {option}")));
                }
                (Ok(round), _) => Some(round),
                (Err(_), _) => return Ok(reject("invalid", format!("round {text:?} is not a whole number"))),
            },
        };
        let found = match (&response.decision, &response.customer) {
            (Some(text), _) => match text.parse::<DecisionId>() {
                Ok(id) => self.by_id(id)?.into_iter().collect(),
                Err(()) => return Ok(reject("invalid", format!("{text:?} is not a decision such as r3-17"))),
            },
            (None, Some(customer)) => self.by_customer(customer)?,
            (None, None) => return Ok(reject("invalid", "neither decision nor customer is given".to_owned())),
        };
        Ok(self.pick(response, round, &found))
    }

    fn pick(&self, response: &Response, round: Option<u64>, found: &[Found]) -> Result<DecisionId, Rejected> {
        if let (Some(text), true) = (&response.decision, found.is_empty()) {
            return reject("unknown", format!("there is no decision {text}"));
        }
        let customer = response.customer.as_deref();
        if found.is_empty() {
            return reject("unknown", format!("customer {:?} was never chosen", customer.unwrap_or_default()));
        }
        if let Some(promotion) = &response.promotion
            && self.campaign.config().block(promotion).is_none()
        {
            return reject("unknown", format!("there is no promotion {promotion:?}"));
        }
        let fits = |found: &&Found| {
            response.promotion.as_ref().is_none_or(|promotion| *promotion == found.promotion)
                && round.is_none_or(|round| round == found.id.round)
                && customer.is_none_or(|customer| customer == found.customer)
        };
        let matching: Vec<&Found> = found.iter().filter(fits).collect();
        match matching[..] {
            [one] => Ok(one.id),
            [] => {
                let of = &found[0];
                reject(
                    "not-sent",
                    match &response.decision {
                        Some(text) => format!("decision {text} is for {:?}, customer {:?}", of.promotion, of.customer),
                        None => format!(
                            "customer {:?} was not chosen for it; it was in {}",
                            of.customer,
                            found.iter().map(|f| format!("{} ({})", f.id, f.promotion)).collect::<Vec<_>>().join(", ")
                        ),
                    },
                )
            }
            _ => {
                let ids: Vec<String> = matching.iter().map(|found| found.id.to_string()).collect();
                reject("ambiguous", format!("it may be {}; give decision or round", ids.join(" or ")))
            }
        }
    }

    fn by_id(&self, id: DecisionId) -> Result<Option<Found>, Error> {
        let mut statement = self
            .campaign
            .db()
            .prepare_cached("SELECT customer, promotion FROM decision WHERE id = ?")
            .map_err(|error| self.campaign.sql(error))?;
        statement
            .query_row([id.key()], |row| Ok(Found { id, customer: row.get(0)?, promotion: row.get(1)? }))
            .optional()
            .map_err(|error| self.campaign.sql(error))
    }

    fn by_customer(&self, customer: &str) -> Result<Vec<Found>, Error> {
        let mut statement = self
            .campaign
            .db()
            .prepare_cached("SELECT id, customer, promotion FROM decision WHERE customer = ? ORDER BY id")
            .map_err(|error| self.campaign.sql(error))?;
        let rows = statement
            .query_map(params![customer], |row| {
                Ok(Found { id: DecisionId::of(row.get(0)?), customer: row.get(1)?, promotion: row.get(2)? })
            })
            .map_err(|error| self.campaign.sql(error))?;
        rows.collect::<Result<_, _>>().map_err(|error| self.campaign.sql(error))
    }

    /// What happened to a decision so far.
    pub(super) fn history(&self, id: DecisionId) -> Result<History, Error> {
        let mut statement = self
            .campaign
            .db()
            .prepare_cached("SELECT seq, reward FROM outcome WHERE decision = ? ORDER BY seq")
            .map_err(|error| self.campaign.sql(error))?;
        let rows = statement
            .query_map([id.key()], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)))
            .map_err(|error| self.campaign.sql(error))?;
        let mut history = History::new();
        for row in rows {
            let (seq, reward) = row.map_err(|error| self.campaign.sql(error))?;
            let event = usize::try_from(seq - 1).ok().and_then(|place| self.campaign.events().get(place));
            let kind = event.map(|event| event.kind).ok_or_else(|| Error::Damaged {
                path: self.campaign.path().to_owned(),
                problem: format!("an outcome of decision {id} names event {seq}, which does not exist"),
                cause: None,
            })?;
            history.push((kind, reward));
        }
        Ok(history)
    }
}

fn reject<T>(kind: &'static str, text: String) -> Result<T, Rejected> {
    Err(Rejected(kind, text))
}
