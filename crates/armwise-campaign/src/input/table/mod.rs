//! Tables of customers and responses: Parquet, CSV (also gz) and Arrow IPC, read in batches.
//!
//! Every format becomes Arrow batches of up to 65,536 rows; only the columns that are asked for are decoded, one batch
//! at a time. CSV gives text columns; a number is parsed where it is used, so that an error can name row and column.

mod arrays;
mod arrow;
mod batches;
mod csv;
mod guard;
mod open;
mod values;
mod write;

pub use batches::Batches;
pub(crate) use batches::{columns_of, places};
pub use guard::is_guarded;
pub use open::{Format, Table};
pub use values::{ColumnType, Rows};
pub(crate) use values::{LARGEST, short};
pub use write::{Cell, Sheet, SheetFile, is_formula};

/// The most columns of a table, in any format.
pub const MOST_COLUMNS: usize = 1 << 14;

/// Rows in a batch: enough to keep two threads busy, few enough to be small.
pub const BATCH: usize = 1 << 16;
