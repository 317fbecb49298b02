//! Campaigns: the commands of `armwise-campaign`, on tables by path or in memory.
//!
//! Nothing is held between calls. Each opens the campaign's file anew, so the file's lock is taken only while something
//! is written, and a notebook that stays open keeps nobody out.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
};

use armwise::{Algorithm, evaluate::Confidence, tasks::with_rayon};
use armwise_campaign::{
    Campaign as Core, Error, Memory, Source,
    advise::{AdviseOptions, advise},
    complete,
    config::{Config, explain as explain_key, overview, template},
    core::{self, Feedback, Key, LearnOptions, Refusal, SavedLearner, hold_out, results, sends, status, why},
    evaluate::{self, Tables},
    init_from,
    output::{Existing, Pending, Protected},
    report::{html, report},
    round::{ChooseOptions, choose},
    store::sqlite::{backup, verify},
    table::{Format, Sheet as Written, Table, TableRules},
};
use arrow_array::RecordBatch;
use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    intern,
    prelude::*,
    types::PyCapsule,
};
use serde::Serialize;

use crate::{
    bridge,
    elsewhere::Far,
    errors::{bad_json, plain, raise as raise_library},
    gate,
};

/// Computes without the interpreter's lock; a forked process has threads of its own for it.
fn detach<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> R {
    gate::detach(py, || with_rayon(work))
}

/// The class of `armwise.campaign` that an error is raised as.
fn class_of(error: &Error) -> &'static str {
    match error {
        Error::NotFound { .. } | Error::NoCampaign { .. } | Error::NeverChosen { .. } => "NotFoundError",
        Error::Refused(
            Refusal::BadRound(_)
            | Refusal::BadKey(_)
            | Refusal::BadWorth(_)
            | Refusal::BadSegment(_)
            | Refusal::TooManyDecisions(_),
        ) => "InputError",
        Error::Exists { .. }
        | Error::HeadMoved { .. }
        | Error::KeyUsed { .. }
        | Error::NothingToEvaluate { .. }
        | Error::NoAnswers
        | Error::Refused(_) => "ConflictError",
        Error::Storage { .. }
        | Error::DiskFull { .. }
        | Error::Damaged { .. }
        | Error::OldSchema { .. }
        | Error::Linked { .. }
        | Error::NotWrittenOut { .. } => "StorageError",
        Error::Locked { .. } => "LockedError",
        _ => "InputError",
    }
}

pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    if let Error::Library(error) = error {
        return raise_library(py, error);
    }
    let class = py.import(intern!(py, "armwise.campaign")).and_then(|module| module.getattr(class_of(error)));
    match class.and_then(|class| class.call1((error.to_string(),))) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// How a table in a file is read: format, separator, decimal, encoding and sheet, as far as they are given.
type Reading = [Option<String>; 5];

/// A table by path, with how it is to be read, or one in memory or on other machines.
enum Given {
    File(Box<Table>, TableRules),
    Rows(Box<dyn Source + Send>),
}

impl Given {
    /// Rows by path, or of anything that exports an Arrow stream.
    fn new(table: &Bound<'_, PyAny>, reading: Reading) -> PyResult<Self> {
        let py = table.py();
        if table.hasattr(intern!(py, "__armwise_elsewhere__"))? {
            return Ok(Self::Rows(Box::new(Far::new(table)?)));
        }
        if table.hasattr(intern!(py, "__arrow_c_stream__"))? {
            let names = ["format", "separator", "decimal", "encoding", "sheet"];
            if let Some((name, _)) = names.iter().zip(&reading).find(|(_, value)| value.is_some()) {
                return Err(PyValueError::new_err(format!(
                    "{name} is for tables in files; a table in memory has none"
                )));
            }
            let memory = Memory::new("the table", bridge::read(table)?).map_err(|error| raise(py, &error))?;
            return Ok(Self::Rows(Box::new(memory)));
        }
        let [format, separator, decimal, encoding, sheet] = reading;
        let path: PathBuf = table.extract()?;
        let format: Option<Format> = word(format)?;
        let rules = TableRules {
            separator: word(separator)?,
            decimal: word(decimal)?,
            encoding: word(encoding)?,
            sheet,
            ..TableRules::default()
        };
        let table = Table::open(&path, format).map_err(|error| raise(py, &error))?;
        Ok(Self::File(Box::new(table), rules))
    }

    /// The rows, read as was said here or else by the campaign's rules.
    fn rows(self, rules: &TableRules) -> Box<dyn Source + Send> {
        match self {
            Self::File(table, own) => Box::new(table.with(own.or(rules))),
            Self::Rows(rows) => rows,
        }
    }

    /// What was said here about how to read it.
    fn own(&self) -> TableRules {
        if let Self::File(_, own) = self { own.clone() } else { TableRules::default() }
    }
}

/// A folder or a file with the tables of past rounds, or a table for each of some rounds.
type PastTables<'py> = (Option<PathBuf>, Vec<(u64, Bound<'py, PyAny>)>);

/// The tables of past rounds, as they were given.
enum Past {
    None,
    At(PathBuf),
    Each(Vec<(u64, Given)>),
}

impl Past {
    fn new(tables: Option<PastTables<'_>>, reading: &Reading) -> PyResult<Self> {
        Ok(match tables {
            None => Self::None,
            Some((Some(path), _)) => Self::At(path),
            Some((None, each)) => {
                let each = each.into_iter().map(|(round, table)| {
                    let in_memory = table.hasattr(intern!(table.py(), "__arrow_c_stream__"))?;
                    let reading = if in_memory { Reading::default() } else { reading.clone() };
                    Ok((round, Given::new(&table, reading)?))
                });
                Self::Each(each.collect::<PyResult<_>>()?)
            }
        })
    }

    fn tables(self, rules: &TableRules) -> Result<Tables<'static>, Error> {
        Ok(match self {
            Self::None => Tables::None,
            Self::At(path) => Tables::at(&path, rules)?,
            Self::Each(each) => {
                Tables::Each(each.into_iter().map(|(round, table)| (round, table.rows(rules))).collect())
            }
        })
    }
}

/// Algorithms from JSON.
fn algorithms(texts: &[String]) -> PyResult<Vec<Algorithm>> {
    let of = |text: &String| serde_json::from_str(text).map_err(|error| bad_json("a policy", error));
    texts.iter().map(of).collect()
}

fn word<T: FromStr<Err = String>>(text: Option<String>) -> PyResult<Option<T>> {
    text.map(|text| text.parse()).transpose().map_err(PyValueError::new_err)
}

/// The caller's own name for a request.
fn named(py: Python<'_>, key: Option<&str>) -> PyResult<Option<Key>> {
    key.map(Key::new).transpose().map_err(|error| raise(py, &error))
}

/// A small table that a command gave.
#[pyclass(frozen)]
pub(crate) struct Sheet {
    sheet: Written,
    batch: RecordBatch,
}

impl Sheet {
    fn new(sheet: Written) -> PyResult<Self> {
        let batch = sheet.batch().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok(Self { sheet, batch })
    }
}

#[pymethods]
impl Sheet {
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn export<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        bridge::write(py, self.batch.clone())
    }

    /// Writes a file, CSV, xlsx or Parquet by the extension, which gets its name when it is complete.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let written = detach(py, || self.sheet.write(&path)?.publish());
        written.map_err(|error| raise(py, &error))
    }
}

/// What a command gave, as dictionaries and lists, and a table.
type WithSheet<'py> = (Bound<'py, PyAny>, Sheet);

/// What a key of the rules says; all keys without a name.
#[pyfunction]
#[pyo3(signature = (key=None))]
pub(crate) fn explain(py: Python<'_>, key: Option<&str>) -> PyResult<String> {
    key.map_or_else(|| Ok(overview()), |key| explain_key(key).map_err(|error| raise(py, &error)))
}

/// The rules that a table suggests, as TOML with comments, for the promotions that these rules name.
#[pyfunction]
pub(crate) fn draft(
    py: Python<'_>,
    table: &Bound<'_, PyAny>,
    reading: Reading,
    rules: (PathBuf, String),
) -> PyResult<String> {
    let table = Given::new(table, reading)?;
    let drafted = detach(py, || {
        let mut config = Config::parse(&rules.1, &rules.0)?;
        config.tables = table.own().or(&config.tables);
        let table = table.rows(&config.tables);
        let guess = complete(&mut config, &*table)?;
        Ok(template(&config, &guess))
    });
    drafted.map_err(|error| raise(py, &error))
}

/// A campaign's file.
#[pyclass(frozen)]
pub(crate) struct Campaign {
    path: PathBuf,
}

impl Campaign {
    fn call<'py, R: Serialize + Send>(
        &self,
        py: Python<'py>,
        work: impl FnOnce(&Path) -> Result<R, Error> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        plain(py, &detach(py, || work(&self.path)).map_err(|error| raise(py, &error))?)
    }

    fn sheet(&self, py: Python<'_>, work: impl FnOnce(&Core) -> Result<Written, Error> + Send) -> PyResult<Sheet> {
        let made = detach(py, || work(&Core::read(&self.path)?));
        Sheet::new(made.map_err(|error| raise(py, &error))?)
    }
}

#[pymethods]
impl Campaign {
    /// Refuses a file that is not there or cannot be opened.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        detach(py, || Core::read(&path).map(|_| ())).map_err(|error| raise(py, &error))?;
        Ok(Self { path })
    }

    /// Begins a campaign; `rules` is (a name for messages, TOML), `learner` (a name, JSON).
    #[staticmethod]
    fn init<'py>(
        py: Python<'py>,
        path: PathBuf,
        table: &Bound<'py, PyAny>,
        reading: Reading,
        rules: (PathBuf, String),
        learner: Option<(String, String)>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let table = Given::new(table, reading)?;
        let begun = detach(py, || {
            // How the first table is read is kept for those of later weeks.
            let mut config = Config::parse(&rules.1, &rules.0)?;
            config.tables = table.own().or(&config.tables);
            let table = table.rows(&config.tables);
            let learner = learner.map(|(name, text)| SavedLearner::read(&name, &text)).transpose()?;
            Ok(init_from(&path, &*table, config, learner.as_ref())?.1)
        });
        plain(py, &begun.map_err(|error| raise(py, &error))?)
    }

    fn choose<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, PyAny>,
        reading: Reading,
        round: Option<u64>,
        seed: Option<u64>,
        dry_run: bool,
        key: Option<&str>,
        again: bool,
    ) -> PyResult<(Bound<'py, PyAny>, Sheet, Sheet)> {
        let (table, key) = (Given::new(table, reading)?, named(py, key)?);
        let chosen = detach(py, || {
            let mut campaign = if dry_run { Core::read(&self.path)? } else { Core::write(&self.path, "choose")? };
            let table = table.rows(&campaign.config().tables);
            let options = ChooseOptions { round, seed, key, again: again || dry_run };
            let choice = choose(&campaign, &*table, options, &|_| ())?;
            let sheets = (sends(campaign.tag(), &choice.sent), hold_out(campaign.tag(), &choice.sent));
            let summary = if dry_run { choice.summary } else { choice.commit(&mut campaign, None)? };
            Ok((summary, sheets))
        });
        let (summary, (sent, held)) = chosen.map_err(|error| raise(py, &error))?;
        Ok((plain(py, &summary)?, Sheet::new(sent)?, Sheet::new(held)?))
    }

    /// `kind` is "learn", "logged", "correct" or "undelivered"; `worth` is for a list of responders; `columns` are the customer's,
    /// the reward's and that of examined.
    fn learn<'py>(
        &self,
        py: Python<'py>,
        kind: &str,
        table: &Bound<'py, PyAny>,
        reading: Reading,
        round: Option<u64>,
        worth: Option<f64>,
        columns: [Option<String>; 3],
        key: Option<&str>,
    ) -> PyResult<WithSheet<'py>> {
        let (feedback, writer) = match (kind, worth) {
            ("learn", Some(worth)) => (Feedback::Responders { worth }, "learn"),
            ("correct", _) => (Feedback::Corrections, "correct"),
            ("undelivered", _) => (Feedback::Undelivered, "undelivered"),
            _ => (Feedback::Rewards, "learn"),
        };
        let (table, key) = (Given::new(table, reading)?, named(py, key)?);
        let [customer_column, reward_column, examined_column] = columns;
        let options = LearnOptions { round, key, customer_column, reward_column, examined_column };
        let learned = detach(py, || {
            let mut campaign = Core::write(&self.path, writer)?;
            let table = table.rows(&campaign.config().tables);
            if kind == "logged" {
                return core::learn_logged(&mut campaign, &*table, options.key.as_ref());
            }
            core::learn_with(&mut campaign, &*table, feedback, &options)
        });
        let (learned, rejects) = learned.map_err(|error| raise(py, &error))?;
        Ok((plain(py, &learned)?, Sheet::new(rejects)?))
    }

    fn close<'py>(&self, py: Python<'py>, round: u64, key: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        let key = named(py, key)?;
        self.call(py, |path| core::close(&mut Core::write(path, "close")?, round, key.as_ref()))
    }

    fn revoke<'py>(&self, py: Python<'py>, round: u64, key: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        let key = named(py, key)?;
        self.call(py, |path| core::revoke(&mut Core::write(path, "revoke")?, round, key.as_ref()))
    }

    fn amend<'py>(&self, py: Python<'py>, rules: (PathBuf, String), key: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        let key = named(py, key)?;
        self.call(py, |path| {
            let config = Config::parse(&rules.1, &rules.0)?;
            core::amend(&mut Core::write(path, "amend")?, config, key.as_ref())
        })
    }

    fn refit<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, PyAny>,
        reading: Reading,
        rules: (PathBuf, String),
        key: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (table, key) = (Given::new(table, reading)?, named(py, key)?);
        self.call(py, |path| {
            let config = Config::parse(&rules.1, &rules.0)?;
            let table = table.rows(&config.tables);
            core::refit(&mut Core::write(path, "refit")?, &*table, config, key.as_ref())
        })
    }

    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.call(py, |path| status(&Core::read(path)?))
    }

    fn why<'py>(
        &self,
        py: Python<'py>,
        customer: &str,
        round: Option<u64>,
        table: Option<&Bound<'py, PyAny>>,
        reading: Reading,
    ) -> PyResult<Bound<'py, PyAny>> {
        let table = table.map(|table| Given::new(table, reading)).transpose()?;
        self.call(py, |path| {
            let campaign = Core::read(path)?;
            let table = table.map(|table| table.rows(&campaign.config().tables));
            why(&campaign, customer, round, table.as_ref().map(|table| &**table as &dyn Source))
        })
    }

    /// The report as data; the page is written if there is a path for it.
    fn report<'py>(&self, py: Python<'py>, page: Option<PathBuf>) -> PyResult<Bound<'py, PyAny>> {
        self.call(py, |path| {
            let protected = Protected::campaign(path);
            let page = page.map(|page| Pending::begin(&page, Existing::Replace, &protected)).transpose()?;
            let made = report(&Core::read(path)?)?;
            if let Some(mut page) = page {
                page.write(html(&made).as_bytes())?;
                page.publish()?;
            }
            Ok(made)
        })
    }

    /// `policies` are algorithms as JSON; `tables` a path, or tables by round.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        policies: Vec<String>,
        tables: Option<PastTables<'py>>,
        reading: Reading,
        level: f64,
        page: Option<PathBuf>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (policies, tables) = (algorithms(&policies)?, Past::new(tables, &reading)?);
        self.call(py, |path| {
            let protected = Protected::campaign(path);
            let page = page.map(|page| Pending::begin(&page, Existing::Replace, &protected)).transpose()?;
            let campaign = Core::read(path)?;
            let confidence = Confidence { level, ..Confidence::default() };
            let tables = tables.tables(&campaign.config().tables)?;
            let made = evaluate::evaluate(&campaign, &policies, &tables, &confidence)?;
            if let Some(mut page) = page {
                page.write(evaluate::html(&made).as_bytes())?;
                page.publish()?;
            }
            Ok(made)
        })
    }

    /// As `evaluate`, of candidates that compete for so many rounds in so many worlds.
    fn advise<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, PyAny>,
        reading: Reading,
        candidates: Vec<String>,
        tables: Option<PastTables<'py>>,
        rounds: u64,
        trials: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (candidates, past) = (algorithms(&candidates)?, Past::new(tables, &reading)?);
        let table = Given::new(table, reading)?;
        self.call(py, |path| {
            let campaign = Core::read(path)?;
            let table = table.rows(&campaign.config().tables);
            let options = AdviseOptions { candidates, rounds, trials };
            advise(&campaign, &*table, &options, &past.tables(&campaign.config().tables)?)
        })
    }

    fn verify<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.call(py, verify)
    }

    fn backup<'py>(&self, py: Python<'py>, to: PathBuf) -> PyResult<Bound<'py, PyAny>> {
        self.call(py, |path| backup(path, &to))
    }

    fn sends(&self, py: Python<'_>, round: u64) -> PyResult<Sheet> {
        self.sheet(py, |campaign| Ok(sends(campaign.tag(), &campaign.sent(round)?)))
    }

    fn hold_out(&self, py: Python<'_>, round: u64) -> PyResult<Sheet> {
        self.sheet(py, |campaign| Ok(hold_out(campaign.tag(), &campaign.sent(round)?)))
    }

    fn results(&self, py: Python<'_>, round: Option<u64>) -> PyResult<Sheet> {
        self.sheet(py, |campaign| results(campaign, round))
    }

    fn logged(&self, py: Python<'_>) -> PyResult<Sheet> {
        self.sheet(py, core::logged)
    }

    /// The learner as JSON.
    fn learner(&self, py: Python<'_>) -> PyResult<String> {
        detach(py, || Core::read(&self.path)?.saved_learner()).map_err(|error| raise(py, &error))
    }
}
