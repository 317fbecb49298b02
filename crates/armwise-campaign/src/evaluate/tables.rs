//! Where the tables of past rounds come from: one for all rounds, one for each, or a folder of files.

use crate::{
    Error,
    input::Source,
    table::{Table, TableRules},
};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// The tables that rounds were chosen from.
pub enum Tables<'a> {
    /// None.
    None,
    /// The same one in every round.
    Same(&'a dyn Source),
    /// One for each of some rounds.
    Each(BTreeMap<u64, Box<dyn Source + Send + 'a>>),
}

impl Tables<'_> {
    /// The tables in a folder: the last number in a file's name is its round, as in `customers-3.csv`. A path to a file is
    /// the table of every round.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Table`] for two files of one round or for a folder without any.
    pub fn at(path: &Path, rules: &TableRules) -> Result<Tables<'static>, Error> {
        let open = |path: &Path| Ok::<_, Error>(Box::new(Table::open(path, None)?.with(rules.clone())));
        if !path.exists() {
            let (name, hint) = (path.display().to_string(), String::new());
            return Err(Error::NotFound { what: "the folder or file", name, hint });
        }
        if !path.is_dir() {
            return Ok(Tables::Each(BTreeMap::from([(EVERY, open(path)? as Box<dyn Source + Send>)])));
        }
        let name = path.display().to_string();
        let entries = fs::read_dir(path).map_err(|error| Error::io(path, error))?;
        let mut files: Vec<PathBuf> =
            entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).filter(|path| path.is_file()).collect();
        files.sort();
        let mut tables: BTreeMap<u64, Box<dyn Source + Send>> = BTreeMap::new();
        let mut names: BTreeMap<u64, PathBuf> = BTreeMap::new();
        for file in files {
            let Some(round) = round_of(&file) else { continue };
            match open(&file) {
                Err(Error::UnknownFormat { .. }) => {}
                table => {
                    if let Some(first) = names.insert(round, file.clone()) {
                        let problem = format!("{} and {} both say round {round}", first.display(), file.display());
                        return Err(Error::table(&name, problem));
                    }
                    tables.insert(round, table?);
                }
            }
        }
        if tables.is_empty() {
            return Err(Error::table(
                &name,
                "no table in it has the number of a round in its name, as customers-3.csv has",
            ));
        }
        Ok(Tables::Each(tables))
    }

    /// The table of a round.
    pub(super) fn of(&self, round: u64) -> Option<&dyn Source> {
        match self {
            Self::None => None,
            Self::Same(table) => Some(*table),
            Self::Each(tables) => {
                tables.get(&round).or_else(|| tables.get(&EVERY)).map(|table| &**table as &dyn Source)
            }
        }
    }

    pub(super) fn has(&self, round: u64) -> bool {
        self.of(round).is_some()
    }
}

/// No round has this number: the table of every round.
const EVERY: u64 = 0;

/// The last number in a file's name, its extensions aside.
fn round_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let stem = name.split('.').next()?;
    let digits = |c: char| c.is_ascii_digit();
    let end = stem.rfind(digits)? + 1;
    let start = stem[..end].rfind(|c| !digits(c)).map_or(0, |place| place + 1);
    stem[start..end].parse().ok().filter(|&round| round > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_in_a_name_is_the_round() {
        let round = |name: &str| round_of(Path::new(name));
        assert_eq!(round("a/customers-3.csv"), Some(3));
        assert_eq!(round("2026-week12.csv.gz"), Some(12));
        assert_eq!(round("007.parquet"), Some(7));
        assert_eq!((round("customers.csv"), round("round-0.csv")), (None, None));
    }
}
