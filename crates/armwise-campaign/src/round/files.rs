//! The files of a choice: the sends, and beside them the hold-out, so that somebody can look up what its customers did.
//!
//! Both are complete on the disk before the round is committed. They get their names after it, one after the other.

use crate::{
    Error,
    core::{Sent, Tag, hold_out, sends},
    table::SheetFile,
};
use std::path::{Path, PathBuf};

/// The files of a choice.
#[derive(Debug, Default)]
pub struct ChoiceFiles {
    /// Whoever is sent something.
    pub sends: Option<SheetFile>,
    /// Whoever of the hold-out would have been.
    pub hold_out: Option<SheetFile>,
}

impl ChoiceFiles {
    /// Where the hold-out goes unless the caller says where: beside the sends, `sends.hold-out.csv` for `sends.csv`.
    #[must_use]
    pub fn beside(sends: &Path) -> PathBuf {
        let name = sends.file_name().unwrap_or_default().to_string_lossy();
        let end = name.strip_suffix(".gz").unwrap_or(&name).rfind('.').unwrap_or(name.len());
        sends.with_file_name(format!("{}.hold-out{}", &name[..end], &name[end..]))
    }

    pub(super) fn fill(&self, tag: Tag, sent: &[Sent]) -> Result<(), Error> {
        self.sends.as_ref().map_or(Ok(()), |file| file.fill(&sends(tag, sent)))?;
        self.hold_out.as_ref().map_or(Ok(()), |file| file.fill(&hold_out(tag, sent)))
    }

    pub(super) fn publish(self) -> Result<(), Error> {
        self.sends.map_or(Ok(()), SheetFile::publish)?;
        self.hold_out.map_or(Ok(()), SheetFile::publish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hold_out_lies_beside_the_sends_in_the_same_format() {
        for (sends, hold_out) in [
            ("sends.csv", "sends.hold-out.csv"),
            ("a.b/week.3.parquet", "a.b/week.3.hold-out.parquet"),
            ("/x/sends.csv.gz", "/x/sends.hold-out.csv.gz"),
        ] {
            assert_eq!(ChoiceFiles::beside(Path::new(sends)), Path::new(hold_out));
        }
    }
}
