//! Every key of the rules, once: its type, default, range, example and what it says.
//!
//! The page docs/reference/campaign-toml.md and every explanation of a key are made from this table. Tests ask the
//! parser which keys there are and what they mean when they are left out, so the table cannot lie either. A new field
//! of the rules needs its line here, and `make keys` writes the page.

use crate::Error;
use armwise::Algorithm;
use serde::Serialize;
use std::fmt::Write;

/// A key of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Key {
    /// Its name in its section.
    pub name: &'static str,
    /// What may be given.
    pub kind: &'static str,
    /// What it means to leave it out, as TOML; `required`, or `none` where nothing is set then.
    pub default: &'static str,
    /// Which values are accepted; empty where the type says it all.
    pub range: &'static str,
    /// An example that says something else than the default, as TOML.
    pub example: &'static str,
    /// What it says.
    pub text: &'static str,
}

/// Keys that belong together: a table of the TOML.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Section {
    /// Its name, empty for the keys that stand at the top.
    pub name: &'static str,
    /// Its header in TOML.
    pub header: &'static str,
    /// What is to be known before its keys.
    pub intro: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
    /// What is to be known after them.
    pub outro: &'static str,
}

const fn key(
    name: &'static str,
    kind: &'static str,
    default: &'static str,
    range: &'static str,
    example: &'static str,
    text: &'static str,
) -> Key {
    Key { name, kind, default, range, example, text }
}

/// The sections, in the order of the page.
pub const SECTIONS: [Section; 9] = [
    Section {
        name: "",
        header: "",
        intro: "",
        keys: &[
            key("customer", "text", "required", "", "\"customer_id\"", "the column with the customer's id"),
            key("seed", "whole number", "1", "at least 0", "42", "the seed of all draws"),
            key(
                "segment",
                "text",
                "none",
                "",
                "\"region\"",
                "a column by which summaries and the report split the customers",
            ),
            key(
                "objective",
                "text",
                "\"response\"",
                "`\"response\"`, `\"uplift\"`",
                "\"uplift\"",
                "what is maximised: the rewards of the sends, or what the sends bring beyond what their customers would do anyway; the latter is learned from the outcomes of the hold-out, so it needs `limits.hold_out`",
            ),
            key(
                "ties",
                "text",
                "\"by-id\"",
                "`\"by-id\"`, `\"random\"`",
                "\"random\"",
                "who wins among equal scores: the smaller id, or a fair draw, new in every round",
            ),
            key(
                "gamma",
                "number or \"auto\"",
                "1.0",
                "above 0, at most 1; `\"auto\"`",
                "0.98",
                "forgetting: with every round, what was learned before counts this much. With `\"auto\"` it is chosen anew in every round, by how well it would have predicted each round from those before: 1 unless the odds for another are 20 to 1. `status`, the summary of a choice and the report name it; with several rounds to a segment, a segment is forgotten as a whole",
            ),
            key(
                "keep",
                "text",
                "\"used\"",
                "`\"used\"`, `\"all\"`, `\"none\"`",
                "\"all\"",
                "which columns of a chosen customer's row the campaign keeps as they were, so that features can be made of them anew later: those that are features now (of rounds with up to about a million values, sends times columns; larger ones say that they keep none), all, or none (then the features can never change)",
            ),
            key(
                "probabilities",
                "text",
                "\"cheap\"",
                "`\"cheap\"`, `\"always\"`, `\"never\"`",
                "\"always\"",
                "whether a round finds how probable each of its decisions was before the draws, which evaluating other rules from the log needs: where it takes little more than choosing (up to 262,144 pairs of a customer and a promotion without groups and budget; of a service's requests those for the best of up to 512), wherever it can be found, or never. A round that is chosen from a table keeps the law of the threshold, too, some kilobytes",
            ),
            key(
                "keep_candidates",
                "yes or no",
                "false",
                "`true`, `false`",
                "true",
                "whether the campaign keeps the rows that a round was chosen from, so that other rules can be evaluated later without the table: all of them up to 10,000, of larger tables those who were chosen and one in so many of the others, drawn. The rows are as the table has them, with the columns that the rules use",
            ),
            key(
                "rounds_per_segment",
                "whole number",
                "1",
                "1 to 65536",
                "256",
                "how many consecutive rounds have their sums together. 1 suits a round a week. With more, as a service with a decision a request has them, rewards are noted at once and learned by folds, and the rounds of old segments are put away",
            ),
            key(
                "keep_decisions",
                "text",
                "none",
                "`\"1s\"` to `\"36500d\"`",
                "\"90d\"",
                "for how long single decisions are kept; later, rounds that are closed are compacted to counts, digests and what was learned. Left out, they are kept for good",
            ),
            key(
                "algorithm",
                "table",
                "{ name = \"arm-wise-ts\", lambda = 1.0, v = 0.1 }",
                "",
                "{ name = \"c2ucb\", alpha = 0.1 }",
                "how scores are made, see [below](#algorithm)",
            ),
            key(
                "reward",
                "table",
                "{ default = 0.0 }",
                "",
                "{ default = 0.0, min = 0.0, max = 1.0 }",
                "what rewards may be, see [below](#reward)",
            ),
            key(
                "limits",
                "table",
                "{ per_customer = 1 }",
                "",
                "{ rest = 2 }",
                "what the promotions share, see [below](#limits)",
            ),
            key(
                "uplift",
                "table",
                "{ silence = \"unknown\", answered_share = 0.9 }",
                "",
                "{ silence = \"default\" }",
                "when sends are compared with the hold-out, see [below](#uplift)",
            ),
            key(
                "promotion",
                "tables",
                "required",
                "1 to 1000",
                "[{ name = \"mail\", quota = 500 }]",
                "the promotions, usually written as several `[[promotion]]`, see [below](#promotion)",
            ),
            key(
                "features",
                "table",
                "{ bias = true }",
                "",
                "{ bias = false }",
                "which columns become features, see [below](#features)",
            ),
            key(
                "tables",
                "table",
                "none",
                "",
                "{ decimal = \",\" }",
                "how tables in files are read, where a file does not tell by itself, see [below](#tables)",
            ),
        ],
        outro: "",
    },
    Section {
        name: "promotion",
        header: "[[promotion]]",
        intro: "One `[[promotion]]` for each. An amendment may add some, leave some out and take them back later: what was learned\nof a promotion stays, by its name.",
        keys: &[
            key("name", "text", "required", "1 to 200 bytes, each once", "\"call\"", "its name"),
            key(
                "quota",
                "whole number or table",
                "none",
                "`min` at most `max`",
                "{ min = 100, max = 500 }",
                "how many customers get it in a round: `500` is exactly 500, `{ max = 500 }` at most",
            ),
            key("cost", "number", "none", "0 to 1e100", "0.8", "what a send costs"),
            key(
                "value",
                "number",
                "none",
                "1e-9 to 1e9",
                "25.0",
                "what a unit of reward is worth, in the unit of the costs. If a promotion has one, scores are profit: the reward times the value (1 where it is left out) less the cost; and the report has the return",
            ),
            key("eligible", "text", "none", "", "\"may_call\"", "a column that says who may get it"),
        ],
        outro: "A promotion without a quota needs `limits.budget` or a group, or there would be no end to it.",
    },
    Section {
        name: "limits",
        header: "[limits]",
        intro: "",
        keys: &[
            key(
                "per_customer",
                "whole number",
                "1",
                "at least 1",
                "2",
                "the most promotions for a customer in a round",
            ),
            key(
                "budget",
                "number",
                "none",
                "0 to 1e100",
                "1000.0",
                "the most that all sends of a round may cost; needs a cost",
            ),
            key(
                "cost",
                "text",
                "none",
                "",
                "\"postage\"",
                "a column with what a send to this customer costs, added to the promotion's own cost",
            ),
            key("rest", "whole number", "0", "at least 0", "2", "for how many rounds a customer rests after a send"),
            key(
                "hold_out",
                "number",
                "0.0",
                "at least 0, below 0.9",
                "0.05",
                "the share of customers that is never contacted, to measure uplift",
            ),
            key(
                "on_infeasible",
                "text",
                "\"error\"",
                "`\"error\"`, `\"fill\"`",
                "\"fill\"",
                "where the quotas cannot be met: refuse, or send fewer and say what is missing",
            ),
            key(
                "time_limit",
                "number",
                "60.0",
                "above 0, at most 86400",
                "5.0",
                "the most seconds to look for the best sends where groups cross (region and age, say); nested groups need none of it",
            ),
            key(
                "group",
                "tables",
                "[]",
                "at most 1000",
                "[{ column = \"region\", value = \"north\", max = 500 }]",
                "sends per group of customers, see [below](#limitsgroup)",
            ),
        ],
        outro: "",
    },
    Section {
        name: "limits.group",
        header: "[[limits.group]]",
        intro: "One `[[limits.group]]` for each: how many sends go to the customers with this value in a column, over all promotions or of one.",
        keys: &[
            key("column", "text", "required", "", "\"region\"", "the column"),
            key("value", "text", "required", "", "\"north\"", "the value, as text"),
            key(
                "promotion",
                "text",
                "none",
                "the name of a promotion",
                "\"mail\"",
                "the promotion whose sends count; left out, those of all promotions together",
            ),
            key("min", "whole number", "0", "at most `max`", "10", "the least number of sends"),
            key("max", "whole number", "none", "", "500", "the most sends"),
        ],
        outro: "",
    },
    Section {
        name: "uplift",
        header: "[uplift]",
        intro: "What the sends brought is compared with what the hold-out (`limits.hold_out`) did anyway, so the outcomes of the\nhold-out are needed too: `choose` writes it to a file of its own, and `learn` takes its outcomes like those of sends.",
        keys: &[
            key(
                "silence",
                "text",
                "\"unknown\"",
                "`\"unknown\"`, `\"default\"`",
                "\"default\"",
                "what a customer of the hold-out without an outcome has when the round is closed: nothing is known, and the outcome may still come; or the default reward, because the answers come from a source that sees the hold-out too",
            ),
            key(
                "answered_share",
                "number",
                "0.9",
                "above 0, at most 1",
                "0.95",
                "the least share of the hold-out that must have an outcome, or there is no uplift",
            ),
        ],
        outro: "",
    },
    Section {
        name: "reward",
        header: "[reward]",
        intro: "",
        keys: &[
            key(
                "default",
                "number",
                "0.0",
                "between `min` and `max`",
                "0.1",
                "the reward of a customer who has not answered when the round is closed",
            ),
            key("min", "number", "none", "-1e100 to 1e100", "0.0", "rewards below are put aside"),
            key("max", "number", "none", "-1e100 to 1e100", "1.0", "rewards above are put aside"),
            key(
                "window",
                "text",
                "none",
                "`\"1s\"` to `\"36500d\"`",
                "\"24h\"",
                "for how long after a decision a service waits for its rewards before it closes the round; left out, rounds are closed only when somebody says so",
            ),
        ],
        outro: "",
    },
    Section {
        name: "features",
        header: "[features]",
        intro: "",
        keys: &[
            key("bias", "true or false", "true", "", "false", "whether a constant is among the features"),
            key(
                "column",
                "tables",
                "[]",
                "",
                "[{ name = \"age\", kind = \"numeric\" }]",
                "the columns; left out, all that are of use, see [below](#featurescolumn)",
            ),
        ],
        outro: "",
    },
    Section {
        name: "features.column",
        header: "[[features.column]]",
        intro: "One `[[features.column]]` for each column, or for each form of it. What is fitted (means, spreads, categories, bins) is\nfitted once, when the campaign begins, and frozen.",
        keys: &[
            key("name", "text", "required", "", "\"age\"", "the column's name"),
            key(
                "kind",
                "text",
                "required",
                "`\"numeric\"`, `\"log\"`, `\"bins\"`, `\"categorical\"`, `\"vector\"`, `\"cross\"`",
                "\"categorical\"",
                "`\"numeric\"`: a number, standardised; `\"log\"`: log(1 + number), standardised; `\"bins\"`: one feature for each range of numbers; `\"categorical\"`: one feature for each value; `\"vector\"`: each number of a list a feature; `\"cross\"`: the products of this column's features and those of the column `with`, both of which are listed, too",
            ),
            key(
                "missing",
                "text",
                "\"error\"",
                "`\"error\"`, `\"mean\"`, `\"zero\"`",
                "\"zero\"",
                "where a value is missing: refuse the table, take 0 (a category or bin counts as none of the known ones), or `\"mean\"` for numbers and their logarithms",
            ),
            key(
                "max_levels",
                "whole number",
                "50",
                "at least 1",
                "20",
                "the most categories; the rarest beyond these are treated as unseen",
            ),
            key(
                "clip",
                "true or false",
                "true",
                "",
                "false",
                "whether numbers far beyond the sample's (eight standard deviations of its central 99 %, or three times as far as these reach) count as the nearest plausible one; numbers and logarithms only",
            ),
            key(
                "bins",
                "whole number",
                "none",
                "2 to 1000",
                "5",
                "into how many bins numbers are divided, with about as many customers in each; 4 if neither this nor `edges` is given; bins only",
            ),
            key(
                "edges",
                "numbers",
                "none",
                "ascending, 1 to 1000",
                "[30, 50, 65]",
                "where bins begin: here below 30, 30 to 50, 50 to 65, 65 or more; bins only",
            ),
            key("with", "text", "none", "a column that is listed", "\"region\"", "the other column of a cross"),
        ],
        outro: "",
    },
    Section {
        name: "tables",
        header: "[tables]",
        intro: "What a file shows is detected: the separator by its header, the decimal mark by its numbers, UTF-16 by its byte order\nmark. Where it could mean two things, reading it is an error that names the key to give, here or with the command.",
        keys: &[
            key(
                "separator",
                "text",
                "none",
                "`\",\"`, `\";\"`, `\"tab\"`",
                "\";\"",
                "what separates the columns of a text table",
            ),
            key("decimal", "text", "none", "`\".\"`, `\",\"`", "\",\"", "the decimal mark of numbers in text"),
            key(
                "encoding",
                "text",
                "none",
                "`\"utf-8\"`, `\"latin-1\"`, `\"utf-16le\"`, `\"utf-16be\"`",
                "\"latin-1\"",
                "the encoding of text, UTF-8 if it is left out; `\"latin-1\"` includes what Windows adds to it",
            ),
            key("sheet", "text", "none", "", "\"Customers\"", "the sheet of a workbook that has several"),
            key(
                "customer_column",
                "text",
                "none",
                "",
                "\"customer_id\"",
                "the column of a table of responses with the customer's id, if it is not named as in the tables of customers",
            ),
            key(
                "reward_column",
                "text",
                "none",
                "",
                "\"revenue\"",
                "the column of a table of responses with the reward, if it is not `reward`",
            ),
            key(
                "examined_column",
                "text",
                "none",
                "",
                "\"seen\"",
                "the column of a table of responses with the probability that the arm was looked at, if it is not `examined`",
            ),
        ],
        outro: "",
    },
];

const ALGORITHM: &str = "`name` is one of these; the parameters have the defaults shown if they are left out. In a campaign that says nothing
about the algorithm it is arm-wise Thompson sampling with `v = 0.1`.
[Which algorithm, which parameters](../which-algorithm.md) says how to choose.

`scope` says who shares a draw: `\"own\"` (each customer and promotion has its own, as in the paper), `\"shared\"` (all have the
same), `{ mixed = 0.5 }` (half of the variance is common), `{ group = \"region\" }` (customers of the same segment have the same;
the column must be the one that `segment` names), `{ best-of = 10 }` (the largest of ten of one's own) or `{ best-of = { k = 100 } }`
(as many as a round of 100 sends needs).

`lambda`, `v` and `alpha` may be `\"auto\"`: they are then chosen in every round by what the rewards show, and `status`, the summary of a choice and the report
say what was used. `noise = \"estimated\"` makes `v` a multiple of the rewards' noise, with wider draws while little is known.
";

/// An example that uses most of what there is.
const WHOLE: &str = include_str!("whole.toml");

/// The sections of the page of all keys, in Markdown.
#[must_use]
pub fn page() -> String {
    let mut page = String::new();
    for section in &SECTIONS {
        let title = if section.name.is_empty() { "The campaign" } else { section.name };
        let _ = write!(page, "\n## {title}\n\n");
        if !section.intro.is_empty() {
            let _ = write!(page, "{}\n\n", section.intro);
        }
        page += "| key | type | default | values | example | what it says |\n|---|---|---|---|---|---|\n";
        for Key { name, kind, default, range, example, text } in section.keys {
            let default = if is_word(default) { (*default).to_owned() } else { format!("`{default}`") };
            let _ = writeln!(page, "| `{name}` | {kind} | {default} | {range} | `{example}` | {text} |");
        }
        if !section.outro.is_empty() {
            let _ = write!(page, "\n{}\n", section.outro);
        }
    }
    let _ = write!(page, "\n## algorithm\n\n{ALGORITHM}\n");
    page += "| name | parameters | how it explores |\n|---|---|---|\n";
    for (name, parameters, about) in algorithms() {
        let _ = writeln!(page, "| `{name}` | `{parameters}` | {about} |");
    }
    let _ = write!(page, "\n## A whole example\n\n```toml title=\"campaign.toml\"\n{WHOLE}```\n");
    page
}

/// Whether a default is a word about it instead of a value.
fn is_word(default: &str) -> bool {
    matches!(default, "required" | "none")
}

/// Name, parameters with their defaults, and how it explores.
fn algorithms() -> impl Iterator<Item = (&'static str, String, &'static str)> {
    // Those that take one arm after another are not for campaigns.
    Algorithm::ALL.iter().filter(|algorithm| !algorithm.in_turn).map(|algorithm| {
        let numbers = algorithm.parameters.iter().map(|one| format!("{} = {}", one.name, one.default));
        let switches = algorithm.switches.iter().map(|one| format!("{} = {:?}", one.name, one.default));
        (algorithm.name, numbers.chain(switches).collect::<Vec<_>>().join(", "), algorithm.about)
    })
}

/// The full name of a key.
fn full(section: &Section, key: &Key) -> String {
    if section.name.is_empty() { key.name.to_owned() } else { format!("{}.{}", section.name, key.name) }
}

/// What a key says, for people: `limits.rest`, or `rest` alone; a whole section by its name.
///
/// # Errors
/// [`Error::NotFound`] for a name that no key has, with those that are alike.
pub fn explain(name: &str) -> Result<String, Error> {
    let all = || SECTIONS.iter().flat_map(|section| section.keys.iter().map(move |key| (section, key)));
    let mut text = String::new();
    for (section, key) in all().filter(|(section, key)| full(section, key) == name || key.name == name) {
        let Key { kind, default, range, example, text: says, .. } = key;
        let _ = write!(text, "{}: {}\n  type     {kind}\n", full(section, key), plain(says));
        if !range.is_empty() {
            let _ = writeln!(text, "  values   {}", plain(range));
        }
        let _ = writeln!(text, "  default  {default}");
        let header = if section.header.is_empty() { String::new() } else { format!("{}\n           ", section.header) };
        let _ = writeln!(text, "  example  {header}{} = {example}", key.name);
    }
    for section in SECTIONS.iter().filter(|section| section.name == name && !name.is_empty()) {
        let _ = writeln!(text, "the keys of {}:", section.header);
        section.keys.iter().for_each(|key| listed(&mut text, key.name, key));
    }
    if name == "algorithm" {
        text += "the algorithms:\n";
        for (name, parameters, about) in algorithms() {
            let _ = writeln!(text, "  {name:<14} {about}; {parameters}");
        }
    }
    if !text.is_empty() {
        return Ok(text);
    }
    let alike: Vec<String> =
        all().map(|(section, key)| full(section, key)).filter(|full| full.contains(name.trim())).collect();
    let hint = if alike.is_empty() { String::new() } else { format!("; there are {}", alike.join(", ")) };
    Err(Error::NotFound { what: "key", name: format!("{name:?}"), hint })
}

/// All keys, one to a line.
#[must_use]
pub fn overview() -> String {
    let mut text = String::new();
    for section in &SECTIONS {
        if !section.header.is_empty() {
            let _ = writeln!(text, "\n{}", section.header);
        }
        section.keys.iter().for_each(|key| listed(&mut text, key.name, key));
    }
    text
}

fn listed(text: &mut String, name: &str, key: &Key) {
    let _ = writeln!(text, "  {name:<14} {}", plain(key.text));
}

/// A text of the page without its marks.
fn plain(text: &str) -> String {
    let text = text.split(", see [below]").next().unwrap_or(text);
    text.replace('`', "")
}
