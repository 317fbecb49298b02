//! Two campaigns over one journal, which follow and beat each other and lose their connections: what each has in memory is
//! what one has that is opened anew.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

use super::{
    Campaign, Chosen, Command, DecisionId, Draft, Feedback, Key, Line, Sent, Setup, amend, close, fold, model_hash,
    revoke, tell,
};
use crate::{Error, config::Config, recipe::Recipe, store::flaky::Flaky};
use proptest::prelude::*;
use std::{
    path::Path,
    sync::{Arc, atomic::Ordering},
};

const RULES: &str = "customer = \"id\"\nseed = 7\nrounds_per_segment = 2\n[[promotion]]\nname = \"show\"\n";

#[derive(Debug, Clone)]
enum Action {
    Choose {
        count: u32,
        hold: bool,
    },
    /// Rewards of two decisions, which may lie in one round, perhaps with one of a few keys.
    Rewards {
        rounds: [u64; 2],
        reward: u8,
        key: Option<u8>,
        feedback: Feedback,
    },
    Close(u64),
    Revoke(u64),
    Amend(bool),
    Fold {
        ahead: bool,
        turn: bool,
    },
    Follow,
    ReadAhead {
        rounds: [u64; 2],
        key: u8,
    },
}

#[derive(Debug, Clone)]
enum Fault {
    /// A question fails, after so many others.
    Lost(u64),
    /// An append is carried out, and nobody hears of it.
    Unheard,
    /// What is new comes without its rows.
    Bare,
}

fn step() -> impl Strategy<Value = (bool, Action, Option<Fault>)> {
    let round = || 1_u64..50;
    let feedback = prop::sample::select(vec![Feedback::Rewards, Feedback::Rewards, Feedback::Corrections]);
    let rewards = ([round(), round()], 0_u8..3, prop::option::weighted(0.3, 0_u8..4), feedback)
        .prop_map(|(rounds, reward, key, feedback)| Action::Rewards { rounds, reward, key, feedback });
    let action = prop_oneof![
        4 => (1_u32..4, prop::bool::weighted(0.1)).prop_map(|(count, hold)| Action::Choose { count, hold }),
        6 => rewards,
        1 => round().prop_map(Action::Close),
        1 => round().prop_map(Action::Revoke),
        1 => any::<bool>().prop_map(Action::Amend),
        3 => (any::<bool>(), any::<bool>()).prop_map(|(ahead, turn)| Action::Fold { ahead, turn }),
        2 => Just(Action::Follow),
        2 => ([round(), round()], 0_u8..4).prop_map(|(rounds, key)| Action::ReadAhead { rounds, key }),
    ];
    let fault = prop_oneof![4 => (0_u64..6).prop_map(Fault::Lost), 1 => Just(Fault::Unheard), 1 => Just(Fault::Bare)];
    (any::<bool>(), action, prop::option::weighted(0.3, fault))
}

fn sent(round: u64, number: u32) -> Sent {
    Sent {
        id: DecisionId { round, number },
        customer: format!("a{number}"),
        promotion: "show".to_owned(),
        hold_out: false,
        segment: None,
        mean: 0.0,
        width: 1.0,
        draw: None,
        score: 0.0,
        rank: number,
        greedy: None,
        probability: None,
        features: vec![1.0, (round as f64 * 0.37 + f64::from(number)).sin()].into(),
    }
}

fn key(number: u8) -> Key {
    Key::new(&format!("k{number}")).unwrap()
}

fn choose(campaign: &mut Campaign, count: u32, hold: bool) -> Result<(), Error> {
    let (round, head) = (campaign.next_round(), campaign.head());
    let decisions: Vec<Sent> = (1..=count).map(|number| sent(round, number)).collect();
    let command = Command::Choose(Chosen { round, hold, model: Some(campaign.model_seq()), ..Chosen::default() });
    campaign.append_all(&head, &[Draft { decisions: &decisions, ..Draft::new(command) }]).map(drop)
}

fn reward(campaign: &mut Campaign, rounds: [u64; 2], reward: u8, by: Option<u8>, as_: Feedback) -> Result<(), Error> {
    let line = |round: u64| Line {
        decision: Some(format!("r{round}-1-{}", campaign.tag())),
        reward: Some(f64::from(reward) / 2.0),
        ..Line::default()
    };
    let (head, key) = (campaign.head(), by.map(key));
    let told = tell(campaign, &rounds.map(line), as_, key.as_ref(), "lines")?;
    let Some(command) = told.command else { return Ok(()) };
    let draft = Draft { key: key.as_ref(), outcomes: &told.outcomes, ..Draft::new(command) };
    campaign.append_all(&head, &[draft]).map(drop)
}

fn act(campaign: &mut Campaign, action: &Action) -> Result<(), Error> {
    match *action {
        Action::Choose { count, hold } => choose(campaign, count, hold),
        Action::Rewards { rounds, reward: worth, key, feedback } => reward(campaign, rounds, worth, key, feedback),
        Action::Close(round) => close(campaign, round, None).map(drop),
        Action::Revoke(round) => revoke(campaign, round, None).map(drop),
        Action::Amend(second) => {
            let mut config = campaign.config().clone();
            config.reward.max = Some(if second { 10.0 } else { 20.0 });
            amend(campaign, config, None).map(drop)
        }
        Action::Fold { ahead, turn } => {
            if ahead {
                campaign.sum_dirty()?;
            }
            if turn {
                campaign.begin_turn()?;
            }
            fold(campaign).map(drop)
        }
        Action::Follow => campaign.follow().map(drop),
        Action::ReadAhead { rounds, key: by } => campaign.read_ahead(&rounds.into(), vec![key(by).to_string()]),
    }
}

/// Compares what a campaign has in memory, once it has followed, with one that is opened anew.
fn compare(campaign: &mut Campaign, store: &Flaky) -> Result<(), TestCaseError> {
    campaign.follow().unwrap();
    let fresh = Campaign::open(Box::new(store.beside())).unwrap();
    prop_assert_eq!(campaign.head(), fresh.head());
    prop_assert_eq!(&campaign.state, &fresh.state);
    prop_assert_eq!((campaign.rules_now, campaign.checkpoint), (fresh.rules_now, fresh.checkpoint));
    prop_assert_eq!((campaign.setup(), &campaign.blocks), (fresh.setup(), &fresh.blocks));
    for round in 1..fresh.next_round() {
        if fresh.round(round).is_err() {
            continue;
        }
        prop_assert_eq!(campaign.heard(round).unwrap(), fresh.heard(round).unwrap(), "round {}", round);
        prop_assert_eq!(campaign.played(round, u64::MAX).unwrap(), fresh.played(round, u64::MAX).unwrap());
    }
    for number in 0..4 {
        let known = campaign.keys.borrow().get(key(number).as_str()).cloned();
        let found = fresh.journal().keyed(key(number).as_str()).unwrap();
        prop_assert!(known.is_none_or(|known| known == found), "key {}", number);
    }
    for &segment in &fresh.state.dirty {
        let sums = |campaign: &Campaign| campaign.summed(segment).unwrap().map(|(hash, _)| hash);
        prop_assert_eq!(sums(campaign), sums(&fresh), "segment {}", segment);
    }
    prop_assert_eq!(model_hash(&campaign.model().unwrap()), fresh.model_hash());
    prop_assert!(campaign.recent.borrow().is_counted());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_in_memory_is_what_the_journal_says(steps in prop::collection::vec(step(), 1..60)) {
        let store = Flaky::default();
        let handles = [store.beside(), store.beside()];
        let faults = handles.each_ref().map(|handle| Arc::clone(&handle.faults));
        let [first, second] = handles;
        let setup = Setup::new(Config::parse(RULES, Path::new("rules")).unwrap(), Recipe::of_dim(2));
        let mut one = Campaign::begin(Box::new(first), setup).unwrap();
        // So many entries that a checkpoint comes soon, and puts segments away.
        for round in 1..=36 {
            choose(&mut one, 2, false).unwrap();
            if round % 2 == 0 {
                reward(&mut one, [round, round / 2], 1, None, Feedback::Rewards).unwrap();
            }
        }
        let mut own = [one, Campaign::open(Box::new(second)).unwrap()];
        for (which, action, fault) in steps {
            let (campaign, faults) = (&mut own[usize::from(which)], &faults[usize::from(which)]);
            match fault {
                Some(Fault::Lost(others)) => faults.fail_after(others),
                Some(Fault::Unheard) => faults.hide_append(),
                Some(Fault::Bare) => faults.bare.store(true, Ordering::Relaxed),
                None => {}
            }
            // What is refused, lost or too late has changed nothing that the journal does not say.
            let _ = act(campaign, &action);
            faults.heal();
            compare(campaign, &store)?;
        }
        let verified = Campaign::open(Box::new(store.beside())).unwrap().verify().unwrap();
        prop_assert!(verified.good, "{:?}", verified);
    }
}
