//! What people read: summaries as plain text.

use std::fmt::Write;

use crate::visible::on_one_line;
use armwise_campaign::{
    core::{Closed, Disagreement, HoldOutStatus, Learned, RoundStatus, Status, Verified, Why},
    round::{ChosenSummary, HoldOutRules, Warning},
};

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A warning, with the command that helps.
fn warned(warning: &Warning) -> String {
    match warning {
        Warning::OnlyResponders { round, answered, pending } => format!(
            "round {round} is open and only those who answered are known ({answered}, {pending} have not); until `armwise \
             close` counts the silence, expected rewards are too high"
        ),
        Warning::ColumnsNotKept { sends } => format!(
            "the columns of these {sends} decisions are not kept, since there are so many: with keep = \"all\" in the rules \
             they are, and the features can be changed later"
        ),
        Warning::LittleHoldOut { outcomes, needed } => format!(
            "the objective is uplift, but only {outcomes} outcomes of the hold-out are known; from about {needed} on the \
             difference to doing nothing can be told"
        ),
        Warning::NoSubstitutes => {
            "each arm has a draw of its own and arms are taken together, so that draws cancel out: a better set \
             may never be tried"
                .to_owned()
        }
        other => format!("{other:?}"),
    }
}

pub(super) fn chosen(summary: &ChosenSummary, dry_run: bool) -> String {
    let mut text = String::new();
    let note = if dry_run { " (dry run, nothing is written)" } else { "" };
    let _ = writeln!(text, "round {}: {} sends to {} customers{note}", summary.round, summary.sends, summary.customers);
    for line in &summary.promotions {
        let threshold = line.threshold.map_or(String::new(), |threshold| format!(", scores from {threshold:.4}"));
        let _ = writeln!(
            text,
            "  {:<20} {:>8} sends, expected reward {:.2}{threshold}, {} of them exploration",
            on_one_line(&line.promotion),
            line.sends,
            line.expected_reward,
            line.exploration
        );
    }
    for (segment, sends) in &summary.segments {
        let _ = writeln!(text, "  segment {:<12} {sends:>8} sends", on_one_line(segment));
    }
    let _ = writeln!(
        text,
        "  expected reward {:.2}; exploration {}",
        summary.expected_reward,
        percent(summary.exploration)
    );
    if let Some(auto) = summary.auto {
        let _ = writeln!(text, "  as the rewards tell: {auto}");
    }
    if summary.resting > 0 || summary.hold_out_customers > 0 {
        let _ = writeln!(
            text,
            "  {} customers rest; {} are in the hold-out, of whom {} would have been chosen",
            summary.resting, summary.hold_out_customers, summary.hold_out
        );
    }
    for price in summary.prices.iter().filter(|price| price.value.abs() > 1e-12) {
        let more = if price.value > 0.0 { "more" } else { "less" };
        let (of, value) = (on_one_line(&price.of), price.value.abs());
        let _ = writeln!(text, "  {of}: one {more} would bring about {value:.4} of reward");
    }
    for missing in &summary.missing {
        let _ =
            writeln!(text, "  warning: {}: {} of {} filled", on_one_line(&missing.of), missing.chosen, missing.needed);
    }
    for warning in &summary.warnings {
        let _ = writeln!(text, "  warning: {}", warned(warning));
    }
    if summary.upper_bound > summary.objective {
        let gap = 100.0 * (summary.upper_bound - summary.objective) / summary.upper_bound.abs().max(1e-300);
        // Less than this is rounding to whoever reads it; the numbers are in the summary.
        if gap >= 0.01 {
            let _ = writeln!(text, "  a choice that is up to {gap:.2} % better may exist");
        }
    }
    match summary.hold_out_rules {
        HoldOutRules::Scaled => {}
        HoldOutRules::WithoutMinima => {
            text += "  warning: the hold-out is too small for the quotas and the budget scaled to its share, so its customers were \
                     chosen without minima; the comparison with them is less exact in this round\n";
        }
        HoldOutRules::Nobody => {
            text += "  warning: nobody of the hold-out could be chosen by the scaled rules, so this round has nobody to compare \
                     with\n";
        }
    }
    for (column, count) in &summary.odd.unseen {
        let _ = writeln!(text, "  warning: column {column:?}: {count} values that init did not see count as none");
    }
    for (column, count) in &summary.odd.missing {
        let _ = writeln!(text, "  column {column:?}: {count} missing values were filled");
    }
    for (column, count) in &summary.odd.clipped {
        let _ = writeln!(
            text,
            "  warning: column {column:?}: {count} values lie far outside what init saw and count as the nearest it believes"
        );
    }
    if summary.odd.shortened > 0 {
        let _ = writeln!(
            text,
            "  warning: {} customers lie outside what init saw and were scaled back",
            summary.odd.shortened
        );
    }
    text
}

/// What the end of a round's window means for its hold-out.
pub(super) fn hold_out(closed: &Closed) -> String {
    let HoldOutStatus { chosen, answered, silent, pending, .. } = closed.hold_out;
    let needed = percent(closed.answered_share);
    match (chosen, pending) {
        (0, _) => String::new(),
        (_, 0) if silent > 0 => format!(
            "the hold-out: {answered} of {chosen} with an outcome, {silent} without one count as {}\n",
            closed.default
        ),
        (_, 0) => format!("the hold-out: {answered} of {chosen} with an outcome\n"),
        _ => format!(
            "the hold-out: {answered} of {chosen} with an outcome; uplift needs those of at least {needed}, zeros \
             included.\n  `armwise learn` takes them also now; if silence means zero for the hold-out too, say so in the \
             rules: [uplift] silence = \"default\"\n"
        ),
    }
}

pub(super) fn learned(learned: &Learned) -> String {
    let mut text = format!(
        "{} rows: {} applied, {} known already, {} put aside\n",
        learned.rows, learned.applied, learned.repeated, learned.rejected
    );
    if learned.hold_out > 0 {
        let _ = writeln!(text, "  {} of those applied are outcomes of the hold-out", learned.hold_out);
    }
    for (reason, count) in &learned.reasons {
        let _ = writeln!(text, "  {reason}: {count}");
    }
    if learned.pending > 0 {
        let _ = writeln!(text, "  {} decisions stay pending until their rows are mended and learned", learned.pending);
    }
    text
}

pub(super) fn status(status: &Status) -> String {
    let retired = match &status.retired[..] {
        [] => String::new(),
        retired => format!(" (retired: {})", on_one_line(&retired.join(", "))),
    };
    let mut text = format!(
        "promotions {}{}; {} features; {} entries; decisions end in -{}\nmodel   {}\njournal {}\n",
        on_one_line(&status.promotions.join(", ")),
        retired,
        status.features,
        status.entries,
        status.tag,
        status.model,
        status.head
    );
    if let Some(auto) = status.auto {
        let _ = writeln!(text, "the next round, as the rewards tell: {auto}");
    }
    if let Some(Disagreement { since, until, log_factor, gamma }) = status.drift {
        let forget = if gamma < 1.0 {
            format!("; gamma = {gamma} would have predicted them best (`armwise refit` takes it)")
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "warning: rounds {since} to {until} disagree with those before more than chance explains (log Bayes factor \
             {log_factor:.1}){forget}"
        );
    }
    if let Some(waiting) = status.drift_waits_for {
        let of = if status.rounds.iter().any(|round| round.through.is_some()) { "segments" } else { "rounds" };
        let _ = writeln!(
            text,
            "whether interests change is not judged: {waiting} {of} may still be answered, and those who answer early are not \
             like the others; `armwise close` ends what is over"
        );
    }
    if status.compacted > 0 {
        let _ = writeln!(text, "single decisions of rounds up to {} were given up", status.compacted);
    }
    if status.behind {
        text += "something was heard that the model does not know yet\n";
    }
    let mean = |mean: Option<f64>| mean.map_or("-".to_owned(), |mean| format!("{mean:.4}"));
    let _ = writeln!(
        text,
        "{:>5}  {:<20} {:<7} {:>8} {:>8} {:>8} {:>8} {:>11} {:>11}",
        "round", "chosen", "window", "sends", "answered", "silent", "pending", "undelivered", "mean reward"
    );
    for line in &status.rounds {
        let window = match (line.revoked, line.closed) {
            (true, _) => "revoked",
            (false, true) => "closed",
            (false, false) => "open",
        };
        // As the report says it.
        let so_far = if window == "open" && line.pending > 0 { " so far" } else { "" };
        let mean = mean(line.mean_reward);
        let _ = writeln!(
            text,
            "{:>5}  {:<20} {window:<7} {:>8} {:>8} {:>8} {:>8} {:>11} {mean:>11}{so_far}",
            line.round, line.at, line.sends, line.answered, line.silent, line.pending, line.undelivered
        );
        if let (Some(through), Some(rounds)) = (line.through, line.rounds) {
            let _ = writeln!(text, "       {rounds} rounds, up to {through}");
        }
        for (flaw, count) in &line.aside {
            let _ = writeln!(text, "       pending: {count} {}, whose rows were put aside", flaw.text());
        }
    }
    if status.rounds.iter().any(|line| line.hold_out.chosen > 0) {
        let _ = writeln!(
            text,
            "{:>5}  {:<28} {:>8} {:>8} {:>8} {:>8} {:>11} {:>11}",
            "round", "of the hold-out", "chosen", "answered", "silent", "pending", "undelivered", "mean reward"
        );
        for RoundStatus { round, hold_out, .. } in &status.rounds {
            let _ = writeln!(
                text,
                "{round:>5}  {:<28} {:>8} {:>8} {:>8} {:>8} {:>11} {:>11}",
                "",
                hold_out.chosen,
                hold_out.answered,
                hold_out.silent,
                hold_out.pending,
                hold_out.undelivered,
                mean(hold_out.mean_reward)
            );
        }
    }
    text
}

pub(super) fn why(why: &Why) -> String {
    let mut text = format!("customer {}, round {}\n", on_one_line(&why.customer), why.round);
    if why.revoked {
        text += "the round was revoked: nothing was sent\n";
    }
    if why.resting {
        text += "not chosen: the customer rested after an earlier send\n";
    }
    if why.hold_out {
        text += "the customer is in the hold-out, which is never contacted\n";
    }
    if why.promotions.is_empty() {
        text += "give --table to see the numbers it would have had\n";
    }
    for line in &why.promotions {
        let place = match (&line.decision, line.rank, line.hold_out) {
            (Some(decision), Some(rank), false) => format!("chosen, rank {rank}, decision {decision}"),
            (Some(decision), Some(rank), true) => format!("in the hold-out, rank {rank}, decision {decision}"),
            _ if !line.eligible => "not eligible".to_owned(),
            _ => "not chosen".to_owned(),
        };
        let draw = line.draw.map_or("none".to_owned(), |draw| format!("{draw:.4}"));
        let threshold = line.threshold.map_or("none".to_owned(), |threshold| format!("{threshold:.4}"));
        let _ = writeln!(
            text,
            "{}: {place}\n  mean {:.4}, width {:.4}, draw {draw}, score {:.4}; lowest chosen score {threshold}",
            on_one_line(&line.promotion),
            line.mean,
            line.width,
            line.score
        );
        if let Some(probability) = line.probability {
            let _ = writeln!(text, "  it was chosen with probability {probability:.4}");
        }
        if let Some(examined) = line.examined {
            let _ = writeln!(
                text,
                "  it was examined with probability {examined}, and its reward learned with so much of x"
            );
        }
        for part in &line.contributions {
            let own = part.own.as_ref().map_or(String::new(), |own| format!(" = {own}"));
            let _ = writeln!(text, "    {:+.4}  {}{own}", part.adds, on_one_line(&part.feature));
        }
    }
    text
}

pub(super) fn verified(verified: &Verified) -> String {
    if verified.good {
        let model = verified.model.map_or(String::new(), |model| format!(", model {model}"));
        let from = match verified.decisions_from {
            1 => String::new(),
            from => format!("; single decisions can be replayed from round {from} on, those before were given up"),
        };
        return format!("good: {} entries{model}{from}\n", verified.entries);
    }
    let mut text = String::new();
    for finding in &verified.findings {
        let _ = writeln!(text, "damaged: {}\n  {}", finding.damaged, finding.recovery);
    }
    text
}
