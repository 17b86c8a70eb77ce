//! Tables and hand-made plans for tests.

use super::Cursor;
use crate::cancel::Cancel;
use crate::catalog::{Column, Index, KeyForm, Storage, Table};
use crate::context::{Change, Exec, Memory};
use crate::database::{Database, Options};
use crate::env::State;
use crate::error::Result;
use crate::memory::Budget;
use crate::plan::{Comparison, Expr, ExprKind, IndexRules, Insert, Join, JoinKind, Path, Plan, Scan, SortKey};
use crate::store::{Engine, Transaction};
use crate::types::{Datum, Modifier, Row, Styles, Type, text};
use pgtypes::interrupt;
use std::sync::Arc;

/// A database in memory with one open transaction.
pub struct Fixture {
    database: Arc<Database>,
    transaction: Box<dyn Transaction>,
    state: State,
    cancel: Arc<Cancel>,
    /// The values of parameters.
    pub parameters: Vec<Datum>,
    /// The statement's memory.
    pub memory: Memory,
    tables: u32,
}

/// Whether an index is unique.
pub type Unique = bool;

impl Fixture {
    /// An empty database.
    pub fn new() -> Fixture {
        let engine = mvto::Mvto::in_memory(mvto::Options::default()).expect("an engine in memory");
        let database = Database::open(Arc::new(Engine(Arc::new(engine))), Options::default()).expect("a database");
        Fixture {
            transaction: database.store.begin(model::Begin::default()).expect("a transaction"),
            state: State::for_tests(),
            cancel: Arc::default(),
            parameters: Vec::new(),
            memory: Fixture::memory(64 << 20),
            tables: 0,
            database,
        }
    }

    /// Memory of a statement with a limit in bytes.
    pub fn memory(limit: usize) -> Memory {
        Memory::new(Budget::new(1 << 30), limit)
    }

    /// Runs `work` with the right to execute.
    pub fn with<T>(&mut self, work: impl FnOnce(&mut Exec<'_>) -> T) -> T {
        self.change(|change| work(&mut change.exec))
    }

    /// Runs `work` with the right to change the catalog.
    fn change<T>(&mut self, work: impl FnOnce(&mut Change<'_>) -> T) -> T {
        interrupt::begin_statement(self.cancel.clone());
        let memory = std::mem::replace(&mut self.memory, Fixture::memory(0));
        let of_session = (&self.database, &mut self.state);
        let mut change =
            Change::new(Exec::new(&mut *self.transaction, of_session, &self.parameters, memory, &self.cancel));
        let result = work(&mut change);
        self.memory = change.exec.memory;
        result
    }

    /// Sets the flag that cancels statements.
    pub fn cancel(&self) {
        self.cancel.raise();
    }

    /// A table with a primary key (if `key` has columns) and further indexes.
    pub fn table(
        &mut self,
        name: &str,
        columns: &[(&str, Type)],
        key: &[usize],
        indexes: &[(&[usize], Unique)],
    ) -> Table {
        self.tables += 100;
        let oid = 20_000 + self.tables;
        let columns: Vec<Column> = columns
            .iter()
            .enumerate()
            .map(|(at, (name, data_type))| Column {
                not_null: key.contains(&at),
                ..Column::plain(*name, *data_type, Modifier::NONE)
            })
            .collect();
        let form = match key {
            [] => KeyForm::RowNumber,
            [one] if matches!(columns[*one].data_type, Type::INT4 | Type::INT8) => KeyForm::Eight,
            _ => KeyForm::Columns,
        };
        let storage = self.change(|change| change.create_row_storage(oid, &columns, form)).expect("a table");
        let mut made = Vec::new();
        if !key.is_empty() {
            made.push(index(oid + 1, &format!("{name}_pkey"), key, true, None));
        }
        for (number, (columns, unique)) in indexes.iter().enumerate() {
            let number = number as u32;
            let storage = self.change(|change| change.create_index_storage(oid + 2 + number)).expect("an index");
            made.push(index(oid + 2 + number, &format!("{name}_{number}"), columns, *unique, Some(storage)));
        }
        Table {
            oid,
            schema: "public".to_owned(),
            name: name.to_owned(),
            version: 1,
            columns,
            storage,
            indexes: made,
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            referenced_by: Vec::new(),
            comment: None,
            temporary: false,
            triggers_disabled: false,
            on_commit: None,
        }
    }

    /// Inserts rows.
    pub fn fill(&mut self, table: &Arc<Table>, rows: Vec<Row>) {
        let constants = |row: Row| -> Vec<Expr> {
            let typed = row.into_iter().zip(&table.columns);
            typed.map(|(value, column)| Expr::constant(value, column.data_type)).collect()
        };
        let insert = Insert {
            table: table.clone(),
            source: Arc::new(Plan::Values { rows: rows.into_iter().map(constants).collect() }),
            generated: Vec::new(),
            checks: Vec::new(),
            rules: IndexRules::default(),
            on_conflict: None,
            returning: None,
        };
        self.with(|exec| crate::dml::insert(exec, &insert)).expect("rows that fit");
    }

    /// All rows of a plan.
    pub fn try_rows(&mut self, plan: &Plan) -> Result<Vec<Row>> {
        let mut cursor = Cursor::new(Arc::new(plan.clone()));
        self.with(|exec| {
            let mut rows = Vec::new();
            while let Some(row) = cursor.next(exec)? {
                rows.push(row);
            }
            Ok(rows)
        })
    }

    /// All rows of a plan as text: columns separated by `|`, rows by blanks, NULL is the empty text.
    #[track_caller]
    pub fn show(&mut self, plan: &Plan) -> String {
        let rows = self.try_rows(plan).unwrap_or_else(|error| panic!("{error:?}"));
        let types = plan.output_types(&|_| None);
        let lines = rows.iter().map(|row| {
            let values = row.iter().enumerate();
            let texts = values.map(|(at, value)| {
                text::to_string(value, types.get(at).copied().unwrap_or(Type::INT4), &Styles::default())
            });
            texts.collect::<Vec<_>>().join("|")
        });
        lines.collect::<Vec<_>>().join(" ")
    }
}

fn index(oid: u32, name: &str, columns: &[usize], unique: bool, storage: Option<Storage>) -> Index {
    let primary = storage.is_none();
    Index { unique, primary, constraint: primary, storage, ..Index::plain(oid, name, columns.to_vec()) }
}

/// An integer.
pub fn int(value: i32) -> Expr {
    Expr::constant(Datum::Int4(value), Type::INT4)
}

/// An integer column.
pub fn column(at: usize) -> Expr {
    Expr::column(at, Type::INT4, Modifier::NONE)
}

/// An integer column of an enclosing row.
pub fn outer(depth: usize, column: usize) -> Expr {
    Expr::new(ExprKind::Outer { depth, column }, Type::INT4)
}

/// A comparison.
pub fn compare(comparison: Comparison, left: Expr, right: Expr) -> Expr {
    Expr::new(ExprKind::Compare(comparison, Box::new(left), Box::new(right)), Type::BOOL)
}

/// `left = right`
pub fn equal(left: Expr, right: Expr) -> Expr {
    compare(Comparison::Equal, left, right)
}

/// A scan of everything.
pub fn scan(table: &Arc<Table>) -> Plan {
    Plan::Scan(Scan {
        table: table.clone(),
        path: Path::All,
        filter: None,
        wanted: None,
        extremes: Vec::new(),
        with_key: false,
        for_update: false,
        rules: IndexRules::default(),
    })
}

/// Rows of integers; NULL is `None`.
pub fn values(rows: &[&[Option<i32>]]) -> Plan {
    let value = |value: &Option<i32>| Expr::constant(value.map_or(Datum::Null, Datum::Int4), Type::INT4);
    Plan::Values { rows: rows.iter().map(|row| row.iter().map(value).collect()).collect() }
}

/// A filter.
pub fn filter(input: Plan, condition: Expr) -> Plan {
    Plan::Filter { input: Box::new(input), condition }
}

/// A join.
pub fn join(kind: JoinKind, left: Plan, right: Plan, condition: Option<Expr>) -> Plan {
    let (left_width, right_width) = (left.output_types(&|_| None).len(), right.output_types(&|_| None).len());
    let (lateral, equalities) = (false, Vec::new());
    Plan::Join(Box::new(Join {
        kind,
        left,
        right,
        condition,
        lateral,
        left_width,
        right_width,
        equalities,
        keeps_order: false,
        builds_left: false,
    }))
}

/// ORDER BY a column, ascending.
pub fn by(at: usize) -> SortKey {
    SortKey { expression: column(at), descending: false, nulls_first: false }
}
