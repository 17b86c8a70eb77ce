//! Statements that only name objects: DROP, TRUNCATE, COMMENT, LOCK, GRANT, VACUUM and the like.

use crate::ast::{Comment, Drop, Ident, Lock, Maintenance, ObjectKind, ObjectName, Privileges, Truncate};
use crate::reader::{Reader, Token};
use pgtypes::Result;

/// The kind of object that comes next, of those that a statement takes.
pub(super) fn kind(reader: &mut Reader<'_>, kinds: &[ObjectKind]) -> Result<ObjectKind> {
    let found = kinds.iter().find(|kind| reader.take(kind.word()));
    found.copied().ok_or_else(|| reader.unexpected())
}

/// DROP, from the kind of object on.
pub(super) fn drop(reader: &mut Reader<'_>) -> Result<Drop> {
    use ObjectKind::{
        Collation, Domain, Extension, Function, Index, MaterializedView, Schema, Sequence, Table, Type, View,
    };
    let kinds = [Table, View, Index, Sequence, Schema, MaterializedView, Extension, Function, Type, Domain, Collation];
    let kind = kind(reader, &kinds)?;
    if kind == Index {
        reader.take("CONCURRENTLY");
    }
    let if_exists = reader.take("IF EXISTS");
    if kind == Function && !if_exists {
        // There is none that could go.
        return Err(reader.unexpected());
    }
    let names = reader.list(|reader| {
        let name = reader.object_name()?;
        if kind == Function && *reader.peek() == Token::LParen {
            reader.skip_parentheses()?;
        }
        Ok(name)
    })?;
    Ok(Drop { kind, names, if_exists, cascade: reader.take_cascade() })
}

/// TRUNCATE, from the tables on.
pub(super) fn truncate(reader: &mut Reader<'_>) -> Result<Truncate> {
    reader.take("TABLE");
    let names = reader.list(table)?;
    let restart_identity = reader.take_any(&["RESTART IDENTITY", "CONTINUE IDENTITY"]) == Some("RESTART IDENTITY");
    Ok(Truncate { names, restart_identity, cascade: reader.take_cascade() })
}

/// `[ONLY] table [*]`: there is no inheritance, and so no more than the table itself.
fn table(reader: &mut Reader<'_>) -> Result<ObjectName> {
    reader.take("ONLY");
    let name = reader.object_name()?;
    reader.take_token(&Token::Mul);
    Ok(name)
}

/// COMMENT, from ON on.
pub(super) fn comment(reader: &mut Reader<'_>) -> Result<Comment> {
    use ObjectKind::{
        Column, Constraint, Database, Domain, Extension, Index, Role, Schema, Sequence, Table, Type, View,
    };
    reader.expect("ON")?;
    let kinds = [Table, Column, Constraint, View, Index, Sequence, Schema, Database, Extension, Role, Type, Domain];
    let kind = kind(reader, &kinds)?;
    let name = reader.object_name()?;
    let mut of = None;
    if kind == Constraint {
        reader.expect("ON")?;
        let of_domain = !reader.says("DOMAIN IS") && reader.take("DOMAIN");
        of = Some((if of_domain { Domain } else { Table }, reader.object_name()?));
    }
    reader.expect("IS")?;
    let text = if reader.take("NULL") { None } else { Some(reader.string()?) };
    Ok(Comment { kind, name, of, text })
}

/// LOCK, from the tables on.
pub(super) fn lock(reader: &mut Reader<'_>) -> Result<Lock> {
    const WEAK: [&str; 3] = ["ACCESS SHARE MODE", "ROW SHARE MODE", "ROW EXCLUSIVE MODE"];
    const STRONG: [&str; 5] = [
        "SHARE UPDATE EXCLUSIVE MODE",
        "SHARE ROW EXCLUSIVE MODE",
        "SHARE MODE",
        "EXCLUSIVE MODE",
        "ACCESS EXCLUSIVE MODE",
    ];
    reader.take("TABLE");
    let names = reader.list(table)?;
    let mut is_weak = false;
    if reader.take("IN") {
        is_weak = reader.take_any(&WEAK).is_some();
        if !is_weak && reader.take_any(&STRONG).is_none() {
            return Err(reader.unexpected());
        }
    }
    Ok(Lock { names, is_weak, nowait: reader.take("NOWAIT") })
}

/// GRANT and REVOKE, from the privileges on. The privileges are those of the only role, and so without effect.
pub(super) fn privileges(reader: &mut Reader<'_>, is_grant: bool) -> Result<Privileges> {
    if !is_grant {
        let _ = reader.take_any(&["GRANT OPTION FOR", "ADMIN OPTION FOR"]);
    }
    let mut granted = reader.list(privilege)?;
    let relations = if reader.take("ON") {
        granted.clear();
        privileged(reader)?
    } else {
        vec![]
    };
    reader.expect(if is_grant { "TO" } else { "FROM" })?;
    // Without ON, roles are granted.
    let mut roles = granted;
    reader.list(|reader| {
        reader.take("GROUP");
        if !reader.take("PUBLIC") {
            roles.push(reader.name()?);
        }
        Ok(())
    })?;
    if is_grant {
        let _ = reader.take_any(&["WITH GRANT OPTION", "WITH ADMIN OPTION"]);
    }
    if reader.take("GRANTED BY") {
        roles.push(reader.name()?);
    }
    reader.take_cascade();
    Ok(Privileges { is_grant, relations, roles })
}

/// `SELECT (a, b)`, `ALL PRIVILEGES`, or the name of a role.
fn privilege(reader: &mut Reader<'_>) -> Result<Ident> {
    let name = reader.name()?;
    let _ = reader.take_any(&["PRIVILEGES", "SYSTEM"]);
    reader.optional_names()?;
    Ok(name)
}

/// The relations that a GRANT names, of all the kinds of objects that it may name.
fn privileged(reader: &mut Reader<'_>) -> Result<Vec<ObjectName>> {
    const EVERYTHING: [&str; 5] = [
        "ALL TABLES IN SCHEMA",
        "ALL SEQUENCES IN SCHEMA",
        "ALL FUNCTIONS IN SCHEMA",
        "ALL PROCEDURES IN SCHEMA",
        "ALL ROUTINES IN SCHEMA",
    ];
    const OTHERS: [&str; 13] = [
        "DATABASE",
        "DOMAIN",
        "FOREIGN DATA WRAPPER",
        "FOREIGN SERVER",
        "FUNCTION",
        "LANGUAGE",
        "LARGE OBJECT",
        "PARAMETER",
        "PROCEDURE",
        "ROUTINE",
        "SCHEMA",
        "TABLESPACE",
        "TYPE",
    ];
    if reader.take_any(&EVERYTHING).is_some() || reader.take_any(&OTHERS).is_some() {
        reader.list(|reader| {
            if let Token::Number(..) = reader.peek() {
                reader.integer()?;
                return Ok(());
            }
            reader.object_name()?;
            if *reader.peek() == Token::LParen {
                reader.skip_parentheses()?;
            }
            Ok(())
        })?;
        return Ok(vec![]);
    }
    let _ = reader.take_any(&["TABLE", "SEQUENCE"]);
    reader.list(Reader::object_name)
}

/// VACUUM, ANALYZE, REINDEX, CLUSTER.
pub(super) fn maintenance(reader: &mut Reader<'_>) -> Result<Maintenance> {
    let tag = match reader.take_any(&["VACUUM", "ANALYZE", "ANALYSE", "REINDEX", "CLUSTER"]) {
        Some("VACUUM") => "VACUUM",
        Some("REINDEX") => "REINDEX",
        Some("CLUSTER") => "CLUSTER",
        Some(_) => "ANALYZE",
        None => return Err(reader.unexpected()),
    };
    if *reader.peek() == Token::LParen {
        reader.skip_parentheses()?;
    }
    while reader.take_any(&["FULL", "FREEZE", "VERBOSE", "ANALYZE"]).is_some() {}
    if tag == "REINDEX" && reindexed(reader)? {
        return Ok(Maintenance { tag, names: vec![], index: None });
    }
    let names = if reader.is_done() { vec![] } else { reader.list(maintained)? };
    let index = if tag == "CLUSTER" && reader.take("USING") { Some(reader.name()?) } else { None };
    Ok(Maintenance { tag, names, index })
}

/// Reads what REINDEX is about, up to its name. Returns whether it is all of a schema or database, whose name is read too.
fn reindexed(reader: &mut Reader<'_>) -> Result<bool> {
    let what = reader.take_any(&["TABLE", "INDEX", "DATABASE", "SYSTEM", "SCHEMA"]);
    let all = !matches!(what.ok_or_else(|| reader.unexpected())?, "TABLE" | "INDEX");
    reader.take("CONCURRENTLY");
    if all {
        reader.name()?;
    }
    Ok(all)
}

fn maintained(reader: &mut Reader<'_>) -> Result<ObjectName> {
    reader.take("ONLY");
    let name = reader.object_name()?;
    if *reader.peek() == Token::LParen {
        reader.skip_parentheses()?;
    }
    Ok(name)
}
