//! What becomes of each claim of the paper.
//!
//! The decision to know: an outcome is a word and a sign, never a colour alone, and stands with the rule that gave it.

use crate::report::html::write;
use crate::report::kit::escape;
use crate::results::{Outcome, Results};

fn word(outcome: Outcome) -> (&'static str, &'static str, &'static str) {
    match outcome {
        Outcome::Holds => ("holds", "✓", "Holds"),
        Outcome::DoesNotHold => ("fails", "✗", "Does not hold"),
        Outcome::NotDecided => ("open", "?", "Not decided by this data"),
    }
}

/// One sentence for the top of the page.
pub(super) fn summary(results: &Results) -> String {
    if results.verdicts.is_empty() {
        return String::new();
    }
    let say = |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let count = |outcome: Outcome| results.verdicts.iter().filter(|verdict| verdict.outcome == outcome).count();
    format!(
        "<p class=\"summary\"><a href=\"#verdicts\">Of {} claims of the paper, <strong>{}</strong>, <strong>{}</strong> and <strong>{}</strong> by this data.</a></p>\n",
        results.verdicts.len(),
        say(count(Outcome::Holds), "holds", "hold"),
        say(count(Outcome::DoesNotHold), "does not hold", "do not hold"),
        say(count(Outcome::NotDecided), "is not decided", "are not decided")
    )
}

/// The verdicts, one after the other.
pub(super) fn html(results: &Results) -> String {
    if results.verdicts.is_empty() {
        return "<p class=\"absent\">This run gives no verdicts.</p>\n".to_owned();
    }
    let mut out = "<ol class=\"verdicts\">\n".to_owned();
    for verdict in &results.verdicts {
        let (class, sign, name) = word(verdict.outcome);
        write(
            &mut out,
            format_args!(
                "<li class=\"{class}\"><p class=\"outcome\"><span aria-hidden=\"true\">{sign}</span> {name}</p><div><p class=\"claim\">{} <cite>{}</cite></p><p>{}</p><p class=\"rule\">Rule: {}</p></div></li>\n",
                escape(&verdict.claim),
                escape(&verdict.place),
                escape(&verdict.numbers),
                escape(&verdict.rule)
            ),
        );
    }
    out.push_str("</ol>\n");
    out
}
