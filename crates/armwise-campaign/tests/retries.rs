//! What comes again: the same answers in another week, the same table after a failure, the same request with its key.
//!
//! Two weeks may well say the same, so a table's content never tells whether it was read before. What a row says about
//! which decision does, and so does a key.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign, Error,
    config::Config,
    core::{Feedback, Key, Learned, Refusal, Tag, amend, close, close_up_to, fates, results, revoke, status, why},
    output::Existing,
    round::{Choice, ChoiceFiles, ChooseOptions, choose},
    table::{Sheet, SheetFile},
};
use common::{Folder, TWO, begin, choose_round, csv, customers, learn_asked, learn_text, open};
use std::{fs, path::Path};

const ALL: &str = "[[promotion]]\nname = \"mail\"\nquota = 60\n";
const ONE: Feedback = Feedback::Responders { worth: 1.0 };

/// A campaign in which everybody is chosen in every round.
fn everybody(folder: &Folder) -> (std::path::PathBuf, Campaign) {
    let table = folder.write("customers.csv", customers(60));
    let campaign = begin(folder, &table, ALL).unwrap();
    (table, campaign)
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn choose_keyed(campaign: &Campaign, table: &Path, text: &str) -> Result<Choice, Error> {
    choose(
        campaign,
        &open(table),
        ChooseOptions { again: true, key: Some(key(text)), ..ChooseOptions::default() },
        &|_| (),
    )
}

fn answered(campaign: &Campaign) -> Vec<(u64, u64)> {
    status(campaign).unwrap().rounds.iter().map(|round| (round.answered, round.silent)).collect()
}

/// The list of the second week was taken for that of the first, and its answers were learned as silence.
#[test]
fn the_same_responders_in_two_weeks_are_credited_to_both() {
    let folder = Folder::new("weeks");
    let (table, mut campaign) = everybody(&folder);
    let list = "customer\nC0001\nC0002\n";
    for week in 1..=3 {
        choose_round(&mut campaign, &table).unwrap();
        let (learned, _) = learn_text(&mut campaign, &folder, ONE, list).unwrap();
        assert_eq!((learned.applied, learned.rounds), (2, vec![week]));
        let (again, _) = learn_text(&mut campaign, &folder, ONE, list).unwrap();
        assert_eq!((again.applied, again.repeated), (0, 2), "the same week again");
        close(&mut campaign, week, None).unwrap();
    }
    assert_eq!(answered(&campaign), [(2, 58); 3]);
    assert!(campaign.verify().unwrap().good);
}

#[test]
fn a_list_belongs_to_the_only_round_it_can_be_about_or_to_the_one_that_is_said() {
    let folder = Folder::new("which");
    let (table, mut campaign) = everybody(&folder);
    let list = "customer,reward\nC0001,1\n";
    let which = |campaign: &mut Campaign, feedback: Feedback| {
        let head = campaign.head();
        let refused = learn_text(campaign, &folder, feedback, list);
        assert_eq!(campaign.head(), head, "nothing has changed");
        match refused {
            Err(Error::WhichRound { rounds, .. }) => rounds,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(which(&mut campaign, ONE), [0_u64; 0], "no round is open");
    choose_round(&mut campaign, &table).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    for feedback in [ONE, Feedback::Rewards, Feedback::Corrections, Feedback::Undelivered] {
        assert_eq!(which(&mut campaign, feedback), [1, 2]);
    }
    let (learned, _) = learn_asked(&mut campaign, &folder, ONE, list, Some(2), None).unwrap();
    assert_eq!((learned.applied, learned.rounds), (1, vec![2]));
    // First rewards are for open rounds; corrections and bounces change closed ones too.
    close(&mut campaign, 1, None).unwrap();
    assert_eq!(which(&mut campaign, Feedback::Corrections), [1, 2]);
    assert_eq!(which(&mut campaign, Feedback::Undelivered), [1, 2]);
    let (learned, _) = learn_text(&mut campaign, &folder, Feedback::Rewards, "customer,reward\nC0002,1\n").unwrap();
    assert_eq!((learned.applied, learned.rounds), (1, vec![2]));
    revoke(&mut campaign, 2, None).unwrap();
    assert_eq!(which(&mut campaign, Feedback::Rewards), [0_u64; 0]);
    let (corrected, _) = learn_text(&mut campaign, &folder, Feedback::Corrections, list).unwrap();
    assert_eq!((corrected.applied, corrected.rounds), (1, vec![1]), "the only one that is left");
    // A round that rows name themselves needs nothing else.
    let text = "customer,reward,round\nC0003,1,1\nC0004,1,9\nC0005,1,\n";
    let (learned, rejects) = learn_text(&mut campaign, &folder, Feedback::Corrections, text).unwrap();
    assert_eq!((learned.applied, learned.rejected), (2, 1), "{}", csv(&rejects));
}

/// A retry said "known already" about rows that had been put aside.
#[test]
fn a_row_that_may_be_two_decisions_is_put_aside_every_time() {
    let folder = Folder::new("either");
    let table = folder.write("customers.csv", customers(40));
    let rules = "[limits]\nper_customer = 2\n[[promotion]]\nname = \"mail\"\nquota = 40\n\
                 [[promotion]]\nname = \"call\"\nquota = 40\n";
    let mut campaign = begin(&folder, &table, rules).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let text = "customer,promotion,reward\nC0001,mail,1\nC0002,,1\n";
    let mut told = Vec::new();
    for applied in [1, 0, 0] {
        let (learned, rejects) = learn_text(&mut campaign, &folder, Feedback::Rewards, text).unwrap();
        assert_eq!((learned.applied, learned.repeated, learned.reasons["ambiguous"]), (applied, 1 - applied, 1));
        told.push(csv(&rejects));
    }
    assert!(told[0].contains("give decision or round") && told.iter().all(|sheet| *sheet == told[0]), "{told:?}");
}

#[test]
fn a_choice_with_its_key_again_is_the_same_round_and_the_same_sends() {
    let folder = Folder::new("key-choose");
    let table = folder.write("customers.csv", customers(100));
    let mut campaign = begin(&folder, &table, &format!("segment = \"region\"\n{TWO}")).unwrap();
    let (first, again) = (folder.path("first.csv"), folder.path("again.csv"));
    let choice = choose_keyed(&campaign, &table, "week-1").unwrap();
    let summary = choice.commit(&mut campaign, Some(sends_file(&first))).unwrap();
    // What happens meanwhile does not matter: rewards, another round, a restart.
    learn_text(&mut campaign, &folder, Feedback::Rewards, "decision,reward\nr1-1,1\nr1-2,0\n").unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let path = campaign.path().to_owned();
    drop(campaign);
    let mut campaign = Campaign::write(&path, "test").unwrap();
    let head = campaign.head();
    let choice = choose_keyed(&campaign, &table, "week-1").unwrap();
    assert!(choice.is_repeated());
    assert_eq!(choice.sent, campaign.sent(1).unwrap());
    assert_eq!(choice.commit(&mut campaign, Some(sends_file(&again))).unwrap(), summary, "to the bit, restart or not");
    assert_eq!(fs::read(&first).unwrap(), fs::read(&again).unwrap());
    assert_eq!((campaign.head(), campaign.rounds().len()), (head, 2), "nothing has changed");
    // Another table, another seed or another round is another request.
    let other = folder.write("other.csv", customers(101));
    let used = |error: Error| matches!(&error, Error::KeyUsed { key, .. } if key == "week-1");
    assert!(used(choose_keyed(&campaign, &other, "week-1").unwrap_err()));
    for (round, seed) in [(Some(3), None), (None, Some(7))] {
        let options = ChooseOptions { round, seed, key: Some(key("week-1")), again: true };
        assert!(used(choose(&campaign, &open(&table), options, &|_| ()).unwrap_err()));
    }
    let used_by_learn = learn_asked(&mut campaign, &folder, ONE, "customer\nC0001\n", Some(1), Some("week-1"));
    assert!(used(used_by_learn.unwrap_err()));
    assert!(used(close(&mut campaign, 1, Some(&key("week-1"))).unwrap_err()));
    assert_eq!(campaign.head(), head);
    // Another key is another round.
    assert_eq!(choose_keyed(&campaign, &table, "week-3").unwrap().commit(&mut campaign, None).unwrap().round, 3);
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
}

/// Everything that `learn` says.
fn sends_file(path: &Path) -> ChoiceFiles {
    ChoiceFiles { sends: Some(SheetFile::begin(path, Existing::Replace, &[]).unwrap()), hold_out: None }
}

fn said((learned, rejects): (Learned, Sheet)) -> (Learned, String) {
    (learned, csv(&rejects))
}

#[test]
fn a_table_with_its_key_again_gets_the_same_answer_whatever_happened_since() {
    let folder = Folder::new("key-learn");
    let table = folder.write("customers.csv", customers(60));
    let mut campaign = begin(&folder, &table, &format!("[reward]\nmax = 5.0\n{TWO}")).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let customer = campaign.sent(1).unwrap()[4].customer.clone();
    learn_text(&mut campaign, &folder, Feedback::Rewards, "decision,reward\nr1-1,1\n").unwrap();
    let text = format!(
        "decision,customer,reward\nr1-1,,1\nr1-1,,1\nr1-2,,0.5\nr2-1,,1\nr1-3,,9\nr1-4,,many\n,{customer},0.25\n,C9999,1\n"
    );
    let ask = |campaign: &mut Campaign, feedback: Feedback, text: &str, name: &str| {
        learn_asked(campaign, &folder, feedback, text, None, Some(name)).map(said)
    };
    let first = ask(&mut campaign, Feedback::Rewards, &text, "a").unwrap();
    assert_eq!((first.0.applied, first.0.repeated, first.0.rejected), (2, 2, 4));
    // Nothing of it could be applied, and still it is remembered: later it would mean something else.
    let early = ask(&mut campaign, Feedback::Rewards, "decision,reward\nr2-1,1\n", "early").unwrap();
    assert_eq!((early.0.applied, early.0.reasons["unknown"]), (0, 1));
    // All that could make a difference: more rounds, corrections, other rules, a closed and a revoked round.
    choose_round(&mut campaign, &table).unwrap();
    learn_text(&mut campaign, &folder, Feedback::Corrections, "decision,reward\nr1-1,2\nr1-2,3\n").unwrap();
    let rules = format!("customer = \"customer\"\n[reward]\nmax = 20.0\n{TWO}");
    amend(&mut campaign, Config::parse(&rules, Path::new("rules")).unwrap(), None).unwrap();
    close(&mut campaign, 1, None).unwrap();
    for step in 0..2 {
        let head = campaign.head();
        assert_eq!(ask(&mut campaign, Feedback::Rewards, &text, "a").unwrap(), first, "step {step}");
        assert_eq!(ask(&mut campaign, Feedback::Rewards, "decision,reward\nr2-1,1\n", "early").unwrap(), early);
        assert_eq!(campaign.head(), head, "nothing has changed");
        revoke(&mut campaign, 1, None).unwrap();
    }
    for (feedback, text) in [
        (Feedback::Rewards, "decision,reward\nr1-1,1\n"),
        (Feedback::Corrections, text.as_str()),
        (Feedback::Responders { worth: 1.0 }, text.as_str()),
    ] {
        assert!(matches!(ask(&mut campaign, feedback, text, "a"), Err(Error::KeyUsed { .. })), "{feedback:?}");
    }
    let path = campaign.path().to_owned();
    drop(campaign);
    let mut campaign = Campaign::write(&path, "test").unwrap();
    assert_eq!(ask(&mut campaign, Feedback::Rewards, &text, "a").unwrap(), first, "after a restart");
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
}

#[test]
fn close_revoke_and_amend_with_their_key_again_get_the_same_answer() {
    let folder = Folder::new("key-close");
    let table = folder.write("customers.csv", customers(60));
    let mut campaign = begin(&folder, &table, TWO).unwrap();
    for _ in 0..3 {
        choose_round(&mut campaign, &table).unwrap();
    }
    learn_text(&mut campaign, &folder, Feedback::Rewards, "decision,reward\nr1-1,1\nr2-1,1\n").unwrap();
    let rules =
        Config::parse(&format!("customer = \"customer\"\nseed = 1\n{}", TWO.replace("12", "9")), Path::new("r"));
    let rules = rules.unwrap();
    let closed = close(&mut campaign, 1, Some(&key("close-1"))).unwrap();
    let revoked = revoke(&mut campaign, 2, Some(&key("revoke-2"))).unwrap();
    let amended = amend(&mut campaign, rules.clone(), Some(&key("amend"))).unwrap();
    assert_eq!((closed.silent, revoked.sends, revoked.rewards, amended.from), (16, 17, 1, 4));
    learn_text(&mut campaign, &folder, Feedback::Corrections, "decision,reward\nr1-2,1\n").unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let head = campaign.head();
    assert_eq!(close(&mut campaign, 1, Some(&key("close-1"))).unwrap(), closed);
    assert_eq!(revoke(&mut campaign, 2, Some(&key("revoke-2"))).unwrap(), revoked);
    assert_eq!(amend(&mut campaign, rules.clone(), Some(&key("amend"))).unwrap(), amended);
    for refused in [
        close(&mut campaign, 3, Some(&key("close-1"))).map(|_| ()),
        revoke(&mut campaign, 1, Some(&key("close-1"))).map(|_| ()),
        amend(&mut campaign, rules, Some(&key("revoke-2"))).map(|_| ()),
    ] {
        assert!(matches!(refused, Err(Error::KeyUsed { .. })), "{refused:?}");
    }
    assert_eq!(campaign.head(), head);
    assert!(campaign.verify().unwrap().good);
}

/// 2, then 3, then the first file again: it went back to 2.
#[test]
fn corrections_that_are_read_again_do_not_undo_later_ones() {
    let folder = Folder::new("superseded");
    let (table, mut campaign) = everybody(&folder);
    choose_round(&mut campaign, &table).unwrap();
    learn_text(&mut campaign, &folder, Feedback::Rewards, "decision,reward\nr1-1,1\n").unwrap();
    let correct = |campaign: &mut Campaign, reward: f64, key: Option<&str>| {
        let text = format!("decision,reward\nr1-1,{reward}\n");
        learn_asked(campaign, &folder, Feedback::Corrections, &text, None, key).map(said).unwrap()
    };
    let reward = |campaign: &Campaign| fates(campaign, 1).unwrap()[0].1.reward();
    correct(&mut campaign, 2.0, None);
    correct(&mut campaign, 3.0, None);
    let (again, rejects) = correct(&mut campaign, 2.0, None);
    assert_eq!((again.applied, again.reasons["superseded"], reward(&campaign)), (0, 1, Some(3.0)));
    assert!(rejects.contains("had the reward 2 and was corrected to 3 since"), "{rejects}");
    let (first, _) = correct(&mut campaign, 1.0, None);
    assert_eq!((first.reasons["superseded"], reward(&campaign)), (1, Some(3.0)), "nor to the first reward");
    assert_eq!(correct(&mut campaign, 3.0, None).0.repeated, 1);
    // Whoever means it gives a key, and its retry does not undo what comes after it.
    assert_eq!((correct(&mut campaign, 2.0, Some("back")).0.applied, reward(&campaign)), (1, Some(2.0)));
    correct(&mut campaign, 5.0, None);
    assert_eq!((correct(&mut campaign, 2.0, Some("back")).0.applied, reward(&campaign)), (1, Some(5.0)));
}

#[test]
fn decisions_of_another_campaign_are_put_aside() {
    let (here, there) = (Folder::new("own"), Folder::new("other"));
    let (table, mut campaign) = everybody(&here);
    let (_, mut other) = everybody(&there);
    assert_ne!(campaign.tag(), other.tag(), "begun in the same second with the same rules");
    choose_round(&mut campaign, &table).unwrap();
    choose_round(&mut other, &table).unwrap();
    let id = |campaign: &Campaign, number: usize| campaign.tag().name(campaign.sent(1).unwrap()[number].id);
    let (own, foreign) = (id(&campaign, 0), id(&other, 0));
    let text = format!("decision,reward\n{foreign},1\n{own},1\nr1-2,1\n");
    let (learned, rejects) = learn_text(&mut campaign, &here, Feedback::Rewards, &text).map(said).unwrap();
    assert_eq!((learned.applied, learned.reasons["other-campaign"]), (2, 1));
    let reason =
        format!("decision {foreign} is one of another campaign; the decisions of this one end in -{}", campaign.tag());
    assert!(rejects.contains(&reason), "{rejects}");
    // One id everywhere: in sheets, explanations, the status and plain SQL.
    let customer = campaign.sent(1).unwrap()[0].customer.clone();
    assert_eq!(why(&campaign, &customer, None, None).unwrap().promotions[0].decision.as_ref(), Some(&own));
    assert!(csv(&results(&campaign, None).unwrap()).contains(&format!("\n{own},1,{customer},")));
    assert!(csv(&armwise_campaign::core::sends(campaign.tag(), &campaign.sent(1).unwrap())).contains(&own));
    assert_eq!(status(&campaign).unwrap().tag, campaign.tag());
    let db = rusqlite::Connection::open(campaign.path()).unwrap();
    let first: String =
        db.query_row("SELECT decision FROM result WHERE customer = ?", [&customer], |row| row.get(0)).unwrap();
    assert_eq!((Tag::read(&first).unwrap().1, first), (Some(campaign.tag()), own));
}

#[test]
fn what_is_no_key_is_refused() {
    let refused = Key::new("two words").unwrap_err();
    assert!(matches!(refused, Error::Refused(Refusal::BadKey(_))));
    assert!(refused.to_string().contains("1 to 200 visible ASCII characters"), "{refused}");
}

/// A closing of many rounds that came again was answered with none.
#[test]
fn many_rounds_closed_at_once_are_counted_again_as_they_were() {
    let folder = Folder::new("close-many");
    let (table, mut campaign) = everybody(&folder);
    (0..4).for_each(|_| drop(choose_round(&mut campaign, &table).unwrap()));
    let closed = close_up_to(&mut campaign, 3, Some(&key("three"))).unwrap();
    assert_eq!((closed.rounds, closed.through, closed.seq), (3, 3, campaign.head().seq));
    choose_round(&mut campaign, &table).unwrap();
    assert_eq!(close_up_to(&mut campaign, 3, Some(&key("three"))).unwrap(), closed);
    assert!(matches!(close_up_to(&mut campaign, 2, Some(&key("three"))), Err(Error::KeyUsed { .. })));
    let more = close_up_to(&mut campaign, 5, Some(&key("five"))).unwrap();
    assert_eq!(more.rounds, 2);
    let path = campaign.path().to_owned();
    drop(campaign);
    let campaign = &mut Campaign::write(&path, "test").unwrap();
    assert_eq!(close_up_to(campaign, 3, Some(&key("three"))).unwrap(), closed);
    assert_eq!(close_up_to(campaign, 5, Some(&key("five"))).unwrap(), more);
}
