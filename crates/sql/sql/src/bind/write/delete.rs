//! DELETE.

use crate::bind::Binder;
use crate::bind::scope::Clause;
use crate::bind::select::filtered;
use crate::error::{Result, SqlError};
use crate::plan::Delete;
use std::sync::Arc;
use syntax::ast::{self, FromTable};

impl Binder<'_, '_> {
    /// Binds DELETE.
    pub(in crate::bind) fn delete(&mut self, delete: &ast::Delete) -> Result<Delete> {
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        let is_foreign = !delete.tables.is_empty() || !delete.order_by.is_empty() || delete.limit.is_some();
        let ([written], false) = (from.as_slice(), is_foreign) else {
            return Err(SqlError::unsupported("this form of DELETE"));
        };
        let more = delete.using.as_deref().unwrap_or_default();
        let (table, rows) = self.written_rows(written, more, "delete from")?;
        let names = rows.names.clone();
        let bind = |binder: &mut Self| binder.written_condition(delete.selection.as_ref());
        let (condition, _) = self.within(names.clone(), Clause::Where, bind)?;
        let source = Arc::new(filtered(rows.plan, condition));
        let returning = self.returning(delete.returning.as_ref(), names)?;
        Ok(Delete { table, source, returning })
    }
}
