//! The report in a few sentences, for whoever reads nothing else.
//!
//! Sentences are made from the report's own numbers, so that they cannot say anything else than its tables.

use super::{EffectLine, GroupLine, Report, RoundLine, UpliftLine};
use crate::core::Disagreement;
use armwise_charts::{number, percent};

/// A number with its interval.
fn about(value: f64, half_width: Option<f64>) -> String {
    match half_width {
        Some(half) => format!("{} ± {}", number(value, 4), number(half, 4)),
        None => number(value, 4),
    }
}

fn count(count: u64) -> String {
    number(count as f64, 0)
}

/// `one round`, `2 rounds`.
fn several(many: usize, what: &str) -> String {
    if many == 1 { format!("one {what}") } else { format!("{} {what}s", count(many as u64)) }
}

/// The sentences, the most important first.
pub(super) fn sentences(report: &Report) -> Vec<String> {
    let played: Vec<&RoundLine> = report.rounds.iter().filter(|line| !line.revoked).collect();
    if played.is_empty() {
        return vec!["No round was chosen yet.".to_owned()];
    }
    let mut sentences = vec![sent(&played, &report.promotions)];
    sentences.extend(means(&played));
    sentences.extend(uplift(&report.uplift));
    sentences.extend(best(&report.promotions));
    sentences.extend(clearest(&report.effects));
    sentences.extend(open(&played));
    sentences.extend(report.drift.map(changed));
    sentences
}

/// Something changed.
fn changed(Disagreement { since, until, log_factor, gamma }: Disagreement) -> String {
    let rounds =
        if since == until { format!("Round {since} disagrees") } else { format!("Rounds {since} to {until} disagree") };
    let forget = if gamma < 1.0 {
        format!("; gamma = {gamma} would have predicted the last rounds best")
    } else {
        String::new()
    };
    format!(
        "{rounds} with those before more than chance explains (log Bayes factor {}): interests may have changed{forget}.",
        number(log_factor, 1)
    )
}

fn sent(played: &[&RoundLine], promotions: &[GroupLine]) -> String {
    let total = |of: fn(&RoundLine) -> u64| played.iter().map(|line| of(line)).sum::<u64>();
    let (sends, delivered, answered) =
        (total(|line| line.tally.sends), total(|line| line.tally.delivered), total(|line| line.tally.answered));
    let share = percent(answered as f64 / delivered.max(1) as f64, 1);
    let so_far = if played.iter().any(|line| !line.closed && line.tally.pending > 0) { " so far" } else { "" };
    let bounced = if delivered < sends { format!(", of which {} arrived", count(delivered)) } else { String::new() };
    format!(
        "In {}, {} sends were made for {}{bounced}; {} of them ({share}) were answered{so_far}.",
        several(played.len(), if played[0].when.is_some() { "hour or day" } else { "round" }),
        count(sends),
        several(promotions.len(), "promotion"),
        count(answered)
    )
}

/// From the first closed round to the last.
fn means(played: &[&RoundLine]) -> Option<String> {
    let closed: Vec<(u64, f64, Option<f64>)> = played
        .iter()
        .filter(|line| line.closed && line.when.is_none())
        .filter_map(|line| Some((line.round, line.mean_reward?, line.tally.half_width)))
        .collect();
    Some(match &closed[..] {
        [] => return None,
        [(round, mean, half)] => format!("A send of round {round} brought {} of reward.", about(*mean, *half)),
        [(first, before, wide), .., (last, mean, half)] => format!(
            "A send brought {} of reward in round {last}, after {} in round {first}.",
            about(*mean, *half),
            about(*before, *wide)
        ),
    })
}

fn uplift(lines: &[UpliftLine]) -> Option<String> {
    let Some(whole) = lines.last() else {
        return Some("There is no hold-out, so what the customers would have done anyway is not known.".to_owned());
    };
    let (uplift, half) = (whole.uplift?, whole.half_width);
    let certain = half.is_some_and(|half| uplift.abs() > half);
    let chance = match half {
        Some(_) if certain => "",
        Some(_) => " Zero is inside the interval, so it may be chance.",
        None => " It has no interval yet.",
    };
    Some(format!(
        "Beyond what the customers would have done anyway, a send brought {}, by comparison with the hold-out.{chance}",
        about(uplift, half)
    ))
}

fn best(promotions: &[GroupLine]) -> Option<String> {
    let known = promotions.iter().filter(|line| line.tally.mean.is_some());
    if known.clone().count() < 2 {
        return None;
    }
    let best = known.max_by(|a, b| a.tally.mean.unwrap_or(0.0).total_cmp(&b.tally.mean.unwrap_or(0.0)))?;
    Some(format!(
        "Of the promotions, {} brought the most, {} a send.",
        best.name,
        about(best.tally.mean?, best.tally.half_width)
    ))
}

/// The effect that is the most half widths away from zero, if it would hold among all of them.
fn clearest(effects: &[EffectLine]) -> Option<String> {
    let clear = effects.iter().filter(|line| line.together && line.half_width > 0.0);
    let size = |line: &&EffectLine| line.effect.abs() / line.half_width;
    let line = clear.max_by(|a, b| size(a).total_cmp(&size(b)))?;
    let word = if line.effect > 0.0 { "raises" } else { "lowers" };
    Some(format!(
        "The clearest effect: {}, {}, {word} the reward of {} by {}.",
        line.column,
        line.change,
        line.promotion,
        about(line.effect.abs(), Some(line.half_width))
    ))
}

fn open(played: &[&RoundLine]) -> Vec<String> {
    let mut sentences = Vec::new();
    // Of many rounds, most are open at any time.
    for line in played.iter().filter(|line| line.when.is_none() && !line.closed && line.tally.pending > 0) {
        sentences.push(format!(
            "Round {} is open: {} of {} sends may still be answered.",
            line.round,
            count(line.tally.pending),
            count(line.tally.sends)
        ));
    }
    let aside: u64 = played.iter().map(|line| line.aside).sum();
    if aside > 0 {
        let what = if aside == 1 { "answer was" } else { "answers were" };
        sentences.push(format!("{} {what} put aside for a bad value, to be mended and learned.", count(aside)));
    }
    sentences
}
