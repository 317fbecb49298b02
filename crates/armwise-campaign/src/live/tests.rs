//! A server beside others over a journal that fails at one question or another: what it does then, step by step and without
//! its thread.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

use super::{
    Among, ArmsChange, DecideRequest, Decided, JsonRows, LiveOptions, Offered,
    catalogue::Shelf,
    numbers::Numbers,
    published::{Board, Published},
    slate::ToChoose,
    work::{Job, Make, ToDecide, Work},
    writer::{Shared, Writer},
};
use crate::{
    Campaign, Error,
    config::Config,
    core::{Setup, amend, close, fold, model_hash},
    recipe::Recipe,
    store::flaky::Flaky,
};
use arrow_array::RecordBatch;
use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc::channel,
    },
    time::Instant,
};

const SHOW: &str = "customer = \"id\"\nseed = 7\nrounds_per_segment = 4\n[[promotion]]\nname = \"show\"\n";

fn setup() -> Setup {
    Setup::new(Config::parse(SHOW, Path::new("rules")).unwrap(), Recipe::of_dim(2))
}

fn arms(count: usize) -> RecordBatch {
    let arm = |number: usize| format!("{{\"id\": \"a{number}\", \"features\": [{}, 1]}}", number as f64 / 8.0);
    let text: Vec<String> = (0..count).map(arm).collect();
    serde_json::from_str::<JsonRows>(&format!("[{}]", text.join(","))).unwrap().0
}

/// A writer as a server has one.
fn writer(campaign: Campaign) -> Writer {
    let shelf = Shelf::of(&campaign).unwrap().map(Arc::new);
    let board = Board::new(Published::of(&campaign, shelf.clone()).unwrap(), campaign.head().seq);
    let shared = Shared {
        board,
        options: LiveOptions::default(),
        numbers: Numbers::new(campaign.next_round(), true),
        waiting: AtomicUsize::new(100),
        wanted: AtomicU64::new(0),
        trouble: Mutex::default(),
    };
    Writer::new(campaign, shelf, Arc::new(shared), None)
}

/// Has the writer decide, as a job that came through its queue.
fn decide(writer: &mut Writer, request: DecideRequest) -> Result<Decided, Error> {
    let (give, take) = channel();
    let reply = Box::new(move |answer| give.send(answer).unwrap());
    let make = Make::Later(ToChoose::new(request, 100).unwrap());
    let work = Work::Decide(Box::new(ToDecide { make, request: None, reply }));
    writer.batch(Job { work, flight: None, given: Instant::now() }, &channel().1);
    take.recv().unwrap()
}

/// Other rules than it has, whose decisions show whose they are.
fn banner(campaign: &mut Campaign) {
    let mut config = campaign.config().clone();
    "banner".clone_into(&mut config.promotion[0].name);
    amend(campaign, config, None).unwrap();
}

/// A replica was cut off while it read the sums for rules that it had followed to; it then chose by the old ones, and the
/// entry named the new ones.
#[test]
fn no_decision_is_made_by_rules_that_the_journal_has_replaced() {
    let mut met = 0;
    for others in 0..12 {
        let store = Flaky::default();
        let beside = store.beside();
        let faults = Arc::clone(&beside.faults);
        faults.bare.store(true, Ordering::Relaxed);
        let mut one = writer(Campaign::begin(Box::new(store), setup()).unwrap());
        let mut two = writer(Campaign::open(Box::new(beside)).unwrap());
        decide(&mut one, DecideRequest::k_of(arms(5), 2)).unwrap();
        close(&mut one.campaign, 1, None).unwrap();
        fold(&mut one.campaign).unwrap();
        banner(&mut one.campaign);
        faults.fail_after(others);
        met += u32::from(two.catch_up().is_err());
        // Whoever could not read everything refuses, or reads it now; nobody is answered by the old rules.
        let decided = decide(&mut two, DecideRequest::k_of(arms(5), 2)).unwrap();
        assert_eq!(decided.arms[0].promotion, "banner", "after {others} questions");
        let (rules, shown) = (two.campaign.rules_seq(), two.shared.board.now());
        assert_eq!(
            (shown.rules, shown.chooser.setup()),
            (rules, &Setup { start: None, ..two.campaign.setup().clone() })
        );
    }
    assert!(met >= 3, "the head, what is new and the sums are asked for, and each of them failed once: {met}");
}

#[test]
fn a_catalogue_that_could_not_be_read_is_read_before_it_is_used_or_changed() {
    let from_catalogue = || DecideRequest {
        arms: Offered::Catalogue(Among { eligible: Some(vec!["a4".to_owned()]), ..Among::default() }),
        ..DecideRequest::k_of(arms(1), 1)
    };
    let mut met = 0;
    for others in 0..8 {
        let store = Flaky::default();
        let beside = store.beside();
        let faults = Arc::clone(&beside.faults);
        let mut one = writer(Campaign::begin(Box::new(store), setup()).unwrap());
        one.arms(&ArmsChange::Put(arms(4)), None).unwrap();
        let mut two = writer(Campaign::open(Box::new(beside)).unwrap());
        one.arms(&ArmsChange::Put(arms(5)), None).unwrap();
        faults.fail_after(others);
        met += u32::from(two.catch_up().is_err());
        two.reach();
        let reached = two.shared.board.reached();
        assert!(two.is_current() || reached.learned < reached.seq, "whoever waits for the new arms waits on");
        faults.heal();
        if others % 2 == 0 {
            // Whoever has not heard of the change cannot know the arm.
            two.catch_up().unwrap();
            assert_eq!(decide(&mut two, from_catalogue()).unwrap().arms[0].id, "a4");
        } else {
            // A change of what it does not know would be a change of something else.
            two.retried(|writer| writer.arms(&ArmsChange::Retire(vec!["a0".to_owned()]), None)).unwrap();
            assert_eq!(two.shelf.as_ref().unwrap().len(), 4);
        }
    }
    assert!(met >= 3, "{met}");
}

/// Where others append all the time, a fold would come too late again and again, or keep them waiting too long.
#[test]
fn a_fold_sums_before_its_turn_and_in_it_only_what_was_touched_since() {
    let store = Flaky::default();
    let beside = store.beside();
    let faults = Arc::clone(&beside.faults);
    let mut one = writer(Campaign::begin(Box::new(store), setup()).unwrap());
    for _ in 0..8 {
        decide(&mut one, DecideRequest::k_of(arms(5), 2)).unwrap();
    }
    for round in [1, 5] {
        close(&mut one.campaign, round, None).unwrap();
    }
    let mut two = writer(Campaign::open(Box::new(beside)).unwrap());
    two.sum_ahead().unwrap();
    close(&mut one.campaign, 6, None).unwrap();
    two.lost();
    let asked = faults.asked.load(Ordering::Relaxed);
    assert!(two.retried(|writer| fold(&mut writer.campaign)).unwrap());
    let taken = faults.asked.load(Ordering::Relaxed) - asked;
    assert!(taken <= 5, "the turn, what is new, and the append: {taken} questions");
    one.catch_up().unwrap();
    assert_eq!(one.campaign.model_hash(), model_hash(&one.campaign.replay(u64::MAX).unwrap()));
}
