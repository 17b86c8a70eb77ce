//! Sequences: the options that CREATE SEQUENCE, ALTER SEQUENCE and identity columns share.

use crate::alter::name::{no_relation, parts};
use crate::alter::sequence::{check_bounds, invalid, range};
use crate::catalog::{Relation, Sequence};
use crate::context::{Change, Names};
use crate::error::{Result, SqlError, state};
use crate::types::Type;
use syntax::ast::{self, Expr, SequenceOptions, UnaryOperator, Value};

/// The column that OWNED BY names; `None` for NONE.
///
/// # Errors
/// 22023, 42P01, 42703, 55000.
pub(super) fn owner_of(
    names: &mut Names<'_>,
    sequence: &Sequence,
    owner: &ast::ObjectName,
) -> Result<Option<(u32, u16)>> {
    let mut parts = parts(owner)?;
    let column = parts.pop().unwrap_or_default();
    if parts.is_empty() {
        return if column == "none" {
            Ok(None)
        } else {
            Err(invalid("invalid OWNED BY option").hint("Specify OWNED BY table.column or OWNED BY NONE."))
        };
    }
    let table = parts.pop().unwrap_or_default();
    let schema = parts.pop();
    let Some(found) = names.relation(schema.as_deref(), &table)? else {
        return Err(no_relation(schema.as_deref(), &table));
    };
    let Relation::Table(found) = found else {
        let message = format!("sequence cannot be owned by relation \"{table}\"");
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
    };
    if found.schema != sequence.schema {
        let message = "sequence must be in same schema as table it is linked to";
        return Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
    }
    let at = found.column(&column).ok_or_else(|| {
        let message = format!("column \"{column}\" of relation \"{table}\" does not exist");
        SqlError::new(state::UNDEFINED_COLUMN, message)
    })?;
    Ok(Some((found.oid, u16::try_from(at + 1).unwrap_or(u16::MAX))))
}

/// A new sequence.
///
/// # Errors
/// 22023, 42601.
pub(super) fn define(
    change: &mut Change<'_>,
    schema: String,
    name: String,
    data_type: Type,
    options: &[SequenceOptions],
) -> Result<Sequence> {
    let mut wanted = Options::default();
    options.iter().try_for_each(|option| wanted.read(option))?;
    let mut sequence = Sequence {
        oid: change.fresh_oid()?,
        schema,
        name,
        data_type,
        start: 1,
        increment: 1,
        min: 1,
        max: i64::MAX,
        cycle: false,
        cache: 1,
        owned_by: None,
        state: 0,
        restart: 1,
        comment: None,
    };
    let defaults = Options {
        increment: wanted.increment.or(Some(1)),
        min: wanted.min.or(Some(None)),
        max: wanted.max.or(Some(None)),
        ..wanted
    };
    defaults.apply(&mut sequence)?;
    if wanted.start.is_none() {
        sequence.start = if sequence.increment > 0 { sequence.min } else { sequence.max };
    }
    sequence.restart = sequence.start;
    check_bounds(&sequence)?;
    Ok(sequence)
}

/// What the options of a sequence say. The bounds: `Some(None)` is NO MINVALUE.
#[derive(Clone, Copy, Default)]
pub(super) struct Options {
    pub(super) increment: Option<i64>,
    pub(super) min: Option<Option<i64>>,
    pub(super) max: Option<Option<i64>>,
    pub(super) start: Option<i64>,
    pub(super) cache: Option<i64>,
    pub(super) cycle: Option<bool>,
}

impl Options {
    /// Takes one option.
    pub(super) fn read(&mut self, option: &SequenceOptions) -> Result<()> {
        match option {
            SequenceOptions::IncrementBy(value, _) => set(&mut self.increment, integer(value)?),
            SequenceOptions::MinValue(value) => set(&mut self.min, value.as_ref().map(integer).transpose()?),
            SequenceOptions::MaxValue(value) => set(&mut self.max, value.as_ref().map(integer).transpose()?),
            SequenceOptions::StartWith(value, _) => set(&mut self.start, integer(value)?),
            SequenceOptions::Cache(value) => set(&mut self.cache, integer(value)?),
            // The flag says NO.
            SequenceOptions::Cycle(no) => set(&mut self.cycle, !no),
        }
    }

    /// Changes what they speak of.
    pub(super) fn apply(&self, sequence: &mut Sequence) -> Result<()> {
        if let Some(increment) = self.increment {
            if increment == 0 {
                return Err(invalid("INCREMENT must not be zero"));
            }
            sequence.increment = increment;
        }
        let (least, greatest) = range(sequence.data_type);
        let ascends = sequence.increment > 0;
        if let Some(max) = self.max {
            sequence.max = max.unwrap_or(if ascends { greatest } else { -1 });
        }
        if let Some(min) = self.min {
            sequence.min = min.unwrap_or(if ascends { 1 } else { least });
        }
        if let Some(start) = self.start {
            sequence.start = start;
        }
        if let Some(cache) = self.cache {
            if cache < 1 {
                return Err(invalid(&format!("CACHE ({cache}) must be greater than zero")));
            }
            sequence.cache = cache;
        }
        if let Some(cycle) = self.cycle {
            sequence.cycle = cycle;
        }
        Ok(())
    }
}

fn set<T>(place: &mut Option<T>, value: T) -> Result<()> {
    if place.is_some() {
        return Err(SqlError::new(state::SYNTAX_ERROR, "conflicting or redundant options"));
    }
    *place = Some(value);
    Ok(())
}

/// The integer that an option gives.
pub(super) fn integer(written: &Expr) -> Result<i64> {
    let (digits, negative) = match written {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => (&**expr, true),
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => (&**expr, false),
        other => (other, false),
    };
    let Expr::Value(ast::ValueWithSpan { value: Value::Number(number, _), .. }) = digits else {
        return Err(SqlError::new(state::SYNTAX_ERROR, format!("syntax error at or near \"{written}\"")));
    };
    let text = if negative { format!("-{number}") } else { number.clone() };
    text.parse().map_err(|_| {
        let message = format!("value \"{text}\" is out of range for type bigint");
        SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, message)
    })
}
