//! Constraints, beside a column and by themselves.

use super::create::{included, nulls_not_distinct};
use super::storage;
use crate::ast::{Constraint, ConstraintKind, ForeignKey, Ident, Key, ReferentialAction};
use crate::reader::{Reader, Token};
use pgtypes::{Error, Result, state};

/// Returns whether a constraint of a table comes next, not a column.
pub(super) fn begins(reader: &Reader<'_>) -> bool {
    ["CONSTRAINT", "CHECK", "UNIQUE", "PRIMARY", "FOREIGN"].iter().any(|word| reader.says(word)) || is_exclusion(reader)
}

fn is_exclusion(reader: &Reader<'_>) -> bool {
    reader.says("EXCLUDE USING") || reader.says("EXCLUDE") && *reader.peek_at(1) == Token::LParen
}

/// A constraint of a table, by itself.
pub(super) fn table(reader: &mut Reader<'_>) -> Result<Constraint> {
    let name = if reader.take("CONSTRAINT") { Some(reader.name()?) } else { None };
    if is_exclusion(reader) {
        return Err(reader.unsupported("an exclusion constraint (EXCLUDE)"));
    }
    let kind = match reader.take_any(&["CHECK", "UNIQUE", "PRIMARY KEY", "FOREIGN KEY"]) {
        Some("CHECK") => check(reader)?,
        Some("FOREIGN KEY") => {
            let columns = reader.names_in_parentheses()?;
            reader.expect("REFERENCES")?;
            ConstraintKind::Foreign(foreign_key(reader, columns)?)
        }
        Some(key) => key_of_table(reader, key == "PRIMARY KEY")?,
        None => return Err(reader.unexpected()),
    };
    Ok(Constraint { name, not_valid: not_valid(reader, &kind)?, kind })
}

/// Returns whether NOT VALID follows, which keys cannot be.
fn not_valid(reader: &mut Reader<'_>, kind: &ConstraintKind) -> Result<bool> {
    match (reader.take("NOT VALID"), kind) {
        (true, ConstraintKind::Key(key)) => {
            let what = if key.primary { "PRIMARY KEY" } else { "UNIQUE" };
            let message = format!("{what} constraints cannot be marked NOT VALID");
            Err(Error::new(state::FEATURE_NOT_SUPPORTED, message))
        }
        (said, _) => Ok(said),
    }
}

/// What a constraint beside a column demands, if one comes next.
pub(super) fn column(reader: &mut Reader<'_>, column: &Ident) -> Result<Option<ConstraintKind>> {
    let columns = vec![column.clone()];
    Ok(Some(match reader.take_any(&["CHECK", "UNIQUE", "PRIMARY KEY", "REFERENCES"]) {
        Some("CHECK") => check(reader)?,
        Some("REFERENCES") => ConstraintKind::Foreign(foreign_key(reader, columns)?),
        Some(key) => {
            let primary = key == "PRIMARY KEY";
            let nulls_not_distinct = !primary && nulls_not_distinct(reader);
            ConstraintKind::Key(rest_of_key(reader, columns, primary, nulls_not_distinct)?)
        }
        None => return Ok(None),
    }))
}

fn check(reader: &mut Reader<'_>) -> Result<ConstraintKind> {
    let condition = reader.expression_in_parentheses()?;
    if reader.says("NO INHERIT") {
        return Err(reader.unsupported("NO INHERIT"));
    }
    if Timing::read(reader)?.is_deferrable() {
        let message = "CHECK constraints cannot be marked DEFERRABLE";
        return Err(Error::new(state::FEATURE_NOT_SUPPORTED, message));
    }
    Ok(ConstraintKind::Check(Box::new(condition)))
}

fn key_of_table(reader: &mut Reader<'_>, primary: bool) -> Result<ConstraintKind> {
    if reader.says("USING INDEX") {
        return Err(reader.unsupported("a constraint USING INDEX"));
    }
    let nulls_not_distinct = !primary && nulls_not_distinct(reader);
    let columns = reader.names_in_parentheses()?;
    Ok(ConstraintKind::Key(rest_of_key(reader, columns, primary, nulls_not_distinct)?))
}

/// A key, from behind its columns on.
fn rest_of_key(reader: &mut Reader<'_>, columns: Vec<Ident>, primary: bool, nulls_not_distinct: bool) -> Result<Key> {
    let included = stored(reader)?;
    let timing = Timing::read(reader)?;
    let (deferrable, initially_deferred) = (timing.is_deferrable(), timing.deferred == Some(true));
    Ok(Key { columns, primary, nulls_not_distinct, included, deferrable, initially_deferred })
}

/// The columns that the index of a key includes, and where and how it is stored.
fn stored(reader: &mut Reader<'_>) -> Result<Vec<Ident>> {
    let included = if reader.take("INCLUDE") { included(reader)? } else { vec![] };
    storage::with_parameters(reader)?;
    if reader.take("USING INDEX TABLESPACE") {
        storage::tablespace(reader, "USING INDEX TABLESPACE")?;
    }
    Ok(included)
}

/// A foreign key, from the name of the referenced table on.
fn foreign_key(reader: &mut Reader<'_>, columns: Vec<Ident>) -> Result<ForeignKey> {
    let table = reader.object_name()?;
    let referenced = reader.optional_names()?;
    let match_full = match_full(reader)?;
    let (mut on_delete, mut on_update) = (None, None);
    loop {
        if on_delete.is_none() && reader.take("ON DELETE") {
            on_delete = Some(action(reader)?);
        } else if on_update.is_none() && reader.take("ON UPDATE") {
            on_update = Some(action(reader)?);
        } else {
            break;
        }
    }
    let timing = Timing::read(reader)?;
    Ok(ForeignKey {
        columns,
        table,
        referenced,
        match_full,
        on_delete: on_delete.unwrap_or_default(),
        on_update: on_update.unwrap_or_default(),
        deferrable: timing.is_deferrable(),
        initially_deferred: timing.deferred == Some(true),
    })
}

fn match_full(reader: &mut Reader<'_>) -> Result<bool> {
    match reader.take_any(&["MATCH FULL", "MATCH SIMPLE", "MATCH PARTIAL"]) {
        Some("MATCH PARTIAL") => Err(Error::new(state::FEATURE_NOT_SUPPORTED, "MATCH PARTIAL not yet implemented")),
        said => Ok(said == Some("MATCH FULL")),
    }
}

fn action(reader: &mut Reader<'_>) -> Result<ReferentialAction> {
    match reader.take_any(&["NO ACTION", "RESTRICT", "CASCADE", "SET NULL", "SET DEFAULT"]) {
        Some("NO ACTION") => Ok(ReferentialAction::NoAction),
        Some("RESTRICT") => Ok(ReferentialAction::Restrict),
        Some("CASCADE") => Ok(ReferentialAction::Cascade),
        Some("SET NULL") => Ok(ReferentialAction::SetNull),
        Some(_) => Ok(ReferentialAction::SetDefault),
        None => Err(reader.unexpected()),
    }
}

/// When a constraint is checked. `None`: not said.
#[derive(Clone, Copy, Default)]
struct Timing {
    deferrable: Option<bool>,
    /// INITIALLY DEFERRED, INITIALLY IMMEDIATE
    deferred: Option<bool>,
}

impl Timing {
    fn read(reader: &mut Reader<'_>) -> Result<Timing> {
        let mut timing = Timing::default();
        loop {
            if timing.deferrable.is_none() && reader.take("DEFERRABLE") {
                timing.deferrable = Some(true);
            } else if timing.deferrable.is_none() && reader.take("NOT DEFERRABLE") {
                timing.deferrable = Some(false);
            } else if timing.deferred.is_none() && reader.says("INITIALLY DEFERRED") {
                if timing.deferrable == Some(false) {
                    return Err(contradiction().at(reader.position()));
                }
                reader.take("INITIALLY DEFERRED");
                timing.deferred = Some(true);
            } else if timing.deferred.is_none() && reader.take("INITIALLY IMMEDIATE") {
                timing.deferred = Some(false);
            } else if reader.says("NOT ENFORCED") {
                return Err(reader.unsupported("NOT ENFORCED"));
            } else if !reader.take("ENFORCED") {
                break;
            }
        }
        if timing.deferred == Some(true) && timing.deferrable == Some(false) {
            return Err(contradiction());
        }
        Ok(timing)
    }

    fn is_deferrable(self) -> bool {
        self.deferrable == Some(true) || self.deferred == Some(true)
    }
}

fn contradiction() -> Error {
    Error::new(state::SYNTAX_ERROR, "constraint declared INITIALLY DEFERRED must be DEFERRABLE")
}
