//! Least and greatest values of a column: what is asked for, and how a scan answers.

use crate::{Columns, Comparison, Item, Key, Predicate, RowBuf, Scan, ScanEnd, Value, ValueRef};
use std::cmp::Ordering;
use std::ops::ControlFlow;

/// One end of the values of a column. NULL is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extreme {
    /// The column, among those of the table.
    pub column: u16,
    /// Whether the greatest value is meant, and not the least.
    pub is_greatest: bool,
}

impl Extreme {
    /// The least value of a column.
    pub fn least(column: u16) -> Extreme {
        Extreme { column, is_greatest: false }
    }

    /// The greatest value of a column.
    pub fn greatest(column: u16) -> Extreme {
        Extreme { column, is_greatest: true }
    }

    /// The order in which a value that is further out stands to another one.
    #[inline]
    pub fn further(self) -> Ordering {
        if self.is_greatest { Ordering::Greater } else { Ordering::Less }
    }

    /// Returns whether a value is further out than the best one so far. NULL never is.
    #[inline]
    pub fn is_further(self, value: ValueRef<'_>, best: Option<&Value>) -> bool {
        match best {
            None => value != ValueRef::Null,
            Some(best) => value.compare(best.as_ref()) == Some(self.further()),
        }
    }

    /// The rows of a filter that would change the answer: those with a value further out than the one found, or with any if none was.
    pub fn beyond(self, found: Option<&Value>, filter: Option<&Predicate>) -> Predicate {
        let comparison = if self.is_greatest { Comparison::Greater } else { Comparison::Less };
        let beyond = match found {
            Some(value) => Predicate::Compare(self.column, comparison, value.clone()),
            None => Predicate::Not(Box::new(Predicate::IsNull(self.column))),
        };
        match filter {
            Some(filter) => Predicate::And(vec![filter.clone(), beyond]),
            None => beyond,
        }
    }

    /// Finds a row of a scan by a look at each; see [`crate::Access::extreme`]. `visit_all` runs a scan.
    ///
    /// # Errors
    /// Those of `visit_all`.
    pub fn find_by_scan<E>(
        self,
        scan: &Scan<'_>,
        row: &mut RowBuf,
        visit_all: impl FnOnce(&Scan<'_>, &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd, E>,
    ) -> Result<Option<(Key, Value)>, E> {
        row.clear();
        let mut best: Option<(Key, Value)> = None;
        let filter = self.beyond(None, scan.filter);
        let all = Scan { filter: Some(&filter), columns: Columns::All, examine: None, ..scan.clone() };
        visit_all(&all, &mut |item| {
            let value = item.row.get(usize::from(self.column));
            if self.is_further(value, best.as_ref().map(|(_, value)| value)) {
                row.project(item.row, scan.columns);
                best = Some((Key::from_bytes(item.key), value.to_owned()));
            }
            ControlFlow::Continue(())
        })?;
        Ok(best)
    }
}
