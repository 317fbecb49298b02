//! Other features for a campaign under way, and what was learned before it began.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign, Error,
    config::Config,
    core::{
        Feedback, Key, Refusal, amend, close, fates, learn_logged, logged, model_hash, refit, results, revoke, status,
        why,
    },
    recipe::fit,
    report::report,
    round::{ChooseOptions, choose},
};
use common::{Folder, begin, choose_round, csv, customers, learn_text, noise, open};
use std::{collections::HashMap, fmt::Write, fs, path::Path};

const PROMOTIONS: &str = "[[promotion]]\nname = \"mail\"\nquota = 12\n[[promotion]]\nname = \"call\"\nquota = 5\n";
const FIRST: &str = "[[features.column]]\nname = \"age\"\nkind = \"numeric\"\n[[features.column]]\nname = \"region\"\nkind = \"categorical\"\n";
const SECOND: &str = "[[features.column]]\nname = \"age\"\nkind = \"bins\"\nedges = [30, 50]\n\
    [[features.column]]\nname = \"income\"\nkind = \"log\"\n[[features.column]]\nname = \"region\"\nkind = \"categorical\"\n\
    [[features.column]]\nname = \"region\"\nkind = \"cross\"\nwith = \"income\"\n";

fn rules(text: &str) -> Config {
    Config::parse(&format!("customer = \"customer\"\n{text}"), Path::new("new.toml")).unwrap()
}

fn answers(campaign: &Campaign, round: u64) -> String {
    let mut text = String::from("decision,reward,examined\n");
    for sent in campaign.sent(round).unwrap().iter().filter(|sent| !sent.hold_out && sent.id.number % 4 > 0) {
        let examined = if sent.id.number % 3 == 0 { "0.7" } else { "" };
        let _ = writeln!(text, "{},{},{examined}", sent.id, noise(round, sent.id.number.into()));
    }
    text
}

/// Two rounds, one of them closed, and one that was revoked.
fn played(folder: &Folder, table: &Path, keep: &str) -> Campaign {
    let mut campaign = begin(folder, table, &format!("{keep}[limits]\nhold_out = 0.2\n{PROMOTIONS}{FIRST}")).unwrap();
    for round in 1..=3 {
        choose_round(&mut campaign, table).unwrap();
        if round < 3 {
            let text = answers(&campaign, round);
            learn_text(&mut campaign, folder, Feedback::Rewards, &text).unwrap();
        }
    }
    close(&mut campaign, 1, None).unwrap();
    revoke(&mut campaign, 3, None).unwrap();
    campaign
}

/// The model that the campaign would have if these features had been its own from the first round on: every reward with
/// the features of its customer in the table.
fn reference(campaign: &Campaign, table: &Path, rounds: &[u64]) -> armwise::Model {
    let recipe = campaign.recipe();
    let rows = armwise_campaign::Source::batches(&open(table), None).unwrap().next().unwrap().unwrap();
    let (x, _) = recipe.apply(&rows).unwrap();
    let mut names = HashMap::new();
    rows.each_text("customer", |row, name| {
        names.insert(name.unwrap().to_owned(), row);
        Ok(())
    })
    .unwrap();
    let mut model = armwise::Model::new(recipe.dim(), 2).unwrap();
    for &round in rounds {
        let mut sums = armwise::Model::new(recipe.dim(), 2).unwrap();
        for (sent, fate) in fates(campaign, round).unwrap() {
            let Some(answer) = fate.answer().filter(|_| !sent.hold_out) else { continue };
            let row = names[&sent.customer];
            let x: Vec<f64> = x[row * recipe.dim()..(row + 1) * recipe.dim()].iter().map(|&x| x.into()).collect();
            let block = u32::from(sent.promotion == "call");
            let x = answer.seen(&x);
            sums.observe(&armwise::Observation { t: round, block, x: &x, reward: answer.reward }).unwrap();
        }
        model.merge(&sums).unwrap();
    }
    model
}

#[test]
fn a_new_recipe_gives_the_model_that_it_would_have_learned_from_the_first_round_on() {
    let folder = Folder::new("refit");
    let table = folder.write("customers.csv", customers(200));
    let mut campaign = played(&folder, &table, "keep = \"all\"\n");
    let (head, before, old) = (campaign.head(), campaign.model_hash(), campaign.recipe().clone());
    let told: Vec<_> = (1..=3).map(|round| why_all(&campaign, round)).collect();
    let other = folder.write("other.csv", customers(300));
    let new = rules(
        &format!("[limits]\nhold_out = 0.2\nrest = 1\n{PROMOTIONS}{SECOND}")
            .replace("[limits]", "keep = \"all\"\n[limits]"),
    );
    let done = refit(&mut campaign, &open(&other), new.clone(), None).unwrap();
    assert_eq!((done.from, &done.changed[..]), (4, &["features".to_owned(), "limits".to_owned()][..]));
    let sent = |round: u64| campaign.sent(round).unwrap().len() as u64;
    assert_eq!(done.decisions, sent(1) + sent(2), "nothing was sent in round 3");
    assert_eq!(campaign.recipe(), &fit(&new, &open(&other)).unwrap(), "fitted on the table that was given");
    assert_eq!((campaign.model().unwrap(), done.model), (reference(&campaign, &table, &[1, 2]), campaign.model_hash()));

    let path = campaign.path().to_owned();
    drop(campaign);
    let mut campaign = Campaign::write(&path, "test").unwrap();
    assert_eq!(campaign.model().unwrap(), reference(&campaign, &table, &[1, 2]));
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
    // Every model of the journal can still be computed, and every choice is still explained by what decided.
    assert_eq!(model_hash(&campaign.replay(head.seq).unwrap()), before);
    for entry in campaign.entries().unwrap() {
        assert_eq!(model_hash(&campaign.replay(entry.seq).unwrap()), entry.model, "entry {}", entry.seq);
    }
    assert_eq!(*campaign.recipe_of(2).unwrap(), old);
    for round in 1..=3 {
        assert_eq!(why_all(&campaign, round), told[round as usize - 1], "round {round}");
    }
    // The campaign goes on: late answers to old rounds, new rounds, amendments, the report.
    let late = "decision,reward\nr2-4,0.5\nr2-8,0.25\n";
    assert_eq!(learn_text(&mut campaign, &folder, Feedback::Rewards, late).unwrap().0.applied, 2);
    assert_eq!(campaign.model().unwrap(), reference(&campaign, &table, &[1, 2]));
    choose_round(&mut campaign, &table).unwrap();
    let text = answers(&campaign, 4);
    learn_text(&mut campaign, &folder, Feedback::Rewards, &text).unwrap();
    assert_eq!(campaign.model().unwrap(), reference(&campaign, &table, &[1, 2, 4]));
    let sent = campaign.sent(4).unwrap().remove(0);
    let own = why(&campaign, &sent.customer, Some(4), None).unwrap();
    let own = own.promotions.iter().find(|line| line.promotion == sent.promotion).unwrap();
    assert_eq!(own.score.to_bits(), sent.score.to_bits());
    assert!(report(&campaign).unwrap().effects.iter().any(|line| line.column == "region x income"));
    amend(&mut campaign, rules(&format!("keep = \"all\"\n{PROMOTIONS}")), None).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
    // A second new recipe, whose request comes again.
    let key = Key::new("again").unwrap();
    let back = rules(&format!("keep = \"all\"\n{PROMOTIONS}{FIRST}"));
    let first = refit(&mut campaign, &open(&table), back.clone(), Some(&key)).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let head = campaign.head();
    assert_eq!(refit(&mut campaign, &open(&table), back, Some(&key)).unwrap(), first);
    assert_eq!(campaign.head(), head);
    let path = campaign.path().to_owned();
    drop(campaign);
    let campaign = Campaign::read(&path).unwrap();
    assert_eq!(campaign.model().unwrap(), reference(&campaign, &table, &[1, 2, 4]));
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
}

/// What decided about everybody in a round.
fn why_all(campaign: &Campaign, round: u64) -> Vec<String> {
    let sent = campaign.sent(round).unwrap();
    sent.iter().map(|sent| format!("{:?}", why(campaign, &sent.customer, Some(round), None).unwrap())).collect()
}

#[test]
fn what_was_not_kept_cannot_become_a_feature() {
    let table_of = |folder: &Folder| folder.write("customers.csv", customers(200));
    // By default the columns are kept that features are made of: they can take other forms.
    let folder = Folder::new("refit-used");
    let table = table_of(&folder);
    let mut campaign = played(&folder, &table, "");
    let head = campaign.head();
    let refused = refit(&mut campaign, &open(&table), rules(&format!("{PROMOTIONS}{SECOND}")), None);
    let Err(error @ Error::Refused(Refusal::NotKept { round: 1, .. })) = refused else { panic!("{refused:?}") };
    assert!(error.to_string().contains("\"income\"") && campaign.head() == head, "{error}");
    let bins = FIRST.replace("\"numeric\"", "\"bins\"");
    refit(&mut campaign, &open(&table), rules(&format!("{PROMOTIONS}{bins}")), None).unwrap();
    assert_eq!(campaign.model().unwrap(), reference(&campaign, &table, &[1, 2]));
    // Without columns nothing but the constant can be made.
    let folder = Folder::new("refit-none");
    let table = table_of(&folder);
    let mut campaign = played(&folder, &table, "keep = \"none\"\n");
    assert!(campaign.originals(1).unwrap().is_none());
    let refused = refit(&mut campaign, &open(&table), rules(&format!("{PROMOTIONS}{bins}")), None);
    assert!(matches!(refused, Err(Error::Refused(Refusal::NotKept { round: 1, .. }))), "{refused:?}");
    // A message that says the way out.
    let frozen = amend(&mut campaign, rules(&format!("{PROMOTIONS}{bins}")), None).unwrap_err().to_string();
    assert!(frozen.contains("features cannot be amended") && frozen.contains("fit the campaign anew"), "{frozen}");
}

/// What keeping costs: bytes of the file for a decision, with two and with four short columns.
#[test]
fn keeping_columns_costs_tens_of_bytes_for_a_decision() {
    let size = |keep: &str| {
        let folder = Folder::new("keep-bytes");
        let table = folder.write("customers.csv", customers(20_000));
        let rules = format!("keep = \"{keep}\"\n[[promotion]]\nname = \"mail\"\nquota = 10000\n{FIRST}");
        let mut campaign = begin(&folder, &table, &rules).unwrap();
        choose_round(&mut campaign, &table).unwrap();
        let path = campaign.path().to_owned();
        drop(campaign);
        fs::metadata(path).unwrap().len() as f64 / 10_000.0
    };
    let [none, used, all] = ["none", "used", "all"].map(size);
    assert!(used - none < 60.0 && all - none < 100.0, "{none} {used} {all}");
}

fn log(count: u64, seed: u64) -> String {
    let customers = customers(count);
    let mut text = String::from("customer,age,income,region,promotion,reward,probability\n");
    for (i, line) in (0..).zip(customers.lines().skip(1)) {
        let columns: Vec<&str> = line.split(',').take(4).collect();
        let promotion = if noise(seed, i) < 0.6 { "mail" } else { "call" };
        let _ = writeln!(text, "{},{promotion},{},0.25", columns.join(","), (noise(seed + 1, i) * 8.0).floor() / 8.0);
    }
    text
}

#[test]
fn past_sends_are_learned_before_the_first_round_and_stay_in_every_replay() {
    let folder = Folder::new("logged");
    let table = folder.write("customers.csv", customers(200));
    let text =
        log(150, 5) + "C0001,40,1000,north,tv,1,0.5\nC0002,40,1000,north,mail,,0.5\nC0003,40,1000,north,mail,1,1.5\n";
    let past = folder.write("log.csv", &text);
    let mut campaign =
        begin(&folder, &table, &format!("keep = \"all\"\n[reward]\nmax = 5.0\n{PROMOTIONS}{FIRST}")).unwrap();
    let (learned, rejects) = learn_logged(&mut campaign, &open(&past), None).unwrap();
    assert_eq!((learned.rows, learned.applied, learned.rejected), (153, 150, 3));
    let rejects = csv(&rejects);
    for reason in ["there is no promotion", "the reward is missing", "the probability \"\"1.5\"\" is not"] {
        assert!(rejects.contains(reason), "{reason} in {rejects}");
    }
    // The same model as from one observation after the other.
    let expected = |campaign: &Campaign| {
        let path = folder.write("good.csv", log(150, 5));
        let rows = armwise_campaign::Source::batches(&open(&path), None).unwrap().next().unwrap().unwrap();
        let (x, _) = campaign.recipe().apply(&rows).unwrap();
        let (promotions, rewards) = (rows.ids("promotion").unwrap(), rows.numbers("reward").unwrap());
        let dim = campaign.recipe().dim();
        let mut model = armwise::Model::new(dim, 2).unwrap();
        for row in 0..150 {
            let x: Vec<f64> = x[row * dim..(row + 1) * dim].iter().map(|&x| x.into()).collect();
            let block = u32::from(promotions[row].as_deref() == Some("call"));
            model.observe(&armwise::Observation { t: 0, block, x: &x, reward: rewards[row] }).unwrap();
        }
        model
    };
    assert_eq!(campaign.model().unwrap(), expected(&campaign));
    let counts: Vec<u64> = expected(&campaign).blocks().iter().map(armwise::Block::count).collect();
    assert_eq!(status(&campaign).unwrap().observations, counts);
    // Once more changes nothing, another table is refused.
    let head = campaign.head();
    let (again, _) = learn_logged(&mut campaign, &open(&past), None).unwrap();
    assert_eq!((again.applied, again.repeated, campaign.head()), (0, 150, head));
    let other = folder.write("other.csv", log(20, 9));
    let refused = learn_logged(&mut campaign, &open(&other), None);
    assert!(matches!(refused, Err(Error::Refused(Refusal::LoggedBefore))), "{refused:?}");
    let sheet = csv(&logged(&campaign).unwrap());
    assert_eq!(sheet.lines().count(), 151);
    assert!(sheet.lines().nth(1).unwrap().ends_with(",0.25"), "{sheet}");

    // The first round is chosen with what was learned, and none of its customers rests or is reported for it.
    let summary = choose_round(&mut campaign, &table).unwrap();
    assert!(summary.expected_reward > 0.0 && summary.exploration < 1.0 && summary.resting == 0, "{summary:?}");
    assert_eq!((report(&campaign).unwrap().rounds.len(), campaign.rounds().len()), (1, 1));
    assert_eq!(results(&campaign, None).unwrap().len(), campaign.sent(1).unwrap().len());
    let text = answers(&campaign, 1);
    learn_text(&mut campaign, &folder, Feedback::Rewards, &text).unwrap();
    let path = campaign.path().to_owned();
    drop(campaign);
    let mut campaign = Campaign::write(&path, "test").unwrap();
    let mut model = expected(&campaign);
    let round = {
        let mut sums = armwise::Model::new(campaign.recipe().dim(), 2).unwrap();
        for (sent, fate) in fates(&campaign, 1).unwrap() {
            let Some(answer) = fate.answer() else { continue };
            let (block, x) = (u32::from(sent.promotion == "call"), answer.seen(&sent.features));
            sums.observe(&armwise::Observation { t: 1, block, x: &x, reward: answer.reward }).unwrap();
        }
        sums
    };
    model.merge(&round).unwrap();
    assert_eq!(campaign.model().unwrap(), model);
    for entry in campaign.entries().unwrap() {
        assert_eq!(model_hash(&campaign.replay(entry.seq).unwrap()), entry.model, "entry {}", entry.seq);
    }
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
    let refused = learn_logged(&mut campaign, &open(&other), None);
    assert!(matches!(refused, Err(Error::Refused(Refusal::LoggedBefore))), "{refused:?}");
    // What was logged goes through a new recipe like the rounds.
    refit(&mut campaign, &open(&table), rules(&format!("keep = \"all\"\n{PROMOTIONS}{SECOND}")), None).unwrap();
    let first = expected(&campaign);
    assert_eq!(model_hash(&campaign.replay(campaign.head().seq).unwrap()), campaign.model_hash());
    assert_eq!(campaign.model().unwrap().blocks()[0].count(), model.blocks()[0].count());
    assert!(campaign.model().unwrap().dim() == first.dim() && campaign.verify().unwrap().good);
}

#[test]
fn past_sends_are_refused_once_a_round_was_chosen() {
    let folder = Folder::new("logged-late");
    let table = folder.write("customers.csv", customers(100));
    let mut campaign = begin(&folder, &table, &format!("{PROMOTIONS}{FIRST}")).unwrap();
    let past = folder.write("log.csv", log(50, 5));
    let narrow = folder.write("narrow.csv", "customer,promotion,reward\nC0001,mail,1\n");
    let error = learn_logged(&mut campaign, &open(&narrow), None).unwrap_err();
    assert!(error.to_string().contains("age"), "{error}");
    let nothing = folder.write("nothing.csv", "customer,age,region\nC0001,40,north\n");
    let error = learn_logged(&mut campaign, &open(&nothing), None).unwrap_err();
    assert!(error.to_string().contains("a column \"promotion\" is needed"), "{error}");
    let choice = choose(&campaign, &open(&table), ChooseOptions::default(), &|_| ()).unwrap();
    choice.commit(&mut campaign, None).unwrap();
    let refused = learn_logged(&mut campaign, &open(&past), None);
    assert!(matches!(refused, Err(Error::Refused(Refusal::LoggedLate))), "{refused:?}");
}
