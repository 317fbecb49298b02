//! The catalogue from all of its changes at once: each value is pointed at where it came from, and the rows are made once in
//! the end. So opening takes as long as the catalogue and the changes are large, not their product.
//!
//! What comes out is what [`Shelf::after`] gives change by change, whose rules for columns and their types are followed here;
//! a test compares the two. Where a change brings another type to a column, the rows are made, and that change is left
//! to `after`.

use super::catalogue::{NAME, Shelf, unreadable};
use crate::{
    Error,
    core::ArmsAction,
    table::{Rows, column_named, columns_of},
};
use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::interleave::interleave;
use std::{collections::HashMap, sync::Arc};

/// A value: the part of its column, and the row there; none where there is no value.
type Cell = Option<(u32, u32)>;

/// A catalogue whose rows are not made yet.
pub(super) struct Replay {
    customer: String,
    /// The place of each arm that is there. A place is never used twice, so the order of places is that of the rows.
    places: HashMap<String, usize>,
    /// How many places there are, those of retired arms included.
    count: usize,
    columns: Vec<Column>,
}

struct Column {
    name: String,
    kind: DataType,
    parts: Vec<ArrayRef>,
    cells: Vec<Cell>,
    /// How many cells have a value.
    filled: usize,
}

impl Column {
    fn set(&mut self, place: usize, cell: Cell) {
        if self.cells.len() <= place {
            self.cells.resize(place + 1, None);
        }
        let before = std::mem::replace(&mut self.cells[place], cell);
        self.filled = self.filled + usize::from(cell.is_some()) - usize::from(before.is_some());
    }

    fn array(&self, places: &[usize]) -> Result<ArrayRef, Error> {
        let nothing = new_null_array(&self.kind, 1);
        let mut parts: Vec<&dyn Array> = vec![&*nothing];
        parts.extend(self.parts.iter().map(|part| &**part));
        let cell = |&place: &usize| self.cells.get(place).copied().flatten();
        let at = |place| cell(place).map_or((0, 0), |(part, row)| (part as usize + 1, row as usize));
        let all: Vec<(usize, usize)> = places.iter().map(at).collect();
        interleave(&parts, &all).map_err(|error| unreadable(&error))
    }
}

impl Replay {
    /// Of a catalogue.
    pub(super) fn of(customer: &str, shelf: &Shelf) -> Self {
        let mut own = Self { customer: customer.to_owned(), places: HashMap::new(), count: 0, columns: Vec::new() };
        own.begin(shelf);
        own
    }

    /// Forgets everything but these rows.
    fn begin(&mut self, shelf: &Shelf) {
        let batch = shelf.rows().batch();
        self.places = shelf.ids_in_order().into_iter().zip(0..).collect();
        self.count = self.places.len();
        let column = |(field, array): (&Arc<Field>, &ArrayRef)| {
            let mut own = Column {
                name: field.name().clone(),
                kind: array.data_type().clone(),
                parts: vec![Arc::clone(array)],
                cells: Vec::with_capacity(array.len()),
                filled: 0,
            };
            (0..array.len()).for_each(|row| own.set(row, cell(array, 0, row)));
            own
        };
        self.columns = batch.schema_ref().fields().iter().zip(batch.columns()).map(column).collect();
    }

    /// The same after a change.
    pub(super) fn change(&mut self, action: ArmsAction, rows: RecordBatch) -> Result<(), Error> {
        let new = Shelf::new(&self.customer, rows.clone())?;
        if self.places.is_empty() || self.is_of_another_type(new.rows()) {
            let now = self.shelf()?.after(action, rows)?;
            self.begin(&now);
            return Ok(());
        }
        let ids = new.ids_in_order();
        if action == ArmsAction::Retire {
            for id in ids {
                let Some(place) = self.places.remove(&id) else {
                    return Err(Error::NotFound { what: "arm", name: id, hint: String::new() });
                };
                self.columns.iter_mut().for_each(|column| column.set(place, None));
            }
        } else if !ids.is_empty() {
            self.put(ids, new.rows(), action == ArmsAction::Put)?;
        }
        Ok(())
    }

    /// Whether a column that has values comes with values of another type.
    fn is_of_another_type(&self, new: &Rows) -> bool {
        self.columns.iter().any(|column| {
            let come = new.array(&column.name).filter(|array| array.null_count() < array.len());
            column.filled > 0 && come.is_some_and(|array| *array.data_type() != column.kind)
        })
    }

    fn put(&mut self, ids: Vec<String>, new: &Rows, whole: bool) -> Result<(), Error> {
        for (name, _) in columns_of(&new.batch().schema()) {
            let known = column_named(self.columns.iter().map(|column| column.name.as_str()), &name);
            if known.map_err(|problem| Error::table(NAME, problem))?.is_none() {
                let (parts, cells) = (Vec::new(), Vec::new());
                self.columns.push(Column { name, kind: DataType::Utf8, parts, cells, filled: 0 });
            }
        }
        let places: Vec<usize> = ids
            .into_iter()
            .map(|id| {
                *self.places.entry(id).or_insert_with(|| {
                    self.count += 1;
                    self.count - 1
                })
            })
            .collect();
        for column in &mut self.columns {
            let come = new.array(&column.name);
            let has_values = come.as_ref().is_some_and(|array| array.null_count() < array.len());
            if column.filled == 0 {
                column.kind = match &come {
                    Some(array) if has_values => array.data_type().clone(),
                    _ => DataType::Utf8,
                };
                column.parts.clear();
            }
            if let Some(array) = come {
                let part =
                    u32::try_from(column.parts.len()).map_err(|_| Error::table(NAME, "it has too many changes"))?;
                places.iter().enumerate().for_each(|(row, &place)| column.set(place, cell(&array, part, row)));
                if has_values {
                    column.parts.push(array);
                }
            } else if whole {
                places.iter().for_each(|&place| column.set(place, None));
            }
        }
        Ok(())
    }

    /// The catalogue.
    pub(super) fn shelf(&self) -> Result<Shelf, Error> {
        let mut places: Vec<usize> = self.places.values().copied().collect();
        places.sort_unstable();
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for column in &self.columns {
            let array = column.array(&places)?;
            fields.push(Field::new(&column.name, column.kind.clone(), true));
            arrays.push(array);
        }
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(places.len()));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options);
        Shelf::new(&self.customer, batch.map_err(|error| unreadable(&error))?)
    }
}

/// Where the value of a row of a part is.
fn cell(array: &ArrayRef, part: u32, row: usize) -> Cell {
    // More rows than this do not fit into the journal.
    u32::try_from(row).ok().filter(|_| array.is_valid(row)).map(|row| (part, row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::JsonRows;

    fn rows(text: &str) -> RecordBatch {
        serde_json::from_str::<JsonRows>(text).expect("rows").0
    }

    /// Changes that meet every rule of columns: new ones, absent ones, empty ones, and other types.
    #[test]
    fn all_changes_at_once_are_the_changes_one_by_one() {
        let (put, change, retire) = (ArmsAction::Put, ArmsAction::Change, ArmsAction::Retire);
        let changes = [
            (put, r#"[{"id":"a","x":1,"f":[1,2]},{"id":"b","x":2,"f":[3,4]},{"id":"c","x":null,"f":[5,6]}]"#),
            (change, r#"[{"id":"b","x":7}]"#),
            (change, r#"[{"id":"d","f":[7,8]},{"id":"a","f":[9,9]}]"#),
            (put, r#"[{"id":"c","x":4}]"#),
            (change, r#"[{"id":"a","name":null}]"#),
            (change, r#"[{"id":"a","name":"tea"}]"#),
            (retire, r#"[{"id":"a"}]"#),
            (change, r#"[{"id":"e","name":5}]"#),
            (change, r#"[{"id":"b","x":1.5}]"#),
            (change, r#"[{"id":"a","x":2,"X":3}]"#),
            (put, r#"[{"id":"f","x":"many","f":[1,1]}]"#),
            (retire, r#"[{"id":"f"},{"id":"b"}]"#),
            (change, r#"[{"id":"b","x":null,"f":[2,2]}]"#),
            (retire, r#"[{"id":"c"},{"id":"e"},{"id":"a"},{"id":"b"},{"id":"d"}]"#),
            (put, r#"[{"id":"z","g":1}]"#),
        ];
        let mut shelf = Shelf::empty("id").expect("a catalogue");
        let mut replay = Replay::of("id", &shelf);
        for (action, text) in changes {
            let one = shelf.after(action, rows(text));
            let all = replay.change(action, rows(text));
            assert_eq!(one.is_ok(), all.is_ok(), "{text}");
            let Ok(one) = one else { continue };
            shelf = one;
            let all = replay.shelf().expect("a catalogue");
            let fields = |shelf: &Shelf| {
                let fields = shelf.rows().batch().schema_ref().fields().clone();
                fields.iter().map(|field| (field.name().clone(), field.data_type().clone())).collect::<Vec<_>>()
            };
            assert_eq!(fields(&all), fields(&shelf), "{text}");
            assert_eq!(all.rows().batch().columns(), shelf.rows().batch().columns(), "{text}");
        }
        assert!(replay.change(retire, rows(r#"[{"id":"nobody"}]"#)).is_err());
    }
}
