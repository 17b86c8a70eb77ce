//! Walks over a tree, to look at its nodes or to change them.

use super::dml::{Assignment, ConflictTarget, Delete, Insert, Merge, MergeAction, Statement, Update};
use super::expression::{Access, Argument, Case, Expr, Function, Window, WindowFrameBound, WindowSpec};
use super::name::ObjectName;
use super::query::{Distinct, GroupingElement, Limit, OrderByExpr, Query, Select, SelectItem, SetExpr};
use super::table::{JoinConstraint, TableFactor, TableWithJoins};
use pgtypes::stack::ensure_stack;
use std::ops::ControlFlow;

/// Defines a visitor, what it can visit, and the walk. The two kinds differ in what they may do to a node only.
macro_rules! walk {
    ($(#[$about:meta])* $visitor:ident, $visit:ident, $method:ident, $walk:ident $(, $mut:ident)?) => {
        $(#[$about])*
        pub trait $visitor {
            /// Why a walk ends early.
            type Break;

            /// Visits an expression, before those in it.
            fn expression(&mut self, _expr: &$($mut)? Expr) -> ControlFlow<Self::Break> {
                ControlFlow::Continue(())
            }

            /// Visits an expression, after those in it.
            fn after_expression(&mut self, _expr: &$($mut)? Expr) -> ControlFlow<Self::Break> {
                ControlFlow::Continue(())
            }

            /// Visits a query, before what is in it.
            fn query(&mut self, _query: &$($mut)? Query) -> ControlFlow<Self::Break> {
                ControlFlow::Continue(())
            }

            /// Visits a SELECT, before what is in it.
            fn select(&mut self, _select: &$($mut)? Select) -> ControlFlow<Self::Break> {
                ControlFlow::Continue(())
            }

            /// Visits something in FROM, before what is in it.
            fn table(&mut self, _table: &$($mut)? TableFactor) -> ControlFlow<Self::Break> {
                ControlFlow::Continue(())
            }

            /// Visits the name of a relation that is read or written.
            fn relation(&mut self, _name: &$($mut)? ObjectName) -> ControlFlow<Self::Break> {
                ControlFlow::Continue(())
            }
        }

        /// A node that can be walked over.
        pub trait $visit {
            /// Visits the node and all that is in it.
            ///
            /// # Errors
            /// The visitor's reason to end early.
            fn $method<V: $visitor>(&$($mut)? self, visitor: &mut V) -> ControlFlow<V::Break>;
        }

        impl $visit for Expr {
            fn $method<V: $visitor>(&$($mut)? self, visitor: &mut V) -> ControlFlow<V::Break> {
                ensure_stack(|| {
                    visitor.expression(self)?;
                    $walk::operands(self, visitor)?;
                    visitor.after_expression(self)
                })
            }
        }

        impl $visit for Query {
            fn $method<V: $visitor>(&$($mut)? self, visitor: &mut V) -> ControlFlow<V::Break> {
                ensure_stack(|| {
                    visitor.query(self)?;
                    $walk::clauses(self, visitor)
                })
            }
        }

        impl $visit for Select {
            fn $method<V: $visitor>(&$($mut)? self, visitor: &mut V) -> ControlFlow<V::Break> {
                visitor.select(self)?;
                $walk::select(self, visitor)
            }
        }

        impl $visit for SetExpr {
            fn $method<V: $visitor>(&$($mut)? self, visitor: &mut V) -> ControlFlow<V::Break> {
                ensure_stack(|| match self {
                    SetExpr::Select(select) => select.$method(visitor),
                    SetExpr::Query(query) => query.$method(visitor),
                    SetExpr::SetOperation { left, right, .. } => {
                        left.$method(visitor)?;
                        right.$method(visitor)
                    }
                    SetExpr::Values { rows, .. } => {
                        for row in rows {
                            $walk::all(row, visitor)?;
                        }
                        ControlFlow::Continue(())
                    }
                    SetExpr::Write(statement) => statement.$method(visitor),
                })
            }
        }

        impl $visit for Statement {
            fn $method<V: $visitor>(&$($mut)? self, visitor: &mut V) -> ControlFlow<V::Break> {
                match self {
                    Statement::Query(query) => query.$method(visitor),
                    Statement::Insert(insert) => $walk::insert(insert, visitor),
                    Statement::Update(update) => $walk::update(update, visitor),
                    Statement::Delete(delete) => $walk::delete(delete, visitor),
                    Statement::Merge(merge) => $walk::merge(merge, visitor),
                }
            }
        }

        impl $visit for TableFactor {
            fn $method<V: $visitor>(&$($mut)? self, visitor: &mut V) -> ControlFlow<V::Break> {
                ensure_stack(|| {
                    visitor.table(self)?;
                    match self {
                        TableFactor::Table { name, .. } => visitor.relation(name),
                        TableFactor::Functions { calls, .. } => {
                            for call in calls {
                                $walk::all(&$($mut)? call.arguments, visitor)?;
                            }
                            ControlFlow::Continue(())
                        }
                        TableFactor::Derived { subquery, .. } => subquery.$method(visitor),
                        TableFactor::NestedJoin { table, .. } => $walk::joins(table, visitor),
                    }
                })
            }
        }

        mod $walk {
            use super::*;

            pub fn all<V: $visitor>(list: &$($mut)? [Expr], visitor: &mut V) -> ControlFlow<V::Break> {
                for expr in list {
                    expr.$method(visitor)?;
                }
                ControlFlow::Continue(())
            }

            fn some<V: $visitor>(expr: &$($mut)? Option<Expr>, visitor: &mut V) -> ControlFlow<V::Break> {
                match expr {
                    Some(expr) => expr.$method(visitor),
                    None => ControlFlow::Continue(()),
                }
            }

            fn keys<V: $visitor>(keys: &$($mut)? [OrderByExpr], visitor: &mut V) -> ControlFlow<V::Break> {
                for key in keys {
                    key.expr.$method(visitor)?;
                }
                ControlFlow::Continue(())
            }

            pub fn operands<V: $visitor>(expr: &$($mut)? Expr, visitor: &mut V) -> ControlFlow<V::Break> {
                match expr {
                    Expr::Identifier(_)
                    | Expr::CompoundIdentifier(_)
                    | Expr::Default(_)
                    | Expr::TableRow(_)
                    | Expr::Literal(_)
                    | Expr::TypedLiteral { .. }
                    | Expr::Interval(_) => ControlFlow::Continue(()),
                    Expr::Nested(expr)
                    | Expr::Cast { expr, .. }
                    | Expr::Collate { expr, .. }
                    | Expr::Not(expr)
                    | Expr::Prefix { operand: expr, .. }
                    | Expr::IsNull { expr, .. }
                    | Expr::IsTruth { expr, .. } => expr.$method(visitor),
                    Expr::Infix { left, right, .. }
                    | Expr::Quantified { left, right, .. }
                    | Expr::IsDistinct { left, right, .. }
                    | Expr::Like { expr: left, pattern: right, .. } => {
                        left.$method(visitor)?;
                        right.$method(visitor)
                    }
                    Expr::Between { expr, low, high, .. } => {
                        expr.$method(visitor)?;
                        low.$method(visitor)?;
                        high.$method(visitor)
                    }
                    Expr::InList { expr, list, .. } => {
                        expr.$method(visitor)?;
                        all(list, visitor)
                    }
                    Expr::InSubquery { expr, subquery, .. } => {
                        expr.$method(visitor)?;
                        subquery.$method(visitor)
                    }
                    Expr::And(list)
                    | Expr::Or(list)
                    | Expr::Special { arguments: list, .. }
                    | Expr::Array { elements: list, .. }
                    | Expr::Row { fields: list, .. } => all(list, visitor),
                    Expr::Subquery(query) | Expr::Exists(query) | Expr::ArraySubquery { subquery: query, .. } => query.$method(visitor),
                    Expr::Access { root, chain } => {
                        root.$method(visitor)?;
                        accesses(chain, visitor)
                    }
                    Expr::Function(call) => function(call, visitor),
                    Expr::Case(expr) => case(expr, visitor),
                }
            }

            fn accesses<V: $visitor>(chain: &$($mut)? [Access], visitor: &mut V) -> ControlFlow<V::Break> {
                for access in chain {
                    match access {
                        Access::Field(_) => {}
                        Access::Index(index) => index.$method(visitor)?,
                        Access::Slice(from, to) => {
                            some(from, visitor)?;
                            some(to, visitor)?;
                        }
                    }
                }
                ControlFlow::Continue(())
            }

            fn case<V: $visitor>(case: &$($mut)? Case, visitor: &mut V) -> ControlFlow<V::Break> {
                some(&$($mut)? case.operand, visitor)?;
                for branch in &$($mut)? case.branches {
                    branch.condition.$method(visitor)?;
                    branch.result.$method(visitor)?;
                }
                some(&$($mut)? case.otherwise, visitor)
            }

            fn function<V: $visitor>(call: &$($mut)? Function, visitor: &mut V) -> ControlFlow<V::Break> {
                if let Some(arguments) = &$($mut)? call.arguments {
                    for argument in arguments {
                        match argument {
                            Argument::Expr(value) | Argument::Named(_, value) => value.$method(visitor)?,
                            Argument::Star | Argument::TableRow(_) => {}
                        }
                    }
                }
                keys(&$($mut)? call.order_by, visitor)?;
                keys(&$($mut)? call.within_group, visitor)?;
                some(&$($mut)? call.filter, visitor)?;
                match &$($mut)? call.over {
                    Some(Window::Spec(spec)) => window(spec, visitor),
                    Some(Window::Named(_)) | None => ControlFlow::Continue(()),
                }
            }

            fn window<V: $visitor>(spec: &$($mut)? WindowSpec, visitor: &mut V) -> ControlFlow<V::Break> {
                all(&$($mut)? spec.partition_by, visitor)?;
                keys(&$($mut)? spec.order_by, visitor)?;
                if let Some(frame) = &$($mut)? spec.frame {
                    bound(&$($mut)? frame.start, visitor)?;
                    if let Some(end) = &$($mut)? frame.end {
                        bound(end, visitor)?;
                    }
                }
                ControlFlow::Continue(())
            }

            fn bound<V: $visitor>(bound: &$($mut)? WindowFrameBound, visitor: &mut V) -> ControlFlow<V::Break> {
                match bound {
                    WindowFrameBound::Preceding(Some(rows)) | WindowFrameBound::Following(Some(rows)) => {
                        rows.$method(visitor)
                    }
                    _ => ControlFlow::Continue(()),
                }
            }

            pub fn clauses<V: $visitor>(query: &$($mut)? Query, visitor: &mut V) -> ControlFlow<V::Break> {
                if let Some(with) = &$($mut)? query.with {
                    for cte in &$($mut)? with.queries {
                        cte.query.$method(visitor)?;
                    }
                }
                query.body.$method(visitor)?;
                keys(&$($mut)? query.order_by, visitor)?;
                match &$($mut)? query.limit {
                    Some(Limit::Count(count)) => count.$method(visitor)?,
                    Some(Limit::Fetch { count, .. }) => some(count, visitor)?,
                    None => {}
                }
                some(&$($mut)? query.offset, visitor)
            }

            pub fn select<V: $visitor>(select: &$($mut)? Select, visitor: &mut V) -> ControlFlow<V::Break> {
                if let Some(Distinct::On(keys)) = &$($mut)? select.distinct {
                    all(keys, visitor)?;
                }
                items(&$($mut)? select.projection, visitor)?;
                tables(&$($mut)? select.from, visitor)?;
                some(&$($mut)? select.selection, visitor)?;
                grouping(&$($mut)? select.group_by, visitor)?;
                some(&$($mut)? select.having, visitor)?;
                for named in &$($mut)? select.windows {
                    window(&$($mut)? named.spec, visitor)?;
                }
                ControlFlow::Continue(())
            }

            fn items<V: $visitor>(items: &$($mut)? [SelectItem], visitor: &mut V) -> ControlFlow<V::Break> {
                for item in items {
                    match item {
                        SelectItem::Expr(expr)
                        | SelectItem::ExprWithAlias { expr, .. }
                        | SelectItem::RecordWildcard(expr) => expr.$method(visitor)?,
                        SelectItem::Wildcard(_) | SelectItem::TableWildcard(_) => {}
                    }
                }
                ControlFlow::Continue(())
            }

            fn grouping<V: $visitor>(
                elements: &$($mut)? [GroupingElement],
                visitor: &mut V,
            ) -> ControlFlow<V::Break> {
                for element in elements {
                    match element {
                        GroupingElement::Key(key) => key.$method(visitor)?,
                        GroupingElement::Set(keys) => all(keys, visitor)?,
                        GroupingElement::Rollup(parts) | GroupingElement::Cube(parts) => {
                            for part in parts {
                                all(part, visitor)?;
                            }
                        }
                        GroupingElement::Sets(sets) => ensure_stack(|| grouping(sets, visitor))?,
                    }
                }
                ControlFlow::Continue(())
            }

            fn tables<V: $visitor>(tables: &$($mut)? [TableWithJoins], visitor: &mut V) -> ControlFlow<V::Break> {
                for table in tables {
                    joins(table, visitor)?;
                }
                ControlFlow::Continue(())
            }

            pub fn joins<V: $visitor>(table: &$($mut)? TableWithJoins, visitor: &mut V) -> ControlFlow<V::Break> {
                table.relation.$method(visitor)?;
                for join in &$($mut)? table.joins {
                    join.relation.$method(visitor)?;
                    if let JoinConstraint::On(condition) = &$($mut)? join.constraint {
                        condition.$method(visitor)?;
                    }
                }
                ControlFlow::Continue(())
            }

            fn assignments<V: $visitor>(
                assignments: &$($mut)? [Assignment],
                visitor: &mut V,
            ) -> ControlFlow<V::Break> {
                for assignment in assignments {
                    assignment.value.$method(visitor)?;
                }
                ControlFlow::Continue(())
            }

            fn returning<V: $visitor>(
                returning: &$($mut)? Option<Vec<SelectItem>>,
                visitor: &mut V,
            ) -> ControlFlow<V::Break> {
                match returning {
                    Some(returning) => items(returning, visitor),
                    None => ControlFlow::Continue(()),
                }
            }

            pub fn insert<V: $visitor>(insert: &$($mut)? Insert, visitor: &mut V) -> ControlFlow<V::Break> {
                visitor.relation(&$($mut)? insert.table)?;
                if let Some(source) = &$($mut)? insert.source {
                    source.$method(visitor)?;
                }
                if let Some(conflict) = &$($mut)? insert.on_conflict {
                    if let Some(ConflictTarget::Index(columns, predicate)) = &$($mut)? conflict.target {
                        for column in columns {
                            column.key.$method(visitor)?;
                        }
                        some(predicate, visitor)?;
                    }
                    if let Some(update) = &$($mut)? conflict.update {
                        assignments(&$($mut)? update.assignments, visitor)?;
                        some(&$($mut)? update.selection, visitor)?;
                    }
                }
                returning(&$($mut)? insert.returning, visitor)
            }

            pub fn update<V: $visitor>(update: &$($mut)? Update, visitor: &mut V) -> ControlFlow<V::Break> {
                visitor.relation(&$($mut)? update.table.name)?;
                assignments(&$($mut)? update.assignments, visitor)?;
                tables(&$($mut)? update.from, visitor)?;
                some(&$($mut)? update.selection, visitor)?;
                returning(&$($mut)? update.returning, visitor)
            }

            pub fn merge<V: $visitor>(merge: &$($mut)? Merge, visitor: &mut V) -> ControlFlow<V::Break> {
                visitor.relation(&$($mut)? merge.table.name)?;
                merge.source.$method(visitor)?;
                merge.on.$method(visitor)?;
                for clause in &$($mut)? merge.clauses {
                    some(&$($mut)? clause.condition, visitor)?;
                    match &$($mut)? clause.action {
                        MergeAction::Nothing | MergeAction::Delete => {}
                        MergeAction::Update(changes) => assignments(changes, visitor)?,
                        MergeAction::Insert(row) => insert(row, visitor)?,
                    }
                }
                ControlFlow::Continue(())
            }

            pub fn delete<V: $visitor>(delete: &$($mut)? Delete, visitor: &mut V) -> ControlFlow<V::Break> {
                visitor.relation(&$($mut)? delete.table.name)?;
                tables(&$($mut)? delete.using, visitor)?;
                some(&$($mut)? delete.selection, visitor)?;
                returning(&$($mut)? delete.returning, visitor)
            }
        }
    };
}

walk! {
    /// Looks at the nodes of a tree.
    Visitor, Visit, visit, shared
}

walk! {
    /// Changes the nodes of a tree.
    VisitorMut, VisitMut, visit_mut, exclusive, mut
}

/// Looks at every expression, outer ones first.
///
/// # Errors
/// The look's reason to end early.
pub fn visit_expressions<B>(node: &impl Visit, look: impl FnMut(&Expr) -> ControlFlow<B>) -> ControlFlow<B> {
    struct Looks<F>(F);
    impl<B, F: FnMut(&Expr) -> ControlFlow<B>> Visitor for Looks<F> {
        type Break = B;
        fn expression(&mut self, expr: &Expr) -> ControlFlow<B> {
            (self.0)(expr)
        }
    }
    node.visit(&mut Looks(look))
}

/// Changes every expression, inner ones first.
///
/// # Errors
/// The change's reason to end early.
pub fn visit_expressions_mut<B>(
    node: &mut impl VisitMut,
    change: impl FnMut(&mut Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    struct Changes<F>(F);
    impl<B, F: FnMut(&mut Expr) -> ControlFlow<B>> VisitorMut for Changes<F> {
        type Break = B;
        fn after_expression(&mut self, expr: &mut Expr) -> ControlFlow<B> {
            (self.0)(expr)
        }
    }
    node.visit_mut(&mut Changes(change))
}

/// Looks at the names of all relations.
///
/// # Errors
/// The look's reason to end early.
pub fn visit_relations<B>(node: &impl Visit, look: impl FnMut(&ObjectName) -> ControlFlow<B>) -> ControlFlow<B> {
    struct Looks<F>(F);
    impl<B, F: FnMut(&ObjectName) -> ControlFlow<B>> Visitor for Looks<F> {
        type Break = B;
        fn relation(&mut self, name: &ObjectName) -> ControlFlow<B> {
            (self.0)(name)
        }
    }
    node.visit(&mut Looks(look))
}
