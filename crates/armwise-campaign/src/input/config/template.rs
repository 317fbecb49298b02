//! A commented campaign.toml for a table: a start for an analyst who has none.
//!
//! The features are guessed. The text says what every column was taken for, and why a column was left out, so that the
//! analyst corrects instead of writing. The guess sees the first 65,536 rows, however they are cut into batches.

use super::{Config, FeatureColumn, Kind, MissingRule};
use crate::{
    Error,
    input::Source,
    table::{BATCH, ColumnType, Parsed, Rows, TableRules, column_named},
};
use armwise::id_of;
use std::{collections::BTreeSet, fmt::Write};

/// Columns that are not used, with the reason.
pub type LeftOut = Vec<(String, String)>;

/// What the columns of a table look like.
#[derive(Debug, Clone, Default)]
pub struct Guess {
    /// Columns that become features.
    pub columns: Vec<FeatureColumn>,
    /// The others, with the reason.
    pub left_out: LeftOut,
    /// Those of the others that can be features if they are known before a send, which only the analyst knows.
    pub asked: Vec<FeatureColumn>,
}

/// What the columns of a table look like, judged by its first rows and by their names.
///
/// # Errors
/// [`Error::Table`] for a table that cannot be read or has no rows.
pub fn guess(table: &dyn Source, own: &BTreeSet<String>) -> Result<Guess, Error> {
    let mut columns = table.columns()?;
    // The rules may write a name in another case than the table.
    let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
    let found = |name: &String| column_named(names.iter().map(String::as_str), name).ok().flatten();
    let own: BTreeSet<&String> = own.iter().filter_map(found).map(|place| &names[place]).collect();
    columns.retain(|(name, _)| !own.contains(name));
    let mut seen: Vec<Seen> = columns.iter().map(|_| Seen::default()).collect();
    let mut left = BATCH;
    for rows in table.batches(None)? {
        let rows = rows?.piece(0, left);
        for ((name, kind), seen) in columns.iter().zip(&mut seen) {
            seen.look(&rows, name, *kind)?;
        }
        left -= rows.len();
        if left == 0 {
            break;
        }
    }
    if left == BATCH {
        return Err(Error::table(table.name(), "the table has no rows"));
    }
    let mut guess = Guess::default();
    for ((name, kind), seen) in columns.into_iter().zip(seen) {
        match seen.judge(&name, kind) {
            Ok((kind, missing)) => {
                let column = FeatureColumn { missing, ..FeatureColumn::new(&name, kind) };
                if is_outcome(&name) {
                    guess.left_out.push((name, OUTCOME.to_owned()));
                    guess.asked.push(column);
                } else {
                    guess.columns.push(column);
                }
            }
            Err(reason) => guess.left_out.push((name, reason)),
        }
    }
    Ok(guess)
}

/// Why a column is asked about.
const OUTCOME: &str =
    "it looks like an outcome, which nobody knows before a send; list it as a feature only if it is known then";

/// Words in the name of a column that tell what came of a send.
const OUTCOMES: [&str; 28] = [
    "visit",
    "visited",
    "conversion",
    "conversions",
    "converted",
    "convert",
    "spend",
    "spent",
    "purchase",
    "purchased",
    "bought",
    "response",
    "responded",
    "respond",
    "responder",
    "reward",
    "rewards",
    "outcome",
    "outcomes",
    "click",
    "clicked",
    "opened",
    "redeemed",
    "churned",
    "revenue",
    "target",
    "label",
    "y",
];

/// Words with which such a name speaks of the past, which is known.
const PAST: [&str; 14] = [
    "last",
    "past",
    "prior",
    "previous",
    "prev",
    "since",
    "before",
    "history",
    "historical",
    "recency",
    "days",
    "months",
    "avg",
    "lag",
];

/// Words in the name of a column whose numbers are codes: nobody is twice as far as somebody with half the postcode.
const CODES: [&str; 8] = ["zip", "zipcode", "postcode", "postalcode", "postal", "plz", "postleitzahl", "code"];

/// The words of a name, small: `lastPurchase` and `last_purchase` are the same.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in name.chars() {
        let starts = !letter.is_alphanumeric() || letter.is_uppercase() && before.is_lowercase();
        if starts && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (letter.is_alphanumeric(), words.last_mut()) {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words
}

fn has_word(name: &str, known: &[&str]) -> bool {
    words(name).iter().any(|word| known.contains(&word.as_str()))
}

/// Whether the name of a column looks like what came of a send.
fn is_outcome(name: &str) -> bool {
    has_word(name, &OUTCOMES) && !has_word(name, &PAST)
}

/// More different texts than this are not counted.
const TEXTS: usize = 200;

/// What was seen of a column.
#[derive(Default)]
struct Seen {
    missing: bool,
    /// A text that is not written as a number. "nan" is: reading it says what to do about it.
    words: bool,
    /// The hashes of different texts.
    texts: BTreeSet<u64>,
    /// The least and the largest number.
    range: Option<(f64, f64)>,
    /// A number that is not whole.
    fraction: Option<f64>,
    /// A number that begins with a zero in front of another digit is a code.
    code: bool,
}

impl Seen {
    fn look(&mut self, rows: &Rows, name: &str, kind: ColumnType) -> Result<(), Error> {
        match kind {
            ColumnType::Number => rows.numbers(name)?.into_iter().for_each(|number| self.number(number)),
            ColumnType::Vector | ColumnType::Other => {}
            ColumnType::Text | ColumnType::Flag => rows.each_text(name, |_, text| {
                match text {
                    None => self.missing = true,
                    Some(text) => {
                        let text = text.trim();
                        match rows.parsed(text) {
                            Parsed::Number(number) => self.number(number),
                            Parsed::Not => self.words = true,
                            // Reading it says what to do about it.
                            Parsed::NotFinite | Parsed::OtherMark | Parsed::Ambiguous => {}
                        }
                        let mut letters = text.chars();
                        self.code |= letters.next() == Some('0') && letters.next().is_some_and(|c| c.is_ascii_digit());
                        if self.texts.len() <= TEXTS {
                            self.texts.insert(id_of(text));
                        }
                    }
                }
                Ok(())
            })?,
        }
        Ok(())
    }

    fn number(&mut self, number: f64) {
        if number.is_nan() {
            self.missing = true;
            return;
        }
        let (least, largest) = self.range.unwrap_or((number, number));
        self.range = Some((least.min(number), largest.max(number)));
        self.fraction = self.fraction.or(Some(number).filter(|number| number.fract() != 0.0));
    }

    /// Whether the numbers stand for something that cannot be added up: yes and no, or codes.
    fn stands_for(&self, name: &str) -> bool {
        let flags = self.range.is_some_and(|range| range == (0.0, 1.0));
        self.fraction.is_none() && (flags || self.code || has_word(name, &CODES))
    }

    fn judge(&self, name: &str, kind: ColumnType) -> Result<(Kind, MissingRule), String> {
        let or = |rule| if self.missing { rule } else { MissingRule::Error };
        match kind {
            ColumnType::Number if self.stands_for(name) => Ok((Kind::Categorical, or(MissingRule::Zero))),
            ColumnType::Number => Ok((Kind::Numeric, or(MissingRule::Mean))),
            ColumnType::Vector => Ok((Kind::Vector, MissingRule::Error)),
            ColumnType::Other => Err("its type is not supported".to_owned()),
            ColumnType::Text | ColumnType::Flag => match (self.texts.len(), self.words) {
                (0, _) => Err("its first rows are all empty".to_owned()),
                (_, false) if self.stands_for(name) => Ok((Kind::Categorical, or(MissingRule::Zero))),
                (_, false) => Ok((Kind::Numeric, or(MissingRule::Mean))),
                (1..=TEXTS, true) => Ok((Kind::Categorical, or(MissingRule::Zero))),
                _ => Err(format!("it has more than {TEXTS} different values")),
            },
        }
    }
}

/// A text in quotes, as TOML has it: JSON's way, with every control character written out.
#[must_use]
pub fn quoted(text: &str) -> String {
    let json = serde_json::to_string(text).unwrap_or_default();
    json.chars().map(|c| if c.is_control() { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() }).collect()
}

/// How tables are read, as TOML; what is left to be detected is a comment.
fn tables(rules: &TableRules) -> String {
    let mut text =
        "\n[tables]                     # how tables are read, where a file does not tell by itself\n".to_owned();
    let said = serde_json::to_value(rules).unwrap_or_default();
    for (key, example, what) in [
        ("separator", ";", "of columns in text: \",\" or \";\" or \"tab\""),
        ("decimal", ",", "the decimal mark of numbers in text"),
        ("encoding", "latin-1", "of text that is not UTF-8"),
        ("sheet", "Customers", "of a workbook with several"),
        ("customer_column", "customer_id", "of responses, if it has another name there"),
        ("reward_column", "revenue", "of responses, if it is not \"reward\""),
        ("examined_column", "seen", "of responses, if it is not \"examined\""),
    ] {
        let (off, value) = match said.get(key).and_then(serde_json::Value::as_str) {
            Some(value) => ("", value),
            None => ("# ", example),
        };
        let line = format!("{off}{key} = {}", quoted(value));
        let _ = writeln!(text, "{line:<28} # {what}");
    }
    text
}

/// The algorithm of rules that are written for a table, as in TOML; [`template`] has the same, line by line.
pub const AUTOMATIC: &str = "{ name = \"arm-wise-ts\", lambda = \"auto\", v = \"auto\" }";

/// The configuration as TOML with comments, and with questions about columns that only the analyst can answer.
#[must_use]
pub fn template(config: &Config, guess: &Guess) -> String {
    let Guess { left_out, asked, .. } = guess;
    let mut text = String::new();
    let missing = |rule| match rule {
        MissingRule::Error => "error",
        MissingRule::Mean => "mean",
        MissingRule::Zero => "zero",
    };
    let _ = writeln!(
        text,
        "# A campaign's rules. They are frozen in the campaign's file when it begins, and can be amended later.\n\
         customer = {}          # the column with the customer's id\n\
         seed = {}                     # of all draws\n\
         # segment = \"region\"          # a column by which summaries are split\n\n\
         [algorithm]                  # {}\n\
         name = \"arm-wise-ts\"\n\
         lambda = \"auto\"              # how far estimates are drawn to 0, chosen in every round by what the rewards show\n\
         v = \"auto\"                   # how wide the draws are, chosen likewise; or a number: a larger one explores more\n\n\
         [reward]\n\
         default = 0.0                # the reward of no answer, when a round is closed\n\
         # min = 0.0                  # rewards outside min and max are refused\n\
         # max = 1.0\n\n\
         [limits]\n\
         per_customer = {}             # promotions for a customer in a round\n\
         # budget = 1000.0            # what all sends of a round may cost\n\
         # cost = \"postage\"           # a column with the cost per customer, added to the promotion's\n\
         # rest = 2                   # for how many rounds a customer rests after a send\n\
         # hold_out = 0.05            # the share of customers never contacted, to measure uplift\n\
         # on_infeasible = \"fill\"     # send fewer where quotas cannot be met, instead of an error\n\
         # [[limits.group]]           # sends to customers with a value in a column\n\
         # column = \"region\"\n\
         # value = \"north\"\n\
         # min = 10\n\
         # max = 500\n\n\
         # [uplift]\n\
         # silence = \"default\"        # no answer counts as the default reward for the hold-out too\n\
         # answered_share = 0.9       # the least share of the hold-out with an outcome, or there is no uplift",
        quoted(&config.customer),
        config.seed,
        armwise::Algorithm::ALL.iter().filter(|of| !of.in_turn).map(|of| of.name).collect::<Vec<_>>().join(", "),
        config.limits.per_customer,
    );
    for promotion in &config.promotion {
        let quota = serde_json::to_value(promotion.quota).unwrap_or_default();
        let quota = if quota.is_number() { quota.to_string() } else { "500".to_owned() };
        let _ = writeln!(
            text,
            "\n[[promotion]]\nname = {}\nquota = {quota}                  # exactly this many; {{ max = 500 }} for at most\n\
             # cost = 1.0\n# eligible = \"may_call\"       # a column that says who may get it",
            quoted(&promotion.name)
        );
    }
    let _ = writeln!(text, "\n[features]\nbias = true");
    let lines = |column: &FeatureColumn, mark: &str| {
        let (name, kind, missing) = (quoted(&column.name), column.kind.name(), missing(column.missing));
        format!(
            "{mark}[[features.column]]\n{mark}name = {name}\n{mark}kind = \"{kind}\"\n{mark}missing = \"{missing}\"\n"
        )
    };
    for column in &config.features.column {
        let _ = write!(text, "\n{}", lines(column, ""));
    }
    for column in asked {
        let name = quoted(&column.name);
        let _ = write!(
            text,
            "\n# Is {name} known before a send? It looks like an outcome, so it is left out. If it is known, take it in:\n{}",
            lines(column, "# ")
        );
    }
    for (name, reason) in left_out.iter().filter(|(name, _)| !asked.iter().any(|column| column.name == *name)) {
        let _ = writeln!(text, "\n# {} is left out: {reason}.", quoted(name));
    }
    text += &tables(&config.tables);
    text
}
