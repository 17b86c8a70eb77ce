//! MERGE.

use crate::bind::Binder;
use crate::bind::clause::Clause;
use crate::bind::from::{FromItem, join_node};
use crate::bind::index::index_rules;
use crate::bind::name;
use crate::bind::scope::Names;
use crate::catalog::{Relation, Table};
use crate::error::{Result, SqlError, state};
use crate::plan::{Expr, JoinKind, Merge, MergeAction, MergeClause, Plan};
use std::sync::Arc;
use syntax::ast::{self, SetExpr};

impl Binder<'_, '_> {
    /// Binds MERGE.
    pub(in crate::bind) fn merge(&mut self, merge: &ast::Merge) -> Result<Merge> {
        check_reachable(&merge.clauses)?;
        let table = self.merged_table(&merge.table.name)?;
        let source = self.factor(&merge.source)?;
        let target = self.merge_target(&table, merge)?;
        check_names(&target, &source)?;
        let first = source.names.width;
        let (alone, both) = (source.names.clone(), source.names.clone().followed_by(target.names.clone()));
        let condition = |binder: &mut Self| binder.condition(&merge.on, "JOIN/ON");
        let (on, _) = self.within(both.clone(), Clause::JoinOn, condition)?;
        // Rows of the source that no row belongs to are needed where a clause speaks of them.
        let inserts = merge.clauses.iter().any(|clause| !clause.matched);
        let kind = if inserts { JoinKind::Left } else { JoinKind::Inner };
        let joined = join_node(source, target, kind, false, Some(on));
        let mut clauses = vec![];
        for clause in &merge.clauses {
            let names = if clause.matched { &both } else { &alone };
            clauses.push(self.merge_clause(&table, clause, names.clone(), &both)?);
        }
        let generated = self.generated(&table)?;
        let checks = self.checks(&table)?;
        let rules = index_rules(self.names, &table)?;
        Ok(Merge { table, source: Arc::new(joined.plan), first, clauses, generated, checks, rules })
    }

    fn merged_table(&mut self, name: &ast::ObjectName) -> Result<Arc<Table>> {
        let (schema, table) = name::split(name)?;
        if let Some(Relation::View(view)) = self.names.relation(schema.as_deref(), &table)? {
            let message = format!("cannot execute MERGE on relation \"{}\"", view.name);
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
                .detail("This operation is not supported for views."));
        }
        self.written_table(name, "merge into")
    }

    /// The rows of the table, with their keys; owned if a clause changes them.
    fn merge_target(&mut self, table: &Arc<Table>, merge: &ast::Merge) -> Result<FromItem> {
        let mut target = self.scan(table, merge.table.alias.as_ref(), true)?;
        let changes = |clause: &ast::MergeClause| clause.matched && clause.action != ast::MergeAction::Nothing;
        if let Plan::Scan(scan) = &mut target.plan {
            scan.for_update = merge.clauses.iter().any(changes);
        }
        Ok(target)
    }

    fn merge_clause(
        &mut self,
        table: &Arc<Table>,
        clause: &ast::MergeClause,
        names: Names,
        both: &Names,
    ) -> Result<MergeClause> {
        // The table is known where only the source counts, for the message about it.
        let siblings = self.scope.siblings();
        self.scope.note_siblings(both);
        let bound = self.merge_parts(table, clause, names);
        self.scope.forget_siblings(siblings);
        bound
    }

    fn merge_parts(&mut self, table: &Arc<Table>, clause: &ast::MergeClause, names: Names) -> Result<MergeClause> {
        let condition = match &clause.condition {
            None => None,
            Some(condition) => {
                let bind = |binder: &mut Self| binder.condition(condition, "WHEN");
                Some(self.within(names.clone(), Clause::MergeWhen, bind)?.0)
            }
        };
        let action = match &clause.action {
            ast::MergeAction::Nothing => MergeAction::Nothing,
            ast::MergeAction::Delete => MergeAction::Delete,
            ast::MergeAction::Update(assignments) => {
                let bind = |binder: &mut Self| binder.assignments(table, assignments);
                MergeAction::Update(self.within(names, Clause::Update, bind)?.0)
            }
            ast::MergeAction::Insert(insert) => MergeAction::Insert(self.merge_row(table, insert, names)?),
        };
        Ok(MergeClause { matched: clause.matched, condition, action })
    }

    /// The row of an INSERT.
    fn merge_row(&mut self, table: &Arc<Table>, insert: &ast::Insert, names: Names) -> Result<Vec<Expr>> {
        let columns = self.insert_columns(table, &insert.columns)?;
        let Some(SetExpr::Values { rows, .. }) = insert.source.as_ref().map(|query| &*query.body) else {
            return self.full_row(table, &[], vec![]);
        };
        let bind = |binder: &mut Self| {
            let mut bound = vec![];
            for row in rows {
                binder.check_count(row.len(), columns.len(), !insert.columns.is_empty(), insert, Some(row))?;
                let mut values = Vec::with_capacity(row.len());
                for (value, at) in row.iter().zip(&columns) {
                    values.push(binder.row_value(table, value, *at, insert.overriding)?);
                }
                bound = binder.full_row(table, &columns[..row.len()], values)?;
            }
            Ok(bound)
        };
        self.within(names, Clause::Values, bind).map(|(row, _)| row)
    }
}

/// 42601 for a clause behind one that applies to every row of its kind.
fn check_reachable(clauses: &[ast::MergeClause]) -> Result<()> {
    for matched in [true, false] {
        let mut of_kind = clauses.iter().filter(|clause| clause.matched == matched);
        if of_kind.any(|clause| clause.condition.is_none()) && of_kind.next().is_some() {
            let message = "unreachable WHEN clause specified after unconditional WHEN clause";
            return Err(SqlError::new(state::SYNTAX_ERROR, message));
        }
    }
    Ok(())
}

fn check_names(target: &FromItem, source: &FromItem) -> Result<()> {
    let Some(own) = target.names.tables.first() else { return Ok(()) };
    if source.names.tables.iter().any(|table| table.name == own.name) {
        let message = format!("name \"{}\" specified more than once", own.name);
        return Err(SqlError::new(state::DUPLICATE_ALIAS, message)
            .detail("The name is used both as MERGE target table and data source."));
    }
    Ok(())
}
