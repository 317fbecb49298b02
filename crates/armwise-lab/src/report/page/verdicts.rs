//! What becomes of each claim of the paper.
//!
//! An outcome is a word and a sign, never a colour alone, and is shown with the rule that gave it.

use crate::results::{Basis, Outcome, Results};
use armwise_charts::{escape, write};

fn word(outcome: Outcome) -> (&'static str, &'static str, &'static str) {
    match outcome {
        Outcome::Holds => ("holds", "✓", "Holds"),
        Outcome::DoesNotHold => ("fails", "✗", "Does not hold"),
        Outcome::NotDecided => ("open", "?", "Not decided by this data"),
    }
}

/// `Of 9 claims ..., 6 hold, 2 do not hold and 1 is not decided`, as markup; empty where there are none.
fn counted(results: &Results, basis: Basis, what: &str) -> String {
    let of = || results.verdicts.iter().filter(|verdict| verdict.basis == basis);
    let say = |outcome: Outcome, one: &str, many: &str| {
        let count = of().filter(|verdict| verdict.outcome == outcome).count();
        format!("<strong>{count} {}</strong>", if count == 1 { one } else { many })
    };
    match of().count() {
        0 => String::new(),
        count => format!(
            "Of {count} {}{what}, {}, {} and {} by this data. ",
            if count == 1 { "claim" } else { "claims" },
            say(Outcome::Holds, "holds", "hold"),
            say(Outcome::DoesNotHold, "does not hold", "do not hold"),
            say(Outcome::NotDecided, "is not decided", "are not decided")
        ),
    }
}

/// The counts for the top of the page: the paper's claims, and apart from them what was tried on generated ratings.
/// Readings that the paper does not state do not count.
pub(super) fn summary(results: &Results) -> String {
    if results.verdicts.is_empty() {
        return String::new();
    }
    let paper = counted(results, Basis::Paper, " of the paper");
    let generated = counted(
        results,
        Basis::Generated,
        " tried on generated ratings, which say nothing about the paper’s MovieLens numbers",
    );
    let text = paper + &generated;
    format!("<p class=\"summary\"><a href=\"#verdicts\">{}</a></p>\n", text.trim_end())
}

/// The verdicts, one after the other.
pub(super) fn html(results: &Results) -> String {
    if results.verdicts.is_empty() {
        return "<p class=\"absent\">This run gives no verdicts.</p>\n".to_owned();
    }
    let mut out = "<ol class=\"verdicts\">\n".to_owned();
    for verdict in &results.verdicts {
        let (class, sign, name) = word(verdict.outcome);
        let basis = match verdict.basis {
            Basis::Paper => "",
            Basis::Generated => " (generated ratings)",
            Basis::Implied => " (our reading)",
        };
        write(
            &mut out,
            format_args!(
                "<li class=\"{class}\"><p class=\"outcome\"><span aria-hidden=\"true\">{sign}</span> {name}{basis}</p><div><p class=\"claim\">{} <cite>{}</cite></p><p>{}</p><p class=\"rule\">Rule: {}</p></div></li>\n",
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
