//! Conversion of the syntax tree's lines and columns to the positions in error responses: characters of the statement, from 1.

use crate::error::SqlError;
use syntax::ast::{Expr, Location, Span};
use syntax::{byte_of, position_of};

/// Location of something whose place in the text is unknown.
pub(super) const NOWHERE: Location = Span::NOWHERE.start;

/// Location at which an expression starts.
pub(crate) fn start(expression: &Expr) -> Location {
    expression.start()
}

/// The text of the statement being bound, to which the locations of the syntax tree refer. There is none for the query of a
/// view and for expressions of definitions: their errors carry no positions.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourceText<'t>(pub Option<&'t str>);

impl SourceText<'_> {
    /// Adds the position to an error, unless the error has one or the text is unknown.
    pub(super) fn error_at(self, error: impl Into<SqlError>, location: Location) -> SqlError {
        let error = error.into();
        match self.0 {
            Some(text) if location != NOWHERE => error.at(position_of(text, location)),
            _ => error,
        }
    }

    /// Adds the position of a binary operator to its error: the syntax tree keeps the locations of operands only.
    pub(super) fn error_at_operator(self, error: SqlError, left: &Expr, symbol: &str) -> SqlError {
        let end = left.span().end;
        let Some(text) = self.0.filter(|_| end != NOWHERE) else { return error };
        match find(text, end, symbol) {
            Some(position) => error.at(position),
            None => error,
        }
    }

    /// Adds the position of a prefix operator to its error.
    pub(super) fn error_before_operand(self, error: SqlError, operand: &Expr, symbol: &str) -> SqlError {
        let begin = operand.span().start;
        let Some(text) = self.0.filter(|_| begin != NOWHERE) else { return error };
        match text[..byte_of(text, begin)].rfind(symbol) {
            Some(at) => error.at(u32::try_from(text[..at].chars().count() + 1).unwrap_or(u32::MAX)),
            None => error,
        }
    }
}

/// Position of the first `symbol` after a location.
fn find(text: &str, after: Location, symbol: &str) -> Option<u32> {
    let from = byte_of(text, after);
    let found = text[from..].to_ascii_lowercase().find(&symbol.to_ascii_lowercase())?;
    u32::try_from(text[..from + found].chars().count() + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_is_found_after_its_left_side() {
        let text = "select 'ä+',\n  x\r\n + y";
        assert_eq!(find(text, Location { line: 2, column: 4 }, "+"), Some(20));
        assert_eq!(find(text, Location { line: 2, column: 4 }, "-"), None);
    }
}
