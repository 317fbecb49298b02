//! What was run, on what and how fast, and the command that runs it again.
//!
//! The command is made from the results, so it is the one that gives these numbers.

use armwise::Algorithm;

use crate::report::figures::{data_label, trials};
use crate::report::looks::is_arm_wise;
use crate::results::{Clustered, Comparison, Promotions, Protocol, Results, Scale};
use armwise_charts::{Cell, Table, compact, escape, number, write};

/// Facts as a list of terms.
pub(super) fn html(results: &Results) -> String {
    let run = &results.run;
    let scale = run.scale.name();
    let mut facts = vec![
        ("Version", format!("armwise {}", run.version)),
        ("Scale", scale.to_owned()),
        ("Seed", run.seed.to_string()),
        ("Machine", format!("{}; {} thread{}", run.machine, run.threads, if run.threads == 1 { "" } else { "s" })),
        ("Wall time", wall(run.wall_seconds)),
        ("Rounds played", rounds(results)),
    ];
    if let Some(clustered) = &results.clustered {
        facts.push(("Clustered case", clustered_facts(clustered)));
    }
    match &results.promotions {
        Some(promotions) => {
            facts.push(("Sending promotions", promotion_facts(promotions)));
            facts.push(("Data", data_facts(promotions)));
        }
        None => facts.push(("Sending promotions", "not part of this run".to_owned())),
    }
    if let Some(two_sets) = &results.two_sets {
        let sizes: Vec<String> =
            two_sets.panels.first().into_iter().flat_map(|panel| &panel.k).map(usize::to_string).collect();
        let text = format!("k = {}, T = {}, {}", sizes.join(", "), two_sets.rounds, trials(two_sets.trials));
        facts.push(("Two sets", text));
    }
    if let Some(which) = &results.which {
        let contenders = which.problems.first().map_or(0, |problem| problem.contenders.len());
        let study = format!("{contenders} contenders, {} problems; grid {}", which.problems.len(), grid(&which.grid));
        facts.push(("Which algorithm", study));
    }
    if results.clustered.is_none() {
        facts.push(("Clustered case", "not part of this run".to_owned()));
    }
    facts.push(("Protocol “fresh”", "parameters chosen on tuning trials, evaluated on other trials; 95% margins by Student’s t, differences paired by trial; where trials are spread over several draws of test movies, the means of the draws are the sample".to_owned()));
    facts.push(("Protocol “paper”", "the best average over the grid, on the very trials it was chosen on, as in the paper; this flatters algorithms with more settings".to_owned()));
    let mut out = "<dl class=\"facts\">\n".to_owned();
    for (term, fact) in facts {
        write(&mut out, format_args!("<div><dt>{term}</dt><dd>{}</dd></div>\n", escape(&fact)));
    }
    out.push_str("</dl>\n");
    out.push_str(&names(results));
    out
}

fn wall(seconds: f64) -> String {
    if seconds < 120.0 {
        return format!("{} s", number(seconds, 1));
    }
    let whole = seconds.round();
    format!("{} min {} s", number((whole / 60.0).floor(), 0), number(whole % 60.0, 0))
}

fn rounds(results: &Results) -> String {
    let run = &results.run;
    let mut text = number(run.rounds as f64, 0);
    if run.rounds_kept > 0 {
        write(&mut text, format_args!(", and {} kept from an interrupted run", number(run.rounds_kept as f64, 0)));
    }
    let speeds: Vec<String> = run
        .rounds_per_second
        .iter()
        .map(|(problem, speed)| format!("{} rounds/s {problem}", number(*speed, 0)))
        .collect();
    if !speeds.is_empty() {
        write(&mut text, format_args!(" ({})", speeds.join(", ")));
    }
    text
}

fn grid(values: &[f64]) -> String {
    let values: Vec<String> = values.iter().map(|&value| compact(value)).collect();
    values.join(", ")
}

fn trials_of<'a>(comparisons: impl Iterator<Item = &'a Comparison>) -> String {
    let mut counts: Vec<(Protocol, usize)> = Vec::new();
    for comparison in comparisons {
        let most = comparison.algorithms.iter().map(|tuned| tuned.trials).max().unwrap_or(0);
        if !counts.contains(&(comparison.protocol, most)) {
            counts.push((comparison.protocol, most));
        }
    }
    counts.sort_unstable();
    let name = |protocol| if protocol == Protocol::Paper { "paper" } else { "fresh" };
    let parts: Vec<String> =
        counts.into_iter().map(|(protocol, count)| format!("{} {}", name(protocol), trials(count))).collect();
    parts.join(", ")
}

fn clustered_facts(case: &Clustered) -> String {
    format!(
        "d = {}, N = {}, k = {}, T = {}, {} angles, arms {}, ties {}; {}; grid {}",
        case.d,
        number(case.n as f64, 0),
        number(case.k as f64, 0),
        case.rounds,
        case.angles.len(),
        case.order,
        case.ties,
        trials_of(case.angles.iter().flat_map(|angle| &angle.comparisons)),
        grid(&case.grid)
    )
}

fn promotion_facts(case: &Promotions) -> String {
    let mut ks: Vec<String> = case.tables.iter().flat_map(|table| &table.rows).map(|row| row.k.to_string()).collect();
    ks.dedup();
    let mut seen = Vec::new();
    ks.retain(|k| {
        !seen.contains(k) && {
            seen.push(k.clone());
            true
        }
    });
    let readings: Vec<&str> = case.tables.iter().map(|table| table.reading.as_str()).collect();
    let comparisons = case.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.comparisons);
    format!(
        "M = {}, d = {}, T = {}, k = {}, N = 100 k; readings {}; {}; draws of test movies: {} for tuning and the paper’s protocol, {} others for fresh trials, {}; customers {}; grid {}",
        case.promotions,
        case.data.d,
        case.rounds,
        ks.join(", "),
        readings.join(" and "),
        trials_of(comparisons),
        case.data.tuning_splits,
        case.data.fresh_splits,
        if case.data.disjoint_splits {
            "no movie in two of them"
        } else {
            "drawn independently where the band has too few movies, so some share movies"
        },
        case.data.sampling,
        grid(&case.grid)
    )
}

fn data_facts(case: &Promotions) -> String {
    let data = &case.data;
    format!(
        "{}: {} users, {} movies, {} ratings; features {}; fingerprint {}",
        data_label(data),
        number(data.users as f64, 0),
        number(data.movies as f64, 0),
        number(data.ratings as f64, 0),
        data.features,
        data.fingerprint
    )
}

/// The algorithms: the paper's names beside the names on the command line, in the look they have in figures.
fn names(results: &Results) -> String {
    let Results { clustered, promotions, two_sets, which, .. } = results;
    if clustered.is_none() && promotions.is_none() && two_sets.is_none() && which.is_none() {
        return "<p class=\"absent\">This run has no results.</p>\n".to_owned();
    }
    let tuned =
        Algorithm::ALL.iter().filter(|description| description.tuned().next().is_some() && !description.in_turn);
    let rows = tuned.map(|description| {
        let name = description.name;
        vec![
            Cell::html(super::parameters::swatch(name)),
            Cell::html(format!("<code>{name}</code>")),
            Cell::text(if is_arm_wise(name) { "arm-wise" } else { "existing" }),
            Cell::text(description.about),
        ]
    });
    let head = ["Algorithm", "Name in armwise", "Kind", "Exploration"];
    let caption = "The algorithms, as they look in every figure: the arm-wise ones solid, filled and bold.";
    Table { caption: caption.to_owned(), head: head.map(Cell::text).into(), rows: rows.collect() }.html("plain")
}

/// A word of a shell's command line.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/+".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The command.
pub(super) fn again(results: &Results) -> String {
    let mut command = "cargo run --release -- reproduce".to_owned();
    match (&results.clustered, &results.promotions) {
        (Some(_), None) => command.push_str(" clustered"),
        (None, Some(_)) => command.push_str(" promotions"),
        (None, None) if results.two_sets.is_some() => command.push_str(" two-sets"),
        (None, None) if results.which.is_some() => command.push_str(" which"),
        _ => {}
    }
    if let Some(promotions) = results.promotions.as_ref().filter(|promotions| !promotions.data.generated) {
        write(&mut command, format_args!(" --ratings {}", quoted(&promotions.data.label)));
    }
    if let Some(promotions) = results.promotions.as_ref().filter(|promotions| promotions.data.features != "svd") {
        write(&mut command, format_args!(" --features {}", quoted(&promotions.data.features)));
    }
    if results.run.scale != Scale::Full {
        write(&mut command, format_args!(" --{}", results.run.scale.name()));
    }
    write(&mut command, format_args!(" --seed {}", results.run.seed));
    format!(
        "<pre><code>{}</code></pre>\n<p>The same version, seed and data give the same numbers on any number of threads. All numbers of this page, and more, are in <a href=\"results.json\">results.json</a> beside it.</p>\n",
        escape(&command)
    )
}
