//! Types of `$1`, `$2`, ...: given by the client, or decided by the first use that determines one.

use super::Parameters;
use super::coerce::reg_call;
use super::position::{NOWHERE, SourceText};
use crate::error::{Result, SqlError, state};
use crate::plan::{Expr, ExprKind};
use crate::types::{Scalar, Type};
use syntax::ast::Location;

/// The protocol counts parameters in 16 bits.
const MOST: usize = u16::MAX as usize;

/// The types of a statement's parameters, as far as they are known.
pub(super) struct ParameterTypes<'p> {
    /// The types, by number from 0; `None` for those that no use has determined yet.
    pub types: &'p mut Parameters,
    /// Source of the placeholders' locations.
    pub text: SourceText<'p>,
}

impl ParameterTypes<'_> {
    /// `$1` and the like.
    pub(super) fn reference(&mut self, placeholder: &str, at: Location) -> Result<Expr> {
        let number = placeholder.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok());
        let Some(number) = number.filter(|number| (1..=MOST).contains(number)) else {
            let error = SqlError::new(state::UNDEFINED_PARAMETER, format!("there is no parameter {placeholder}"));
            return Err(self.text.error_at(error, at));
        };
        if self.types.len() < number {
            self.types.resize(number, None);
        }
        let data_type = self.types[number - 1].unwrap_or(Type::UNKNOWN);
        parameter_value(number - 1, data_type)
    }

    /// Gives a parameter its type.
    pub(super) fn decide(&mut self, number: usize, data_type: Type, at: Location) -> Result<Expr> {
        let slot = &mut self.types[number];
        let decided = *slot.get_or_insert(data_type);
        if decided != data_type {
            let error = SqlError::new("42P08", format!("inconsistent types deduced for parameter ${}", number + 1))
                .detail(format!("{} versus {}", decided.name(), data_type.name()));
            return Err(self.text.error_at(error, at));
        }
        parameter_value(number, data_type)
    }

    /// # Errors
    /// 42P18 if a parameter's type was never decided.
    pub(super) fn check(&self) -> Result<()> {
        match self.types.iter().position(Option::is_none) {
            None => Ok(()),
            Some(number) => {
                let message = format!("could not determine data type of parameter ${}", number + 1);
                Err(self.text.error_at(SqlError::new(state::INDETERMINATE_DATATYPE, message), NOWHERE))
            }
        }
    }
}

/// The value of a parameter. That of a reg* type is the name that the client sent, which is looked up when the statement runs, or
/// an oid.
fn parameter_value(number: usize, data_type: Type) -> Result<Expr> {
    if !data_type.scalar.is_reg() {
        return Ok(Expr::new(ExprKind::Parameter(number), data_type));
    }
    let sent = Expr::new(ExprKind::Parameter(number), Type { scalar: Scalar::Text, ..data_type });
    reg_call("in", data_type, sent, data_type)
}
