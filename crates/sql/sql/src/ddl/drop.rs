//! DROP, and what goes with it.

use super::foreign_key;
use super::name::{kind, no_schema, parts, split};
use crate::catalog::{self, Oid, Relation, Sequence, Table, View};
use crate::context::{Change, Names};
use crate::error::{Result, SqlError, state};
use std::collections::HashSet;
use std::sync::Arc;
use syntax::ast::{ObjectName, ObjectType};

/// Lines that an error or a notice shows at most.
const MOST_LINES: usize = 100;

/// Something that goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Object {
    Relation(Oid),
    /// A foreign key of a table, by its identifier.
    ForeignKey(Oid, Oid),
    /// The default of a table's column, by its position.
    Default(Oid, usize),
    /// A generated column of a table, by its position.
    Generated(Oid, usize),
}

/// What goes, in the order in which it was found, and why.
#[derive(Default)]
struct Going {
    found: HashSet<Object>,
    order: Vec<Object>,
    /// For each that nobody named: what it is, and what it depends on.
    unnamed: Vec<(String, String)>,
}

/// Runs DROP; says the tag.
pub(super) fn run(
    change: &mut Change<'_>,
    what: ObjectType,
    if_exists: bool,
    names: &[ObjectName],
    cascade: bool,
    notices: &mut Vec<SqlError>,
) -> Result<String> {
    match what {
        ObjectType::Table | ObjectType::View | ObjectType::Index | ObjectType::Sequence => {
            drop_relations(change, what, if_exists, names, cascade, notices)?;
        }
        ObjectType::Schema => drop_schemas(change, if_exists, names, cascade, notices)?,
        other => {
            for name in names {
                skip_absent(&other.to_string().to_lowercase(), &parts(name)?.join("."), if_exists, notices)?;
            }
        }
    }
    Ok(format!("DROP {what}"))
}

/// There is none of this kind.
pub(super) fn skip_absent(kind: &str, name: &str, if_exists: bool, notices: &mut Vec<SqlError>) -> Result<()> {
    let message = format!("{kind} \"{name}\" does not exist");
    if if_exists {
        notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, format!("{message}, skipping")));
        return Ok(());
    }
    let code = match kind {
        "table" | "view" | "sequence" => state::UNDEFINED_TABLE,
        "schema" => state::INVALID_SCHEMA_NAME,
        "database" => state::INVALID_CATALOG_NAME,
        _ => state::UNDEFINED_OBJECT,
    };
    Err(SqlError::new(code, message))
}

fn drop_relations(
    change: &mut Change<'_>,
    what: ObjectType,
    if_exists: bool,
    names: &[ObjectName],
    cascade: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let mut going = Going::default();
    let mut named = Vec::new();
    for name in names {
        if let Some(relation) = find(&mut change.names(), what, name, if_exists, notices)? {
            going.name(relation.oid());
            named.push(relation);
        }
    }
    for relation in &named {
        going.follow(&mut change.names(), relation)?;
    }
    let only = match &named[..] {
        [only] => Some(describe(&mut change.names(), only)?),
        _ => None,
    };
    going.settle(cascade, only.as_deref(), notices)?;
    going.remove(change)
}

/// The relation of this name and kind; `None` if there is none and that is fine.
fn find(
    names: &mut Names<'_>,
    what: ObjectType,
    name: &ObjectName,
    if_exists: bool,
    notices: &mut Vec<SqlError>,
) -> Result<Option<Relation>> {
    let (schema, name) = split(name)?;
    let wanted = what.to_string().to_lowercase();
    if is_system(schema.as_deref(), &name) {
        let message = format!("permission denied: \"{name}\" is a system catalog");
        return Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message));
    }
    let found = names.relation(schema.as_deref(), &name)?;
    let Some(relation) = found else {
        if let Some(schema) = &schema
            && names.namespace(schema)?.is_none()
        {
            skip_absent("schema", schema, if_exists, notices)?;
        } else {
            skip_absent(&wanted, &name, if_exists, notices)?;
        }
        return Ok(None);
    };
    let kind = kind(&relation);
    if kind != wanted {
        let article = if wanted == "index" { "an" } else { "a" };
        let hint_article = if kind == "index" { "an" } else { "a" };
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{name}\" is not {article} {wanted}"))
            .hint(format!("Use DROP {} to remove {hint_article} {kind}.", kind.to_uppercase())));
    }
    Ok(Some(relation))
}

fn is_system(schema: Option<&str>, name: &str) -> bool {
    match schema {
        None | Some("pg_catalog") => (catalog::built_in().table)(Some("pg_catalog"), name).is_some(),
        Some("information_schema") => (catalog::built_in().table)(schema, name).is_some(),
        Some(_) => false,
    }
}

fn drop_schemas(
    change: &mut Change<'_>,
    if_exists: bool,
    names: &[ObjectName],
    cascade: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    for name in names {
        let name = parts(name)?.join(".");
        if matches!(name.as_str(), "pg_catalog" | "information_schema" | "pg_toast") {
            let message = format!("cannot drop schema {name} because it is required by the database system");
            return Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message));
        }
        if change.names().namespace(&name)?.is_none() {
            if !if_exists {
                return Err(no_schema(&name));
            }
            skip_absent("schema", &name, true, notices)?;
            continue;
        }
        let mut going = Going::default();
        let schema = format!("schema {name}");
        let mut inside = change.names().relations_in(&name)?;
        inside.retain(|relation| !matches!(relation, Relation::Index(_)));
        inside.sort_by_key(Relation::oid);
        for relation in &inside {
            let described = describe(&mut change.names(), relation)?;
            let is_owned = matches!(relation, Relation::Sequence(sequence) if sequence.owned_by.is_some());
            let why = (!is_owned).then(|| (described, schema.clone()));
            going.add(Object::Relation(relation.oid()), why);
        }
        for relation in &inside {
            going.follow(&mut change.names(), relation)?;
        }
        going.settle(cascade, Some(&schema), notices)?;
        going.remove(change)?;
        change.remove_namespace(&name)?;
    }
    Ok(())
}

/// `table t`, with its schema if the search path does not lead to it.
pub(super) fn describe(names: &mut Names<'_>, relation: &Relation) -> Result<String> {
    let visible = names.relation(None, relation.name())?;
    let is_visible = visible.is_some_and(|visible| visible.oid() == relation.oid());
    let schema = if is_visible { String::new() } else { format!("{}.", relation.schema()) };
    Ok(format!("{} {schema}{}", kind(relation), relation.name()))
}

impl Going {
    fn name(&mut self, oid: Oid) {
        self.add(Object::Relation(oid), None);
    }

    /// Adds an object; says whether it is new.
    fn add(&mut self, object: Object, unnamed: Option<(String, String)>) -> bool {
        if !self.found.insert(object.clone()) {
            return false;
        }
        self.order.push(object);
        self.unnamed.extend(unnamed);
        true
    }

    /// Adds what cannot be without the relation.
    fn follow(&mut self, names: &mut Names<'_>, relation: &Relation) -> Result<()> {
        crate::stack::deeper(|| {
            let described = describe(names, relation)?;
            match relation {
                Relation::Table(table) => self.follow_table(names, table, &described),
                Relation::Index(index) => self.follow_index(names, index.table, index.oid, &described),
                Relation::View(view) => self.follow_dependents(names, view.oid, &described),
                Relation::Sequence(sequence) => self.follow_dependents(names, sequence.oid, &described),
            }
        })
    }

    fn follow_table(&mut self, names: &mut Names<'_>, table: &Table, described: &str) -> Result<()> {
        for column in &table.columns {
            // An owned sequence goes with its column, unsaid.
            if let Some(oid) = column.sequence
                && let Some(sequence) = names.relation_by_oid(oid)?
                && self.add(Object::Relation(oid), None)
            {
                self.follow(names, &sequence)?;
            }
        }
        for from in &table.referenced_by {
            if *from == table.oid || self.found.contains(&Object::Relation(*from)) {
                continue;
            }
            let Some(referencing) = names.relation_by_oid(*from)? else { continue };
            let on = describe(names, &referencing)?;
            let Relation::Table(referencing) = referencing else { continue };
            for key in referencing.foreign_keys.iter().filter(|key| key.referenced == table.oid) {
                let what = format!("constraint {} on {on}", key.name);
                self.add(Object::ForeignKey(*from, key.oid), Some((what, described.to_owned())));
            }
        }
        self.follow_dependents(names, table.oid, described)
    }

    /// A constraint's index goes only with the constraint; foreign keys need the index that they refer to.
    fn follow_index(&mut self, names: &mut Names<'_>, table: Oid, index: Oid, described: &str) -> Result<()> {
        let Some(relation) = names.relation_by_oid(table)? else { return Ok(()) };
        let on = describe(names, &relation)?;
        let Relation::Table(table) = relation else { return Ok(()) };
        if let Some(index) = table.indexes.iter().find(|other| other.oid == index && other.constraint) {
            let message = format!("cannot drop {described} because constraint {} on {on} requires it", index.name);
            return Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .hint(format!("You can drop constraint {} on {on} instead.", index.name)));
        }
        self.follow_references(names, &table, index, described)
    }

    fn follow_references(&mut self, names: &mut Names<'_>, table: &Table, index: Oid, described: &str) -> Result<()> {
        for from in &table.referenced_by {
            let Some(referencing) = names.relation_by_oid(*from)? else { continue };
            let on = describe(names, &referencing)?;
            let Relation::Table(referencing) = referencing else { continue };
            for key in referencing.foreign_keys.iter().filter(|key| key.referenced_index == index) {
                let what = format!("constraint {} on {on}", key.name);
                self.add(Object::ForeignKey(*from, key.oid), Some((what, described.to_owned())));
            }
        }
        Ok(())
    }

    /// Views over the relation, defaults that call the sequence.
    fn follow_dependents(&mut self, names: &mut Names<'_>, oid: Oid, described: &str) -> Result<()> {
        for dependent in names.dependents(oid)? {
            let Some(relation) = names.relation_by_oid(dependent)? else { continue };
            let what = describe(names, &relation)?;
            let because = |what: String| Some((what, described.to_owned()));
            match &relation {
                Relation::View(_) if self.add(Object::Relation(dependent), because(what.clone())) => {
                    self.follow(names, &relation)?;
                }
                Relation::Table(table) if !self.found.contains(&Object::Relation(dependent)) => {
                    for (at, column) in defaults_from(names, table, oid)? {
                        let what = format!("default value for column {column} of {what}");
                        self.add(Object::Default(dependent, at), because(what));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Says what goes with what was named, or refuses.
    ///
    /// # Errors
    /// 2BP01
    fn settle(&self, cascade: bool, only: Option<&str>, notices: &mut Vec<SqlError>) -> Result<()> {
        if self.unnamed.is_empty() {
            return Ok(());
        }
        if !cascade {
            let target = only.unwrap_or("desired object(s)");
            let message = format!("cannot drop {target} because other objects depend on it");
            let message = if only.is_none() { message.replace("depend on it", "depend on them") } else { message };
            let lines = self.unnamed.iter().map(|(what, on)| format!("{what} depends on {on}"));
            return Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .detail(shortened(lines))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        let mut lines = self.unnamed.iter().map(|(what, _)| format!("drop cascades to {what}"));
        notices.push(match self.unnamed.len() {
            1 => SqlError::new(state::SUCCESSFUL_COMPLETION, lines.next().unwrap_or_default()),
            count => SqlError::new(state::SUCCESSFUL_COMPLETION, format!("drop cascades to {count} other objects"))
                .detail(shortened(lines)),
        });
        Ok(())
    }

    fn remove(&self, change: &mut Change<'_>) -> Result<()> {
        // Constraints first, while both tables are there.
        let (constraints, others): (Vec<_>, Vec<_>) =
            self.order.iter().partition(|object| matches!(object, Object::ForeignKey(..)));
        for object in constraints.into_iter().chain(others) {
            match object {
                Object::Relation(oid) => remove_one(change, *oid)?,
                Object::ForeignKey(table, key) => remove_foreign_key(change, *table, *key)?,
                Object::Default(table, at) => remove_default(change, *table, *at)?,
                Object::Generated(table, at) => super::alter_table::drop_column_at(change, *table, *at)?,
            }
        }
        Ok(())
    }
}

fn shortened(lines: impl ExactSizeIterator<Item = String>) -> String {
    let more = lines.len().saturating_sub(MOST_LINES);
    let mut shown: Vec<String> = lines.take(MOST_LINES).collect();
    if more > 0 {
        let noun = if more == 1 { "object" } else { "objects" };
        shown.push(format!("and {more} other {noun} (see server log for list)"));
    }
    shown.join("\n")
}

/// The columns whose defaults call a sequence.
fn defaults_from(names: &mut Names<'_>, table: &Table, sequence: Oid) -> Result<Vec<(usize, String)>> {
    let mut found = Vec::new();
    for (at, column) in table.live_columns() {
        let Some(default) = &column.default else { continue };
        if column.sequence == Some(sequence) || super::expression::sequences(names, default)?.contains(&sequence) {
            found.push((at, column.name.clone()));
        }
    }
    Ok(found)
}

/// Removes a relation from the catalog; what depends on it is gone already, or is going too.
fn remove_one(change: &mut Change<'_>, oid: Oid) -> Result<()> {
    // A table may have taken its sequences along already.
    let Some(relation) = change.names().relation_by_oid(oid)? else { return Ok(()) };
    change.forget_dependencies(oid)?;
    match &relation {
        Relation::Table(table) => remove_table(change, table)?,
        Relation::Index(index) => remove_index(change, index.table, oid)?,
        Relation::Sequence(sequence) => {
            if let Some((table, _)) = sequence.owned_by {
                disown(change, table, oid)?;
            }
        }
        Relation::View(_) => {}
    }
    change.remove(&relation)
}

fn remove_table(change: &mut Change<'_>, table: &Arc<Table>) -> Result<()> {
    let mut table = Table::clone(table);
    change.leave_storage(table.oid, table.storage);
    for index in std::mem::take(&mut table.indexes) {
        if let Some(storage) = index.storage {
            change.leave_storage(table.oid, storage);
        }
        if let Some(entry) = change.names().relation_by_oid(index.oid)? {
            change.remove(&entry)?;
        }
    }
    while let Some(key) = table.foreign_keys.pop() {
        let remaining = std::mem::take(&mut table.foreign_keys);
        if key.referenced != table.oid {
            foreign_key::detach(change, &mut table, &key, &remaining)?;
        }
        table.foreign_keys = remaining;
    }
    Ok(())
}

/// Removes an index from its table's definition.
pub(super) fn remove_index(change: &mut Change<'_>, table: Oid, index: Oid) -> Result<()> {
    let Some(Relation::Table(table)) = change.names().relation_by_oid(table)? else { return Ok(()) };
    let mut table = Arc::unwrap_or_clone(table);
    if let Some(at) = table.indexes.iter().position(|other| other.oid == index)
        && let Some(storage) = table.indexes.remove(at).storage
    {
        change.leave_storage(table.oid, storage);
    }
    change.replace(Relation::Table(Arc::new(table)))
}

fn remove_foreign_key(change: &mut Change<'_>, table: Oid, key: Oid) -> Result<()> {
    let Some(Relation::Table(table)) = change.names().relation_by_oid(table)? else { return Ok(()) };
    let mut table = Arc::unwrap_or_clone(table);
    if let Some(at) = table.foreign_keys.iter().position(|other| other.oid == key) {
        let key = table.foreign_keys.remove(at);
        let remaining = table.foreign_keys.clone();
        foreign_key::detach(change, &mut table, &key, &remaining)?;
    }
    change.replace(Relation::Table(Arc::new(table)))
}

fn remove_default(change: &mut Change<'_>, table: Oid, at: usize) -> Result<()> {
    let Some(Relation::Table(table)) = change.names().relation_by_oid(table)? else { return Ok(()) };
    let mut table = Arc::unwrap_or_clone(table);
    if let Some(column) = table.columns.get_mut(at) {
        column.default = None;
    }
    change.replace(Relation::Table(Arc::new(table)))
}

/// The owner of a sequence, if it stays, owns it no longer.
fn disown(change: &mut Change<'_>, table: Oid, sequence: Oid) -> Result<()> {
    let Some(Relation::Table(table)) = change.names().relation_by_oid(table)? else { return Ok(()) };
    let mut table = Arc::unwrap_or_clone(table);
    for column in table.columns.iter_mut().filter(|column| column.sequence == Some(sequence)) {
        column.sequence = None;
    }
    change.replace(Relation::Table(Arc::new(table)))
}

/// The owner of a sequence owns it no longer.
pub(super) fn disown_sequence(change: &mut Change<'_>, sequence: &Sequence) -> Result<()> {
    match sequence.owned_by {
        Some((table, _)) => disown(change, table, sequence.oid),
        None => Ok(()),
    }
}

/// Drops the foreign keys that refer to a key, before the key goes.
///
/// # Errors
/// 2BP01
pub(super) fn drop_referring(
    change: &mut Change<'_>,
    table: &Table,
    index: Oid,
    what: &str,
    cascade: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let mut going = Going::default();
    if let Some(index) = table.indexes.iter().find(|other| other.oid == index) {
        going.follow_references(&mut change.names(), table, index.oid, &format!("index {}", index.name))?;
    }
    going.settle(cascade, Some(what), notices)?;
    going.remove(change)
}

/// Drops what cannot be without a column: views that look at it, foreign keys that refer to it, generated columns.
///
/// # Errors
/// 2BP01
pub(super) fn drop_column_users(
    change: &mut Change<'_>,
    table: &Table,
    at: usize,
    cascade: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let name = &table.columns[at].name;
    let on = describe(&mut change.names(), &Relation::Table(Arc::new(table.clone())))?;
    let what = format!("column {name} of {on}");
    let mut going = Going::default();
    for (other, column) in table.live_columns().filter(|(other, _)| *other != at) {
        if let Some(generated) = &column.generated
            && super::expression::columns(generated)?.contains(name)
        {
            let described = format!("column {} of {on}", column.name);
            going.add(Object::Generated(table.oid, other), Some((described, what.clone())));
        }
    }
    for index in table.indexes.iter().filter(|index| index.unique && index.columns.contains(&at)) {
        going.follow_references(&mut change.names(), table, index.oid, &what)?;
    }
    for view in views_over(&mut change.names(), table.oid)? {
        if super::view::may_use(&view, name) {
            let relation = Relation::View(view);
            let described = describe(&mut change.names(), &relation)?;
            if going.add(Object::Relation(relation.oid()), Some((described, what.clone()))) {
                going.follow(&mut change.names(), &relation)?;
            }
        }
    }
    going.settle(cascade, Some(&what), notices)?;
    going.remove(change)
}

/// The views over a relation.
pub(super) fn views_over(names: &mut Names<'_>, oid: Oid) -> Result<Vec<Arc<View>>> {
    let mut views = Vec::new();
    for dependent in names.dependents(oid)? {
        if let Some(Relation::View(view)) = names.relation_by_oid(dependent)? {
            views.push(view);
        }
    }
    Ok(views)
}

/// Drops a sequence that nobody named: its column goes.
pub(super) fn drop_owned(
    change: &mut Change<'_>,
    sequence: Oid,
    cascade: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let Some(relation) = change.names().relation_by_oid(sequence)? else { return Ok(()) };
    let mut going = Going::default();
    going.name(sequence);
    going.follow(&mut change.names(), &relation)?;
    let described = describe(&mut change.names(), &relation)?;
    going.settle(cascade, Some(&described), notices)?;
    going.remove(change)
}
