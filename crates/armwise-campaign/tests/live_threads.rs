//! A campaign in service under many threads: nothing acknowledged is lost, nothing counts twice, and the model is that of
//! a replay.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign, Error,
    config::Config,
    core::{Answer, Fate, Feedback, Key, Line, LineOutcome, fates, model_hash},
    live::{DecideRequest, Decided, Features, JsonRows, Live, LiveOptions, RewardsRequest},
    store::sqlite::verify,
};
use arrow_array::RecordBatch;
use common::{Folder, below, noise};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Barrier, Mutex, PoisonError, RwLock, mpsc::channel},
    time::Duration,
};

const RULES: &str = "customer = \"id\"\nseed = 11\nrounds_per_segment = 16\n[[promotion]]\nname = \"show\"\n";

fn rules() -> Config {
    Config::parse(RULES, Path::new("rules")).unwrap()
}

fn arms(count: usize, salt: u64) -> RecordBatch {
    let arm = |number: usize| {
        let x = |place: u64| noise(salt, number as u64 * 3 + place) - 0.5;
        format!("{{\"id\": \"a{number}\", \"features\": [{}, {}, {}]}}", x(0), x(1), x(2))
    };
    let rows: Vec<String> = (0..count).map(arm).collect();
    serde_json::from_str::<JsonRows>(&format!("[{}]", rows.join(","))).unwrap().0
}

fn reward(decision: &str, id: &str, reward: f64, key: Option<String>) -> RewardsRequest {
    RewardsRequest {
        key: key.map(|key| Key::new(&key).unwrap()),
        decision: Some(decision.to_owned()),
        lines: vec![Line { id: Some(id.to_owned()), reward: Some(reward), ..Line::default() }],
        feedback: Feedback::Rewards,
    }
}

/// The file is sound, and its model is that of a replay.
fn check(path: &Path) -> Campaign {
    let verified = verify(path).unwrap();
    assert!(verified.findings.is_empty(), "{:?}", verified.findings);
    let campaign = Campaign::read(path).unwrap();
    if !campaign.is_behind() {
        assert_eq!(model_hash(&campaign.replay(u64::MAX).unwrap()), campaign.model_hash());
    }
    campaign
}

#[test]
fn the_same_reward_sent_100_times_at_once_is_learned_once() {
    let folder = Folder::new("live-once");
    let path = folder.path("c.armwise");
    let live = Live::begin(&path, rules(), Features::Dim(3), LiveOptions::default()).unwrap();
    let decided = live.decide(DecideRequest::k_of(arms(10, 1), 2)).unwrap();
    let (id, decision) = (&decided.arms[0].id, &decided.decision);
    // Without keys, with keys of their own, and all with one key.
    for way in 0..3 {
        let barrier = Barrier::new(100);
        let outcomes: Mutex<Vec<Option<LineOutcome>>> = Mutex::default();
        std::thread::scope(|scope| {
            for thread in 0..100 {
                let (live, barrier, outcomes) = (live.clone(), &barrier, &outcomes);
                scope.spawn(move || {
                    let key = [None, Some(format!("key-{thread}")), Some("one".to_owned())][way].clone();
                    barrier.wait();
                    let outcome = match live.rewards(reward(decision, id, 0.75, key)) {
                        Ok(told) => Some(told.arms[0].outcome),
                        Err(Error::InFlight { .. }) => None,
                        Err(error) => panic!("{error}"),
                    };
                    outcomes.lock().unwrap().push(outcome);
                });
            }
        });
        let outcomes = outcomes.into_inner().unwrap();
        let applied = outcomes.iter().filter(|outcome| **outcome == Some(LineOutcome::Applied)).count();
        assert_eq!(applied, usize::from(way == 0), "{outcomes:?}");
        assert_eq!(outcomes.iter().any(Option::is_none), way == 2 && outcomes.contains(&None));
    }
    drop(live);
    let campaign = check(&path);
    assert!(!campaign.is_behind(), "what was accepted is learned before it stops");
    assert_eq!(campaign.model().unwrap().blocks()[0].count(), 1);
}

/// What was acknowledged.
#[derive(Default)]
struct Acknowledged {
    /// By key.
    decided: BTreeMap<String, Decided>,
    /// By decision and arm.
    rewards: BTreeMap<(String, String), f64>,
}

/// Eight threads decide and reward at random while the campaign is closed and opened at random moments. In the end each
/// acknowledged decision and reward is there once, and keys give their first answers.
#[test]
fn what_eight_threads_were_told_is_there_once_whenever_the_campaign_was_opened_again() {
    let folder = Folder::new("live-random");
    let path = folder.path("c.armwise");
    let options = || LiveOptions { queue: 8, fold_every: Duration::from_millis(5), ..LiveOptions::default() };
    let served = RwLock::new(Some(Live::begin(&path, rules(), Features::Dim(3), options()).unwrap()));
    let acknowledged = Mutex::new(Acknowledged::default());
    let steps = std::env::var("ARMWISE_LIVE_STEPS").map_or(150, |steps| steps.parse().unwrap());
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let (served, acknowledged) = (&served, &acknowledged);
            scope.spawn(move || {
                let mut own: Vec<Decided> = Vec::new();
                for step in 0..steps {
                    let dice = below(thread, step, 10);
                    let live = || served.read().unwrap_or_else(PoisonError::into_inner).clone();
                    // Whatever is not acknowledged is sent again until it is, as a client does.
                    let again = |error: &Error| {
                        matches!(error, Error::Stopped { .. } | Error::QueueFull { .. } | Error::InFlight { .. })
                    };
                    if dice < 4 || own.is_empty() {
                        let key = format!("d-{thread}-{step}");
                        let decided = loop {
                            let request = DecideRequest {
                                key: Some(Key::new(&key).unwrap()),
                                ..DecideRequest::k_of(arms(12, thread * 1000 + step), 3)
                            };
                            let Some(live) = live() else { continue };
                            match live.decide(request) {
                                Ok(decided) => break decided,
                                Err(error) if again(&error) => std::thread::yield_now(),
                                Err(error) => panic!("{error}"),
                            }
                        };
                        acknowledged.lock().unwrap().decided.insert(key, decided.clone());
                        own.push(decided);
                    } else {
                        let decided = &own[below(thread + 50, step, own.len())];
                        let arm = &decided.arms[below(thread + 90, step, 3)].id;
                        let worth = (noise(thread, step) * 8.0).floor();
                        let key = (dice < 7).then(|| format!("r-{thread}-{step}"));
                        let told = loop {
                            let Some(live) = live() else { continue };
                            match live.rewards(reward(&decided.decision, arm, worth, key.clone())) {
                                Ok(told) => break told,
                                Err(error) if again(&error) => std::thread::yield_now(),
                                Err(error) => panic!("{error}"),
                            }
                        };
                        // Known without a key: it may be this thread's own, of which the answer was lost.
                        if matches!(told.arms[0].outcome, LineOutcome::Applied | LineOutcome::Known) {
                            let about = (decided.decision.clone(), arm.clone());
                            acknowledged.lock().unwrap().rewards.entry(about).or_insert(worth);
                        } else {
                            assert_eq!(told.arms[0].outcome, LineOutcome::Conflict);
                        }
                    }
                }
            });
        }
        scope.spawn(|| {
            for moment in 0..6 {
                std::thread::sleep(Duration::from_millis(30 + below(7, moment, 60) as u64));
                let old = served.write().unwrap_or_else(PoisonError::into_inner).take().unwrap();
                old.stop();
                drop(old);
                // The file can be opened once the last thread that had it has let go of it.
                let live = Live::open(&path, options()).unwrap();
                *served.write().unwrap_or_else(PoisonError::into_inner) = Some(live);
            }
        });
    });
    let live = served.into_inner().unwrap().unwrap();
    let Acknowledged { decided, rewards } = acknowledged.into_inner().unwrap();
    for (key, first) in decided.iter().take(40) {
        let mut parts = key.split('-').skip(1).map(|part| part.parse::<u64>().unwrap());
        let salt = parts.next().unwrap() * 1000 + parts.next().unwrap();
        let request = || DecideRequest { key: Some(Key::new(key).unwrap()), ..DecideRequest::k_of(arms(12, salt), 3) };
        let again = live.decide(request()).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), serde_json::to_string(first).unwrap());
    }
    drop(live);
    let campaign = check(&path);
    let mut found: BTreeMap<(String, String), f64> = BTreeMap::new();
    for first in decided.values() {
        let round = armwise_campaign::core::Tag::read_round(&first.decision).unwrap().0;
        let fates = fates(&campaign, round).unwrap();
        assert_eq!(fates.len(), 3);
        for ((sent, fate), arm) in fates.into_iter().zip(&first.arms) {
            assert_eq!((&sent.customer, sent.score.to_bits()), (&arm.id, arm.score.to_bits()));
            if let Fate::Answered(Answer { reward, .. }) = fate {
                found.insert((first.decision.clone(), sent.customer), reward);
            }
        }
    }
    assert_eq!(found, rewards, "each acknowledged reward, and no other");
    assert_eq!(campaign.count_rounds(), decided.len() as u64, "each acknowledged decision, and no other");
    assert_eq!(campaign.model().unwrap().blocks()[0].count(), rewards.len() as u64);
    assert!(decided.len() > 100 && rewards.len() > 100, "{} {}", decided.len(), rewards.len());
}

#[test]
fn a_full_disk_refuses_keeps_what_was_acknowledged_and_goes_on_when_there_is_room() {
    let folder = Folder::new("live-full");
    let path = folder.path("c.armwise");
    let live = Live::begin(&path, rules(), Features::Dim(3), LiveOptions::default()).unwrap();
    let decide = || live.decide(DecideRequest::k_of(arms(40, 3), 20));
    let mut kept = vec![decide().unwrap()];
    let size = std::fs::metadata(&path).unwrap().len();
    live.limit(Some(size + 64 * 1024)).unwrap();
    let full = loop {
        match decide() {
            Ok(decided) => kept.push(decided),
            Err(error) => break error,
        }
        assert!(kept.len() < 10_000, "it never fills up");
    };
    assert!(matches!(full, Error::DiskFull { .. }), "{full}");
    assert!(full.to_string().contains("space"), "{full}");
    for _ in 0..3 {
        assert!(matches!(decide(), Err(Error::DiskFull { .. })));
    }
    // Reading goes on.
    assert_eq!(live.read(|campaign| Ok(campaign.count_rounds())).unwrap(), kept.len() as u64);
    live.limit(None).unwrap();
    kept.push(decide().unwrap());
    let told = live.rewards(reward(&kept[0].decision, &kept[0].arms[0].id, 1.0, None)).unwrap();
    assert_eq!(told.arms[0].outcome, LineOutcome::Applied);
    drop(live);
    let campaign = check(&path);
    assert_eq!(campaign.count_rounds(), kept.len() as u64);
}

#[test]
fn whatever_was_accepted_is_finished_when_it_is_stopped_and_what_is_too_much_is_refused() {
    let folder = Folder::new("live-stop");
    let path = folder.path("c.armwise");
    let options = LiveOptions { queue: 4, ..LiveOptions::default() };
    let live = Live::begin(&path, rules(), Features::Dim(3), options).unwrap();
    let (give, take) = channel();
    for _ in 0..200 {
        let give = give.clone();
        live.decide_then(DecideRequest::k_of(arms(5, 1), 1), Box::new(move |answer| give.send(answer).unwrap()));
    }
    // Rarer commands are refused for the same reason, by the same name.
    let mut asked = 200;
    let refused = (0..2000).any(|_| {
        asked += 8;
        (0..8).for_each(|_| {
            let give = give.clone();
            live.decide_then(DecideRequest::k_of(arms(5, 1), 1), Box::new(move |answer| give.send(answer).unwrap()));
        });
        matches!(live.limit(None), Err(Error::QueueFull { .. }))
    });
    assert!(refused, "the queue was never full");
    live.stop();
    drop(give);
    let (mut done, mut full) = (0_u64, 0_u64);
    for answer in take {
        match answer {
            Ok(_) => done += 1,
            Err(Error::QueueFull { waiting: 4 }) => full += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(done + full, asked, "each has an answer");
    assert!(done >= 4, "{done} done, {full} refused");
    drop(live);
    assert_eq!(check(&path).count_rounds(), done);
}

#[test]
fn a_copy_that_is_made_under_load_is_a_campaign() {
    let folder = Folder::new("live-backup");
    let (path, copy) = (folder.path("c.armwise"), folder.path("copy.armwise"));
    let live = Live::begin(&path, rules(), Features::Dim(3), LiveOptions::default()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let live = live.clone();
            scope.spawn(move || {
                for step in 0..60 {
                    let decided = live.decide(DecideRequest::k_of(arms(12, thread), 3)).unwrap();
                    live.rewards(reward(&decided.decision, &decided.arms[0].id, f64::from(step), None)).unwrap();
                }
            });
        }
        let before = live.decide(DecideRequest::k_of(arms(12, 5), 3)).unwrap();
        let made = live.backup(&copy).unwrap();
        assert!(made.head.seq >= before.seq);
    });
    check(&copy);
    drop(live);
    check(&path);
}
