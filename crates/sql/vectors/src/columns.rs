//! Columns that are read. An operator makes those that somebody above reads, and reads these and its own from those below.

use crate::expression::Expression;

/// Numbers of columns, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns(Vec<usize>);

impl Columns {
    /// These columns.
    pub fn of(columns: impl IntoIterator<Item = usize>) -> Columns {
        let mut columns: Vec<usize> = columns.into_iter().collect();
        columns.sort_unstable();
        columns.dedup();
        Columns(columns)
    }

    /// The first so many columns.
    pub fn first(count: usize) -> Columns {
        Columns((0..count).collect())
    }

    /// The columns that expressions look at.
    pub fn of_expressions<'e>(expressions: impl IntoIterator<Item = &'e Expression>) -> Columns {
        Columns::of(expressions.into_iter().flat_map(Expression::columns).copied())
    }

    /// These columns and others.
    pub fn and(&self, others: &Columns) -> Columns {
        Columns::of(self.iter().chain(others.iter()))
    }

    /// The columns below a number, and the others, numbered from there.
    pub fn split(&self, at: usize) -> (Columns, Columns) {
        let (left, right) = self.0.split_at(self.0.partition_point(|column| *column < at));
        (Columns(left.to_vec()), Columns(right.iter().map(|column| column - at).collect()))
    }

    /// The numbers.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().copied()
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a column is one of these.
    pub fn contains(&self, column: usize) -> bool {
        self.0.binary_search(&column).is_ok()
    }

    /// The places of some of these columns in batches that have only these.
    pub fn places(&self, of: &Columns) -> Vec<usize> {
        of.iter().map(|column| self.place(column)).collect()
    }

    fn place(&self, column: usize) -> usize {
        self.0.partition_point(|known| *known < column)
    }

    /// An expression that looks at none but these columns, over batches that have only these.
    pub fn narrow(&self, expression: &Expression) -> Expression {
        expression.moved(&|column| self.place(column))
    }

    /// The same of several expressions.
    pub fn narrow_all(&self, expressions: &[Expression]) -> Vec<Expression> {
        expressions.iter().map(|expression| self.narrow(expression)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgtypes::Type;

    #[test]
    fn places_are_counted_among_the_columns() {
        let columns = Columns::of([7, 2, 4, 2]);
        assert_eq!(columns, Columns::of([2, 4, 7]));
        assert_eq!(columns.places(&Columns::of([7, 2])), [0, 2]);
        assert_eq!(columns.split(4), (Columns::of([2]), Columns::of([0, 3])));
        let sum = Expression::is_same(Expression::column(7, Type::INT8), Expression::column(4, Type::INT8));
        assert_eq!(columns.narrow(&sum).columns(), [1, 2]);
    }
}
