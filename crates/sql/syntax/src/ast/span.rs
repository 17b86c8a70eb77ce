//! Where expressions and queries stand: around what the parser knows the places of, which are names, constants and a few words.

use super::expression::{Access, Argument, Expr, Function};
use super::name::{Location, ObjectName, Span};
use super::query::{Query, Select, SetExpr};
use super::table::TableFactor;
use super::walk::{Visit, Visitor};
use std::ops::ControlFlow;

impl Expr {
    /// Returns where the expression stands, as far as it is known: parentheses, operators and most words are not.
    pub fn span(&self) -> Span {
        let mut around = Around(Span::NOWHERE);
        let _ = self.visit(&mut around);
        around.0
    }

    /// Returns where the expression starts, if that is known: the same place as [`Expr::span`] says, found faster; for a call
    /// that of its name.
    pub fn start(&self) -> Location {
        let mut first = self;
        loop {
            first = match first {
                Expr::Identifier(name) => return name.span.start,
                Expr::Literal(literal) => return literal.span.start,
                Expr::Function(function) if std::ptr::eq(first, self) => return function.start(),
                Expr::Subquery(query) | Expr::Exists(query) => return query.start(),
                Expr::Nested(inner) => inner,
                Expr::Access { root: expr, .. }
                | Expr::Cast { expr, .. }
                | Expr::Collate { expr, .. }
                | Expr::Infix { left: expr, .. }
                | Expr::Quantified { left: expr, .. }
                | Expr::IsNull { expr, .. }
                | Expr::IsTruth { expr, .. }
                | Expr::IsDistinct { left: expr, .. }
                | Expr::InList { expr, .. }
                | Expr::InSubquery { expr, .. }
                | Expr::Between { expr, .. }
                | Expr::Like { expr, .. } => expr,
                other => return other.span().start,
            };
        }
    }

    /// What the expression has a place of itself.
    fn own_span(&self) -> Span {
        match self {
            Expr::Identifier(name) => name.span,
            Expr::CompoundIdentifier(names) => names.iter().fold(Span::NOWHERE, |span, name| span.union(name.span)),
            Expr::Default(span) => *span,
            Expr::TableRow(name) | Expr::Collate { collation: name, .. } => name.span(),
            Expr::Access { chain, .. } => chain.iter().fold(Span::NOWHERE, |span, access| match access {
                Access::Field(name) => span.union(name.span),
                Access::Index(_) | Access::Slice(..) => span,
            }),
            Expr::Literal(literal) => literal.span,
            Expr::TypedLiteral { text, .. } => text.span,
            Expr::Interval(interval) => interval.text.span,
            Expr::Function(function) => function.own_span(),
            Expr::Case(case) => case.span,
            Expr::ArraySubquery { keyword, .. } => *keyword,
            Expr::Row { keyword, .. } => keyword.unwrap_or(Span::NOWHERE),
            _ => Span::NOWHERE,
        }
    }
}

impl Function {
    /// Returns where the call starts.
    pub fn start(&self) -> Location {
        self.name.0.first().map_or(Span::NOWHERE.start, |name| name.span.start)
    }

    fn own_span(&self) -> Span {
        self.arguments.iter().flatten().fold(self.name.span(), |span, argument| match argument {
            Argument::Named(name, _) => span.union(name.span),
            Argument::TableRow(table) => span.union(table.span()),
            Argument::Expr(_) | Argument::Star => span,
        })
    }
}

impl Query {
    /// Returns where the query starts: at the word WITH, SELECT or the like.
    pub fn start(&self) -> Location {
        match &self.with {
            Some(with) => with.span.start,
            None => self.body.start(),
        }
    }
}

impl SetExpr {
    fn start(&self) -> Location {
        let mut first = self;
        loop {
            first = match first {
                SetExpr::Select(select) => return select.span.start,
                SetExpr::Values { span, .. } => return span.start,
                SetExpr::Query(query) => return query.start(),
                SetExpr::SetOperation { left, .. } => left,
                SetExpr::Write(_) => return Span::NOWHERE.start,
            };
        }
    }
}

/// Takes in the places of all that it visits.
struct Around(Span);

impl Around {
    fn take(&mut self, span: Span) -> ControlFlow<()> {
        self.0 = self.0.union(span);
        ControlFlow::Continue(())
    }
}

impl Visitor for Around {
    type Break = ();

    fn expression(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.take(expr.own_span())
    }

    fn query(&mut self, query: &Query) -> ControlFlow<()> {
        if let Some(with) = &query.with {
            self.take(with.span)?;
        }
        match &*query.body {
            SetExpr::Values { span, .. } => self.take(*span),
            _ => ControlFlow::Continue(()),
        }
    }

    fn select(&mut self, select: &Select) -> ControlFlow<()> {
        self.take(select.span)
    }

    fn table(&mut self, table: &TableFactor) -> ControlFlow<()> {
        let (TableFactor::Table { alias, .. }
        | TableFactor::Functions { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::NestedJoin { alias, .. }) = table;
        self.take(alias.as_ref().map_or(Span::NOWHERE, |alias| alias.name.span))
    }

    fn relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        self.take(name.span())
    }
}
