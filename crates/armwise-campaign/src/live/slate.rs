//! The part of a decision that the caller's thread does: the rows with their context, and the choice from them.

use super::{
    catalogue::Which,
    published::Published,
    request::{Among, DecideRequest, Offered},
};
use crate::{
    Error,
    core::Sha,
    input::{Memory, Source},
    round::{Asked, Slate, Warning},
    table::{Rows, column_named, columns_of},
};
use armwise::Round;
use arrow_array::{RecordBatch, UInt32Array};
use arrow_select::take::take;
use std::{collections::HashSet, fmt::Write, sync::Arc};

/// What messages call the rows of a request.
const ROWS: &str = "arms";

/// A request without its key, ready to be chosen for.
pub(super) struct ToChoose {
    arms: Arranged,
    asked: Asked,
    pub(super) hold: bool,
}

enum Arranged {
    Rows(RecordBatch),
    Catalogue(Among, Option<RecordBatch>),
}

impl ToChoose {
    /// Takes a request apart; refuses more arms than may be offered.
    pub(super) fn new(request: DecideRequest, most: usize) -> Result<Self, Error> {
        let DecideRequest { arms, context, asked, hold, .. } = request;
        let arms = match arms {
            Offered::Rows(rows) => {
                if rows.num_rows() > most {
                    return Err(Error::TooManyArms { found: rows.num_rows(), most });
                }
                if rows.num_rows() == 0 {
                    return Err(Error::table(ROWS, "there are no arms to choose from"));
                }
                Arranged::Rows(joined(rows, context.as_ref())?)
            }
            Offered::Catalogue(among) => Arranged::Catalogue(among, context),
        };
        Ok(Self { arms, asked, hold })
    }

    /// SHA-256 of what is asked, by which two requests with one key are compared.
    pub(super) fn digest(&self) -> Result<Sha, Error> {
        let mut text = format!("{:?} {} ", self.asked, self.hold);
        let of = |rows: &RecordBatch| Memory::new(ROWS, vec![rows.clone()])?.digest();
        let written = match &self.arms {
            Arranged::Rows(rows) => write!(text, "rows {}", of(rows)?),
            Arranged::Catalogue(among, context) => {
                let context = context.as_ref().map(of).transpose()?;
                write!(text, "catalogue {among:?} {context:?}")
            }
        };
        written.map_err(|error| Error::Usage(error.to_string()))?;
        Ok(Sha::of(text))
    }

    /// Chooses with what is published.
    pub(super) fn choose(&self, by: &Published, t: u64, resting: HashSet<String>) -> Result<Slate, Error> {
        let mut slate = self.chosen(by, t, resting)?;
        slate.command.hold = self.hold;
        // What is said with the answer goes into the journal, so that it is said again.
        if let Asked::Constraint(constraint) = &self.asked
            && constraint.caution(&by.chooser.config().algorithm).is_some()
        {
            slate.command.warnings.push(Warning::NoSubstitutes);
        }
        Ok(slate)
    }

    fn chosen(&self, by: &Published, t: u64, resting: HashSet<String>) -> Result<Slate, Error> {
        let chooser = &by.chooser;
        let round = Round::new(chooser.config().seed, t);
        let named = |batch: RecordBatch| Rows::of(batch, &Arc::from(ROWS));
        match &self.arms {
            Arranged::Rows(rows) => chooser.choose(round, &named(rows.clone()), &self.asked, resting),
            Arranged::Catalogue(among, context) => {
                let Some(shelf) = by.shelf.as_ref().filter(|shelf| shelf.len() > 0) else {
                    return Err(Error::Usage("the catalogue has no arms; put some, or give them".to_owned()));
                };
                let which = shelf.among(among)?;
                let mask = match &which {
                    Which::All => Some(None),
                    Which::Mask(mask) => Some(Some(&**mask)),
                    Which::These(_) => None,
                };
                // Features that need nothing of the request are there already.
                if let (Some(mask), true) = (mask, resting.is_empty())
                    && let Some(features) = shelf.features(&chooser.setup().recipe)?
                {
                    let place = |id: &str| shelf.place(id);
                    let given = (shelf.rows(), &*features);
                    if let Some(slate) = chooser.choose_from(round, given, mask, &self.asked, &place)? {
                        return Ok(slate);
                    }
                }
                let rows = match which {
                    Which::All => shelf.rows().batch().clone(),
                    Which::These(places) => shelf.rows().picked(&places)?.batch().clone(),
                    Which::Mask(mask) => shelf.rows().filtered(&mask)?.batch().clone(),
                };
                if rows.num_rows() == 0 {
                    return Err(Error::table(super::catalogue::NAME, "no arm has what is asked for"));
                }
                chooser.choose(round, &named(joined(rows, context.as_ref())?), &self.asked, resting)
            }
        }
    }
}

/// The rows with the columns of the context beside their own.
fn joined(rows: RecordBatch, context: Option<&RecordBatch>) -> Result<RecordBatch, Error> {
    let Some(context) = context.filter(|context| context.num_columns() > 0) else { return Ok(rows) };
    if context.num_rows() != 1 {
        return Err(Error::table("context", format!("it has {} rows, and must have one", context.num_rows())));
    }
    let (mut fields, mut arrays) = (rows.schema().fields().to_vec(), rows.columns().to_vec());
    let own = columns_of(&rows.schema());
    let first = UInt32Array::from(vec![0; rows.num_rows()]);
    for (field, value) in context.schema().fields().iter().zip(context.columns()) {
        if column_named(own.iter().map(|(name, _)| name.as_str()), field.name()) != Ok(None) {
            let problem = format!("column {:?} is one of the arms, too; each column has one place", field.name());
            return Err(Error::table("context", problem));
        }
        fields.push(Arc::clone(field));
        arrays.push(take(value, &first, None).map_err(|error| Error::unreadable("context", "", error))?);
    }
    let schema = Arc::new(arrow_schema::Schema::new(fields));
    RecordBatch::try_new(schema, arrays).map_err(|error| Error::unreadable("context", "", error))
}
