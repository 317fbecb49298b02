//! Policies evaluated on the past rounds of a campaign, with the tables that they were chosen from.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise::{
    Algorithm,
    evaluate::{Confidence, Estimator},
};
use armwise_campaign::{
    Campaign, Error, Source,
    core::{Feedback, close},
    evaluate::{Evaluated, Tables, evaluate, html, notes},
    round::{ChooseOptions, choose},
};
use common::{Folder, begin, choose_round, customers, learn_text, noise, open};
use std::{collections::BTreeMap, fmt::Write, path::Path};

const RULES: &str = "segment = \"region\"\n[algorithm]\nname = \"arm-wise-ts\"\nv = 1.0\n\
    [[promotion]]\nname = \"mail\"\nquota = 12\n[[promotion]]\nname = \"<call>\"\nquota = 6\n";

/// A campaign with so many rounds, each answered and closed.
fn played(folder: &Folder, table: &Path, rules: &str, rounds: u64) -> Campaign {
    let mut campaign = begin(folder, table, rules).unwrap();
    for round in 1..=rounds {
        choose_round(&mut campaign, table).unwrap();
        answer(&mut campaign, folder, round);
        close(&mut campaign, round, None).unwrap();
    }
    campaign
}

fn answer(campaign: &mut Campaign, folder: &Folder, round: u64) {
    let mut text = "decision,reward\n".to_owned();
    for sent in campaign.sent(round).unwrap() {
        let reward = f64::from(u8::from(noise(round, u64::from(sent.id.number)) < 0.4));
        let _ = writeln!(text, "{},{reward}", campaign.tag().name(sent.id));
    }
    learn_text(campaign, folder, Feedback::Rewards, &text).unwrap();
}

fn policy(name: &str, parameters: &[(&str, f64)]) -> Algorithm {
    Algorithm::new(name, parameters).unwrap()
}

fn evaluated(campaign: &Campaign, policies: &[Algorithm], table: &dyn Source) -> Result<Evaluated, Error> {
    evaluate(campaign, policies, &Tables::Same(table), &Confidence::default())
}

#[test]
fn the_policy_that_chose_is_worth_what_it_earned_and_parts_add_up() {
    let folder = Folder::new("evaluate");
    let table = folder.write("customers.csv", customers(60));
    let campaign = played(&folder, &table, RULES, 3);
    let own = campaign.config().algorithm;
    let found = evaluated(&campaign, &[own, policy("arm-wise-ts", &[("v", 0.7)])], &open(&table)).unwrap();
    assert_eq!((found.rounds.as_slice(), found.unit), (&[1, 2, 3][..], "reward"));
    let line = found.policies.iter().find(|line| line.algorithm == own).unwrap();
    let of = &line.evaluation;
    // The same draws give the same probabilities, so every weight is 1; those of an assignment are sampled, so that
    // their sum is not quite 18: from 16 fresh rounds, the fewest, it strays by the root of 18 / 16 in each of 3 rounds.
    let strays = (18.0_f64 / 16.0 / 3.0).sqrt();
    let ips = of.by(Estimator::Ips).value.unwrap();
    assert!((ips - found.logged).abs() < 1e-9 && of.gain.unwrap().abs() < 0.2 * found.logged, "{ips} {found:?}");
    assert!((of.largest_weight - 1.0).abs() < 1e-9 && (of.wanted - 18.0).abs() < 4.0 * strays, "{of:?}");
    for line in &found.policies {
        let whole = line.value().unwrap();
        let parts: f64 = line.promotions.iter().map(|part| part.value.unwrap()).sum();
        assert!((parts - whole).abs() < 1e-9, "{line:?}");
        let parts: f64 = line.segments.iter().filter_map(|part| part.value).sum();
        assert!(line.segments.len() == 3 && (parts - whole).abs() < 1e-9, "{line:?}");
    }
    let page = html(&found);
    assert!(page.contains("&lt;call&gt;") && !page.contains("<call>") && page.contains("arm-wise-ts v=0.7"));
}

#[test]
fn a_policy_without_draws_leaves_a_log_that_tells_nothing_of_others() {
    let folder = Folder::new("evaluate");
    let table = folder.write("customers.csv", customers(60));
    let rules = RULES.replace("name = \"arm-wise-ts\"\nv = 1.0", "name = \"c2ucb\"\nalpha = 1.0");
    let campaign = played(&folder, &table, &rules, 2);
    let found = evaluated(&campaign, &[policy("random", &[])], &open(&table)).unwrap();
    let of = &found.policies[0].evaluation;
    assert!(!of.identified && of.unsupported > 0.5 && of.by(Estimator::Ips).value.is_none(), "{of:?}");
    assert!(html(&found).contains("not identified"));
}

#[test]
fn what_is_missing_or_wrong_is_said() {
    let folder = Folder::new("evaluate");
    let table = folder.write("customers-1.csv", customers(60));
    let other = folder.write("customers-2.csv", customers(61));
    let mut campaign = begin(&folder, &table, RULES).unwrap();
    let greedy = [policy("greedy", &[])];
    let none = evaluate(&campaign, &greedy, &Tables::None, &Confidence::default()).unwrap_err();
    assert_eq!(none.to_string(), "no round can be evaluated: none was chosen yet");
    choose_round(&mut campaign, &table).unwrap();
    let open_still = evaluated(&campaign, &greedy, &open(&table)).unwrap_err();
    assert!(matches!(open_still, Error::NothingToEvaluate { .. }), "{open_still}");
    answer(&mut campaign, &folder, 1);
    close(&mut campaign, 1, None).unwrap();
    let needs = evaluate(&campaign, &greedy, &Tables::None, &Confidence::default()).unwrap_err();
    assert!(matches!(&needs, Error::NeedsTables { rounds } if rounds == &[1]), "{needs}");
    let wrong = evaluated(&campaign, &greedy, &open(&other)).unwrap_err();
    assert!(matches!(&wrong, Error::OtherTable { round: 1, .. }), "{wrong}");
    choose_round(&mut campaign, &other).unwrap();
    answer(&mut campaign, &folder, 2);
    let each: BTreeMap<u64, Box<dyn Source + Send>> =
        [(1, table.clone()), (2, other)].into_iter().map(|(round, path)| (round, Box::new(open(&path)) as _)).collect();
    let both = evaluate(&campaign, &greedy, &Tables::Each(each), &Confidence::default()).unwrap();
    assert_eq!(both.rounds, [1, 2], "all answers of round 2 are in, though it is not closed");
    // The files of the folder are found by the number in their names; c.armwise and responses have none or no table.
    let found = Tables::at(&folder.0, &campaign.config().tables).unwrap();
    let again = evaluate(&campaign, &greedy, &found, &Confidence::default()).unwrap();
    assert_eq!(again, both);
    folder.write("week-2.csv", customers(3));
    let twice = Tables::at(&folder.0, &campaign.config().tables).err().unwrap();
    assert!(twice.to_string().contains("both say round 2"), "{twice}");
    let nowhere = Tables::at(Path::new("/nowhere/at-all"), &campaign.config().tables).err().unwrap();
    assert!(matches!(nowhere, Error::NotFound { .. }), "{nowhere}");
}

#[test]
fn a_policy_is_asked_with_what_was_known_before_each_round() {
    let folder = Folder::new("evaluate");
    let table = folder.write("customers.csv", customers(60));
    let mut campaign = played(&folder, &table, RULES, 2);
    let greedy = [policy("greedy", &[])];
    let before = evaluated(&campaign, &greedy, &open(&table)).unwrap();
    // A third round changes nothing about the first two, not in the last bit.
    choose_round(&mut campaign, &table).unwrap();
    let after = evaluated(&campaign, &greedy, &open(&table)).unwrap();
    assert_eq!(after.policies, before.policies);
    assert_eq!(after.left_out.len(), 1);
}

/// The same answer without the tables, where the campaign kept its candidates.
#[test]
fn kept_candidates_take_the_place_of_tables() {
    let folder = Folder::new("evaluate");
    let table = folder.write("customers.csv", customers(60));
    let campaign = played(&folder, &table, &format!("keep_candidates = true\n{RULES}"), 2);
    let policies = [policy("greedy", &[]), policy("arm-wise-ts", &[("v", 0.7)])];
    let by_table = evaluated(&campaign, &policies, &open(&table)).unwrap();
    let without = evaluate(&campaign, &policies, &Tables::None, &Confidence::default()).unwrap();
    assert_eq!(without, by_table);
    assert!(campaign.verify().unwrap().good && without.sampled.is_empty() && without.disagreements.is_empty());
    // All sends have a probability in the journal, and it is used.
    assert_eq!(without.logged_probabilities, 36);
}

/// Of a larger table a sample is kept. What is estimated from it is near what the whole table says, for a policy like the
/// one that chose and for one unlike it.
#[test]
fn a_sample_of_the_candidates_stands_for_all() {
    let folder = Folder::new("evaluate");
    let table = folder.write("customers.csv", customers(21_000));
    let rules = "keep_candidates = true\n[algorithm]\nname = \"arm-wise-ts\"\nv = 1.0\n\
        [[promotion]]\nname = \"mail\"\nquota = 400\n";
    let campaign = played(&folder, &table, rules, 8);
    let policies = [policy("arm-wise-ts", &[("v", 0.7)]), policy("random", &[])];
    let (kept, _) = campaign.candidates(1).unwrap().unwrap();
    assert!(kept.one_in == 3 && (6_500..8_200).contains(&kept.rows), "{kept:?}");
    for (place, by) in [(0, Estimator::Dm), (0, Estimator::Dr), (1, Estimator::Dm), (1, Estimator::Dr)] {
        let of = |tables: &Tables<'_>, rounds: &mut Vec<f64>| {
            let found = evaluate(&campaign, &policies[place..=place], tables, &Confidence::default()).unwrap();
            rounds.push(found.policies[0].evaluation.by(by).value.unwrap());
            found
        };
        let (mut whole, mut sampled) = (Vec::new(), Vec::new());
        of(&Tables::Same(&open(&table)), &mut whole);
        let found = of(&Tables::None, &mut sampled);
        assert_eq!(found.sampled.len(), 8);
        // 400 sends a round and a third of the table: a value strays by some percent.
        let off = (sampled[0] - whole[0]) / whole[0];
        assert!(off.abs() < 0.03, "{by:?} of {place}: {} against {}", sampled[0], whole[0]);
    }
}

/// A probability in the journal that does not follow from the rows is used and told.
#[test]
fn probabilities_of_the_journal_are_compared_with_the_rows() {
    let folder = Folder::new("evaluate");
    let table = folder.write("customers.csv", customers(60));
    let rules = "[algorithm]\nname = \"arm-wise-ts\"\nv = 1.0\n[[promotion]]\nname = \"mail\"\nquota = 12\n";
    let campaign = played(&folder, &table, rules, 1);
    let own = [campaign.config().algorithm];
    let good = evaluated(&campaign, &own, &open(&table)).unwrap();
    assert_eq!((good.logged_probabilities, good.disagreements.len()), (12, 0));
    assert!(html(&good).contains("are those that the journal has of them"));
    // Another number in the journal, as another program might have written it.
    let folder = Folder::new("evaluate");
    let table = folder.write("customers.csv", customers(60));
    let mut campaign = begin(&folder, &table, rules).unwrap();
    let mut choice = choose(&campaign, &open(&table), ChooseOptions::default(), &|_| ()).unwrap();
    let derived = choice.sent[3].probability.replace(0.9).unwrap();
    let customer = choice.sent[3].customer.clone();
    choice.commit(&mut campaign, None).unwrap();
    answer(&mut campaign, &folder, 1);
    let bad = evaluated(&campaign, &own, &open(&table)).unwrap();
    let [told] = &bad.disagreements[..] else { panic!("{:?}", bad.disagreements) };
    assert_eq!((told.round, &told.customer, told.logged), (1, &customer, 0.9));
    assert!((told.derived - derived).abs() < 1e-9 && html(&bad).contains("another probability in the journal"));
}

/// What each send takes solutions for is asked of the sends alone; the others are counted. The policy that chose is worth what it
/// earned, within what sampling strays.
#[test]
fn campaigns_with_a_budget_with_groups_and_with_fill_are_evaluated() {
    let two = "[[promotion]]\nname = \"mail\"\nquota = 6\ncost = 1.0\n[[promotion]]\nname = \"call\"\nquota = 4\ncost = 2.0\n";
    let group = "[[limits.group]]\ncolumn = \"region\"\nvalue = \"north\"\nmax = 3\n";
    // All who may be called are needed.
    let few = two.replace("quota = 4", "eligible = \"may_call\"\nquota = 30");
    for (what, rules) in [
        ("budget", format!("[limits]\nbudget = 14.0\n{}", two.replace("quota = 6", "quota = { max = 6 }"))),
        ("groups", format!("{two}{group}")),
        ("fill", format!("[limits]\non_infeasible = \"fill\"\n{few}")),
    ] {
        let folder = Folder::new("evaluate");
        let table = folder.write("customers.csv", customers(40));
        let rules = format!("probabilities = \"always\"\n{rules}[algorithm]\nname = \"arm-wise-ts\"\nv = 1.0\n");
        let campaign = played(&folder, &table, &rules, 2);
        let own = campaign.config().algorithm;
        let found = evaluated(&campaign, &[own, policy("arm-wise-ts", &[("v", 0.6)])], &open(&table)).unwrap();
        for line in &found.policies {
            assert!(line.evaluation.identified && line.by_round.len() == 2, "{what}: {line:?}");
        }
        let of = &found.policies.iter().find(|line| line.algorithm == own).unwrap().evaluation;
        let sends = of.arms as f64 / 2.0;
        assert!((of.wanted - sends).abs() < 0.1 * sends && (of.largest_weight - 1.0).abs() < 1e-9, "{what}: {of:?}");
        if what == "fill" {
            for sent in campaign.sent(1).unwrap().iter().filter(|sent| sent.promotion == "call") {
                assert!((sent.probability.unwrap() - 1.0).abs() < 1e-9, "{sent:?}");
            }
        }
    }
}

/// Arms that share a draw are counted, and what 1,024 rounds do not show is not impossible.
#[test]
fn what_was_not_counted_is_said_and_not_called_impossible() {
    let folder = Folder::new("evaluate");
    let table = folder.write("customers.csv", customers(300));
    let rules = "[algorithm]\nname = \"round-wise-ts\"\nv = 1.0\n[[promotion]]\nname = \"mail\"\nquota = 12\n";
    let campaign = played(&folder, &table, rules, 3);
    let own = campaign.config().algorithm;
    let found = evaluated(&campaign, &[own, policy("random", &[])], &open(&table)).unwrap();
    let of = |algorithm: Algorithm| &found.policies.iter().find(|line| line.algorithm == algorithm).unwrap().evaluation;
    assert!(of(own).identified && of(own).unsupported == 0.0 && of(own).unseen <= 0.01, "{:?}", of(own));
    // Nearly all of a random choice is not among what shared draws bring to the top: that is more than bad luck.
    let random = of(policy("random", &[]));
    assert!(!random.identified && random.unsupported == 0.0 && random.unseen > 0.01, "{random:?}");
    assert!(html(&found).contains("chosen in no fresh round"));
    assert!(notes(&found).iter().any(|note| note.starts_with("random: no fresh round")), "{:?}", notes(&found));
}

#[test]
fn a_log_that_tells_little_says_so() {
    let folder = Folder::new("evaluate");
    let table = folder.write("customers.csv", customers(60));
    let rules = "[algorithm]\nname = \"arm-wise-ts\"\nv = 1.0\n[[promotion]]\nname = \"mail\"\nquota = 12\n";
    let campaign = played(&folder, &table, rules, 1);
    let found = evaluated(&campaign, &[campaign.config().algorithm], &open(&table)).unwrap();
    let [note] = &notes(&found)[..] else { panic!("{:?}", notes(&found)) };
    assert!(note.ends_with("by 12 sends of equal weight; below 30 no interval is to be believed"), "{note}");
    let [round] = found.policies[0].by_round[..] else { panic!("{found:?}") };
    assert!(round.t == 1 && (round.ips - round.logged).abs() < 1e-12 && (round.effective - 12.0).abs() < 1e-9);
}
