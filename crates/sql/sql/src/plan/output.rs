//! Output columns of a plan.

use super::{Expr, ExprKind, Plan, SetColumn, WindowCall, WindowKind};
use crate::functions::{Resolved, WindowFunction};
use crate::stack::ensure_stack;
use crate::types::Type;
use std::sync::Arc;

impl Plan {
    /// Types of the plan's columns. `ctes` returns the queries of the enclosing WITH clauses; the plan's own are found in it.
    pub fn output_types(&self, ctes: &dyn Fn(usize) -> Option<Arc<Plan>>) -> Vec<Type> {
        ensure_stack(|| match self {
            Plan::Values { rows } => rows.first().map_or_else(Vec::new, |row| types_of(row)),
            Plan::Scan(scan) => {
                let columns = scan.table.columns.iter().map(|column| column.data_type);
                columns.chain(scan.with_key.then_some(Type::BYTEA)).collect()
            }
            Plan::Virtual { table, .. } => table.columns.iter().map(|(_, data_type)| *data_type).collect(),
            Plan::Functions { calls, ordinality } => {
                let columns = calls.iter().flat_map(|(function, _)| function_types(function));
                columns.chain(ordinality.then_some(Type::INT8)).collect()
            }
            Plan::Project { columns, .. } => types_of(columns),
            Plan::ProjectSet { input, columns } => {
                let below = input.output_types(ctes);
                columns.iter().map(|column| set_column_type(column, &below)).collect()
            }
            Plan::Join(join) => {
                let mut types = join.left.output_types(ctes);
                if join.kind.shows_right() {
                    types.extend(join.right.output_types(ctes));
                }
                types.extend(join.kind.is_mark().then_some(Type::BOOL));
                types
            }
            Plan::Aggregate(aggregation) => {
                let mut types = types_of(&aggregation.keys);
                types.extend(aggregation.calls.iter().map(|call| match call.grouping {
                    Some(_) => Type::INT4,
                    None => call.aggregate.result,
                }));
                types
            }
            Plan::Window(window) => {
                let mut types = window.input.output_types(ctes);
                types.extend(window.calls.iter().map(WindowCall::result));
                types
            }
            Plan::Filter { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Limit { input, .. }
            | Plan::Distinct { input, .. }
            | Plan::Vectors { input, .. }
            | Plan::Lock { input, .. } => input.output_types(ctes),
            Plan::Set { left, .. } => left.output_types(ctes),
            Plan::With { queries, body } => body.output_types(&|number| {
                let own = queries.iter().find(|(own, _)| *own == number);
                own.map_or_else(|| ctes(number), |(_, plan)| Some(plan.clone()))
            }),
            Plan::CteScan { number } => ctes(*number).map_or_else(Vec::new, |plan| plan.output_types(ctes)),
            Plan::Recursive { start, .. } => start.output_types(ctes),
        })
    }
}

impl WindowCall {
    /// The type of the call's value.
    pub fn result(&self) -> Type {
        match &self.function {
            WindowKind::Aggregate(aggregate) => aggregate.result,
            WindowKind::Window(function) => match function {
                WindowFunction::RowNumber | WindowFunction::Rank | WindowFunction::DenseRank => Type::INT8,
                WindowFunction::PercentRank | WindowFunction::CumeDist => Type::FLOAT8,
                WindowFunction::Ntile => Type::INT4,
                WindowFunction::Lag
                | WindowFunction::Lead
                | WindowFunction::FirstValue
                | WindowFunction::LastValue
                | WindowFunction::NthValue => self.arguments.first().map_or(Type::TEXT, |value| value.data_type),
            },
        }
    }
}

fn types_of(expressions: &[Expr]) -> Vec<Type> {
    expressions.iter().map(|expression| expression.data_type).collect()
}

/// The type of a column over an input of these types: those that are passed on have none of their own.
fn set_column_type(column: &SetColumn, below: &[Type]) -> Type {
    match column {
        SetColumn::Value(value) => match value.kind {
            ExprKind::Column(at) => below.get(at).copied().unwrap_or(value.data_type),
            _ => value.data_type,
        },
        SetColumn::Set(function, _) => function.result,
    }
}

fn function_types(function: &Resolved) -> Vec<Type> {
    match &function.columns {
        Some(columns) => columns.iter().map(|(_, data_type)| *data_type).collect(),
        None => vec![function.result],
    }
}
