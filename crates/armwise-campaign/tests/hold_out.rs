//! The hold-out: its own file, its outcomes, its rest, and the uplift that follows, or is refused.
//!
//! The uplift and its interval are computed a second time here, by another way: all pairs of rewards of one customer.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise::{Model, Observation};
use armwise_campaign::{
    Campaign, Error,
    core::{Fate, Feedback, Key, Refusal, Sent, close, fates, hold_out, results, revoke, sends, status, why},
    output::Existing,
    report::{NoUplift, UpliftLine, report, uplift_of},
    round::{ChoiceFiles, ChooseOptions, Warning, choose},
    store::sqlite::verify,
    table::SheetFile,
};
use common::{Folder, begin, choose_round, csv, customers, learn_text, noise, open};
use std::{collections::BTreeSet, fmt::Write, fs, path::Path};

const RULES: &str = "[limits]\nhold_out = 0.25\nrest = 1\n\
    [[promotion]]\nname = \"mail\"\nquota = 40\n[[promotion]]\nname = \"call\"\nquota = 20\n";

/// What a decision brought: whole numbers with some luck, more for sends.
fn reward(sent: &Sent) -> f64 {
    let luck = noise(77, sent.id.key().cast_unsigned());
    (4.0 * luck + if sent.hold_out { 0.0 } else { 1.0 }).floor()
}

/// The outcomes of those whom `of` picks, as a table.
fn outcomes(campaign: &Campaign, round: u64, of: impl Fn(&Sent) -> bool) -> String {
    let mut text = String::from("decision,reward\n");
    for sent in campaign.sent(round).unwrap().iter().filter(|sent| of(sent)) {
        let _ = writeln!(text, "{},{}", sent.id, reward(sent));
    }
    text
}

fn rewards(campaign: &mut Campaign, folder: &Folder, text: &str) -> armwise_campaign::core::Learned {
    let (learned, rejects) = learn_text(campaign, folder, Feedback::Rewards, text).unwrap();
    assert_eq!(learned.rejected, 0, "{}", csv(&rejects));
    learned
}

fn all(campaign: &Campaign) -> UpliftLine {
    uplift_of(campaign).unwrap().pop().unwrap()
}

#[test]
fn the_hold_out_has_a_file_of_its_own_beside_the_sends() {
    let folder = Folder::new("hold-out-file");
    let table = folder.write("customers.csv", customers(400));
    let mut campaign = begin(&folder, &table, RULES).unwrap();
    let path = folder.path("sends.csv");
    let files = || ChoiceFiles {
        sends: Some(SheetFile::begin(&path, Existing::Replace, &[]).unwrap()),
        hold_out: Some(SheetFile::begin(&ChoiceFiles::beside(&path), Existing::Replace, &[]).unwrap()),
    };
    let options = || ChooseOptions { key: Some(Key::new("monday").unwrap()), ..ChooseOptions::default() };
    let choice = choose(&campaign, &open(&table), options(), &|_| ()).unwrap();
    let summary = choice.commit(&mut campaign, Some(files())).unwrap();
    let read = || [&path, &ChoiceFiles::beside(&path)].map(|path| fs::read_to_string(path).unwrap());
    let written = read();
    let sent = campaign.sent(1).unwrap();
    assert_eq!(written, [csv(&sends(campaign.tag(), &sent)), csv(&hold_out(campaign.tag(), &sent))]);
    assert_eq!(written.each_ref().map(|text| text.lines().count() as u64 - 1), [summary.sends, summary.hold_out]);
    assert!((15..=25).contains(&summary.hold_out), "a third of 60: {summary:?}");
    // The same request once more writes both again.
    fs::remove_file(&path).unwrap();
    fs::remove_file(ChoiceFiles::beside(&path)).unwrap();
    choose(&campaign, &open(&table), options(), &|_| ()).unwrap().commit(&mut campaign, Some(files())).unwrap();
    assert_eq!(read(), written);
    // A file as it is, with a column of rewards, is a table of outcomes.
    let text = written[1].lines().enumerate();
    let text: Vec<String> =
        text.map(|(place, line)| format!("{line},{}", if place == 0 { "reward" } else { "2" })).collect();
    let learned = rewards(&mut campaign, &folder, &text.join("\n"));
    assert_eq!((learned.applied, learned.hold_out), (summary.hold_out, summary.hold_out));
}

#[test]
fn there_is_no_uplift_until_the_hold_out_has_outcomes() {
    let folder = Folder::new("hold-out-outcomes");
    let table = folder.write("customers.csv", customers(400));
    let mut campaign = begin(&folder, &table, RULES).unwrap();
    let chosen = choose_round(&mut campaign, &table).unwrap().hold_out;
    let text = outcomes(&campaign, 1, |sent| !sent.hold_out);
    assert_eq!(rewards(&mut campaign, &folder, &text).hold_out, 0);
    assert_eq!(all(&campaign).refused, Some(NoUplift::NoClosedRound), "who answers early is not like the others");
    let closed = close(&mut campaign, 1, None).unwrap();
    assert_eq!((closed.silent, closed.hold_out.pending, closed.hold_out.silent), (0, chosen, 0));
    let line = all(&campaign);
    assert_eq!((line.refused, line.uplift, line.half_width), (Some(NoUplift::NoOutcomes { chosen }), None, None));
    assert!(line.refused.unwrap().to_string().contains("no outcomes of the hold-out yet"));

    // After the window: outcomes of the hold-out still come, answers to sends do not.
    let half = outcomes(&campaign, 1, |sent| sent.hold_out && sent.id.number % 2 == 0);
    let heard = rewards(&mut campaign, &folder, &half).hold_out;
    assert!(heard > 5 && heard < chosen);
    assert_eq!(all(&campaign).refused, Some(NoUplift::TooFewOutcomes { heard, chosen, answered_share: 0.9 }));
    let (sent, held) = (campaign.sent(1).unwrap()[0].clone(), campaign.sent(1).unwrap().pop().unwrap());
    assert!(held.hold_out && !sent.hold_out);
    let late = format!("decision,reward\n{},7\n", sent.id);
    assert_eq!(learn_text(&mut campaign, &folder, Feedback::Rewards, &late).unwrap().0.rejected, 1);
    if held.id.number % 2 == 1 {
        let early = format!("decision,reward\n{},7\n", held.id);
        let (learned, _) = learn_text(&mut campaign, &folder, Feedback::Corrections, &early).unwrap();
        assert_eq!(learned.reasons.get("no-reward"), Some(&1), "nothing to be corrected yet");
    }
    let rest = outcomes(&campaign, 1, |sent| sent.hold_out && sent.id.number % 2 == 1);
    rewards(&mut campaign, &folder, &rest);
    let line = all(&campaign);
    assert_eq!((line.refused, line.hold_out.answered), (None, chosen));
    assert!((line.uplift.unwrap() - (line.sent.mean.unwrap() - line.hold_out.mean.unwrap())).abs() < 1e-12);
    assert!((line.uplift.unwrap() - 1.0).abs() < line.half_width.unwrap() * 2.0, "{line:?}");

    // Status, results and the view for analysts say the same.
    let line = status(&campaign).unwrap().rounds[0].hold_out.clone();
    assert_eq!((line.chosen, line.answered, line.silent, line.pending), (chosen, chosen, 0, 0));
    let told = csv(&results(&campaign, None).unwrap());
    assert_eq!(told.lines().filter(|line| line.split(',').nth(4) == Some("1")).count() as u64, chosen);
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
}

/// The fates and mean reward of the hold-out, as SQL sees them.
fn view(campaign: &Campaign) -> Vec<(String, u64, Option<f64>)> {
    let db = rusqlite::Connection::open(campaign.path()).unwrap();
    let sql = "SELECT fate, count(*), avg(reward) FROM result WHERE hold_out = 1 GROUP BY fate ORDER BY fate";
    let mut statement = db.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned(), row.get(2)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

#[test]
fn silence_of_the_hold_out_counts_only_where_the_rules_say_so() {
    for (silence, fate) in [("unknown", "pending"), ("default", "silent")] {
        let folder = Folder::new("hold-out-silence");
        let table = folder.write("customers.csv", customers(400));
        let rules = format!("[uplift]\nsilence = \"{silence}\"\n[reward]\ndefault = 0.5\n{RULES}");
        let mut campaign = begin(&folder, &table, &rules).unwrap();
        let chosen = choose_round(&mut campaign, &table).unwrap().hold_out;
        let one = campaign.sent(1).unwrap().into_iter().find(|sent| sent.hold_out).unwrap();
        rewards(&mut campaign, &folder, &format!("decision,reward\n{},3\n", one.id));
        let closed = close(&mut campaign, 1, None).unwrap();
        let declared = silence == "default";
        let expected = if declared { (chosen - 1, 0) } else { (0, chosen - 1) };
        assert_eq!((closed.hold_out.silent, closed.hold_out.pending), expected);
        assert_eq!(all(&campaign).refused.is_none(), declared);
        let seen = [("answered", 1, Some(3.0)), (fate, chosen - 1, declared.then_some(0.5))];
        assert_eq!(view(&campaign), seen.map(|(fate, count, mean)| (fate.to_owned(), count, mean)));
        let late = campaign.sent(1).unwrap().pop().unwrap();
        let (learned, _) =
            learn_text(&mut campaign, &folder, Feedback::Rewards, &format!("decision,reward\n{},2\n", late.id))
                .unwrap();
        assert_eq!(learned.rejected, u64::from(declared), "silence that was counted is corrected, not learned");
    }
}

#[test]
fn the_hold_out_rests_and_is_learned_from_as_the_sends_are() {
    let folder = Folder::new("hold-out-rest");
    let table = folder.write("customers.csv", customers(400));
    let mut campaign = begin(&folder, &table, RULES).unwrap();
    let first = choose_round(&mut campaign, &table).unwrap();
    let text = outcomes(&campaign, 1, |_| true);
    rewards(&mut campaign, &folder, &text);
    let second = choose_round(&mut campaign, &table).unwrap();
    assert_eq!(second.resting, first.sends + first.hold_out);
    let of = |round: u64| -> BTreeSet<String> {
        campaign.sent(round).unwrap().into_iter().filter(|sent| sent.hold_out).map(|sent| sent.customer).collect()
    };
    assert!(of(1).is_disjoint(&of(2)));
    let rested = of(1).into_iter().next().unwrap();
    assert!(why(&campaign, &rested, Some(2), None).unwrap().resting);
    // The model has a block more, for what happens without a send.
    let mut model = Model::new(campaign.recipe().dim(), 3).unwrap();
    for sent in campaign.sent(1).unwrap() {
        let block = if sent.hold_out { 2 } else { u32::from(sent.promotion == "call") };
        model.observe(&Observation { t: 1, block, x: &sent.features, reward: reward(&sent) }).unwrap();
    }
    assert_eq!(campaign.model().unwrap(), model);
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
}

#[test]
fn a_revoked_round_leaves_no_rest_no_zeros_and_no_outcomes_of_the_hold_out() {
    let folder = Folder::new("hold-out-revoke");
    let table = folder.write("customers.csv", customers(400));
    let mut campaign = begin(&folder, &table, RULES).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let text = outcomes(&campaign, 1, |_| true);
    rewards(&mut campaign, &folder, &text);
    close(&mut campaign, 1, None).unwrap();
    let told = report(&campaign).unwrap();
    let (model, rested) = (campaign.model().unwrap(), choose_round(&mut campaign, &table).unwrap().resting);
    let text = outcomes(&campaign, 2, |sent| sent.id.number % 3 > 0);
    let heard = rewards(&mut campaign, &folder, &text).hold_out;
    close(&mut campaign, 2, None).unwrap();
    assert_ne!(report(&campaign).unwrap().uplift, told.uplift);
    let revoked = revoke(&mut campaign, 2, None).unwrap();
    assert_eq!((revoked.sends, revoked.rewards, revoked.hold_out), (60, 60, heard));
    assert_eq!(campaign.model().unwrap(), model, "to the bit");
    assert!(fates(&campaign, 2).unwrap().iter().all(|(_, fate)| *fate == Fate::Revoked));
    let now = report(&campaign).unwrap();
    assert_eq!((now.uplift, now.promotions, now.effects), (told.uplift, told.promotions, told.effects));
    let line = status(&campaign).unwrap().rounds[1].clone();
    assert_eq!((line.sends, line.silent, line.hold_out.chosen, line.hold_out.answered), (0, 0, 0, 0));
    assert_eq!(view(&campaign).iter().map(|line| line.0.as_str()).collect::<Vec<_>>(), ["answered", "revoked"]);
    // Nobody rests because of it; after the round before last nobody does anyway.
    let next = choose(&campaign, &open(&table), ChooseOptions::default(), &|_| ()).unwrap();
    assert_eq!((rested > 0, next.summary.resting, next.summary.round), (true, 0, 3));
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
}

#[test]
fn another_round_is_refused_while_nothing_was_heard_of_the_last_one() {
    let folder = Folder::new("nothing-heard");
    let table = folder.write("customers.csv", customers(400));
    let mut campaign = begin(&folder, &table, RULES).unwrap();
    let next = |campaign: &Campaign, again: bool| {
        choose(campaign, &open(&table), ChooseOptions { again, ..ChooseOptions::default() }, &|_| ())
    };
    next(&campaign, false).unwrap().commit(&mut campaign, None).unwrap();
    assert!(matches!(next(&campaign, false), Err(Error::Refused(Refusal::NothingHeard(1)))));
    assert_eq!(next(&campaign, true).unwrap().summary.round, 2);
    // An outcome of anybody, the end of the window or taking it back are all that is needed.
    let first = campaign.sent(1).unwrap()[0].clone();
    revoke(&mut campaign, 1, None).unwrap();
    next(&campaign, false).unwrap().commit(&mut campaign, None).unwrap();
    assert!(matches!(next(&campaign, false), Err(Error::Refused(Refusal::NothingHeard(2)))));
    let held = campaign.sent(2).unwrap().pop().unwrap();
    rewards(&mut campaign, &folder, &format!("decision,reward\n{},0\n", held.id));
    next(&campaign, false).unwrap().commit(&mut campaign, None).unwrap();
    assert!(next(&campaign, false).is_err());
    close(&mut campaign, 3, None).unwrap();
    assert_eq!(next(&campaign, false).unwrap().summary.round, 4);
    assert!(!first.hold_out);
}

#[test]
fn choosing_warns_of_an_open_round_of_which_only_answers_are_known() {
    let folder = Folder::new("responders");
    let table = folder.write("customers.csv", customers(400));
    let mut campaign = begin(&folder, &table, RULES).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let warned = |campaign: &Campaign| {
        choose(campaign, &open(&table), ChooseOptions::default(), &|_| ()).unwrap().summary.warnings
    };
    let expected = |answered, pending| vec![Warning::OnlyResponders { round: 1, answered, pending }];
    rewards(&mut campaign, &folder, "decision,reward\nr1-1,1\nr1-2,3\n");
    assert_eq!(warned(&campaign), expected(2, 58));
    let before = choose(&campaign, &open(&table), ChooseOptions::default(), &|_| ()).unwrap().summary.expected_reward;
    // A zero says that silence is reported too.
    let reported = revoked_copy(&folder, &campaign);
    let mut other = Campaign::write(&reported, "test").unwrap();
    rewards(&mut other, &folder, "decision,reward\nr1-3,0\n");
    assert_eq!(warned(&other), []);
    close(&mut campaign, 1, None).unwrap();
    assert_eq!(warned(&campaign), []);
    let after = choose(&campaign, &open(&table), ChooseOptions::default(), &|_| ()).unwrap().summary.expected_reward;
    assert!(after < 0.5 * before, "{before} before, {after} after");
}

/// A second campaign with the same entries.
fn revoked_copy(folder: &Folder, campaign: &Campaign) -> std::path::PathBuf {
    let copy = folder.path("copy.armwise");
    armwise_campaign::store::sqlite::backup(campaign.path(), &copy).unwrap();
    copy
}

/// Rewards with their customers.
type Rewards = Vec<(String, f64)>;

/// The uplift and the variance of its estimate, by sums over all pairs of rewards of one customer.
fn reference(strata: &[(Rewards, Rewards)]) -> (f64, f64) {
    let sends: f64 = strata.iter().map(|(sent, _)| sent.len() as f64).sum();
    let (mut uplift, mut parts) = (0.0, Vec::new());
    for (sent, held) in strata {
        let weight = sent.len() as f64 / sends;
        for (side, sign) in [(sent, 1.0), (held, -1.0)] {
            let n = side.len() as f64;
            let mean = side.iter().map(|(_, reward)| reward).sum::<f64>() / n;
            uplift += sign * weight * mean;
            for (customer, reward) in side {
                parts.push((customer.clone(), sign * weight / n * (n / (n - 1.0)).sqrt() * (reward - mean)));
            }
        }
    }
    let pairs = parts.iter().flat_map(|a| parts.iter().filter(|b| a.0 == b.0).map(move |b| a.1 * b.1));
    (uplift, pairs.sum())
}

#[test]
fn the_interval_counts_a_customer_who_comes_back_once() {
    let folder = Folder::new("hold-out-interval");
    let table = folder.write("customers.csv", customers(160));
    let mut campaign =
        begin(&folder, &table, &RULES.replace("rest = 1\n", "").replace("quota = 20", "quota = 4")).unwrap();
    for round in 1..=4 {
        choose_round(&mut campaign, &table).unwrap();
        let text = outcomes(&campaign, round, |_| true);
        rewards(&mut campaign, &folder, &text);
        close(&mut campaign, round, None).unwrap();
    }
    // Mail has ten and more of the hold-out in every round; those of calls are joined.
    let side = |hold_out: bool, promotion: &str, rounds: std::ops::RangeInclusive<u64>| -> Vec<(String, f64)> {
        let sent = rounds.flat_map(|round| campaign.sent(round).unwrap());
        let own = sent.filter(|sent| sent.hold_out == hold_out && sent.promotion == promotion);
        own.map(|sent| (sent.customer.clone(), reward(&sent))).collect()
    };
    let stratum = |promotion: &str, rounds: std::ops::RangeInclusive<u64>| {
        (side(false, promotion, rounds.clone()), side(true, promotion, rounds))
    };
    let mail: Vec<_> = (1..=4).map(|round| stratum("mail", round..=round)).collect();
    assert!(mail.iter().all(|(sent, held)| sent.len() == 40 && held.len() >= 10));
    let call = stratum("call", 1..=4);
    assert!(call.1.len() >= 2 && call.1.len() < 10, "{}", call.1.len());
    let lines = uplift_of(&campaign).unwrap();
    let both: Vec<_> = [call.clone()].into_iter().chain(mail.clone()).collect();
    for (line, strata) in lines.iter().zip([&mail, &vec![call], &both]) {
        let (uplift, variance) = reference(strata);
        assert!((line.uplift.unwrap() - uplift).abs() < 1e-12, "{line:?}");
        let quantile = line.half_width.unwrap() / variance.sqrt();
        assert!((1.96..4.5).contains(&quantile), "{quantile} for {:?}", line.freedom);
    }
    let repeated = side(true, "mail", 1..=4);
    let names: BTreeSet<&String> = repeated.iter().map(|(customer, _)| customer).collect();
    assert!(names.len() < repeated.len(), "somebody came back");
    // Were all rewards of different customers, the same numbers would look more certain or less.
    let apart = |rows: &[(String, f64)]| -> Vec<(String, f64)> {
        rows.iter().enumerate().map(|(place, (_, reward))| (place.to_string() + "-", *reward)).collect()
    };
    let (_, alone) = reference(&mail.iter().map(|(sent, held)| (apart(sent), apart(held))).collect::<Vec<_>>());
    assert_ne!(alone.to_bits(), reference(&mail).1.to_bits());
}

/// With one stratum and every customer once, the interval is that of Welch's test; the quantile is from a table.
#[test]
fn one_round_gives_the_interval_of_welch() {
    let folder = Folder::new("hold-out-welch");
    let table = folder.write("customers.csv", customers(160));
    let rules = "[limits]\nhold_out = 0.3\n[[promotion]]\nname = \"mail\"\nquota = 30\n";
    let mut campaign = begin(&folder, &table, rules).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let text = outcomes(&campaign, 1, |_| true);
    rewards(&mut campaign, &folder, &text);
    close(&mut campaign, 1, None).unwrap();
    let line = all(&campaign);
    let of = |hold_out: bool| -> Vec<f64> {
        campaign.sent(1).unwrap().iter().filter(|sent| sent.hold_out == hold_out).map(reward).collect()
    };
    let moments = |rewards: &[f64]| {
        let n = rewards.len() as f64;
        let mean = rewards.iter().sum::<f64>() / n;
        (n, mean, rewards.iter().map(|reward| (reward - mean).powi(2)).sum::<f64>() / (n - 1.0))
    };
    let ((n, sent, s), (m, held, h)) = (moments(&of(false)), moments(&of(true)));
    let error = (s / n + h / m).sqrt();
    let freedom = error.powi(4) / ((s / n).powi(2) / (n - 1.0) + (h / m).powi(2) / (m - 1.0));
    assert!((line.uplift.unwrap() - (sent - held)).abs() < 1e-12);
    assert!((line.freedom.unwrap() - freedom).abs() < 1e-9, "{line:?}");
    // Student's 97.5 % quantiles: 2.1448 for 14 degrees of freedom, 2.0423 for 30, 1.9840 for 100.
    let quantile = line.half_width.unwrap() / error;
    assert!(freedom > 14.0 && freedom < 100.0 && quantile < 2.1448 && quantile > 1.984, "{quantile} for {freedom}");
}

#[test]
fn what_the_uplift_is_worth_follows_from_values_and_costs() {
    let folder = Folder::new("hold-out-money");
    let table = folder.write("customers.csv", customers(400));
    let rules = RULES
        .replace("quota = 40", "quota = 40\nvalue = 2.0\ncost = 0.5")
        .replace("quota = 20", "quota = 20\nvalue = 10.0\ncost = 3.0");
    let mut campaign = begin(&folder, &table, &rules).unwrap();
    for round in 1..=3 {
        choose_round(&mut campaign, &table).unwrap();
        let text = outcomes(&campaign, round, |_| true);
        rewards(&mut campaign, &folder, &text);
        close(&mut campaign, round, None).unwrap();
    }
    let lines = uplift_of(&campaign).unwrap();
    let close_to = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{a} {b}");
    for (line, sends, value, cost) in [(&lines[0], 120.0, 2.0, 0.5), (&lines[1], 60.0, 10.0, 3.0)] {
        let money = line.profit.unwrap();
        close_to(money.value, sends * value * line.uplift.unwrap());
        close_to(money.cost, sends * cost);
        close_to(money.profit, money.value - money.cost);
        close_to(money.half_width, sends * value * line.half_width.unwrap());
        close_to(money.roi.unwrap(), money.profit / money.cost);
        close_to(money.roi_half_width.unwrap(), money.half_width / money.cost);
    }
    let (mail, call, both) = (lines[0].profit.unwrap(), lines[1].profit.unwrap(), lines[2].profit.unwrap());
    close_to(both.value, mail.value + call.value);
    close_to(both.cost, mail.cost + call.cost);
    // Some customers got both promotions in turn, so the two errors add up roughly, not exactly.
    let apart = mail.half_width.hypot(call.half_width);
    assert!((both.half_width / apart - 1.0).abs() < 0.25, "{} {apart}", both.half_width);
    // Scores are profit: the estimate times the value, less the cost.
    let model = campaign.model().unwrap();
    let learner = campaign.learner(&model).unwrap();
    for (block, value, cost) in [(0, 2.0, 0.5), (1, 10.0, 3.0)] {
        let (own, scored) = (model.posterior(block, 1.0).unwrap(), learner.posterior(block).unwrap());
        for sent in campaign.sent(3).unwrap() {
            let expected = value * own.mean(&sent.features) - cost;
            assert!((scored.mean(&sent.features) - expected).abs() < 1e-9, "{expected}");
        }
    }
    // Without a value there is no profit.
    let plain = begin_other(&folder, &table);
    assert!(uplift_of(&plain).unwrap().is_empty());
}

fn begin_other(folder: &Folder, table: &Path) -> Campaign {
    let config = armwise_campaign::config::Config::parse(
        &format!("customer = \"customer\"\n{RULES}"),
        Path::new("campaign.toml"),
    );
    armwise_campaign::init(&folder.path("other.armwise"), &open(table), config.unwrap()).unwrap().0
}

#[test]
fn nobody_is_sent_what_costs_more_than_it_brings() {
    let folder = Folder::new("too-dear");
    let table = folder.write("customers.csv", customers(400));
    let rules = "[[promotion]]\nname = \"mail\"\nquota = { max = 40 }\nvalue = 2.0\ncost = 0.01\n\
        [[promotion]]\nname = \"call\"\nquota = { max = 20 }\nvalue = 2.0\ncost = 100.0\n";
    let mut campaign = begin(&folder, &table, rules).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let text = outcomes(&campaign, 1, |_| true);
    rewards(&mut campaign, &folder, &text);
    let summary = choose_round(&mut campaign, &table).unwrap();
    assert_eq!(summary.promotions.iter().map(|line| line.sends).collect::<Vec<_>>(), [40, 0]);
    let refused = begin(&folder, &table, &format!("[features]\nbias = false\n{rules}"));
    assert!(matches!(&refused, Err(Error::Config { problem, .. }) if problem.contains("features.bias")), "{refused:?}");
}

#[test]
fn uplift_as_the_objective_is_chosen_by_explained_and_verified() {
    let folder = Folder::new("objective");
    let table = folder.write("customers.csv", customers(400));
    let rules = format!("objective = \"uplift\"\n{}", RULES.replace("quota = 20", "quota = 20\nvalue = 3.0"));
    let refused = begin(&folder, &table, &rules.replace("hold_out = 0.25\n", ""));
    assert!(
        matches!(&refused, Err(Error::Config { problem, .. }) if problem.contains("needs a hold-out")),
        "{refused:?}"
    );
    let mut campaign = begin(&folder, &table, &rules).unwrap();
    let first = choose_round(&mut campaign, &table).unwrap();
    let needed = 10 * campaign.recipe().dim() as u64;
    assert_eq!(first.warnings, [Warning::LittleHoldOut { outcomes: 0, needed }]);
    for round in 1..=6 {
        let text = outcomes(&campaign, round, |_| true);
        rewards(&mut campaign, &folder, &text);
        close(&mut campaign, round, None).unwrap();
        choose_round(&mut campaign, &table).unwrap();
    }
    let again = ChooseOptions { again: true, ..ChooseOptions::default() };
    assert!(choose(&campaign, &open(&table), again, &|_| ()).unwrap().summary.warnings.is_empty());
    // The scores of the last round, from the sums of three blocks and nothing else.
    let model = campaign.model().unwrap();
    let of = |block| model.posterior(block, 1.0).unwrap();
    let (mail, call, nothing) = (of(0), of(1), of(2));
    for sent in campaign.sent(7).unwrap() {
        let (own, value) = if sent.promotion == "mail" { (&mail, 1.0) } else { (&call, 3.0) };
        let mean = value * (own.mean(&sent.features) - nothing.mean(&sent.features));
        let width = value * own.width(&sent.features).hypot(nothing.width(&sent.features));
        assert!((sent.mean - mean).abs() < 1e-9 && (sent.width - width).abs() < 1e-9, "{sent:?}");
        assert!((sent.score - mean - 0.1 * sent.draw.unwrap() * width).abs() < 1e-9, "{sent:?}");
    }
    for round in [1, 7] {
        let sent = campaign.sent(round).unwrap()[3].clone();
        let told = why(&campaign, &sent.customer, Some(round), None).unwrap();
        let own = told.promotions.iter().find(|line| line.promotion == sent.promotion).unwrap();
        assert_eq!((own.score.to_bits(), own.mean.to_bits()), (sent.score.to_bits(), sent.mean.to_bits()));
        let adds: f64 = own.contributions.iter().map(|part| part.adds).sum();
        assert!((adds - own.mean).abs() < 1e-9, "they add up to the difference");
    }
    // An effect on uplift is the difference of the effects, with both errors.
    let contrast = &campaign.recipe().effects()[0].contrast;
    let line = &report(&campaign).unwrap().effects[0];
    assert!((line.effect - (mail.mean(contrast) - nothing.mean(contrast))).abs() < 1e-12);
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
}

/// A campaign file of schema version 4, made by the program of that time: what it meant it means, and it goes on.
#[test]
fn a_file_of_schema_version_4_is_read_as_it_is_and_written_as_version_8() {
    let folder = Folder::new("schema4");
    let fixture = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema4").join(name);
    let bytes = fs::read(fixture("spring.armwise")).unwrap();
    let path = folder.write("spring.armwise", &bytes);
    let told = fs::read_to_string(fixture("results.csv")).unwrap();
    // Silence of the hold-out counted as zero then; now nothing is known of it.
    let now: Vec<String> = told
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            if cells[4] == "1" && cells[10] == "silent" {
                [&cells[..10], &["pending", ""]].concat().join(",")
            } else {
                line.to_owned()
            }
        })
        .collect();
    let reader = Campaign::read(&path).unwrap();
    assert_eq!(csv(&results(&reader, None).unwrap()).trim_end(), now.join("\n"));
    assert!(reader.verify().unwrap().good, "{:?}", reader.verify().unwrap().findings);
    let model = "b4af4f34b19d447d11e23d5a29c3807991732a9765f15e4b6acce3e62672542b";
    assert_eq!(reader.model_hash().to_string(), model);
    let lines = status(&reader).unwrap().rounds;
    assert_eq!((lines[0].sends, lines[0].answered, lines[0].silent), (6, 5, 1));
    let heard: u64 = lines.iter().map(|line| line.hold_out.answered).sum();
    let told = now.iter().filter(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        cells[4] == "1" && cells[10] == "answered"
    });
    assert_eq!(heard, told.count() as u64);
    drop(reader);
    assert_eq!(fs::read(&path).unwrap(), bytes, "readers change nothing");

    // A request with a key gets the answer of that time, and the campaign goes on.
    let table = fixture("customers.csv");
    let mut campaign = Campaign::write(&path, "test").unwrap();
    let options = ChooseOptions { key: Some(Key::new("w3").unwrap()), ..ChooseOptions::default() };
    let again = choose(&campaign, &open(&table), options, &|_| ()).unwrap();
    assert!(again.is_repeated() && again.summary.hold_out == 3 && again.summary.hold_out_customers > 3);
    let options = ChooseOptions { again: true, ..ChooseOptions::default() };
    choose(&campaign, &open(&table), options, &|_| ()).unwrap().commit(&mut campaign, None).unwrap();
    let text = outcomes(&campaign, 13, |_| true);
    rewards(&mut campaign, &folder, &text);
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
    drop(campaign);
    assert!(verify(&path).unwrap().good);
    let db = rusqlite::Connection::open(&path).unwrap();
    assert_eq!(db.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).unwrap(), 8);
    let count = "SELECT count(*) FROM result WHERE hold_out = 1 AND fate = 'silent'";
    assert_eq!(db.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
}
