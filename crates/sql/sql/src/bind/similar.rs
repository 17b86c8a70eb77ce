//! Hints for misspelt columns, by edit distance.

use crate::error::SqlError;

/// Maximum distance at which two names count as similar.
const FARTHEST: usize = 3;

/// Columns nearest to a missing one.
pub(super) struct Suggestions {
    table: Option<String>,
    column: String,
    distance: usize,
    nearest: Vec<(String, String)>,
}

impl Suggestions {
    /// No suggestions yet for this name.
    pub(super) fn new(table: Option<&str>, column: &str) -> Suggestions {
        Suggestions { table: table.map(str::to_owned), column: column.into(), distance: FARTHEST + 1, nearest: vec![] }
    }

    /// Keeps a column that is nearer than those before. A misspelt table adds to the distance.
    pub(super) fn consider(&mut self, table: &str, column: &str) {
        let penalty = self.table.as_ref().map_or(0, |wanted| distance(wanted, table));
        let far = distance(&self.column, column);
        let total = far + penalty;
        if total > FARTHEST || far > self.column.chars().count() / 2 {
            return;
        }
        if total < self.distance {
            self.nearest.clear();
            self.distance = total;
        }
        if total == self.distance {
            self.nearest.push((table.into(), column.into()));
        }
    }

    /// Adds the hint to an error.
    pub(super) fn explain(self, error: SqlError) -> SqlError {
        let title = |(table, column): &(String, String)| format!("the column \"{table}.{column}\"");
        match self.nearest.as_slice() {
            [one] => error.hint(format!("Perhaps you meant to reference {}.", title(one))),
            [one, other] => error.hint(format!("Perhaps you meant to reference {} or {}.", title(one), title(other))),
            _ => error,
        }
    }
}

/// Number of insertions, deletions and replacements that turn one text into the other (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, have) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (at, want) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(have != *want);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (from, to, expected) in [("", "abc", 3), ("kitten", "sitting", 3), ("name", "name", 0), ("nmae", "name", 2)]
        {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn the_nearest_columns_are_named() {
        let hint = |column: &str| {
            let mut suggestions = Suggestions::new(None, column);
            for candidate in ["customer_id", "company_name", "name"] {
                suggestions.consider("customers", candidate);
            }
            suggestions.explain(SqlError::new("42703", "")).fields().hint.clone()
        };
        let expected = "Perhaps you meant to reference the column \"customers.customer_id\".";
        assert_eq!(hint("customerid").as_deref(), Some(expected));
        assert_eq!(hint("quantity"), None);
    }
}
