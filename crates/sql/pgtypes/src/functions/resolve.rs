//! Resolution of calls to functions, operators and aggregates.
//!
//! Source: PostgreSQL 15's manual, chapter 10 "Type Conversion", sections 10.2 (operators) and 10.3 (functions).

use super::candidate::{Choice, Signature, choose, declared};
use super::{Aggregate, Function, Registry, Resolved, ResolvedAggregate, WindowFunction, pseudo};
use super::{absent, aggregate, compare, polymorphic, registry};
use crate::error::{Error, Result, state};
use crate::{Scalar, Type};

impl<B: 'static> Registry<B> {
    /// Resolves a call of the function of this name with arguments of these types.
    ///
    /// # Errors
    /// 42883 if no function fits, 42725 if several fit equally well.
    pub fn function(&'static self, name: &str, arguments: &[Type]) -> Result<Resolved<B>> {
        match choose(self.named(name), arguments) {
            Choice::One(function) => self.bound(function, arguments),
            Choice::None if self.named(name).is_empty() => {
                Err(absent::refusal(name).unwrap_or_else(|| no_function(name, arguments)))
            }
            Choice::None => Err(no_function(name, arguments)),
            Choice::Several => Err(ambiguous_function(name, arguments)),
        }
    }

    /// Resolves the operator of a symbol between (or, without `left`, before) operands of these types.
    ///
    /// # Errors
    /// 42883 if no operator fits, 42725 if several fit equally well.
    pub fn operator(&'static self, symbol: &str, left: Option<Type>, right: Type) -> Result<Resolved<B>> {
        let operands: Vec<Type> = left.into_iter().chain([right]).collect();
        match choose_operator(self.named(symbol), &operands) {
            Choice::One(function) => self.bound(function, &operands),
            Choice::None => Err(no_operator(symbol, &operands)),
            Choice::Several => Err(ambiguous_operator(symbol, &operands)),
        }
    }

    /// The function with its arguments' and its result's types made concrete.
    fn bound(&self, function: &'static Function<B>, actual: &[Type]) -> Result<Resolved<B>> {
        let declared = declared(&function, actual.len());
        let (arguments, result) = polymorphic::make_concrete(&declared, function.result, actual)?;
        Ok(Resolved { function, arguments, result, columns: self.columns(function.name) })
    }
}

/// An operand of unknown type is first tried as of the other's type (10.2, step 2a).
fn choose_operator<S: Signature>(candidates: &'static [S], operands: &[Type]) -> Choice<S> {
    if let &[left, right] = operands
        && (left == Type::UNKNOWN) != (right == Type::UNKNOWN)
    {
        let known = if left == Type::UNKNOWN { right } else { left };
        let exact = candidates.iter().find(|candidate| candidate.arguments() == [known, known]);
        if let Some(exact) = exact {
            return Choice::One(exact);
        }
    }
    choose(candidates, operands)
}

/// The aggregate that a call of this name means; `None` if no aggregate has the name. `count(*)` has no arguments.
///
/// # Errors
/// 42883 if none takes these arguments, 42725 if several fit equally well.
pub fn resolve_aggregate(name: &str, arguments: &[Type]) -> Result<Option<ResolvedAggregate>> {
    let candidates = registry::aggregates(name);
    if candidates.is_empty() {
        return Ok(None);
    }
    match choose(candidates, arguments) {
        Choice::One(aggregate) => bound_aggregate(aggregate, arguments).map(Some),
        Choice::None => Err(no_function(name, arguments)),
        Choice::Several => Err(ambiguous_function(name, arguments)),
    }
}

/// `json_agg` of such objects.
pub fn json_agg_of_rows() -> ResolvedAggregate {
    ResolvedAggregate { aggregate: &aggregate::JSON_AGG_OF_ROWS, arguments: vec![Type::JSON], result: Type::JSON }
}

fn bound_aggregate(aggregate: &'static Aggregate, actual: &[Type]) -> Result<ResolvedAggregate> {
    let (arguments, result) = polymorphic::make_concrete(aggregate.arguments, aggregate.result, actual)?;
    // Rows stay of the type that they are.
    if let (true, [row]) = (result == Type::array_of(Scalar::Record), actual)
        && row.composite().is_some()
    {
        return Ok(ResolvedAggregate { aggregate, arguments: vec![*row], result: Type::array_of(row.scalar) });
    }
    Ok(ResolvedAggregate { aggregate, arguments, result })
}

/// Returns whether an aggregate has this name.
pub fn is_aggregate(name: &str) -> bool {
    !registry::aggregates(name).is_empty()
}

/// Returns whether this name is an ordered-set aggregate: rows in the order of WITHIN GROUP, first arguments direct.
pub fn is_ordered_set(name: &str) -> bool {
    aggregate::ORDERED_SETS.contains(&name)
}

/// The function over windows that a call means, the types to which its arguments are cast, and its result's type; `None`
/// if the name is not one of theirs.
///
/// # Errors
/// 42883 if it does not take these arguments.
pub fn window_function(name: &str, arguments: &[Type]) -> Result<Option<(WindowFunction, Vec<Type>, Type)>> {
    use WindowFunction::*;
    use pseudo::{ANYCOMPATIBLE, ANYELEMENT};
    const FORMS: &[(&str, WindowFunction, &[Type], Type)] = &[
        ("row_number", RowNumber, &[], Type::INT8),
        ("rank", Rank, &[], Type::INT8),
        ("dense_rank", DenseRank, &[], Type::INT8),
        ("percent_rank", PercentRank, &[], Type::FLOAT8),
        ("cume_dist", CumeDist, &[], Type::FLOAT8),
        ("ntile", Ntile, &[Type::INT4], Type::INT4),
        ("lag", Lag, &[ANYELEMENT], ANYELEMENT),
        ("lag", Lag, &[ANYELEMENT, Type::INT4], ANYELEMENT),
        ("lag", Lag, &[ANYCOMPATIBLE, Type::INT4, ANYCOMPATIBLE], ANYCOMPATIBLE),
        ("lead", Lead, &[ANYELEMENT], ANYELEMENT),
        ("lead", Lead, &[ANYELEMENT, Type::INT4], ANYELEMENT),
        ("lead", Lead, &[ANYCOMPATIBLE, Type::INT4, ANYCOMPATIBLE], ANYCOMPATIBLE),
        ("first_value", FirstValue, &[ANYELEMENT], ANYELEMENT),
        ("last_value", LastValue, &[ANYELEMENT], ANYELEMENT),
        ("nth_value", NthValue, &[ANYELEMENT, Type::INT4], ANYELEMENT),
    ];
    let mut forms = FORMS.iter().filter(|form| form.0 == name).peekable();
    if forms.peek().is_none() {
        return Ok(None);
    }
    let fitting = forms.find(|form| polymorphic::accepts(form.2, arguments));
    let &(_, function, declared, result) = fitting.ok_or_else(|| no_function(name, arguments))?;
    let (arguments, result) = polymorphic::make_concrete(declared, result, arguments)?;
    Ok(Some((function, arguments, result)))
}

/// The type on which two types compare.
///
/// # Errors
/// 42883 `operator does not exist: integer = text`.
pub fn comparison_type(left: Type, right: Type) -> Result<Type> {
    comparison_type_by("=", left, right)
}

/// Returns the type on which two types compare by the operator of this symbol; the symbol is for the error.
///
/// # Errors
/// Errors of [`comparison_type`].
pub fn comparison_type_by(symbol: &str, left: Type, right: Type) -> Result<Type> {
    if left == right && (left.is_array || left.composite().is_some()) {
        return Ok(left);
    }
    match choose_operator(compare::FORMS, &[left, right]) {
        Choice::One(form) if form.common == Type::XID && !matches!(symbol, "=" | "<>") => {
            Err(no_operator(symbol, &[left, right]))
        }
        Choice::One(form) => {
            polymorphic::make_concrete(form.arguments(), form.common, &[left, right]).map(|(_, common)| common)
        }
        Choice::None => Err(no_operator(symbol, &[left, right])),
        Choice::Several => Err(ambiguous_operator(symbol, &[left, right])),
    }
}

/// The name of a type in messages: without its length, `character` is itself there.
fn named(data_type: Type) -> String {
    data_type.name().replace("bpchar", "character")
}

fn listed(types: &[Type]) -> String {
    types.iter().map(|data_type| named(*data_type)).collect::<Vec<_>>().join(", ")
}

fn no_function(name: &str, arguments: &[Type]) -> Error {
    Error::new(state::UNDEFINED_FUNCTION, format!("function {name}({}) does not exist", listed(arguments)))
        .hint("No function matches the given name and argument types. You might need to add explicit type casts.")
}

fn ambiguous_function(name: &str, arguments: &[Type]) -> Error {
    Error::new(state::AMBIGUOUS_FUNCTION, format!("function {name}({}) is not unique", listed(arguments)))
        .hint("Could not choose a best candidate function. You might need to add explicit type casts.")
}

/// The operator as PostgreSQL's messages write it.
fn operator_text(symbol: &str, operands: &[Type]) -> String {
    match operands {
        [left, right] => format!("{} {symbol} {}", named(*left), named(*right)),
        _ => format!("{symbol} {}", listed(operands)),
    }
}

fn no_operator(symbol: &str, operands: &[Type]) -> Error {
    if operands.first() == Some(&Type::JSONB) && matches!(symbol, "@?" | "@@") {
        let hint = "It takes a jsonpath. Use ->, ->>, #> and @>.";
        return Error::unsupported(format_args!("operator {symbol} of jsonb")).hint(hint);
    }
    let message = format!("operator does not exist: {}", operator_text(symbol, operands));
    Error::new(state::UNDEFINED_FUNCTION, message).hint(if operands.len() == 1 {
        "No operator matches the given name and argument type. You might need to add an explicit type cast."
    } else {
        "No operator matches the given name and argument types. You might need to add explicit type casts."
    })
}

fn ambiguous_operator(symbol: &str, operands: &[Type]) -> Error {
    let message = format!("operator is not unique: {}", operator_text(symbol, operands));
    Error::new(state::AMBIGUOUS_FUNCTION, message)
        .hint("Could not choose a best candidate operator. You might need to add explicit type casts.")
}
