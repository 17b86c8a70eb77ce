//! Types of `$1`, `$2`, ...: given by the client, or decided by the first use that determines one.

use super::Binder;
use super::coerce::reg_call;
use super::position::NOWHERE;
use crate::error::{Result, SqlError, state};
use crate::plan::{Expr, ExprKind};
use crate::types::{Scalar, Type};
use syntax::ast::Location;

/// The protocol counts parameters in 16 bits.
const MOST: usize = u16::MAX as usize;

impl Binder<'_, '_> {
    /// `$1` and the like.
    pub(super) fn parameter(&mut self, placeholder: &str, at: Location) -> Result<Expr> {
        let number = placeholder.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok());
        let Some(number) = number.filter(|number| (1..=MOST).contains(number)) else {
            let error = SqlError::new(state::UNDEFINED_PARAMETER, format!("there is no parameter {placeholder}"));
            return Err(self.error_at(error, at));
        };
        if self.parameters.len() < number {
            self.parameters.resize(number, None);
        }
        let data_type = self.parameters[number - 1].unwrap_or(Type::UNKNOWN);
        parameter_value(number - 1, data_type)
    }

    /// Gives a parameter its type.
    pub(super) fn decide_parameter(&mut self, number: usize, data_type: Type, at: Location) -> Result<Expr> {
        let slot = &mut self.parameters[number];
        let decided = *slot.get_or_insert(data_type);
        if decided != data_type {
            let error = SqlError::new("42P08", format!("inconsistent types deduced for parameter ${}", number + 1))
                .detail(format!("{} versus {}", decided.name(), data_type.name()));
            return Err(self.error_at(error, at));
        }
        parameter_value(number, data_type)
    }

    /// # Errors
    /// 42P18 if a parameter's type was never decided.
    pub(super) fn check_parameters(&self) -> Result<()> {
        match self.parameters.iter().position(Option::is_none) {
            None => Ok(()),
            Some(number) => {
                let message = format!("could not determine data type of parameter ${}", number + 1);
                Err(self.error_at(SqlError::new(state::INDETERMINATE_DATATYPE, message), NOWHERE))
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
