//! Tables of customers and responses: Parquet, CSV (also gz, other separators and encodings), xlsx and Arrow IPC, read in
//! batches.
//!
//! Every format becomes Arrow batches of up to 65,536 rows; only the columns that are asked for are decoded, one batch
//! at a time. CSV and xlsx give text columns; a number is parsed where it is used, so that an error can name row and
//! column.

mod arrays;
mod arrow;
mod arrow_spread;
mod batches;
mod csv;
mod decode;
mod guard;
mod numbers;
mod open;
mod rules;
mod sniff;
mod spread;
mod values;
mod vectors;
mod workbook;
mod write;
mod xlsx;

pub use batches::Batches;
pub(crate) use batches::{column_named, columns_of, places};
pub use guard::is_guarded;
pub(crate) use numbers::{Parsed, flag};
pub use open::{Format, Table};
pub use rules::{Decimal, Encoding, Separator, TableRules};
pub use values::{ColumnType, Rows};
pub(crate) use values::{LARGEST, short};
pub use write::{Cell, Sheet, SheetFile, is_formula};

/// The most columns of a table, in any format.
pub const MOST_COLUMNS: usize = 1 << 14;

/// Rows in a batch: enough to keep two threads busy, few enough to be small.
pub const BATCH: usize = 1 << 16;
