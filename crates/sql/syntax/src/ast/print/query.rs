//! Queries.

use super::super::query::{
    Cte, Distinct, GroupingElement, Limit, LockClause, LockType, NamedWindow, NonBlock, OrderByExpr, Query, Select,
    SelectItem, SetExpr, SetOperator, With,
};
use super::{Clause, List, ListClause};
use pgtypes::stack::ensure_stack;
use std::fmt::{self, Display, Formatter};

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(with) = &self.with {
            write!(f, "{with} ")?;
        }
        write!(f, "{}{}", self.body, ListClause(" ORDER BY ", &self.order_by))?;
        if let Some(Limit::Count(count)) = &self.limit {
            write!(f, " LIMIT {count}")?;
        }
        write!(f, "{}", Clause(" OFFSET ", self.offset.as_ref()))?;
        if let Some(Limit::Fetch { count, with_ties }) = &self.limit {
            let ties = if *with_ties { "WITH TIES" } else { "ONLY" };
            write!(f, " FETCH FIRST{} ROWS {ties}", Clause(" ", count.as_ref()))?;
        }
        for lock in &self.locks {
            write!(f, " {lock}")?;
        }
        Ok(())
    }
}

impl Display for With {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "WITH {}{}", if self.recursive { "RECURSIVE " } else { "" }, List(&self.queries))
    }
}

impl Display for Cte {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let materialized = match self.materialized {
            None => "",
            Some(true) => "MATERIALIZED ",
            Some(false) => "NOT MATERIALIZED ",
        };
        write!(f, "{} AS {materialized}({})", self.alias, self.query)
    }
}

impl Display for SetExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        ensure_stack(|| match self {
            SetExpr::Select(select) => write!(f, "{select}"),
            SetExpr::Query(query) => write!(f, "({query})"),
            SetExpr::SetOperation { left, operator, all, right } => {
                write!(f, "{left} {operator}{} {right}", if *all { " ALL" } else { "" })
            }
            SetExpr::Values { rows, .. } => {
                f.write_str("VALUES ")?;
                for (at, row) in rows.iter().enumerate() {
                    write!(f, "{}({})", if at > 0 { ", " } else { "" }, List(row))?;
                }
                Ok(())
            }
            SetExpr::Write(statement) => write!(f, "{statement}"),
        })
    }
}

impl Display for SetOperator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SetOperator::Union => "UNION",
            SetOperator::Intersect => "INTERSECT",
            SetOperator::Except => "EXCEPT",
        })
    }
}

impl Display for Select {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("SELECT")?;
        match &self.distinct {
            None => {}
            Some(Distinct::Rows) => f.write_str(" DISTINCT")?,
            Some(Distinct::On(keys)) => write!(f, " DISTINCT ON ({})", List(keys))?,
        }
        write!(f, "{}{}", ListClause(" ", &self.projection), ListClause(" FROM ", &self.from))?;
        write!(f, "{}", Clause(" WHERE ", self.selection.as_ref()))?;
        write!(f, "{}{}", ListClause(" GROUP BY ", &self.group_by), Clause(" HAVING ", self.having.as_ref()))?;
        write!(f, "{}", ListClause(" WINDOW ", &self.windows))
    }
}

impl Display for SelectItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            SelectItem::Expr(expr) => write!(f, "{expr}"),
            SelectItem::ExprWithAlias { expr, alias } => write!(f, "{expr} AS {alias}"),
            SelectItem::Wildcard(_) => f.write_str("*"),
            SelectItem::TableWildcard(table) => write!(f, "{table}.*"),
            SelectItem::RecordWildcard(record) => write!(f, "{record}.*"),
        }
    }
}

impl Display for GroupingElement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            GroupingElement::Key(key) => write!(f, "{key}"),
            GroupingElement::Set(keys) => write!(f, "({})", List(keys)),
            GroupingElement::Rollup(parts) => grouping_parts(f, "ROLLUP", parts),
            GroupingElement::Cube(parts) => grouping_parts(f, "CUBE", parts),
            GroupingElement::Sets(sets) => write!(f, "GROUPING SETS ({})", List(sets)),
        }
    }
}

fn grouping_parts<T: Display>(f: &mut Formatter<'_>, word: &str, parts: &[Vec<T>]) -> fmt::Result {
    write!(f, "{word} (")?;
    for (at, part) in parts.iter().enumerate() {
        f.write_str(if at > 0 { ", " } else { "" })?;
        match part.as_slice() {
            [key] => write!(f, "{key}")?,
            keys => write!(f, "({})", List(keys))?,
        }
    }
    f.write_str(")")
}

impl Display for NamedWindow {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} AS ({})", self.name, self.spec)
    }
}

impl Display for OrderByExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let direction = match self.options.asc {
            None => "",
            Some(true) => " ASC",
            Some(false) => " DESC",
        };
        let nulls = match self.options.nulls_first {
            None => "",
            Some(true) => " NULLS FIRST",
            Some(false) => " NULLS LAST",
        };
        write!(f, "{}{direction}{nulls}", self.expr)
    }
}

impl Display for LockClause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "FOR {}{}", self.lock_type, Clause(" OF ", self.of.as_ref()))?;
        f.write_str(match self.nonblock {
            None => "",
            Some(NonBlock::Nowait) => " NOWAIT",
            Some(NonBlock::SkipLocked) => " SKIP LOCKED",
        })
    }
}

impl Display for LockType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LockType::Update => "UPDATE",
            LockType::Share => "SHARE",
        })
    }
}
