//! The result tables as text for a terminal.
//!
//! Numbers are those of results.json, rounded; nothing is computed here.

use std::fmt::Write;

use crate::results::{
    Basis, Clustered, Comparison, Contender, How, Interval, Mean, Outcome, Promotions, Protocol, Results, Scale,
    TwoSets, Which,
};

/// Everything that a run prints at its end.
#[must_use]
pub fn tables(results: &Results) -> String {
    let mut text = String::new();
    if results.run.scale == Scale::Quick {
        text.push_str("QUICK RUN: fewer trials and settings than the evaluation; a look, not evidence.\n\n");
    }
    if results.run.scale == Scale::Middle {
        text.push_str(
            "MIDDLE-SIZED RUN: the evaluation's grids on fewer trials and smaller data; read the intervals.\n\n",
        );
    }
    // Writing to a String cannot fail.
    if let Some(clustered) = &results.clustered {
        let _ = clustered_table(&mut text, clustered);
    }
    if let Some(promotions) = &results.promotions {
        let _ = promotions_tables(&mut text, promotions);
    }
    if let Some(two_sets) = &results.two_sets {
        let _ = two_sets_tables(&mut text, two_sets);
    }
    if let Some(which) = &results.which {
        let _ = which_tables(&mut text, which);
    }
    let _ = verdicts(&mut text, results);
    let _ = speed(&mut text, results);
    text
}

fn protocol(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Paper => "the paper's protocol: best average over the grid, on the trials it was chosen on",
        Protocol::Fresh => "fresh trials: parameters chosen on other trials",
    }
}

/// `227.4 +-2.8`: a mean and its standard error, which a single unit does not have.
fn with_se(mean: Mean) -> String {
    let se = mean.se.map_or("n/a".to_owned(), |se| format!("{se:.1}"));
    format!("{:.1} +-{se}", mean.mean)
}

fn trials(comparison: &Comparison) -> usize {
    comparison.algorithms.first().map_or(0, |tuned| tuned.trials)
}

fn clustered_table(text: &mut String, clustered: &Clustered) -> std::fmt::Result {
    let Clustered { d, n, k, rounds, .. } = clustered;
    writeln!(
        text,
        "Clustered case (figure 2): d = {d}, N = {n}, k = {k}, T = {rounds}; cumulative reward +- standard error"
    )?;
    writeln!(text, "  arms {}, ties {}", clustered.order, clustered.ties)?;
    for which in [Protocol::Paper, Protocol::Fresh] {
        let columns: Vec<(&str, &Comparison)> = clustered
            .angles
            .iter()
            .filter_map(|angle| Some((&*angle.label, angle.comparisons.iter().find(|c| c.protocol == which)?)))
            .collect();
        let Some((_, first)) = columns.first() else { continue };
        writeln!(text, "\n  {}, {} trials", protocol(which), trials(first))?;
        write!(text, "  {:<16}", "angle")?;
        columns.iter().try_for_each(|(label, _)| write!(text, "{label:>14}"))?;
        for (place, tuned) in first.algorithms.iter().enumerate() {
            write!(text, "\n  {:<16}", tuned.algorithm)?;
            for (_, comparison) in &columns {
                write!(text, "{:>14}", with_se(comparison.algorithms[place].cumulative_reward))?;
            }
        }
        write!(text, "\n  {:<16}", "oracle")?;
        columns.iter().try_for_each(|(_, c)| write!(text, "{:>14.1}", c.oracle.mean))?;
        writeln!(text)?;
    }
    writeln!(text)
}

fn promotions_tables(text: &mut String, promotions: &Promotions) -> std::fmt::Result {
    let data = &promotions.data;
    let kind = if data.generated { "GENERATED ratings, not MovieLens" } else { &data.label };
    writeln!(
        text,
        "Sending promotions (Table I) on {kind}: features {}, fingerprint {}",
        data.features, data.fingerprint
    )?;
    writeln!(text, "  {} users, {} movies, {} ratings", data.users, data.movies, data.ratings)?;
    let overlap = if data.disjoint_splits { "no movie in two of them" } else { "some share movies: the band is small" };
    writeln!(
        text,
        "  draws of test movies: {} for tuning and the paper's protocol, {} others for fresh trials; {overlap}",
        data.tuning_splits, data.fresh_splits
    )?;
    writeln!(text, "  cumulative reward +- standard error, of the means of the draws where there are several")?;
    for table in &promotions.tables {
        for which in [Protocol::Paper, Protocol::Fresh] {
            let columns: Vec<(usize, &Comparison)> = table
                .rows
                .iter()
                .filter_map(|row| Some((row.k, row.comparisons.iter().find(|c| c.protocol == which)?)))
                .collect();
            let Some((_, first)) = columns.first() else { continue };
            writeln!(text, "\n  {} reading, {}, {} trials", table.reading, protocol(which), trials(first))?;
            write!(text, "  {:<16}", "k")?;
            columns.iter().try_for_each(|(k, _)| write!(text, "{k:>18}"))?;
            for (place, tuned) in first.algorithms.iter().enumerate() {
                write!(text, "\n  {:<16}", tuned.algorithm)?;
                for (_, comparison) in &columns {
                    write!(text, "{:>18}", with_se(comparison.algorithms[place].cumulative_reward))?;
                }
            }
            write!(text, "\n  {:<16}", "best possible")?;
            columns.iter().try_for_each(|(_, c)| write!(text, "{:>18.1}", c.oracle.mean))?;
            writeln!(text)?;
        }
        writeln!(
            text,
            "\n  {} reading, ratios: the paper's (ml-20m), ours by its protocol, ours on fresh trials [95%]",
            table.reading
        )?;
        for row in &table.rows {
            for ratio in &row.ratios {
                let published = ratio.published.map_or("-".to_owned(), |value| format!("{value:.3}"));
                let paper = ratio.paper.map_or("-".to_owned(), |paper| format!("{:.3}", paper.value));
                let fresh = ratio.fresh;
                writeln!(
                    text,
                    "  k = {:<4} {:>28} {published:>8} {paper:>8} {:>8.3} [{:.3}, {:.3}]",
                    row.k,
                    format!("{} / {}", ratio.a, ratio.b),
                    fresh.value,
                    fresh.low,
                    fresh.high
                )?;
            }
        }
    }
    writeln!(text)
}

/// A name with what sets it apart.
fn with_variant(name: &str, variant: &str) -> String {
    if variant.is_empty() { name.to_owned() } else { format!("{name}, {variant}") }
}

fn two_sets_tables(text: &mut String, study: &TwoSets) -> std::fmt::Result {
    writeln!(
        text,
        "Two sets of k look-alikes, the worse tried first: runs of {} that ever try the other",
        study.trials
    )?;
    for panel in &study.panels {
        write!(text, "\n  {}\n  {:<28}", panel.label, "k")?;
        panel.k.iter().try_for_each(|k| write!(text, "{k:>8}"))?;
        for line in &panel.lines {
            write!(text, "\n  {:<28}", with_variant(&line.algorithm, &line.scope))?;
            line.share.iter().try_for_each(|share| write!(text, "{:>7.0}%", 100.0 * share.value))?;
        }
        writeln!(text)?;
    }
    writeln!(text, "\n  with substitutes, lambda = k, the theory's schedules")?;
    for case in &study.between {
        write!(text, "  k = {} {:<12} spare {:<6}", case.k, case.constraint, case.spare)?;
        for line in &case.lines {
            let share = line.share.first().map_or(f64::NAN, |share| 100.0 * share.value);
            write!(text, " {} {share:.0}%;", with_variant(&line.algorithm, &line.scope))?;
        }
        writeln!(text)?;
    }
    writeln!(text)
}

fn which_tables(text: &mut String, which: &Which) -> std::fmt::Result {
    writeln!(text, "Which algorithm: regret relative to the best tuned setting [95%]")?;
    let interval = |Interval { value, low, high }: Interval| format!("{value:.2} [{low:.2}, {high:.2}]");
    for problem in &which.problems {
        writeln!(text, "\n  {}: {}; {} trials", problem.label, problem.about, problem.trials)?;
        writeln!(text, "  {:<28} {:>21} {:>21} {:>21}", "", "automatic", "tuned", "default")?;
        for contender in &problem.contenders {
            write!(text, "  {:<28}", with_variant(&contender.algorithm, &contender.variant))?;
            for how in [How::Automatic, How::Tuned, How::Default] {
                let cell = contender.way(how).map_or("-".to_owned(), |way| interval(way.relative));
                write!(text, " {cell:>21}")?;
            }
            writeln!(text)?;
        }
    }
    writeln!(text)?;
    of_tuned_tables(text, which)
}

/// What automatic parameters and the defaults earn of what the same algorithm earns with the best of the grid.
fn of_tuned_tables(text: &mut String, which: &Which) -> std::fmt::Result {
    writeln!(text, "Automatic or tuned: reward relative to the same algorithm tuned on other trials [95%, paired]")?;
    let interval = |Interval { value, low, high }: Interval| format!("{value:.3} [{low:.3}, {high:.3}]");
    let mut names: Vec<String> = Vec::new();
    for contender in which.problems.iter().flat_map(|problem| &problem.contenders) {
        let name = with_variant(&contender.algorithm, &contender.variant);
        if contender.way(How::Automatic).is_some() && !names.contains(&name) {
            names.push(name);
        }
    }
    for name in names {
        writeln!(text, "\n  {name:<34} {:>22} {:>22}   trials (tuning), tuned to", "automatic", "default")?;
        for problem in &which.problems {
            let same = |contender: &&Contender| with_variant(&contender.algorithm, &contender.variant) == name;
            let Some(contender) = problem.contenders.iter().find(same) else { continue };
            let Some(tuned) = contender.way(How::Tuned) else { continue };
            write!(text, "  {:<34}", problem.label)?;
            for how in [How::Automatic, How::Default] {
                let cell = contender.way(how).map_or("-".to_owned(), |way| interval(way.of_tuned));
                write!(text, " {cell:>22}")?;
            }
            let params: Vec<String> = tuned.params.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            writeln!(text, "   {} ({}), {}", problem.trials, problem.tuning_trials, params.join(", "))?;
        }
    }
    writeln!(text)
}

fn verdicts(text: &mut String, results: &Results) -> std::fmt::Result {
    writeln!(text, "Verdicts")?;
    for verdict in &results.verdicts {
        let outcome = match verdict.outcome {
            Outcome::Holds => "holds",
            Outcome::DoesNotHold => "does not hold",
            Outcome::NotDecided => "not decided",
        };
        let basis = match verdict.basis {
            Basis::Paper => "",
            Basis::Generated => ", generated ratings",
            Basis::Implied => ", our reading",
        };
        writeln!(text, "  [{outcome}{basis}] {} ({})", verdict.claim, verdict.place)?;
        writeln!(text, "      {}", verdict.numbers)?;
        writeln!(text, "      Rule: {}", verdict.rule)?;
    }
    writeln!(text)
}

fn speed(text: &mut String, results: &Results) -> std::fmt::Result {
    let run = &results.run;
    write!(text, "armwise {}, seed {}, {} threads: {:.1} s", run.version, run.seed, run.threads, run.wall_seconds)?;
    for (problem, speed) in &run.rounds_per_second {
        write!(text, "; {problem} {speed:.0} rounds/s")?;
    }
    if run.rounds_kept > 0 {
        write!(text, "; {} of {} rounds kept from before", run.rounds_kept, run.rounds_kept + run.rounds)?;
    }
    writeln!(text)
}
