//! Functions that PostgreSQL has: a call of one that is not here is refused by its name, since no cast would help.

use crate::error::Error;
use std::collections::HashSet;
use std::sync::LazyLock;

/// The names of PostgreSQL 15's functions, without those that belong to types, indexes and operators.
static NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| include_str!("postgresql.txt").lines().collect());

/// 0A000 for a function of PostgreSQL's; `None` for a name that it does not have either.
pub(super) fn refusal(name: &str) -> Option<Error> {
    let hint = "PostgreSQL has this function, and this server has not: compute it in the application, or by the functions \
                that there are.";
    NAMES.contains(name).then(|| Error::unsupported(format_args!("function {name}")).hint(hint))
}
