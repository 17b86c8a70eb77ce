//! What SQL computes of a table's rows for its indexes.

use super::{Expr, equal};
use crate::catalog::{EXPRESSION, Index, Oid, Table};
use crate::storage::has_ordered_keys;
use crate::types::Type;
use std::sync::Arc;

/// The expressions and predicates of a table's indexes, bound over its row. Most tables have none.
#[derive(Clone, Debug, Default)]
pub struct IndexRules(Arc<[IndexRule]>);

/// What one index computes.
#[derive(Debug)]
pub struct IndexRule {
    /// The index.
    pub index: Oid,
    /// Its expressions, in order.
    pub expressions: Vec<Expr>,
    /// WHERE: the rows that have an entry.
    pub predicate: Option<Expr>,
    /// The positions of the columns on which its entries depend.
    pub columns: Vec<usize>,
}

/// A column of an index.
#[derive(Clone, Copy, Debug)]
pub enum IndexKey<'r> {
    /// A column of the table.
    Column(usize),
    /// An expression, by its number among the index's.
    Computed(usize, &'r Expr),
}

impl IndexRules {
    /// The rules of a table's indexes.
    pub fn new(rules: Vec<IndexRule>) -> IndexRules {
        IndexRules(rules.into())
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &IndexRule> {
        self.0.iter()
    }

    /// Those of an index; `None` if it computes nothing.
    pub fn of(&self, index: &Index) -> Option<&IndexRule> {
        self.0.iter().find(|rule| rule.index == index.oid)
    }

    /// The columns of an index, in order. An expression that has no rule is left out.
    pub fn keys<'r>(&'r self, index: &'r Index) -> impl Iterator<Item = IndexKey<'r>> {
        let expressions = self.of(index).map_or(&[][..], |rule| &rule.expressions);
        let mut computed = expressions.iter().enumerate();
        index.columns.iter().filter_map(move |&column| match column {
            EXPRESSION => computed.next().map(|(number, expression)| IndexKey::Computed(number, expression)),
            column => Some(IndexKey::Column(column)),
        })
    }

    /// The types of an index's columns, in order.
    pub fn types<'r>(&'r self, table: &'r Table, index: &'r Index) -> impl Iterator<Item = Type> + 'r {
        self.keys(index).map(|key| match key {
            IndexKey::Column(column) => table.columns[column].data_type,
            IndexKey::Computed(_, expression) => expression.data_type,
        })
    }

    /// An expression of an index that equals this one, by a number that no column of a scan's row has (the key may follow the
    /// table's columns). Equal expressions of several indexes have one number.
    pub fn number_of(&self, table: &Table, expression: &Expr) -> Option<usize> {
        let mut all = self.0.iter().flat_map(|rule| &rule.expressions);
        all.position(|own| equal(own, expression)).map(|number| table.columns.len() + 1 + number)
    }

    /// The columns of an index by position, or by the number of [`IndexRules::number_of`].
    pub fn numbers(&self, table: &Table, index: &Index) -> Vec<usize> {
        let number = |key| match key {
            IndexKey::Column(column) => Some(column),
            IndexKey::Computed(_, expression) => self.number_of(table, expression),
        };
        self.keys(index).filter_map(number).collect()
    }

    /// The first of [`IndexRules::numbers`], as far as entries are in the order of the columns' values: an index is searched and sorted by
    /// these.
    pub fn ordered(&self, table: &Table, index: &Index) -> Vec<usize> {
        let length = self.types(table, index).take_while(|data_type| has_ordered_keys(*data_type)).count();
        let mut numbers = self.numbers(table, index);
        numbers.truncate(length);
        numbers
    }

    /// The type of a column, or of the expression with this number.
    pub fn type_of(&self, table: &Table, number: usize) -> Option<Type> {
        let expression = |number: usize| self.0.iter().flat_map(|rule| &rule.expressions).nth(number);
        match number.checked_sub(table.columns.len() + 1) {
            None => table.columns.get(number).map(|column| column.data_type),
            Some(number) => expression(number).map(|expression| expression.data_type),
        }
    }
}
