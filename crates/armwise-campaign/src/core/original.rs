//! The columns of a decision's row as the table had them.
//!
//! Features are made by a recipe and rounded, so nothing else can be made of them. The values themselves are kept beside
//! the decisions, as text, so that what was learned can be expressed under another recipe. The entry names the columns and
//! vouches for the values by a digest of their own: whoever reads decisions need not read them.

use super::{Campaign, Chosen, Command, DecisionId, Entry, Journal, Logged, Sent, Sha};
use crate::{
    Error,
    input::{Memory, Source},
    recipe::Recipe,
    table::Rows,
};
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// What a decision's row said.
#[derive(Debug, Clone, PartialEq)]
pub struct Original {
    /// The decision.
    pub decision: DecisionId,
    /// A text for each column that the entry names; none where a value is missing.
    pub values: Vec<Option<String>>,
    /// The probability with which it was sent, of a logged row that knows it.
    pub probability: Option<f64>,
}

/// The columns that a round keeps, and their values by decision.
pub type KeptColumns = (Vec<String>, Vec<Original>);

/// Which columns an entry keeps of its decisions, and a hash of what they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Originals {
    /// The columns, in the order of the values.
    pub columns: Vec<String>,
    /// SHA-256 over the values of all decisions.
    pub digest: Sha,
}

impl Originals {
    /// Of these values.
    pub(crate) fn new(columns: Vec<String>, values: &[Original]) -> Self {
        Self { columns, digest: digest(values) }
    }
}

/// The originals that an entry vouches for.
pub(super) fn of_command(command: &Command) -> Option<&Originals> {
    match command {
        Command::Choose(Chosen { originals, .. }) | Command::Logged(Logged { originals, .. }) => originals.as_ref(),
        _ => None,
    }
}

/// SHA-256 over values in their order.
fn digest(originals: &[Original]) -> Sha {
    let mut hash = Sha256::new();
    for Original { decision, values, probability } in originals {
        hash.update(decision.key().to_le_bytes());
        hash.update((values.len() as u64).to_le_bytes());
        for value in values {
            hash.update([u8::from(value.is_some())]);
            let text = value.as_deref().unwrap_or("");
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
        hash.update([u8::from(probability.is_some())]);
        hash.update(probability.unwrap_or(0.0).to_bits().to_le_bytes());
    }
    Sha::finish(hash)
}

/// The values of some rows of a batch, column by column.
pub(crate) fn texts(rows: &Rows, columns: &[String]) -> Result<Vec<Vec<Option<String>>>, Error> {
    columns.iter().map(|column| rows.originals(column)).collect()
}

/// The columns of everybody who was chosen, from tables that have them all.
pub(crate) fn collect(
    tables: &[&dyn Source],
    customer: &str,
    columns: &[String],
    sent: &[Sent],
) -> Result<Vec<Original>, Error> {
    let wanted: HashSet<&str> = sent.iter().map(|sent| sent.customer.as_str()).collect();
    let mut found: HashMap<String, Vec<Option<String>>> = HashMap::with_capacity(wanted.len());
    let mut read = vec![customer.to_owned()];
    read.extend(columns.iter().filter(|column| *column != customer).cloned());
    let mut batches = Vec::new();
    for table in tables {
        batches.push(table.batches(Some(&read))?);
    }
    for rows in batches.into_iter().flatten() {
        let rows = rows?;
        let (mut own, mut chosen) = (Vec::new(), vec![false; rows.len()]);
        rows.each_text(customer, |row, name| {
            if let Some(name) = name.filter(|name| wanted.contains(name)) {
                own.push(name.to_owned());
                chosen[row] = true;
            }
            Ok(())
        })?;
        if own.is_empty() {
            continue;
        }
        let picked = rows.filtered(&chosen)?;
        let mut texts = texts(&picked, columns)?;
        for (place, name) in own.into_iter().enumerate() {
            found.insert(name, texts.iter_mut().map(|texts| texts[place].take()).collect());
        }
    }
    let values = |sent: &Sent| found.get(&sent.customer).cloned().unwrap_or_else(|| vec![None; columns.len()]);
    Ok(sent.iter().map(|sent| Original { decision: sent.id, values: values(sent), probability: None }).collect())
}

/// Whether a journal has the originals that an entry vouches for.
pub(super) fn are_there(journal: &dyn Journal, entry: &Entry, command: &Command) -> Result<bool, Error> {
    let round = entry.round.unwrap_or(0);
    let Some(known) = of_command(command) else { return Ok(true) };
    let found = journal.originals(round)?;
    Ok(found.iter().all(|(seq, _)| *seq == entry.seq) && {
        let found: Vec<Original> = found.into_iter().map(|(_, original)| original).collect();
        digest(&found) == known.digest && found.len() as u64 == entry.rows
    })
}

impl Campaign {
    /// The columns that a round keeps of its decisions, with the values, checked; none if it keeps nothing.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Damaged`].
    pub fn originals(&self, round: u64) -> Result<Option<KeptColumns>, Error> {
        let seq = self.info(round)?.seq;
        let entry = self.journal.entry(seq)?;
        let command = entry.as_ref().and_then(|entry| Some((entry, entry.command().ok()?)));
        let Some((entry, command)) = command.filter(|(entry, _)| entry.seq == seq) else {
            return Err(self.damaged(format!("entry {seq} is not the one that the journal vouches for")));
        };
        let Some(known) = of_command(&command) else { return Ok(None) };
        if !are_there(&*self.journal, entry, &command)? {
            return Err(self.damaged(format!("the original columns of entry {seq} do not have their digest")));
        }
        let values = self.journal.originals(round)?.into_iter().map(|(_, original)| original).collect();
        Ok(Some((known.columns.clone(), values)))
    }

    /// The features of a round's decisions under another recipe.
    pub(super) fn re_expressed(&self, round: u64, recipe: &Recipe) -> Result<Vec<Vec<f64>>, Error> {
        let Some((columns, originals)) = self.originals(round)? else {
            return Err(self.damaged(format!("round {round} keeps no original columns")));
        };
        let texts = columns.iter().enumerate().map(|(place, name)| {
            let texts = originals.iter().map(|original| original.values[place].as_deref());
            (name.as_str(), Arc::new(texts.collect::<StringArray>()) as ArrayRef)
        });
        let needed: Vec<String> = recipe.names().map(str::to_owned).collect();
        let dim = recipe.dim();
        if needed.is_empty() || originals.is_empty() {
            let bias = vec![recipe.scale; dim];
            return Ok(vec![bias; originals.len()]);
        }
        let name = format!("the columns kept of round {round}");
        let batch = RecordBatch::try_from_iter(texts).map_err(|error| Error::unreadable(&name, "", error))?;
        let mut features = Vec::with_capacity(originals.len());
        for rows in Memory::new(&name, vec![batch])?.batches(Some(&needed))? {
            let (x, _) = recipe.apply(&rows?)?;
            features.extend(x.chunks_exact(dim).map(|x| x.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>()));
        }
        Ok(features)
    }
}
