//! The dependents of what is dropped: collected first, then refused (RESTRICT) or reported and dropped too (CASCADE).

use super::defined_type::follow_rows;
use super::expression;
use super::name::kind;
use crate::catalog::{Oid, Relation, Table};
use crate::context::Names;
use crate::error::{Result, SqlError, state};
use std::collections::HashSet;

/// Maximum number of lines in an error or a notice.
const MOST_LINES: usize = 100;

/// An object to drop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Object {
    Relation(Oid),
    /// A foreign key of a table, by its identifier.
    ForeignKey(Oid, Oid),
    /// The default of a table's column, by its position.
    Default(Oid, usize),
    /// A generated column of a table, by its position.
    Generated(Oid, usize),
    /// A column of a table, by its position.
    Column(Oid, usize),
    /// A CHECK constraint of a table, by its identifier.
    Check(Oid, Oid),
    /// A type that a statement has defined.
    Type(Oid),
    /// An attribute of a composite type, by its position.
    Attribute(Oid, usize),
}

/// The objects to drop, in the order in which they were found, and why.
#[derive(Default)]
pub(super) struct DropSet {
    found: HashSet<Object>,
    pub(super) order: Vec<Object>,
    /// For each object that the statement does not name: its description, and that of the object it depends on.
    unnamed: Vec<(String, String)>,
}

/// `table t`, with its schema if the search path does not lead to it.
pub(crate) fn describe(names: &mut Names<'_>, relation: &Relation) -> Result<String> {
    let visible = names.relation(None, relation.name())?;
    let is_visible = visible.is_some_and(|visible| visible.oid() == relation.oid());
    let schema = if is_visible { String::new() } else { format!("{}.", relation.schema()) };
    Ok(format!("{} {schema}{}", kind(relation), relation.name()))
}

impl DropSet {
    pub(super) fn name(&mut self, oid: Oid) {
        self.add(Object::Relation(oid), None);
    }

    pub(super) fn contains(&self, object: &Object) -> bool {
        self.found.contains(object)
    }

    /// Adds an object. Returns whether it is new.
    pub(super) fn add(&mut self, object: Object, unnamed: Option<(String, String)>) -> bool {
        if !self.found.insert(object.clone()) {
            return false;
        }
        self.order.push(object);
        self.unnamed.extend(unnamed);
        true
    }

    /// Adds the dependents of a relation, recursively.
    pub(super) fn follow(&mut self, names: &mut Names<'_>, relation: &Relation) -> Result<()> {
        crate::stack::ensure_stack(|| {
            let described = describe(names, relation)?;
            match relation {
                Relation::Table(table) => self.follow_table(names, table, &described),
                Relation::Index(index) => self.follow_index(names, index.table, index.oid, &described),
                Relation::View(view) => {
                    follow_rows(self, names, view.oid)?;
                    self.follow_dependents(names, view.oid, &described)
                }
                Relation::Sequence(sequence) => self.follow_dependents(names, sequence.oid, &described),
            }
        })
    }

    fn follow_table(&mut self, names: &mut Names<'_>, table: &Table, described: &str) -> Result<()> {
        for column in &table.columns {
            // An owned sequence is dropped with its column, and not reported.
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
        follow_rows(self, names, table.oid)?;
        self.follow_dependents(names, table.oid, described)
    }

    /// A constraint's index is dropped only with the constraint. Foreign keys depend on the index that they refer to.
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

    pub(super) fn follow_references(
        &mut self,
        names: &mut Names<'_>,
        table: &Table,
        index: Oid,
        described: &str,
    ) -> Result<()> {
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

    /// Adds the views over a relation, and the defaults that call a sequence.
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

    /// Reports the dependents to drop as notices, or refuses without CASCADE.
    ///
    /// # Errors
    /// 2BP01
    pub(super) fn settle(&self, cascade: bool, only: Option<&str>, notices: &mut Vec<SqlError>) -> Result<()> {
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
        if column.sequence == Some(sequence) || expression::sequences(names, default)?.contains(&sequence) {
            found.push((at, column.name.clone()));
        }
    }
    Ok(found)
}
