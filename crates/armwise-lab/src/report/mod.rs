//! The report of a run: one page that needs nothing but itself, and every figure as SVG and PNG.
//!
//! The report is a pure function of [`Results`], so it can be written again from a stored
//! `results.json`, to the same bytes.
//!
//! | part | what it holds |
//! |---|---|
//! | `looks` | how each algorithm looks |
//! | `figures` | the nine figures with their captions |
//! | `page` | the page around them: what was run, Table I, parameters, verdicts |

mod figures;
mod looks;
mod page;

use crate::Error;
use crate::results::Results;
use armwise::Algorithm;
use serde_json::Value;
use std::path::Path;

/// Writes `index.html` and, for each figure that the results have data for, `figure-1.svg` and `figure-1.png` and so
/// on to a folder, which is made where it does not exist. Figures of an earlier report that this one does not have are
/// removed.
///
/// # Errors
/// [`Error::Armwise`] for results of an algorithm that is not known here, before anything is written; [`Error::Io`]
/// with the file that could not be written.
pub fn write(results: &Results, out: &Path) -> Result<(), Error> {
    check_names(&serde_json::to_value(results).unwrap_or_default())?;
    std::fs::create_dir_all(out).map_err(|source| Error::Io { path: out.to_owned(), source })?;
    let files = files(results);
    if out.join("index.html").exists() {
        let known = (1..=figures::TITLES.len()).flat_map(|n| [format!("figure-{n}.svg"), format!("figure-{n}.png")]);
        remove(out, known.filter(|known| files.iter().all(|(name, _)| name != known)))?;
    }
    for (name, bytes) in files {
        // Written beside its place and renamed when whole: a file is either the old one or the new one.
        let (part, path) = (out.join(format!("{name}.part")), out.join(&name));
        std::fs::write(&part, bytes)
            .and_then(|()| std::fs::rename(&part, &path))
            .map_err(|source| Error::Io { path, source })?;
    }
    Ok(())
}

/// Refuses results that name an unknown algorithm anywhere.
fn check_names(results: &Value) -> Result<(), Error> {
    match results {
        Value::Object(fields) => {
            if let Some(name) = fields.get("algorithm").and_then(Value::as_str) {
                Algorithm::describe(name)?;
            }
            fields.values().try_for_each(check_names)
        }
        Value::Array(list) => list.iter().try_for_each(check_names),
        _ => Ok(()),
    }
}

/// Removes those of the named files that are there.
pub(crate) fn remove(out: &Path, names: impl Iterator<Item = String>) -> Result<(), Error> {
    for path in names.map(|name| out.join(name)).filter(|path| path.is_file()) {
        std::fs::remove_file(&path).map_err(|source| Error::Io { path, source })?;
    }
    Ok(())
}

/// The files of a report with their bytes, the page last.
fn files(results: &Results) -> Vec<(String, Vec<u8>)> {
    let figures = figures::all(results);
    let mut files = Vec::new();
    for figure in &figures {
        let title = format!("Figure {}. {}", figure.number, figure.title);
        let svg = armwise_charts::standalone(&figure.wide, &title, &figure.alt);
        files.push((format!("figure-{}.svg", figure.number), svg.into_bytes()));
        files.push((format!("figure-{}.png", figure.number), armwise_charts::png(&figure.wide)));
    }
    files.push(("index.html".to_owned(), page::html(results, &figures).into_bytes()));
    files
}
