//! ALTER.

use super::{constraint, create, object, sequence, storage, table};
use crate::ast::{
    Alter, AlterAction, Attribute, ColumnAction, Constraint, ConstraintKind, LabelPlace, ObjectKind, SequenceOptions,
};
use crate::reader::{Reader, Token};
use pgtypes::Result;

/// ALTER, from the kind of object on.
pub(super) fn alter(reader: &mut Reader<'_>) -> Result<Alter> {
    use ObjectKind::{Domain, Index, Schema, Sequence, Table, Type, View};
    let kind = object::kind(reader, &[Table, Index, Sequence, View, Schema, Type, Domain])?;
    let if_exists = reader.take("IF EXISTS");
    reader.take("ONLY");
    let name = reader.object_name()?;
    reader.take_token(&Token::Mul);
    let actions = match common(reader)? {
        Some(action) => vec![action],
        None => match kind {
            Table => reader.list(table_action)?,
            Sequence => vec![sequence_action(reader)?],
            View => vec![rename_column(reader)?],
            Index => vec![index_action(reader)?],
            Type => reader.list(type_action)?,
            Domain => vec![domain_action(reader)?],
            _ => return Err(reader.unexpected()),
        },
    };
    Ok(Alter { kind, name, if_exists, actions })
}

/// What can be changed of every kind of object.
fn common(reader: &mut Reader<'_>) -> Result<Option<AlterAction>> {
    Ok(Some(match reader.take_any(&["RENAME TO", "SET SCHEMA", "OWNER TO"]) {
        Some("RENAME TO") => AlterAction::Rename(reader.name()?),
        Some("SET SCHEMA") => AlterAction::SetSchema(reader.name()?),
        Some(_) => AlterAction::Owner(reader.name()?),
        None => return Ok(None),
    }))
}

fn sequence_action(reader: &mut Reader<'_>) -> Result<AlterAction> {
    if (reader.says("SET LOGGED") || reader.says("SET UNLOGGED")) && storage::of_relation(reader)? {
        return Ok(AlterAction::Storage);
    }
    sequence::options(reader).map(AlterAction::Sequence)
}

fn domain_action(reader: &mut Reader<'_>) -> Result<AlterAction> {
    let forms = [
        "SET DEFAULT",
        "DROP DEFAULT",
        "SET NOT NULL",
        "DROP NOT NULL",
        "ADD",
        "DROP CONSTRAINT",
        "VALIDATE CONSTRAINT",
    ];
    Ok(match reader.take_any(&forms) {
        Some("SET DEFAULT") => AlterAction::SetDefault(Some(Box::new(reader.expression()?))),
        Some("DROP DEFAULT") => AlterAction::SetDefault(None),
        Some("SET NOT NULL") => AlterAction::SetNotNull(true),
        Some("DROP NOT NULL") => AlterAction::SetNotNull(false),
        Some("ADD") => {
            let name = if reader.take("CONSTRAINT") { Some(reader.name()?) } else { None };
            reader.expect("CHECK")?;
            let kind = ConstraintKind::Check(Box::new(reader.expression_in_parentheses()?));
            AlterAction::AddConstraint(Constraint { name, kind, not_valid: reader.take("NOT VALID") })
        }
        Some("DROP CONSTRAINT") => {
            let if_exists = reader.take("IF EXISTS");
            let name = reader.name()?;
            AlterAction::DropConstraint { name, if_exists, cascade: reader.take_cascade() }
        }
        Some(_) => AlterAction::ValidateConstraint(reader.name()?),
        None if reader.says("RENAME CONSTRAINT") => rename_column(reader)?,
        None => return Err(reader.unexpected()),
    })
}

fn type_action(reader: &mut Reader<'_>) -> Result<AlterAction> {
    if let Some(action) = attribute_action(reader)? {
        return Ok(action);
    }
    match reader.take_any(&["ADD VALUE", "RENAME VALUE"]) {
        Some("ADD VALUE") => {
            let if_not_exists = reader.take("IF NOT EXISTS");
            let label = reader.string()?;
            let place = match reader.take_any(&["BEFORE", "AFTER"]) {
                Some(word) => Some(LabelPlace { before: word == "BEFORE", neighbor: reader.string()? }),
                None => None,
            };
            Ok(AlterAction::AddValue { label, if_not_exists, place })
        }
        Some(_) => {
            let from = reader.string()?;
            reader.expect("TO")?;
            Ok(AlterAction::RenameValue { from, to: reader.string()? })
        }
        None => Err(reader.unexpected()),
    }
}

/// A change of a composite type's attribute. Nothing inherits from such a type, so that CASCADE changes DROP alone.
fn attribute_action(reader: &mut Reader<'_>) -> Result<Option<AlterAction>> {
    let forms = ["ADD ATTRIBUTE", "DROP ATTRIBUTE", "ALTER ATTRIBUTE", "RENAME ATTRIBUTE"];
    let action = match reader.take_any(&forms) {
        Some("ADD ATTRIBUTE") => AlterAction::AddAttribute(Box::new(create::attribute(reader)?)),
        Some("DROP ATTRIBUTE") => {
            let if_exists = reader.take("IF EXISTS");
            let name = reader.name()?;
            return Ok(Some(AlterAction::DropAttribute { name, if_exists, cascade: reader.take_cascade() }));
        }
        Some("ALTER ATTRIBUTE") => {
            let name = reader.name()?;
            if reader.take_any(&["SET DATA TYPE", "TYPE"]).is_none() {
                return Err(reader.unexpected());
            }
            let data_type = reader.data_type()?;
            let collation = if reader.take("COLLATE") { Some(reader.object_name()?) } else { None };
            AlterAction::AlterAttribute(Box::new(Attribute { name, data_type, collation }))
        }
        Some(_) => {
            let from = reader.name()?;
            reader.expect("TO")?;
            AlterAction::RenameAttribute { from, to: reader.name()? }
        }
        None => return Ok(None),
    };
    reader.take_cascade();
    Ok(Some(action))
}

fn index_action(reader: &mut Reader<'_>) -> Result<AlterAction> {
    if reader.says("ATTACH PARTITION") {
        return Err(reader.unsupported("ATTACH PARTITION"));
    }
    if reader.take("ALTER") {
        reader.take("COLUMN");
        reader.integer()?;
        return if storage::of_column(reader)? { Ok(AlterAction::Storage) } else { Err(reader.unexpected()) };
    }
    if storage::of_relation(reader)? { Ok(AlterAction::Storage) } else { Err(reader.unexpected()) }
}

fn table_action(reader: &mut Reader<'_>) -> Result<AlterAction> {
    match reader.take_any(&["ADD", "DROP", "ALTER", "VALIDATE CONSTRAINT"]) {
        Some("ADD") => add(reader),
        Some("DROP") => remove(reader),
        Some("ALTER") => alter_column(reader),
        Some(_) => reader.name().map(AlterAction::ValidateConstraint),
        None if reader.says("RENAME") => rename_column(reader),
        None if reader.take("OWNER TO") => reader.name().map(AlterAction::Owner),
        None => rest(reader),
    }
}

fn add(reader: &mut Reader<'_>) -> Result<AlterAction> {
    if constraint::begins(reader) {
        return constraint::table(reader).map(AlterAction::AddConstraint);
    }
    reader.take("COLUMN");
    let if_not_exists = reader.take("IF NOT EXISTS");
    Ok(AlterAction::AddColumn { if_not_exists, column: Box::new(table::column(reader)?) })
}

fn remove(reader: &mut Reader<'_>) -> Result<AlterAction> {
    let is_constraint = reader.take("CONSTRAINT");
    let _ = is_constraint || reader.take("COLUMN");
    let if_exists = reader.take("IF EXISTS");
    let name = reader.name()?;
    let cascade = reader.take_cascade();
    Ok(match is_constraint {
        true => AlterAction::DropConstraint { name, if_exists, cascade },
        false => AlterAction::DropColumn { name, if_exists, cascade },
    })
}

/// RENAME of what is in a relation.
fn rename_column(reader: &mut Reader<'_>) -> Result<AlterAction> {
    reader.expect("RENAME")?;
    let is_constraint = reader.take("CONSTRAINT");
    let _ = is_constraint || reader.take("COLUMN");
    let from = reader.name()?;
    reader.expect("TO")?;
    let to = reader.name()?;
    Ok(match is_constraint {
        true => AlterAction::RenameConstraint { from, to },
        false => AlterAction::RenameColumn { from, to },
    })
}

/// Triggers, storage, and the refusal of what is lacking.
fn rest(reader: &mut Reader<'_>) -> Result<AlterAction> {
    const REFUSED: [&str; 12] = [
        "ENABLE ALWAYS RULE",
        "ENABLE ALWAYS TRIGGER",
        "ENABLE REPLICA RULE",
        "ENABLE REPLICA TRIGGER",
        "ENABLE ROW LEVEL SECURITY",
        "ENABLE RULE",
        "DISABLE RULE",
        "FORCE ROW LEVEL SECURITY",
        "INHERIT",
        "NO INHERIT",
        "OF",
        "NOT OF",
    ];
    for partition in ["ATTACH PARTITION", "DETACH PARTITION"] {
        if reader.says(partition) {
            return Err(reader.unsupported(partition));
        }
    }
    if let Some(words) = REFUSED.iter().find(|words| reader.says(words)) {
        return Err(reader.unsupported(&format!("ALTER TABLE ... {words}")));
    }
    if let Some(words) = reader.take_any(&["ENABLE TRIGGER", "DISABLE TRIGGER"]) {
        return Ok(AlterAction::Trigger { name: reader.name()?, enable: words == "ENABLE TRIGGER" });
    }
    if reader.take("CLUSTER ON") {
        return reader.name().map(AlterAction::ClusterOn);
    }
    if storage::of_relation(reader)? { Ok(AlterAction::Storage) } else { Err(reader.unexpected()) }
}

fn alter_column(reader: &mut Reader<'_>) -> Result<AlterAction> {
    if reader.says("CONSTRAINT") {
        return Err(reader.unsupported("ALTER TABLE ... ALTER CONSTRAINT"));
    }
    reader.take("COLUMN");
    let name = reader.name()?;
    let action = column_action(reader)?;
    Ok(AlterAction::AlterColumn { name, action })
}

fn column_action(reader: &mut Reader<'_>) -> Result<ColumnAction> {
    let forms = [
        "SET NOT NULL",
        "DROP NOT NULL",
        "SET DEFAULT",
        "DROP DEFAULT",
        "SET DATA TYPE",
        "TYPE",
        "ADD GENERATED",
        "DROP IDENTITY",
    ];
    if storage::of_column(reader)? {
        return Ok(ColumnAction::Storage);
    }
    Ok(match reader.take_any(&forms) {
        Some("SET NOT NULL") => ColumnAction::SetNotNull,
        Some("DROP NOT NULL") => ColumnAction::DropNotNull,
        Some("SET DEFAULT") => ColumnAction::SetDefault(Box::new(reader.expression()?)),
        Some("DROP DEFAULT") => ColumnAction::DropDefault,
        Some("SET DATA TYPE" | "TYPE") => {
            let data_type = reader.data_type()?;
            let using = if reader.take("USING") { Some(Box::new(reader.expression()?)) } else { None };
            ColumnAction::SetType { data_type, using }
        }
        Some("ADD GENERATED") => {
            let (always, sequence) = sequence::identity(reader)?;
            ColumnAction::AddIdentity { always, sequence }
        }
        Some(_) => ColumnAction::DropIdentity { if_exists: reader.take("IF EXISTS") },
        None => set_identity(reader)?,
    })
}

/// `SET GENERATED ALWAYS SET INCREMENT BY 2 RESTART`
fn set_identity(reader: &mut Reader<'_>) -> Result<ColumnAction> {
    let (mut always, mut sequence) = (None, SequenceOptions::default());
    let mut is_first = true;
    loop {
        if reader.take("SET GENERATED") {
            always = Some(sequence::always(reader)?);
        } else if reader.says("RESTART") {
            sequence::option(reader, &mut sequence)?;
        } else if reader.take("SET") {
            if !sequence::option(reader, &mut sequence)? {
                return Err(reader.unexpected());
            }
        } else if is_first {
            return Err(reader.unexpected());
        } else {
            return Ok(ColumnAction::SetIdentity { always, sequence });
        }
        is_first = false;
    }
}
