//! Names of parameters, for calls that name their arguments: `make_interval(days => 1)`.

use crate::Datum;

/// The names of a function's parameters.
pub struct Parameters {
    /// Their names, in order.
    pub names: &'static [&'static str],
    /// Value of omitted parameters; `None`: all are required.
    pub default: Option<Datum>,
}

/// Functions whose parameters have names.
static FUNCTIONS: &[(&str, Parameters)] = &[
    ("make_date", required(&["year", "month", "day"])),
    ("make_interval", optional(&["years", "months", "weeks", "days", "hours", "mins", "secs"])),
    ("make_time", required(&["hour", "min", "sec"])),
    ("make_timestamp", required(&["year", "month", "mday", "hour", "min", "sec"])),
    ("make_timestamptz", required(&["year", "month", "mday", "hour", "min", "sec", "timezone"])),
    ("jsonb_set", required(&["jsonb_in", "path", "replacement", "create_if_missing"])),
    ("jsonb_insert", required(&["jsonb_in", "path", "replacement", "insert_after"])),
];

const fn required(names: &'static [&'static str]) -> Parameters {
    Parameters { names, default: None }
}

/// Omitted parameters are zero.
const fn optional(names: &'static [&'static str]) -> Parameters {
    Parameters { names, default: Some(Datum::Int4(0)) }
}

/// The names of a function's parameters, if it has any.
pub fn parameters(function: &str) -> Option<&'static Parameters> {
    FUNCTIONS.iter().find(|(name, _)| *name == function).map(|(_, parameters)| parameters)
}
