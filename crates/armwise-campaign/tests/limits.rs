//! Limits: every one is kept, and where it can be recounted simply, the choice is the best.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign, Source,
    core::{Feedback, close, fates},
    round::HoldOutRules,
};
use common::{Folder, begin, choose_round, customers, learn_text, noise};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

fn table(folder: &Folder) -> PathBuf {
    let mut lines = customers(300);
    lines = lines.replacen("may_call", "may_call,postage", 1);
    let rows: Vec<String> = lines
        .lines()
        .enumerate()
        .map(
            |(i, line)| {
                if i == 0 { line.to_owned() } else { format!("{line},{}", (noise(9, i as u64) * 8.0).floor() / 4.0) }
            },
        )
        .collect();
    folder.write("customers.csv", rows.join("\n"))
}

/// Some rewards, so that scores differ and some are negative.
fn teach(campaign: &mut Campaign, folder: &Folder, round: u64) {
    let rows: Vec<String> = campaign
        .sent(round)
        .unwrap()
        .iter()
        .map(|sent| format!("{},{}\n", sent.id, noise(5, u64::from(sent.id.number)) - 0.3))
        .collect();
    learn_text(campaign, folder, Feedback::Rewards, &format!("decision,reward\n{}", rows.concat())).unwrap();
    close(campaign, round, None).unwrap();
}

fn postage(folder: &Folder) -> BTreeMap<String, f64> {
    let text = std::fs::read_to_string(folder.path("customers.csv")).unwrap();
    let cost = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[0].to_owned(), cells[5].parse().unwrap())
    };
    text.lines().skip(1).map(cost).collect()
}

const TWO: &str = "[[promotion]]\nname = \"mail\"\nquota = { max = 60 }\ncost = 1.0\n\
    [[promotion]]\nname = \"call\"\nquota = { max = 30 }\ncost = 5.0\neligible = \"may_call\"\n";

#[test]
fn a_budget_beside_quotas_is_kept_and_nearly_used() {
    let folder = Folder::new("budget");
    let table = table(&folder);
    let rules =
        format!("[limits]\nbudget = 70.0\ncost = \"postage\"\n{TWO}[algorithm]\nname = \"c2ucb\"\nalpha = 0.5\n");
    let mut campaign = begin(&folder, &table, &rules).unwrap();
    let cost_of = postage(&folder);
    for round in 1..=3 {
        let summary = choose_round(&mut campaign, &table).unwrap();
        let sent = campaign.sent(round).unwrap();
        let own = |promotion: &str| if promotion == "mail" { 1.0 } else { 5.0 };
        let cost: f64 = sent.iter().map(|sent| own(&sent.promotion) + cost_of[&sent.customer]).sum();
        assert!(cost <= 70.0 + 1e-9 && cost > 60.0, "{cost}");
        assert!(summary.upper_bound >= summary.objective);
        // The bound is tight: what the choice may be short of is less than the best single send.
        assert!(summary.upper_bound - summary.objective < sent[0].score.max(sent.last().unwrap().score) + 1e-9);
        teach(&mut campaign, &folder, round);
    }
    // Exact quotas that cost more than the budget are refused with numbers.
    let folder = Folder::new("budget-exact");
    let table = self::table(&folder);
    let rules = "[limits]\nbudget = 20.0\n[[promotion]]\nname = \"mail\"\nquota = 60\ncost = 1.0\n";
    let error = choose_round(&mut begin(&folder, &table, rules).unwrap(), &table).unwrap_err().to_string();
    assert!(error.contains("60") && error.contains("20"), "{error}");
}

#[test]
fn a_budget_alone_is_kept() {
    let folder = Folder::new("budget-alone");
    let table = table(&folder);
    let rules = "[limits]\nbudget = 40.0\ncost = \"postage\"\n[[promotion]]\nname = \"mail\"\ncost = 1.0\n";
    let mut campaign = begin(&folder, &table, rules).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let cost_of = postage(&folder);
    let cost: f64 = campaign.sent(1).unwrap().iter().map(|sent| 1.0 + cost_of[&sent.customer]).sum();
    assert!(cost <= 40.0 + 1e-9 && cost > 36.0, "{cost}");
}

#[test]
fn eligibility_rest_and_hold_out_are_kept() {
    let folder = Folder::new("rest");
    let table = table(&folder);
    let rules = "segment = \"region\"\n[limits]\nrest = 2\nhold_out = 0.2\n\
        [[promotion]]\nname = \"mail\"\nquota = 40\n[[promotion]]\nname = \"call\"\nquota = 20\neligible = \"may_call\"\n";
    let mut campaign = begin(&folder, &table, rules).unwrap();
    let text = std::fs::read_to_string(&table).unwrap();
    let may_call: BTreeMap<&str, bool> =
        text.lines().skip(1).map(|line| (line.split(',').next().unwrap(), line.contains("true"))).collect();
    let mut last: BTreeMap<String, u64> = BTreeMap::new();
    let (mut held, mut contacted) = (BTreeSet::new(), BTreeSet::new());
    for round in 1..=5 {
        let summary = choose_round(&mut campaign, &table).unwrap();
        assert_eq!((summary.sends, summary.segments.values().sum::<u64>()), (60, 60));
        // A fifth of the customers is in the hold-out, and the same rules find a quarter as many of them (0.2 / 0.8).
        assert!(
            (35..=85).contains(&summary.hold_out_customers) && (13..=17).contains(&summary.hold_out),
            "{summary:?}"
        );
        for sent in campaign.sent(round).unwrap() {
            assert!(sent.promotion == "mail" || may_call[sent.customer.as_str()]);
            // The hold-out rests as the others do.
            let before = last.insert(sent.customer.clone(), round);
            assert!(before.is_none_or(|before| round - before > 2), "{} rests", sent.customer);
            let of = if sent.hold_out { &mut held } else { &mut contacted };
            of.insert(sent.customer);
        }
        teach(&mut campaign, &folder, round);
    }
    assert!(held.is_disjoint(&contacted), "nobody of the hold-out is contacted");
    // The hold-out's answers teach nothing about promotions: they have a block of their own.
    let all: usize = (1..=5).map(|round| fates(&campaign, round).unwrap().len()).sum();
    let counts: Vec<u64> = campaign.model().unwrap().blocks().iter().map(armwise::Block::count).collect();
    assert_eq!(counts, [200, 100, all as u64 - 300]);
}

#[test]
fn groups_are_kept_for_one_promotion_and_for_several() {
    let groups = "[[limits.group]]\ncolumn = \"region\"\nvalue = \"north\"\nmin = 9\nmax = 9\n\
        [[limits.group]]\ncolumn = \"region\"\nvalue = \"south\"\nmax = 2\n";
    let one = "[[promotion]]\nname = \"mail\"\nquota = 15\n";
    let two = "[[promotion]]\nname = \"mail\"\nquota = 10\n[[promotion]]\nname = \"call\"\nquota = 5\n";
    for (promotions, size) in [(one, 300), (two, 40)] {
        let folder = Folder::new("groups");
        let table = folder.write("customers.csv", customers(size));
        let mut campaign = begin(&folder, &table, &format!("segment = \"region\"\n{promotions}{groups}")).unwrap();
        let summary = choose_round(&mut campaign, &table).unwrap();
        assert_eq!((summary.sends, summary.segments["north"]), (15, 9), "{summary:?}");
        assert!(summary.segments.get("south").is_none_or(|&sends| sends <= 2), "{summary:?}");
    }
}

/// A group in one promotion counts only the sends of that promotion, and limits that contradict are told by their names.
#[test]
fn a_group_may_be_limited_in_one_promotion() {
    let folder = Folder::new("cells");
    let table = folder.write("customers.csv", customers(400));
    let two = "[[promotion]]\nname = \"mail\"\nquota = 30\n[[promotion]]\nname = \"call\"\nquota = 30\n";
    let group = |limit: &str| format!("[[limits.group]]\ncolumn = \"region\"\nvalue = \"north\"\n{limit}\n");
    let rules = format!("{two}{}", group("promotion = \"call\"\nmax = 2"));
    let mut campaign = begin(&folder, &table, &rules).unwrap();
    let summary = choose_round(&mut campaign, &table).unwrap();
    assert_eq!((summary.sends, summary.quality), (60, armwise::Quality::Optimal), "{summary:?}");
    let rows = common::open(&table).batches(None).unwrap().next().unwrap().unwrap();
    let names = rows.any_texts("customer").unwrap();
    let region = rows.any_texts("region").unwrap();
    let north: std::collections::HashSet<String> = names
        .into_iter()
        .zip(region)
        .filter(|(_, region)| region.as_deref() == Some("north"))
        .filter_map(|(name, _)| name)
        .collect();
    let sent = campaign.sent(1).unwrap();
    let of = |promotion: &str| {
        sent.iter().filter(|sent| sent.promotion == promotion && north.contains(&sent.customer)).count()
    };
    assert!(of("call") <= 2 && of("mail") > 2, "{} {}", of("call"), of("mail"));
    drop(campaign);
    std::fs::remove_file(folder.path("c.armwise")).unwrap();

    let most = |value: &str| format!("[[limits.group]]\ncolumn = \"region\"\nvalue = \"{value}\"\nmax = 5\n");
    let every: String = ["north", "south", "east", "west"].map(most).concat();
    let mut campaign = begin(&folder, &table, &format!("{two}{every}")).unwrap();
    let error = choose_round(&mut campaign, &table).unwrap_err().to_string();
    assert!(error.contains("quota of mail, quota of call need 60 sends, but region = "), "{error}");
    drop(campaign);
    std::fs::remove_file(folder.path("c.armwise")).unwrap();
    let error = begin(&folder, &table, &format!("{two}{}", group("promotion = \"letter\""))).unwrap_err().to_string();
    assert!(error.contains("there is no promotion \"letter\""), "{error}");
}

/// Groups and a budget together: the best of all ways to send, found by trying them all.
#[test]
fn groups_and_a_budget_together_are_solved_exactly() {
    let rules = "[limits]\nbudget = 6.0\n[[limits.group]]\ncolumn = \"region\"\nvalue = \"north\"\nmin = 1\nmax = 2\n\
        [[promotion]]\nname = \"mail\"\nquota = { max = 3 }\ncost = 1.0\n\
        [[promotion]]\nname = \"call\"\nquota = { min = 1, max = 3 }\ncost = 2.5\n";
    let folder = Folder::new("group-budget");
    let table = folder.write("customers.csv", customers(8));
    let mut campaign = begin(&folder, &table, rules).unwrap();
    let summary = choose_round(&mut campaign, &table).unwrap();

    let rows = common::open(&table).batches(None).unwrap().next().unwrap().unwrap();
    let names = armwise::Names::new(rows.any_texts("customer").unwrap().into_iter().flatten()).unwrap();
    let north: Vec<bool> =
        rows.any_texts("region").unwrap().iter().map(|region| region.as_deref() == Some("north")).collect();
    let features = campaign.recipe().apply(&rows).unwrap().0;
    let arms = armwise::Arms::new(&features, campaign.recipe().dim()).unwrap().with_names(&names).unwrap();
    let learner = campaign.learner(&campaign.replay(1).unwrap()).unwrap();
    let scores = learner.scores(armwise::Round::new(1, 1), &arms).unwrap();
    let mut best = f64::NEG_INFINITY;
    for code in 0..3_usize.pow(8) {
        let of = |row: u32| (code / 3_usize.pow(row)) % 3;
        let count = |promotion: usize| (0..8).filter(|&row| of(row) == promotion).count();
        let norths = (0..8).filter(|&row| of(row) > 0 && north[row as usize]).count();
        let cost = count(1) as f64 + 2.5 * count(2) as f64;
        if count(1) <= 3 && (1..=3).contains(&count(2)) && (1..=2).contains(&norths) && cost <= 6.0 {
            let sum = (0..8).filter(|&row| of(row) > 0).map(|row| scores[row as usize * 2 + of(row) - 1]).sum();
            best = f64::max(best, sum);
        }
    }
    assert!((summary.objective - best).abs() < 1e-9, "{} instead of {best}", summary.objective);
}

#[test]
fn quotas_that_cannot_be_met_are_an_error_or_filled() {
    let folder = Folder::new("infeasible");
    let table = folder.write("customers.csv", customers(30));
    let quotas = "[[promotion]]\nname = \"mail\"\nquota = 25\n[[promotion]]\nname = \"call\"\nquota = 10\n";
    let mut campaign = begin(&folder, &table, quotas).unwrap();
    let error = choose_round(&mut campaign, &table).unwrap_err().to_string();
    assert!(error.contains("mail, call need 35 sends") && error.contains("only 30"), "{error}");
    drop(campaign);
    std::fs::remove_file(folder.path("c.armwise")).unwrap();
    let mut campaign = begin(&folder, &table, &format!("[limits]\non_infeasible = \"fill\"\n{quotas}")).unwrap();
    let summary = choose_round(&mut campaign, &table).unwrap();
    assert_eq!((summary.sends, summary.missing.len()), (30, 1));
}

/// A table of several parts, most of whose rows are sifted out, gives what the library gives for the whole at once.
#[test]
fn sifting_parts_changes_no_decision() {
    let folder = Folder::new("sieve");
    let table = folder.write("customers.csv", customers(140_000));
    for quotas in ["30", "{ max = 30 }", "{ min = 5, max = 60 }"] {
        let rules = format!(
            "[[promotion]]\nname = \"mail\"\nquota = {quotas}\n[[promotion]]\nname = \"call\"\nquota = 40\neligible = \"may_call\"\n\
             [[features.column]]\nname = \"age\"\nkind = \"numeric\"\n[[features.column]]\nname = \"region\"\nkind = \"categorical\"\n"
        );
        let mut campaign = begin(&folder, &table, &rules).unwrap();
        choose_round(&mut campaign, &table).unwrap();
        teach(&mut campaign, &folder, 1);
        choose_round(&mut campaign, &table).unwrap();

        let (mut names, mut features, mut eligible) = (Vec::new(), Vec::new(), Vec::new());
        for rows in common::open(&table).batches(None).unwrap() {
            let rows = rows.unwrap();
            names.extend(rows.any_texts("customer").unwrap().into_iter().flatten());
            features.extend(campaign.recipe().apply(&rows).unwrap().0);
            eligible.extend(rows.flags("may_call").unwrap().into_iter().flat_map(|flag| [true, flag]));
        }
        let names = armwise::Names::new(names).unwrap();
        let arms = armwise::Arms::new(&features, campaign.recipe().dim()).unwrap();
        let arms = arms.with_names(&names).unwrap().with_eligible(&eligible).unwrap();
        let quota = |quota: Option<armwise::Quota>| quota.unwrap();
        let each: Vec<_> = campaign.config().promotion.iter().map(|promotion| quota(promotion.quota)).collect();
        let learner = campaign.learner(&campaign.model().unwrap()).unwrap();
        let whole = learner.choose(armwise::Round::new(1, 2), &arms, &armwise::Assignment::new(each)).unwrap();
        let sent = campaign.sent(2).unwrap();
        assert_eq!(sent.len(), whole.arms.len());
        for (sent, arm) in sent.iter().zip(&whole.arms) {
            assert_eq!(Some(&sent.customer), arm.name.as_ref());
            assert_eq!((sent.score.to_bits(), &sent.features), (arm.score.to_bits(), &arm.features));
        }
        drop(campaign);
        std::fs::remove_file(folder.path("c.armwise")).unwrap();
    }
}

/// With 14 sends of 10 each and a budget of 140, a ninth of it is 2 sends and a budget of 15.6: one send too many.
#[test]
fn a_hold_out_whose_scaled_rules_cannot_be_met_does_not_stop_the_round() {
    let folder = Folder::new("hold-out-budget");
    let table = folder.write("customers.csv", customers(200));
    let rules = |hold_out: f64| {
        format!(
            "[limits]\nbudget = 140.0\nhold_out = {hold_out}\n[[promotion]]\nname = \"mail\"\nquota = 14\ncost = 10.0\n\
             [[promotion]]\nname = \"call\"\nquota = {{ max = 3 }}\ncost = 1.0\n"
        )
    };
    let mut campaign = begin(&folder, &table, &rules(0.1)).unwrap();
    let summary = choose_round(&mut campaign, &table).unwrap();
    assert_eq!(summary.hold_out_rules, HoldOutRules::WithoutMinima);
    assert_eq!(summary.promotions[0].sends, 14, "the round is what its rules say");
    let held: Vec<_> = campaign.sent(1).unwrap().into_iter().filter(|sent| sent.hold_out).collect();
    assert_eq!(held.len() as u64, summary.hold_out);
    let cost: f64 = held.iter().map(|sent| if sent.promotion == "mail" { 10.0 } else { 1.0 }).sum();
    assert!(!held.is_empty() && cost <= 140.0 / 9.0 + 1e-9, "{cost}");
    assert!(campaign.verify().unwrap().good);
    // Where the scaled rules can be met, they are.
    let folder = Folder::new("hold-out-fits");
    let mut campaign = begin(&folder, &table, &rules(0.5)).unwrap();
    let summary = choose_round(&mut campaign, &table).unwrap();
    assert_eq!(summary.hold_out_rules, HoldOutRules::Scaled);
}
