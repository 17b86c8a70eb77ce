//! UPDATE.

use crate::bind::Binder;
use crate::bind::clause::Clause;
use crate::bind::from::FromItem;
use crate::bind::index::index_rules;
use crate::bind::select::filtered;
use crate::catalog::Table;
use crate::error::Result;
use crate::plan::{Expr, Plan, Update};
use std::sync::Arc;
use syntax::ast::{self, Expr as Syntax, TableWithJoins, WrittenTable};

impl Binder<'_, '_> {
    /// Binds UPDATE.
    pub(in crate::bind) fn update(&mut self, update: &ast::Update) -> Result<Update> {
        let (table, rows) = self.written_rows(&update.table, &update.from, "update")?;
        let names = rows.names.clone();
        let bind = |binder: &mut Self| {
            let assignments = binder.assignments(&table, &update.assignments)?;
            Ok((assignments, binder.written_condition(update.selection.as_ref())?))
        };
        let ((assignments, condition), _) = self.within(names.clone(), Clause::Update, bind)?;
        let source = Arc::new(filtered(rows.plan, condition));
        let generated = self.generated(&table)?;
        let checks = self.checks(&table)?;
        let rules = index_rules(self.names, &table)?;
        let returning = self.returning(update.returning.as_ref(), names)?;
        Ok(Update { table, source, assignments, generated, checks, rules, returning })
    }

    /// Rows that a statement changes, with their keys, joined with those of FROM or USING.
    pub(super) fn written_rows(
        &mut self,
        written: &WrittenTable,
        more: &[TableWithJoins],
        verb: &str,
    ) -> Result<(Arc<Table>, FromItem)> {
        let table = self.written_table(&written.name, verb)?;
        let mut rows = self.scan(&table, written.alias.as_ref(), true)?;
        if let Plan::Scan(scan) = &mut rows.plan {
            scan.for_update = true;
        }
        for item in more {
            rows = self.comma(rows, item)?;
        }
        Ok((table, rows))
    }

    /// WHERE of a statement that writes.
    pub(super) fn written_condition(&mut self, condition: Option<&Syntax>) -> Result<Option<Expr>> {
        match condition {
            None => Ok(None),
            Some(condition) => self.in_clause(Clause::Where, |binder| binder.condition(condition, "WHERE")).map(Some),
        }
    }
}
