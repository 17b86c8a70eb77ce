//! When a pretty operator goes without parentheses.

/// What an expression stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place<'p> {
    /// Nothing, or something with parentheses, brackets or words of its own around it.
    Enclosed,
    /// An operand of a binary operator.
    Operand {
        /// The operator.
        symbol: &'p str,
        /// Whether it is the left operand.
        left: bool,
    },
    /// A part of AND.
    And,
    /// A part of OR.
    Or,
    /// Behind NOT.
    Not,
    /// Before a cast, a subscript, IS NULL and the like.
    Tight,
}

/// The two ranks of operators that PostgreSQL knows when it leaves parentheses out.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Sum,
    Product,
}

fn rank(symbol: &str) -> Option<Rank> {
    match symbol {
        "+" | "-" => Some(Rank::Sum),
        "*" | "/" | "%" => Some(Rank::Product),
        _ => None,
    }
}

/// Returns whether a binary operator reads the same without parentheses there.
pub(super) fn is_plain_binary(symbol: &str, place: Place<'_>) -> bool {
    match place {
        Place::Operand { symbol: parent, left } => match (rank(symbol), rank(parent)) {
            (Some(own), Some(parent)) => own > parent || (own == parent && left),
            _ => false,
        },
        other => is_plain_test(other),
    }
}

/// Returns whether IS NULL, a prefix operator and the like read the same without parentheses there.
pub(super) fn is_plain_test(place: Place<'_>) -> bool {
    matches!(place, Place::Enclosed | Place::And | Place::Or | Place::Not)
}

/// Returns whether AND, or NOT, reads the same without parentheses there.
pub(super) fn is_plain_and(place: Place<'_>) -> bool {
    matches!(place, Place::Enclosed | Place::And | Place::Or)
}

/// Returns whether OR reads the same without parentheses there.
pub(super) fn is_plain_or(place: Place<'_>) -> bool {
    matches!(place, Place::Enclosed | Place::Or)
}
