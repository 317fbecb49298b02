//! Where the rows go that `learn` puts aside.
//!
//! The file is opened before anything is learned, and never takes the place of another: who was put aside last week may
//! not have been looked at yet. Without a name it is the first free one of rejects.csv, rejects-2.csv, ... beside the
//! table, or beside the campaign if nobody may write beside the table.

use std::path::{Path, PathBuf};

use armwise_campaign::{
    Error,
    output::{Existing, Protected},
    table::{Sheet, SheetFile},
};

use super::{
    failure::Failure,
    protected,
    streams::{Out, is_stream},
};

/// A place for rejects that is open already.
pub(super) struct Rejects {
    out: Out,
    /// The folder in which to look for another name if this one is taken meanwhile; none where a name was given.
    folder: Option<PathBuf>,
    protected: Vec<Protected>,
    for_spreadsheets: bool,
}

impl Rejects {
    pub(super) fn begin(
        given: Option<&Path>,
        table: &Path,
        campaign: &Path,
        for_spreadsheets: bool,
    ) -> Result<Self, Failure> {
        let protected = protected(campaign, [&table.to_owned()]);
        if let Some(path) = given {
            let out = Out::begin(path, Existing::Keep, &protected, for_spreadsheets)?;
            return Ok(Self { out, folder: None, protected, for_spreadsheets });
        }
        let beside = |path: &Path| path.parent().unwrap_or(Path::new("")).to_owned();
        let folder = if is_stream(table) { PathBuf::new() } else { beside(table) };
        let (file, folder) = match free(&folder, &protected) {
            Err(Error::Storage { .. }) => (free(&beside(campaign), &protected)?, beside(campaign)),
            file => (file?, folder),
        };
        let out = Out::File(file.for_spreadsheets(for_spreadsheets));
        Ok(Self { out, folder: Some(folder), protected, for_spreadsheets })
    }

    /// Writes the rows, and says where; nowhere if they went to standard output.
    pub(super) fn write(self, sheet: &Sheet) -> Result<Option<PathBuf>, Failure> {
        let applied = |failure: Failure| Failure {
            text: format!(
                "the good rows are learned, but those put aside are not written out: {}; learn the table again, which \
                 changes nothing else",
                failure.text
            ),
            ..failure
        };
        let mut file = match self.out {
            Out::File(file) => file,
            out @ Out::Stream { .. } => return out.write(sheet).map(|()| None).map_err(applied),
        };
        loop {
            let path = file.path().to_owned();
            let written = file.fill(sheet).and_then(|()| file.publish());
            file = match (written, &self.folder) {
                (Ok(()), _) => return Ok(Some(path)),
                (Err(Error::Exists { .. }), Some(folder)) => {
                    let next = free(folder, &self.protected).map_err(|error| applied(error.into()))?;
                    next.for_spreadsheets(self.for_spreadsheets)
                }
                (Err(error), _) => return Err(applied(error.into())),
            };
        }
    }
}

/// The first free name in a folder.
fn free(folder: &Path, protected: &[Protected]) -> Result<SheetFile, Error> {
    let mut number = 1;
    loop {
        let name = if number == 1 { "rejects.csv".to_owned() } else { format!("rejects-{number}.csv") };
        match SheetFile::begin(&folder.join(name), Existing::Keep, protected) {
            Err(Error::Exists { .. } | Error::Output { .. }) => number += 1,
            file => return file,
        }
    }
}
