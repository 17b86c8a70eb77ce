//! Clauses for which the parser's tree has no place: where the tree carries them, and how they are read from it. Only this
//! crate depends on the places.

use sqlparser::ast::{
    self, AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName,
    ObjectNamePart,
};

/// OVERRIDING of an INSERT, for columns with generated values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overriding {
    /// OVERRIDING SYSTEM VALUE: the given values count.
    System,
    /// OVERRIDING USER VALUE: they do not.
    User,
}

/// The key under which a parsed INSERT carries [`Overriding`]: its syntax has no place for it, and no PostgreSQL statement
/// uses the settings that it has.
pub(crate) const OVERRIDING: &str = "overriding";

/// Returns the OVERRIDING clause of an INSERT.
pub fn overriding(insert: &ast::Insert) -> Option<Overriding> {
    let setting = insert.settings.iter().flatten().find(|setting| setting.key.value == OVERRIDING)?;
    let is_system = matches!(&setting.value, ast::Expr::Identifier(what) if what.value == "system");
    Some(if is_system { Overriding::System } else { Overriding::User })
}

/// `FROM ROWS FROM (f(x), g(y))` becomes a function of this name, with the calls as arguments.
pub(crate) const ROWS_FROM: &str = "ROWS FROM";

/// `BETWEEN SYMMETRIC low AND high` becomes `BETWEEN SYMMETRIC(low) AND high`: a call of a reserved word.
pub(crate) const SYMMETRIC: &str = "SYMMETRIC";

/// The frame's EXCLUDE becomes the first expression of PARTITION BY: a name of two words.
pub(crate) const EXCLUSIONS: [&str; 4] = ["EXCLUDE NO OTHERS", "EXCLUDE CURRENT ROW", "EXCLUDE GROUP", "EXCLUDE TIES"];

/// `(record).*` becomes `(record)."*"`, the name without its quotes.
pub(crate) const ALL_FIELDS: &str = "*";

/// Returns whether a name is one that only the rewriting gives.
fn is_carrier(name: &Ident, carrier: &str) -> bool {
    name.quote_style.is_none() && name.value.eq_ignore_ascii_case(carrier)
}

/// Returns the record of an expression `(record).*`; `None` for another expression.
pub fn expanded_record(syntax: &Expr) -> Option<Expr> {
    let Expr::CompoundFieldAccess { root, access_chain } = syntax else { return None };
    match access_chain.split_last()? {
        (AccessExpr::Dot(Expr::Identifier(name)), before) if is_carrier(name, ALL_FIELDS) => Some(match before {
            [] => (**root).clone(),
            _ => Expr::CompoundFieldAccess { root: root.clone(), access_chain: before.to_vec() },
        }),
        _ => None,
    }
}

/// Rows that a window's frame leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// EXCLUDE NO OTHERS
    NoOthers,
    /// EXCLUDE CURRENT ROW
    CurrentRow,
    /// EXCLUDE GROUP
    Group,
    /// EXCLUDE TIES
    Ties,
}

/// Splits the expressions after PARTITION BY from the EXCLUDE of the window's frame, if it has one.
pub fn split_exclusion(partition_by: &[Expr]) -> (Option<Exclusion>, &[Expr]) {
    let exclusions = [Exclusion::NoOthers, Exclusion::CurrentRow, Exclusion::Group, Exclusion::Ties];
    let Some((Expr::Identifier(name), rest)) = partition_by.split_first() else { return (None, partition_by) };
    let carried = EXCLUSIONS.iter().zip(exclusions).find(|(carrier, _)| is_carrier(name, carrier));
    carried.map_or((None, partition_by), |(_, exclusion)| (Some(exclusion), rest))
}

/// The lower bound after BETWEEN SYMMETRIC; `None` for a bound of a plain BETWEEN.
pub fn symmetric_bound(low: &Expr) -> Option<&Expr> {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = low else { return None };
    let [ObjectNamePart::Identifier(name)] = name.0.as_slice() else { return None };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(bound))] if is_carrier(name, SYMMETRIC) => Some(bound),
        _ => None,
    }
}

/// Returns whether a function of FROM is ROWS FROM. Its arguments are then the calls.
pub fn is_rows_from(name: &ObjectName) -> bool {
    matches!(name.0.as_slice(), [ObjectNamePart::Identifier(name)] if is_carrier(name, ROWS_FROM))
}
