//! The advice is good: on made-up markets the recommended policy truly earns nearly what the best candidate earns.
//!
//! Markets below [`APART`] are those that it was developed on; the tests take others. `make advise` takes 50 of them
//! (ARMWISE_MARKETS), the tests fewer.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]
#![allow(clippy::print_stdout, reason = "`make advise` shows the figures")]

mod market;

use armwise::Algorithm;
use armwise_campaign::{
    Error,
    advise::{AdviseOptions, advise},
    evaluate::Tables,
};
use market::Market;
use std::env;

/// The first of the markets that it was not developed on.
const APART: u64 = 10_000;

/// How far the recommended policy truly falls short of the best candidate, as a share; and the worst candidate.
fn shortfall(seed: u64) -> (f64, f64) {
    let market = Market::new(seed);
    let campaign = market.campaign();
    let options = AdviseOptions::default();
    let advice = advise(&campaign, &market.table, &options, &Tables::None).unwrap();
    let candidates: Vec<Algorithm> = advice.candidates.iter().map(|line| line.algorithm).collect();
    let truth = market.truth(&campaign, &candidates, options.rounds, 12);
    let place = candidates.iter().position(|own| *own == advice.recommended).unwrap();
    let most = truth.iter().copied().fold(f64::MIN, f64::max);
    let least = truth.iter().copied().fold(f64::MAX, f64::min);
    println!(
        "market {seed}: {} earns {:.2}, the best {most:.2}, the worst {least:.2}",
        advice.recommendation, truth[place]
    );
    (1.0 - truth[place] / most, 1.0 - least / most)
}

#[test]
fn the_recommended_policy_earns_nearly_what_the_best_candidate_earns() {
    let count = env::var("ARMWISE_MARKETS").map_or(8, |count| count.parse().unwrap());
    let first = env::var("ARMWISE_FIRST_MARKET").map_or(APART, |first| first.parse().unwrap());
    let found: Vec<(f64, f64)> = (first..first + count).map(shortfall).collect();
    let good = found.iter().filter(|(short, _)| *short <= 0.03).count();
    let matters = found.iter().filter(|(_, worst)| *worst > 0.03).count();
    println!("within 3 % of the best in {good} of {count} markets; in {matters} the worst candidate is not");
    assert!(good as f64 >= 0.8 * count as f64, "{found:?}");
    assert!(2 * matters as u64 >= count, "markets in which every candidate is as good test nothing: {found:?}");
}

#[test]
fn without_answers_there_is_no_advice() {
    let market = Market::new(APART);
    let empty = market.begun();
    let none = advise(&empty, &market.table, &AdviseOptions::default(), &Tables::None);
    assert!(matches!(none, Err(Error::NoAnswers)), "{none:?}");
    let nothing = AdviseOptions { trials: 1, ..AdviseOptions::default() };
    let refused = advise(&market.campaign(), &market.table, &nothing, &Tables::None);
    assert!(matches!(refused, Err(Error::Usage(_))));
}

#[test]
fn the_same_campaign_gets_the_same_advice() {
    let market = Market::new(APART + 1);
    let options = AdviseOptions { trials: 6, rounds: 3, ..AdviseOptions::default() };
    let once = advise(&market.campaign(), &market.table, &options, &Tables::None).unwrap();
    let again = advise(&market.campaign(), &market.table, &options, &Tables::None).unwrap();
    assert_eq!(once.candidates, again.candidates);
    assert!(once.candidates.iter().filter(|line| line.current).count() == 1 && !once.unknown.is_empty());
    assert!(once.not_evaluated.unwrap().contains("needed: only"), "nothing was kept, and no table given");
}

/// Kept candidates serve as tables do; before the first round there is nothing to evaluate, but past sends to learn from.
#[test]
fn past_rounds_are_evaluated_where_their_candidates_were_kept_and_past_sends_are_enough_to_begin() {
    let market = Market::new(APART + 2);
    let options = AdviseOptions { trials: 3, rounds: 2, ..AdviseOptions::default() };
    let kept = market.played(market.begun_with("keep_candidates = true\n"));
    let advice = advise(&kept, &market.table, &options, &Tables::None).unwrap();
    let evaluated = advice.evaluated.unwrap();
    assert_eq!(evaluated.policies.len(), advice.candidates.len());
    assert_eq!(advice.not_evaluated, None);
    let mut begun = market.begun();
    market.learn_past_sends(&mut begun, 200);
    let advice = advise(&begun, &market.table, &options, &Tables::None).unwrap();
    assert_eq!(advice.answers, 200);
    assert!(advice.evaluated.is_none());
    assert_eq!(advice.not_evaluated.unwrap(), "no round can be evaluated: none was chosen yet");
}
