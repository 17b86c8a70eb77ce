//! FROM.

use super::super::table::{
    FunctionsForm, Join, JoinConstraint, JoinKind, TableAlias, TableAliasColumn, TableFactor, TableFunction,
    TableWithJoins,
};
use super::{Clause, List};
use pgtypes::stack::ensure_stack;
use std::fmt::{self, Display, Formatter};

impl Display for TableWithJoins {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.relation)?;
        for join in &self.joins {
            write!(f, " {join}")?;
        }
        Ok(())
    }
}

impl Display for Join {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.constraint == JoinConstraint::Natural {
            f.write_str("NATURAL ")?;
        }
        let kind = match self.kind {
            JoinKind::Inner => "JOIN",
            JoinKind::Cross => "CROSS JOIN",
            JoinKind::Left => "LEFT JOIN",
            JoinKind::Right => "RIGHT JOIN",
            JoinKind::Full => "FULL JOIN",
        };
        write!(f, "{kind} {}", self.relation)?;
        match &self.constraint {
            JoinConstraint::None | JoinConstraint::Natural => Ok(()),
            JoinConstraint::On(condition) => write!(f, " ON {condition}"),
            JoinConstraint::Using(columns) => write!(f, " USING({})", List(columns)),
        }
    }
}

impl Display for TableFactor {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let lateral = |lateral: &bool| if *lateral { "LATERAL " } else { "" };
        ensure_stack(|| match self {
            TableFactor::Table { name, alias } => write!(f, "{name}{}", Clause(" ", alias.as_ref())),
            TableFactor::Functions { form, lateral: is_lateral, calls, ordinality, alias } => {
                f.write_str(lateral(is_lateral))?;
                functions(f, *form, calls)?;
                let ordinality = if *ordinality { " WITH ORDINALITY" } else { "" };
                write!(f, "{ordinality}{}", Clause(" ", alias.as_ref()))
            }
            TableFactor::Derived { lateral: is_lateral, subquery, alias } => {
                write!(f, "{}({subquery}){}", lateral(is_lateral), Clause(" ", alias.as_ref()))
            }
            TableFactor::NestedJoin { table, alias } => write!(f, "({table}){}", Clause(" ", alias.as_ref())),
        })
    }
}

fn functions(f: &mut Formatter<'_>, form: FunctionsForm, calls: &[TableFunction]) -> fmt::Result {
    match form {
        FunctionsForm::Call => write!(f, "{}", List(calls)),
        FunctionsForm::RowsFrom => write!(f, "ROWS FROM ({})", List(calls)),
        FunctionsForm::Unnest => {
            f.write_str("UNNEST(")?;
            for (at, call) in calls.iter().enumerate() {
                write!(f, "{}{}", if at > 0 { ", " } else { "" }, List(&call.arguments))?;
            }
            f.write_str(")")
        }
    }
}

impl Display for TableFunction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name, List(&self.arguments))
    }
}

impl Display for TableAlias {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.explicit { "AS " } else { "" }, self.name)?;
        if self.columns.is_empty() { Ok(()) } else { write!(f, " ({})", List(&self.columns)) }
    }
}

impl Display for TableAliasColumn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, Clause(" ", self.data_type.as_ref()))
    }
}
