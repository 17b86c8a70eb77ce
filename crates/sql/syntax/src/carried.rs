//! Clauses for which the parser's tree has no place: where the tree carries them, and how lowering takes them out.

use crate::ast::{Exclusion, Overriding};
use sqlparser::ast::{
    AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, ObjectNamePart,
};

/// `FROM ROWS FROM (f(x), g(y))` becomes a function of this name, with the calls as arguments.
pub(crate) const ROWS_FROM: &str = "ROWS FROM";

/// `BETWEEN SYMMETRIC low AND high` becomes `BETWEEN SYMMETRIC(low) AND high`: a call of a reserved word.
pub(crate) const SYMMETRIC: &str = "SYMMETRIC";

/// The frame's EXCLUDE becomes the first expression of PARTITION BY: a name of two words.
pub(crate) const EXCLUSIONS: [&str; 4] = ["EXCLUDE NO OTHERS", "EXCLUDE CURRENT ROW", "EXCLUDE GROUP", "EXCLUDE TIES"];

/// OVERRIDING of an INSERT becomes the last column: a name of three words.
pub(crate) const OVERRIDING: [&str; 2] = ["OVERRIDING SYSTEM VALUE", "OVERRIDING USER VALUE"];

/// `(record).*` becomes `(record)."*"`, the name without its quotes; so does `t.*` as an operand.
pub(crate) const ALL_FIELDS: &str = "*";

/// The target of ON CONFLICT becomes a column whose name is this word and the target's text, unless it is a list of columns.
pub(crate) const CONFLICT_TARGET: &str = "ON CONFLICT ";

/// Returns the text of a conflict's target, if it is carried.
pub(crate) fn conflict_target(columns: &[Ident]) -> Option<&str> {
    match columns {
        [name] if name.quote_style.is_none() => name.value.strip_prefix(CONFLICT_TARGET),
        _ => None,
    }
}

/// Returns whether a name is this word, in any case and without quotes.
pub(crate) fn is_word(name: &Ident, word: &str) -> bool {
    name.quote_style.is_none() && name.value.eq_ignore_ascii_case(word)
}

/// Returns the record of an expression `(record).*`, and any other expression as it is; and whether it was such a one.
pub(crate) fn expanded_record(expr: Expr) -> (Expr, bool) {
    match expr {
        Expr::CompoundFieldAccess { root, mut access_chain } if ends_in_all_fields(&access_chain) => {
            access_chain.pop();
            let record = if access_chain.is_empty() { *root } else { Expr::CompoundFieldAccess { root, access_chain } };
            (record, true)
        }
        other => (other, false),
    }
}

fn ends_in_all_fields(chain: &[AccessExpr]) -> bool {
    matches!(chain.last(), Some(AccessExpr::Dot(Expr::Identifier(name))) if is_word(name, ALL_FIELDS))
}

/// Takes OVERRIDING from the columns of an INSERT, if it is there.
pub(crate) fn take_overriding(columns: &mut Vec<ObjectName>) -> Option<Overriding> {
    let kinds = OVERRIDING.iter().zip([Overriding::System, Overriding::User]);
    let last = columns.last()?;
    let (_, overriding) = kinds.into_iter().find(|(clause, _)| is_name(last, clause))?;
    columns.pop();
    Some(overriding)
}

/// Takes the EXCLUDE of a window's frame from the expressions after PARTITION BY, if it is there.
pub(crate) fn take_exclusion(partition_by: &mut Vec<Expr>) -> Option<Exclusion> {
    let exclusions = [Exclusion::NoOthers, Exclusion::CurrentRow, Exclusion::Group, Exclusion::Ties];
    let Some(Expr::Identifier(name)) = partition_by.first() else { return None };
    let (_, exclusion) = EXCLUSIONS.iter().zip(exclusions).find(|(carrier, _)| is_word(name, carrier))?;
    partition_by.remove(0);
    Some(exclusion)
}

/// Returns the lower bound of BETWEEN, and whether the word SYMMETRIC stands before it.
pub(crate) fn symmetric_bound(low: Expr) -> (Expr, bool) {
    match low {
        Expr::Function(Function { name, args: FunctionArguments::List(mut list), .. })
            if is_name(&name, SYMMETRIC)
                && matches!(list.args.as_slice(), [FunctionArg::Unnamed(FunctionArgExpr::Expr(_))]) =>
        {
            match list.args.pop() {
                Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(bound))) => (bound, true),
                _ => unreachable!("the argument that the pattern saw"),
            }
        }
        low => (low, false),
    }
}

/// Returns whether a function of FROM is ROWS FROM. Its arguments are then the calls.
pub(crate) fn is_rows_from(name: &ObjectName) -> bool {
    is_name(name, ROWS_FROM)
}

fn is_name(name: &ObjectName, word: &str) -> bool {
    matches!(name.0.as_slice(), [ObjectNamePart::Identifier(name)] if is_word(name, word))
}
