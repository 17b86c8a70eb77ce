//! The tree as SQL.
//!
//! What is printed is read as the same tree again: strings and quoted names are quoted anew, whatever is in them, and everything
//! else is as it was written, but for words that mean the same (`INNER JOIN`, `SOME`).

mod dml;
mod expression;
mod query;
mod table;

use std::fmt::{self, Display, Formatter};

/// Prints items with something between them.
pub(super) fn separated<T: Display>(f: &mut Formatter<'_>, items: &[T], separator: &str) -> fmt::Result {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            f.write_str(separator)?;
        }
        write!(f, "{item}")?;
    }
    Ok(())
}

/// A list with commas.
struct List<'i, T>(&'i [T]);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        separated(f, self.0, ", ")
    }
}

/// A clause, if it is there: what comes before it, and the clause.
struct Clause<'i, T>(&'static str, Option<&'i T>);

impl<T: Display> Display for Clause<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(item) => write!(f, "{}{item}", self.0),
            None => Ok(()),
        }
    }
}

/// A clause with a list, unless that is empty.
struct ListClause<'i, T>(&'static str, &'i [T]);

impl<T: Display> Display for ListClause<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.1.is_empty() { Ok(()) } else { write!(f, "{}{}", self.0, List(self.1)) }
    }
}
