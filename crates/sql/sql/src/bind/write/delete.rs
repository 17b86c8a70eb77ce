//! DELETE.

use crate::bind::Binder;
use crate::bind::clause::Clause;
use crate::bind::index::index_rules;
use crate::bind::select::filtered;
use crate::error::Result;
use crate::plan::Delete;
use std::sync::Arc;
use syntax::ast;

impl Binder<'_, '_> {
    /// Binds DELETE.
    pub(in crate::bind) fn delete(&mut self, delete: &ast::Delete) -> Result<Delete> {
        let (table, rows) = self.written_rows(&delete.table, &delete.using, "delete from")?;
        let names = rows.names.clone();
        let bind = |binder: &mut Self| binder.written_condition(delete.selection.as_ref());
        let (condition, _) = self.within(names.clone(), Clause::Where, bind)?;
        let source = Arc::new(filtered(rows.plan, condition));
        let returning = self.returning(delete.returning.as_ref(), names)?;
        let rules = index_rules(self.names, &table)?;
        Ok(Delete { table, source, rules, returning })
    }
}
