//! Features that come again are kept once.
//!
//! A service chooses the same arms of its catalogue again and again, mostly with the features that they had before, and
//! these are most of a decision's bytes. The second time that a customer comes with the same features they go into a table
//! of their own, and from then on a decision says where they are. Whoever reads gets them as ever, and the entry's digest
//! covers them.
//!
//! Only decisions of the same 2^16 rounds share, so that features can go together with the rounds that need them. What
//! may be shared is remembered here, in memory; it may be forgotten at any time and is whenever an append fails.

use crate::core::Sent;
use std::collections::HashMap;

/// Decisions of a round with more of them keep their features themselves: that is a table of customers, not a slate.
pub(super) const MANY: usize = 1000;
/// How many bytes are remembered at most.
const MOST_BYTES: usize = 64 << 20;
/// What a customer costs beside its texts.
const EACH: usize = 96;
/// Fewer bytes are not worth a reference.
const FEW: usize = 16;
/// The runs of rounds that share: the bits of a decision's id below its run.
const RUN_BITS: u32 = 48;

/// Where the features of a decision are kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// In its row.
    Here,
    /// In the table of features, where this decision brings them.
    New,
    /// In the table of features, where this decision brought them.
    There(i64),
}

/// What is remembered of the decisions that were written.
#[derive(Debug, Default)]
pub(super) struct Same {
    /// The run of rounds that it is about.
    run: i64,
    /// By customer: the features, and where they are kept if they came twice.
    known: HashMap<String, (Box<[u8]>, Option<i64>)>,
    /// How many bytes that is.
    bytes: usize,
}

impl Same {
    /// Where the features of the next decision are kept.
    pub(super) fn kept(&mut self, row: &Sent, features: &[u8]) -> Kept {
        // What was learned before the first round stays when the rounds after it are given up.
        if features.len() < FEW || row.id.round == 0 {
            return Kept::Here;
        }
        let id = row.id.key();
        if id >> RUN_BITS != self.run || self.bytes > MOST_BYTES {
            *self = Self { run: id >> RUN_BITS, ..Self::default() };
        }
        match self.known.get_mut(&row.customer) {
            Some((own, Some(place))) if **own == *features => return Kept::There(*place),
            Some((own, place @ None)) if **own == *features => {
                *place = Some(id);
                return Kept::New;
            }
            Some((own, place)) => {
                self.bytes = self.bytes - own.len() + features.len();
                (*own, *place) = (features.into(), None);
            }
            None => {
                self.bytes += row.customer.len() + features.len() + EACH;
                self.known.insert(row.customer.clone(), (features.into(), None));
            }
        }
        Kept::Here
    }
}

/// Features with smaller ids go when the decisions up to a round are given up: those of whole runs.
pub(super) fn given_up(round: u64) -> i64 {
    ((round + 1) >> (RUN_BITS - 32)).cast_signed() << RUN_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::DecisionId;

    fn sent(round: u64, customer: &str) -> Sent {
        Sent {
            id: DecisionId { round, number: 1 },
            customer: customer.to_owned(),
            promotion: "show".to_owned(),
            hold_out: false,
            segment: None,
            mean: 0.0,
            width: 0.0,
            draw: None,
            score: 0.0,
            rank: 1,
            greedy: None,
            probability: None,
            features: Vec::new().into(),
        }
    }

    #[test]
    fn the_second_time_brings_features_and_later_ones_refer_to_it() {
        let (mut same, x, y) = (Same::default(), [1; 20], [2; 20]);
        let mut at = |round, customer, x: &[u8]| same.kept(&sent(round, customer), x);
        assert_eq!(at(1, "a", &x), Kept::Here);
        assert_eq!(at(2, "b", &x), Kept::Here);
        assert_eq!(at(3, "a", &x), Kept::New);
        assert_eq!(at(4, "a", &x), Kept::There(3 << 32 | 1));
        assert_eq!(at(5, "a", &y), Kept::Here);
        assert_eq!(at(6, "a", &x), Kept::Here);
        assert_eq!(at(7, "b", &x), Kept::New);
        assert_eq!(at(8, "b", &x[..8]), Kept::Here);
        assert_eq!(at(0, "b", &x), Kept::Here);
        // Another run of rounds begins anew.
        assert_eq!(at(1 << 16, "b", &x), Kept::Here);
        assert_eq!(at((1 << 16) + 1, "b", &x), Kept::New);
    }

    #[test]
    fn features_go_when_all_rounds_that_may_share_them_have_gone() {
        let first_of = |run: u64| (run << 48).cast_signed();
        assert_eq!(given_up(1), 0);
        assert_eq!(given_up((1 << 16) - 2), 0);
        assert_eq!(given_up((1 << 16) - 1), first_of(1));
        assert_eq!(given_up(3 << 16), first_of(3));
    }

    #[test]
    fn no_more_is_remembered_than_there_is_room_for() {
        let mut same = Same::default();
        let x = vec![1; 1 << 20];
        for round in 1..200 {
            same.kept(&sent(round, &format!("c{round}")), &x);
            assert!(same.bytes <= MOST_BYTES + (2 << 20));
        }
    }
}
