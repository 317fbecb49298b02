//! The newest rounds, as a page shows them: the same numbers as the report's, counts computed a second time, and alerts that
//! come when they should and only then.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign,
    core::{Fate, Feedback, Sent, close, fates},
    report::{Alert, recent, report},
};
use common::{Folder, begin, choose_round, csv, customers, learn_text, noise};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    path::{Path, PathBuf},
};

fn rules(mail: usize, call: usize, algorithm: &str) -> String {
    format!(
        "segment = \"region\"\nalgorithm = {{ name = \"{algorithm}\" }}\n[[promotion]]\nname = \"mail\"\nquota = {mail}\n\
         [[promotion]]\nname = \"call\"\nquota = {call}\n"
    )
}

/// Plays a round: whoever `buys` answers with 1, the others are silent; open rounds are not closed.
fn play(campaign: &mut Campaign, folder: &Folder, table: &Path, closed: bool, buys: impl Fn(&Sent) -> bool) {
    let round = choose_round(campaign, table).unwrap().round;
    let mut text = String::from("decision,reward\n");
    for sent in campaign.sent(round).unwrap().iter().filter(|sent| buys(sent)) {
        let _ = writeln!(text, "{},1", sent.id);
    }
    let (learned, rejects) = learn_text(campaign, folder, Feedback::Rewards, &text).unwrap();
    assert_eq!(learned.rejected, 0, "{}", csv(&rejects));
    if closed {
        close(campaign, round, None).unwrap();
    }
}

fn begun(name: &str, count: u64, rules: &str) -> (Folder, PathBuf, Campaign) {
    let folder = Folder::new(name);
    let table = folder.write("customers.csv", customers(count));
    let campaign = begin(&folder, &table, rules).unwrap();
    (folder, table, campaign)
}

fn luck(sent: &Sent) -> f64 {
    noise(5, sent.id.key().cast_unsigned())
}

#[test]
fn the_newest_rounds_are_the_report_and_its_counts_while_all_of_them_are_looked_at() {
    let (folder, table, mut campaign) = begun("recent", 300, &rules(12, 6, "arm-wise-ts"));
    for round in 1..=6 {
        play(&mut campaign, &folder, &table, round < 5, |sent| luck(sent) < 0.4);
    }
    let recent = recent(&campaign).unwrap();
    assert_eq!(recent.report, report(&campaign).unwrap());
    assert_eq!((recent.rounds, recent.looked_at, recent.counts.sends), (6, 6, 6 * 18));
    let all: Vec<(Sent, Fate)> = (1..=6).flat_map(|round| fates(&campaign, round).unwrap()).collect();
    let many = |is: fn(&Fate) -> bool| all.iter().filter(|(_, fate)| is(fate)).count() as u64;
    assert_eq!(recent.counts.pending, many(|fate| *fate == Fate::Pending));
    assert_eq!(recent.counts.answered, many(|fate| matches!(fate, Fate::Answered(_))));
    // The mean leaves open rounds out: those who answer early are not like the others.
    let settled: Vec<f64> =
        all.iter().filter(|(sent, _)| sent.id.round < 5).filter_map(|(_, fate)| fate.reward()).collect();
    let mean = settled.iter().sum::<f64>() / settled.len() as f64;
    assert!((recent.tally.mean.unwrap() - mean).abs() < 1e-12);
    let names: Vec<(&str, bool)> = recent.cohorts.iter().map(|cohort| (cohort.name.as_str(), cohort.open)).collect();
    assert_eq!(names, [("1", false), ("2", false), ("3", false), ("4", false), ("5", true), ("6", true)]);
    for (cohort, line) in recent.cohorts.iter().zip(&recent.report.rounds) {
        assert_eq!(
            (cohort.mean_reward.map(f64::to_bits), cohort.tally),
            (line.mean_reward.map(f64::to_bits), line.tally)
        );
    }
    let mut often: BTreeMap<&str, u64> = BTreeMap::new();
    all.iter().for_each(|(sent, _)| *often.entry(&sent.customer).or_default() += 1);
    assert_eq!(recent.different_rows, often.len() as u64);
    let segments: BTreeSet<&str> = all.iter().map(|(sent, _)| sent.segment.as_deref().unwrap()).collect();
    assert_eq!(recent.different_segments, Some(segments.len() as u64));
    let most = often.values().max().unwrap();
    assert!(recent.rows.len() == 12 && recent.rows[0].tally.sends == *most);
    assert!(recent.rows.windows(2).all(|two| two[0].tally.sends >= two[1].tally.sends));
    // Probabilities are kept where they are cheap, as they are here.
    assert!(recent.probabilities.is_some() && recent.alerts.is_empty(), "{:?}", recent.alerts);
}

#[test]
fn many_rounds_are_told_by_the_time_they_were_chosen_at() {
    let (folder, table, mut campaign) = begun("recent-many", 60, &rules(2, 1, "random"));
    for _ in 0..35 {
        play(&mut campaign, &folder, &table, true, |sent| luck(sent) < 0.4);
    }
    let recent = recent(&campaign).unwrap();
    assert!(recent.cohorts.len() <= 31 && recent.cohorts.iter().map(|cohort| cohort.rounds).sum::<u64>() == 35);
    assert!(recent.cohorts.iter().all(|cohort| cohort.name.len() == 8 && cohort.from.contains(&cohort.name[..5])));
    let sends: u64 = recent.cohorts.iter().map(|cohort| cohort.tally.sends).sum();
    assert_eq!(sends, recent.counts.sends);
    let weighted = recent.cohorts.iter().map(|cohort| cohort.mean_reward.unwrap() * cohort.tally.sends as f64);
    assert!((weighted.sum::<f64>() / sends as f64 - recent.tally.mean.unwrap()).abs() < 1e-12);
}

#[test]
fn drift_is_found_with_its_cause_and_only_where_there_is_some() {
    for drifts in [true, false] {
        let (folder, table, mut campaign) = begun("recent-drift", 400, &rules(40, 40, "arm-wise-ts"));
        for round in 1..=20 {
            play(&mut campaign, &folder, &table, true, |sent| {
                // From round 14 on nobody answers a call any more.
                luck(sent) < if drifts && round >= 14 && sent.promotion == "call" { 0.0 } else { 0.5 }
            });
        }
        let alerts = recent(&campaign).unwrap().alerts;
        if !drifts {
            assert!(alerts.is_empty(), "{alerts:?}");
            continue;
        }
        let [Alert::Drift { sends, observed, predicted, errors, cause }] = &alerts[..] else { panic!("{alerts:?}") };
        // Round 1 was chosen before anything was known and predicts nothing.
        assert_eq!(*sends, 19 * 80 / 2);
        assert!(observed < predicted && *errors < -5.0, "{alerts:?}");
        assert!(cause.as_ref().is_some_and(|cause| cause.starts_with("promotion call:")), "{alerts:?}");
        assert!(alerts[0].to_string().contains("promotion call"));
    }
}

#[test]
fn the_same_rows_again_and_again_are_told() {
    for (count, few) in [(3, true), (60, false)] {
        let (folder, table, mut campaign) = begun("recent-few", count, &rules(2, 1, "random"));
        for _ in 0..45 {
            play(&mut campaign, &folder, &table, true, |sent| luck(sent) < 0.4);
        }
        let alerts = recent(&campaign).unwrap().alerts;
        match &alerts[..] {
            [Alert::FewRows { rounds: 45, effective, per_round, most, .. }] if few => {
                assert!(
                    *effective <= 3.0 + 1e-9 && (per_round - 3.0).abs() < 1e-12 && most.starts_with("C000"),
                    "{alerts:?}"
                );
            }
            [] if !few => {}
            _ => panic!("{count} customers: {alerts:?}"),
        }
    }
}
