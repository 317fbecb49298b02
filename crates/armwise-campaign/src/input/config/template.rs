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

/// What the columns of a table look like, judged by its first rows: features, and columns left out with the reason.
///
/// # Errors
/// [`Error::Table`] for a table that cannot be read or has no rows.
pub fn guess(table: &dyn Source, own: &BTreeSet<String>) -> Result<(Vec<FeatureColumn>, LeftOut), Error> {
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
    let (mut features, mut left_out) = (Vec::new(), Vec::new());
    for ((name, kind), seen) in columns.into_iter().zip(seen) {
        match seen.judge(kind) {
            Ok((kind, missing)) => features.push(FeatureColumn { name, kind, missing, max_levels: 50 }),
            Err(reason) => left_out.push((name, reason)),
        }
    }
    Ok((features, left_out))
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
}

impl Seen {
    fn look(&mut self, rows: &Rows, name: &str, kind: ColumnType) -> Result<(), Error> {
        match kind {
            ColumnType::Number => self.missing |= rows.numbers(name)?.iter().any(|number| number.is_nan()),
            ColumnType::Vector | ColumnType::Other => {}
            ColumnType::Text | ColumnType::Flag => rows.each_text(name, |_, text| {
                match text {
                    None => self.missing = true,
                    Some(text) => {
                        self.words |= rows.parsed(text) == Parsed::Not;
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

    fn judge(&self, kind: ColumnType) -> Result<(Kind, MissingRule), String> {
        let or = |rule| if self.missing { rule } else { MissingRule::Error };
        match kind {
            ColumnType::Number => Ok((Kind::Numeric, or(MissingRule::Mean))),
            ColumnType::Vector => Ok((Kind::Vector, MissingRule::Error)),
            ColumnType::Other => Err("its type is not supported".to_owned()),
            ColumnType::Text | ColumnType::Flag => match (self.texts.len(), self.words) {
                (0, _) => Err("its first rows are all empty".to_owned()),
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

/// The configuration as TOML with comments.
#[must_use]
pub fn template(config: &Config, left_out: &[(String, String)]) -> String {
    let mut text = String::new();
    let missing = |rule| match rule {
        MissingRule::Error => "error",
        MissingRule::Mean => "mean",
        MissingRule::Zero => "zero",
    };
    let _ = writeln!(
        text,
        "# A campaign's rules. They are frozen in the campaign's file when it begins.\n\
         customer = {}          # the column with the customer's id\n\
         seed = {}                     # of all draws\n\
         # segment = \"region\"          # a column by which summaries are split\n\n\
         [algorithm]                  # {}\n\
         name = \"arm-wise-ts\"\n\
         lambda = 1.0\n\
         v = 0.1                      # how wide the draws are: a larger v explores more\n\n\
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
         # max = 500",
        quoted(&config.customer),
        config.seed,
        armwise::Algorithm::NAMES.join(", "),
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
    for column in &config.features.column {
        let kind = match column.kind {
            Kind::Numeric => "numeric",
            Kind::Categorical => "categorical",
            Kind::Vector => "vector",
        };
        let _ = writeln!(
            text,
            "\n[[features.column]]\nname = {}\nkind = \"{kind}\"\nmissing = \"{}\"",
            quoted(&column.name),
            missing(column.missing)
        );
    }
    for (name, reason) in left_out {
        let _ = writeln!(text, "\n# {} is left out: {reason}.", quoted(name));
    }
    text += &tables(&config.tables);
    text
}
