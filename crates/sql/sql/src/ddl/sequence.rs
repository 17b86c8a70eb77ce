//! Sequences: the options that CREATE SEQUENCE, ALTER SEQUENCE and identity columns share.

use crate::alter::name::{NewNames, creation_schema, no_relation, parts, split};
use crate::alter::sequence::{check_bounds, invalid, own, range};
use crate::alter::table::exists;
use crate::catalog::{Relation, Sequence, Table};
use crate::context::{Change, Names};
use crate::error::{Result, SqlError, state};
use crate::types::Type;
use std::sync::Arc;
use syntax::ast::{CreateSequence, ObjectName, SequenceOptions};

/// Runs CREATE SEQUENCE.
pub(super) fn create(change: &mut Change<'_>, create: &CreateSequence, notices: &mut Vec<SqlError>) -> Result<()> {
    let (schema, name) = split(&create.name)?;
    let schema = creation_schema(change, schema.as_deref(), &name, create.temporary)?;
    if exists(&mut change.names(), &schema, &name, create.if_not_exists, notices)? {
        return Ok(());
    }
    let data_type = create.options.data_type.unwrap_or(Type::INT8);
    let mut sequence = define(change, schema, name, data_type, &create.options)?;
    if let Some(owner) = &create.options.owned_by {
        sequence.owned_by = owner_of(&mut change.names(), &sequence, owner)?;
        own(change, &sequence, sequence.owned_by)?;
    }
    change.insert(Relation::Sequence(Arc::new(sequence)))
}

/// The column that OWNED BY names; `None` for NONE.
///
/// # Errors
/// 22023, 42P01, 42703, 55000.
pub(super) fn owner_of(names: &mut Names<'_>, sequence: &Sequence, owner: &ObjectName) -> Result<Option<(u32, u16)>> {
    let mut parts = parts(owner);
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

/// Schema and name of the sequence of a column: those of SEQUENCE NAME, or a free name made of the table's and the column's.
///
/// # Errors
/// 3F000 and the like, errors of the engine.
pub(super) fn name_for(
    change: &mut Change<'_>,
    table: &Table,
    column: &str,
    options: &SequenceOptions,
) -> Result<(String, String)> {
    let Some(name) = &options.name else {
        let name = NewNames::default().relation(&mut change.names(), &table.schema, &table.name, column, "seq")?;
        return Ok((table.schema.clone(), name));
    };
    let (schema, name) = split(name)?;
    Ok((creation_schema(change, schema.as_deref(), &name, table.temporary)?, name))
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
    options: &SequenceOptions,
) -> Result<Sequence> {
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
    let bounded =
        SequenceOptions { min: options.min.or(Some(None)), max: options.max.or(Some(None)), ..options.clone() };
    apply(&bounded, &mut sequence)?;
    if options.start.is_none() {
        sequence.start = if sequence.increment > 0 { sequence.min } else { sequence.max };
    }
    sequence.restart = sequence.start;
    check_bounds(&sequence)?;
    Ok(sequence)
}

/// Applies the options, except for the type, the owner and RESTART.
pub(super) fn apply(options: &SequenceOptions, sequence: &mut Sequence) -> Result<()> {
    if let Some(increment) = options.increment {
        if increment == 0 {
            return Err(invalid("INCREMENT must not be zero"));
        }
        sequence.increment = increment;
    }
    let (least, greatest) = range(sequence.data_type);
    let ascends = sequence.increment > 0;
    if let Some(max) = options.max {
        sequence.max = max.unwrap_or(if ascends { greatest } else { -1 });
    }
    if let Some(min) = options.min {
        sequence.min = min.unwrap_or(if ascends { 1 } else { least });
    }
    if let Some(start) = options.start {
        sequence.start = start;
    }
    if let Some(cache) = options.cache {
        if cache < 1 {
            return Err(invalid(&format!("CACHE ({cache}) must be greater than zero")));
        }
        sequence.cache = cache;
    }
    if let Some(cycle) = options.cycle {
        sequence.cycle = cycle;
    }
    Ok(())
}
