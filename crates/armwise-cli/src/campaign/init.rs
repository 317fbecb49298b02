//! `armwise init`.
//!
//! Without `--config` a commented campaign.toml is written beside the campaign. With promotions on the command line the
//! campaign begins at once; without, or with `--draft`, the file is all that is written, for the analyst to finish.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use armwise_campaign::{
    Error, Source, complete,
    config::{AUTOMATIC, Config, LeftOut, quoted, template},
    core::SavedLearner,
    init_from,
    output::{Existing, Pending, Protected},
    recipe::Extreme,
    table::TableRules,
};
use clap::Args;
use serde_json::json;

use super::{Campaign, Failure, Reading, print, say, streams};

/// Arguments of `init`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    campaign: Campaign,
    /// A table of customers, on a sample of which the features are fitted.
    #[arg(long, value_name = "TABLE")]
    from: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// The rules, in TOML.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["promotion", "customer", "seed"])]
    config: Option<PathBuf>,
    /// Write campaign.toml as the table suggests it and nothing else, to be read, finished and given with --config.
    #[arg(long, conflicts_with_all = ["config", "learner"])]
    draft: bool,
    /// A promotion and how many customers get it; may be repeated.
    #[arg(long, value_name = "NAME=QUOTA")]
    promotion: Vec<String>,
    /// The column with the customer's id; guessed unless given.
    #[arg(long, value_name = "COLUMN")]
    customer: Option<String>,
    /// The seed of all draws.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Begin with what a saved learner knows, and with its features and their scales: a file of `export learner`, or of
    /// Python's `save` of a campaign's policy.
    #[arg(long, value_name = "FILE")]
    learner: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let path = &arguments.campaign.campaign;
    if path.symlink_metadata().is_ok() {
        return Err(Error::Exists { path: path.clone() }.into());
    }
    let mut table = streams::open(&arguments.from, arguments.reading.format)?;
    let learner = match &arguments.learner {
        Some(file) => Some(SavedLearner::read(&file.display().to_string(), &read(file)?)?),
        None => None,
    };
    let (config, rules) = if let Some(file) = &arguments.config {
        // How the first table is read is kept for those of later weeks.
        let mut config = Config::parse(&read(file)?, file)?;
        config.tables = arguments.reading.or(&config.tables);
        table = table.with(config.tables.clone());
        (config, None)
    } else {
        let tables = arguments.reading.or(&TableRules::default());
        table = table.with(tables.clone());
        let mut config = from_flags(arguments, &table)?;
        config.tables = tables;
        if let Some(learner) = &learner {
            config.features = learner.origin.features.clone();
        }
        let guess = complete(&mut config, &table)?;
        let rules = Rules::write(path.with_file_name("campaign.toml"), &template(&config, &guess), path)?;
        if arguments.draft || arguments.promotion.is_empty() {
            let toml = rules.keep();
            let asked: Vec<&str> = guess.asked.iter().map(|column| column.name.as_str()).collect();
            let value = json!({"config": toml, "campaign": null, "left_out": guess.left_out, "asked": asked});
            print(arguments.campaign.json, &value, String::new);
            left_out(&guess.left_out);
            let what = if arguments.promotion.is_empty() { "name your promotions in it" } else { "read it" };
            say(&format!(
                "{} is written: {what}, then run\n  armwise init {} --from {} --config {}\n",
                toml.display(),
                path.display(),
                arguments.from.display(),
                toml.display()
            ));
            return Ok(0);
        }
        (config, Some(rules))
    };
    let (_, begun) = init_from(path, &table, config, learner.as_ref())?;
    let written = rules.map(Rules::keep);
    let value = json!({"campaign": path, "config": written, "begun": begun});
    print(arguments.campaign.json, &value, String::new);
    if let Some(toml) = &written {
        say(&format!("{} is written: the rules as they were frozen\n", toml.display()));
    }
    say(&format!(
        "{}: {} promotions, {} features, fitted on {} customers\n",
        path.display(),
        begun.promotions.len(),
        begun.features,
        begun.sample
    ));
    left_out(&begun.left_out);
    begun.extremes.iter().for_each(|extreme| say(&warning(extreme)));
    Ok(0)
}

pub(super) fn left_out(columns: &LeftOut) {
    for (column, reason) in columns {
        say(&format!("  column {column:?} is left out: {reason}\n"));
    }
}

/// What is said of a value that hides the others.
pub(super) fn warning(extreme: &Extreme) -> String {
    let Extreme { column, row, value, spread, clipped_to, count } = extreme;
    let first = format!(
        "  warning: column {column:?}, row {row}: {value} is far from the other values, which spread by {spread:.3}"
    );
    let rest = match clipped_to {
        Some(to) => format!(
            "; it counts as {to:.6}, as do the {} others like it. If it stands for a missing value, leave it empty and begin \
             again; clip = false takes it as it is\n",
            count - 1
        ),
        None => "; scaled with it they can hardly be told apart. If it stands for a missing value, leave it empty and begin \
                 again\n"
            .to_owned(),
    };
    first + &rest
}

/// A campaign.toml that was written for a campaign; removed again if the campaign does not begin.
struct Rules {
    path: PathBuf,
    /// Whether this process wrote it and the campaign has not begun yet.
    ours: bool,
}

impl Rules {
    /// Writes the rules. The same text may be there already: from the same command, which was interrupted.
    fn write(path: PathBuf, text: &str, campaign: &Path) -> Result<Self, Failure> {
        let written = Pending::begin(&path, Existing::Keep, &Protected::campaign(campaign)).and_then(|mut file| {
            file.write(text.as_bytes())?;
            file.publish()
        });
        match written {
            Ok(()) => Ok(Self { path, ours: true }),
            Err(Error::Exists { .. }) if std::fs::read(&path).is_ok_and(|found| found == text.as_bytes()) => {
                Ok(Self { path, ours: false })
            }
            Err(Error::Exists { .. }) => Err(Failure::conflict(format!(
                "{} exists already; use it with --config, or move it away",
                path.display()
            ))),
            Err(error) => Err(error.into()),
        }
    }

    /// The file stays.
    fn keep(mut self) -> PathBuf {
        self.ours = false;
        std::mem::take(&mut self.path)
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        if self.ours {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// A file as text.
pub(super) fn read(file: &std::path::Path) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| Failure::io(file, &error))
}

/// The rules that the flags and the table tell.
fn from_flags(arguments: &Arguments, table: &dyn Source) -> Result<Config, Failure> {
    let columns: Vec<String> = table.columns()?.into_iter().map(|(name, _)| name).collect();
    let usual = ["customer", "customer_id", "user_id", "id"];
    let found = usual.into_iter().find(|name| columns.iter().any(|column| column.to_lowercase() == *name));
    let of_table = |name: &str| columns.iter().find(|column| column.to_lowercase() == name).cloned();
    let customer = arguments.customer.clone().or_else(|| found.and_then(of_table));
    let customer = customer.ok_or_else(|| {
        Failure::usage(format!("which column has the customer's id? give --customer; there are {}", columns.join(", ")))
    })?;
    let mut text = format!("customer = {}\nseed = {}\nalgorithm = {AUTOMATIC}\n", quoted(&customer), arguments.seed);
    for promotion in &arguments.promotion {
        let (name, quota) = promotion.split_once('=').unwrap_or((promotion, ""));
        let quota: usize = quota.parse().map_err(|_| {
            Failure::usage(format!("--promotion {promotion}: give a name and a whole number, as in mail=500"))
        })?;
        let _ = write!(text, "[[promotion]]\nname = {}\nquota = {quota}\n", quoted(name));
    }
    if arguments.promotion.is_empty() {
        text += "[[promotion]]\nname = \"mail\"\nquota = 500\n";
    }
    Ok(Config::parse(&text, Path::new("the command line"))?)
}
