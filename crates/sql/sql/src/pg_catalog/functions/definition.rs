//! Definitions as SQL, in PostgreSQL's printed form.

use super::{argument_int, argument_is_true, argument_oid, argument_text, optional, reg};
use crate::catalog::{Action, EXPRESSION, ForeignKey, Index, Oid, Relation, Table, TypeKind, View};
use crate::context::{Names, System};
use crate::error::{Result, SqlError, state};
use crate::pg_catalog::{derived, names, print};
use crate::types::Datum;
use std::sync::Arc;

pub(super) fn format_type(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let Some(oid) = arguments.first().and_then(Datum::as_oid) else { return Ok(Datum::Null) };
    let modifier = argument_int(arguments, 1).and_then(|modifier| i32::try_from(modifier).ok());
    optional(Some(names::print_type(names, oid, modifier)?))
}

/// An expression over the columns of a relation. The catalog keeps its text; a pretty one has fewer parentheses.
pub(super) fn expression(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let (text, pretty) = (argument_text(arguments, 0), argument_is_true(arguments, 2));
    let relation = names.relation_by_oid(argument_oid(arguments, 1))?;
    let table = match &relation {
        Some(Relation::Table(table)) => Some(&**table),
        _ => None,
    };
    optional(Some(print::expression(names, text, table, pretty)))
}

/// The table of an index, and the index.
fn table_of_index(names: &mut Names<'_>, oid: Oid) -> Result<Option<(Arc<Table>, Index)>> {
    let Some(Relation::Index(entry)) = names.relation_by_oid(oid)? else { return Ok(None) };
    let Some(Relation::Table(table)) = names.relation_by_oid(entry.table)? else { return Ok(None) };
    let index = table.indexes.iter().find(|index| index.oid == oid).cloned();
    Ok(index.map(|index| (table, index)))
}

/// The names of columns at these positions.
fn column_names(table: &Table, positions: &[usize]) -> String {
    let columns = positions.iter().filter_map(|&at| table.columns.get(at));
    columns.map(|column| names::quote(&column.name)).collect::<Vec<_>>().join(", ")
}

/// `CREATE INDEX`, or only one of the index's columns.
pub(super) fn index(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let Some((table, index)) = table_of_index(names, argument_oid(arguments, 0))? else { return Ok(Datum::Null) };
    let pretty = argument_is_true(arguments, 2);
    let keys = index_keys(names, &table, &index, pretty);
    if let Some(number) = argument_int(arguments, 1).filter(|&number| number != 0) {
        let included = index.included.iter().map(|&at| column_names(&table, &[at]));
        let at = usize::try_from(number - 1).ok();
        return optional(Some(at.and_then(|at| keys.into_iter().chain(included).nth(at)).unwrap_or_default()));
    }
    let on = if pretty {
        names::print_relation(names, table.oid)?.unwrap_or_default()
    } else {
        names::qualified(&table.schema, &table.name)
    };
    let predicate = index.predicate.as_ref().map(|text| print::expression(names, text, Some(&table), pretty));
    optional(Some(print_index(&table, &index, &on, &keys, predicate)))
}

/// The columns of an index as they are printed, expressions in parentheses unless they are calls.
fn index_keys(names: &mut Names<'_>, table: &Table, index: &Index, pretty: bool) -> Vec<String> {
    let printed = |text: &String| print::expression(names, text, Some(table), pretty);
    let printed = Index { expressions: index.expressions.iter().map(printed).collect(), ..index.clone() };
    let mut expressions = 0..;
    let column = |&column: &usize| match column {
        EXPRESSION => expressions.next().map_or_else(String::new, |number| printed.expression_as_key(number)),
        column => column_names(table, &[column]),
    };
    index.columns.iter().map(column).collect()
}

/// `CREATE INDEX` with the table's name as it is to be printed.
fn print_index(table: &Table, index: &Index, on: &str, keys: &[String], predicate: Option<String>) -> String {
    let column = |(place, key): (usize, &String)| {
        let class = index.classes.iter().find(|(at, _)| *at == place);
        let class = class.map_or_else(String::new, |(_, class)| format!(" {class}"));
        let order = match (index.descends(place), index.nulls_first(place)) {
            (false, false) => "",
            (false, true) => " NULLS FIRST",
            (true, false) => " DESC NULLS LAST",
            (true, true) => " DESC",
        };
        format!("{key}{class}{order}")
    };
    let columns: Vec<String> = keys.iter().enumerate().map(column).collect();
    let unique = if index.unique { "UNIQUE " } else { "" };
    let name = names::quote(&index.name);
    let mut printed = format!("CREATE {unique}INDEX {name} ON {on} USING btree ({})", columns.join(", "));
    printed += &include(table, index);
    if index.nulls_not_distinct {
        printed += " NULLS NOT DISTINCT";
    }
    if let Some(predicate) = predicate {
        printed += &format!(" WHERE {predicate}");
    }
    printed
}

fn include(table: &Table, index: &Index) -> String {
    match &index.included[..] {
        [] => String::new(),
        included => format!(" INCLUDE ({})", column_names(table, included)),
    }
}

pub(super) fn constraint(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let (oid, pretty) = (argument_oid(arguments, 0), argument_is_true(arguments, 1));
    if let Some(index) = derived::index_of_constraint(oid) {
        let found = table_of_index(names, index)?.filter(|(_, index)| index.constraint);
        return optional(found.map(|(table, index)| {
            let kind = match (index.primary, index.nulls_not_distinct) {
                (true, _) => "PRIMARY KEY",
                (false, true) => "UNIQUE NULLS NOT DISTINCT",
                (false, false) => "UNIQUE",
            };
            let columns = column_names(&table, &index.columns);
            format!(
                "{kind} ({columns}){}{}",
                include(&table, &index),
                timing(index.deferrable, index.initially_deferred)
            )
        }));
    }
    for table in crate::pg_catalog::relations::tables_of(&names.relations()?) {
        if let Some(check) = table.checks.iter().find(|check| check.oid == oid) {
            let condition = print::expression(names, &check.expression, Some(table), pretty);
            return optional(Some(format!("CHECK ({condition}){}", validity(check.not_valid))));
        }
        if let Some(foreign) = table.foreign_keys.iter().find(|foreign| foreign.oid == oid) {
            return print_reference(names, table, foreign);
        }
    }
    for found in names.defined_types()? {
        let TypeKind::Domain(domain) = &found.kind else { continue };
        if let Some(check) = domain.checks.iter().find(|check| check.oid == oid) {
            names.read_type(domain.data_type)?;
            let condition = print::of_value(names, &check.expression, domain, pretty);
            return optional(Some(format!("CHECK ({condition}){}", validity(check.not_valid))));
        }
    }
    Ok(Datum::Null)
}

fn print_reference(names: &mut Names<'_>, table: &Table, foreign: &ForeignKey) -> Result<Datum> {
    let Some(Relation::Table(referenced)) = names.relation_by_oid(foreign.referenced)? else {
        return Ok(Datum::Null);
    };
    let name = names::print_relation(names, referenced.oid)?.unwrap_or_default();
    let columns = column_names(table, &foreign.columns);
    let keys = column_names(&referenced, &foreign.referenced_columns);
    let mut printed = format!("FOREIGN KEY ({columns}) REFERENCES {name}({keys})");
    if foreign.match_full {
        printed += " MATCH FULL";
    }
    for (event, action) in [("UPDATE", foreign.on_update), ("DELETE", foreign.on_delete)] {
        if let Some(action) = action_name(action) {
            printed += &format!(" ON {event} {action}");
        }
    }
    printed += timing(foreign.deferrable, foreign.initially_deferred);
    printed += validity(foreign.not_valid);
    optional(Some(printed))
}

/// NOT VALID, as behind a definition.
fn validity(not_valid: bool) -> &'static str {
    if not_valid { " NOT VALID" } else { "" }
}

/// When a constraint is checked, as behind its definition.
fn timing(deferrable: bool, initially_deferred: bool) -> &'static str {
    match (deferrable, initially_deferred) {
        (_, true) => " DEFERRABLE INITIALLY DEFERRED",
        (true, false) => " DEFERRABLE",
        (false, false) => "",
    }
}

/// The words of an action; the default has none.
fn action_name(action: Action) -> Option<&'static str> {
    match action {
        Action::NoAction => None,
        Action::Restrict => Some("RESTRICT"),
        Action::Cascade => Some("CASCADE"),
        Action::SetNull => Some("SET NULL"),
        Action::SetDefault => Some("SET DEFAULT"),
    }
}

fn find_view(names: &mut Names<'_>, oid: Oid) -> Result<Option<Arc<View>>> {
    Ok(match names.relation_by_oid(oid)? {
        Some(Relation::View(view)) => Some(view),
        _ => None,
    })
}

pub(super) fn view(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let oid = argument_oid(arguments, 0);
    if let Some(query) = crate::pg_catalog::query_of_system_view(oid) {
        return optional(Some(print::query(query)));
    }
    let Some(view) = find_view(names, oid)? else { return Ok(Datum::Null) };
    let query = crate::alter::qualify::shown(names, &view)?;
    optional(Some(print::query(&query)))
}

pub(super) fn view_named(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let class = reg::class_named(names, arguments)?;
    view(names, &[class])
}

/// The one rule there is: what a view means.
pub(super) fn rule(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let Some(view) = derived::index_of_constraint(argument_oid(arguments, 0)) else { return Ok(Datum::Null) };
    let Some(view) = find_view(names, view)? else { return Ok(Datum::Null) };
    let query = crate::alter::qualify::shown(names, &view)?;
    let name = names::qualified(&view.schema, &view.name);
    optional(Some(format!("CREATE RULE \"_RETURN\" AS\n    ON SELECT TO {name} DO INSTEAD {}", print::query(&query))))
}

/// The sequence that a column owns.
pub(super) fn serial_sequence(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let (table, column) = (argument_text(arguments, 0), argument_text(arguments, 1));
    let Some(oid) = reg::find_class(names, table)? else {
        let (_, name) = names::relation_name(table)?;
        return Err(SqlError::new(state::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist")));
    };
    let relation = names.relation_by_oid(oid)?;
    let no_column = || {
        let name = relation.as_ref().map_or(table, Relation::name);
        let message = format!("column \"{column}\" of relation \"{name}\" does not exist");
        SqlError::new(state::UNDEFINED_COLUMN, message)
    };
    let table = match &relation {
        Some(Relation::Table(table)) => table,
        // Its columns own nothing.
        Some(Relation::View(view)) if view.columns.iter().any(|known| known.name == column) => return Ok(Datum::Null),
        _ => return Err(no_column()),
    };
    let at = table.column(column).ok_or_else(no_column)?;
    let number = u16::try_from(at + 1).unwrap_or(u16::MAX);
    let relations = names.relations()?;
    let mut sequences = relations.iter().filter_map(|relation| match relation {
        Relation::Sequence(sequence) => Some(sequence),
        _ => None,
    });
    let owned = sequences.find(|sequence| sequence.owned_by == Some((oid, number)));
    optional(owned.map(|sequence| names::qualified(&sequence.schema, &sequence.name)))
}

fn find_table(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Option<Arc<Table>>> {
    Ok(match names.relation_by_oid(argument_oid(arguments, 0))? {
        Some(Relation::Table(table)) => Some(table),
        _ => None,
    })
}

pub(super) fn replica_identity(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let table = find_table(names, arguments)?;
    let key = table.and_then(|table| table.primary_key().map(|key| key.oid));
    Ok(key.map_or(Datum::Null, Datum::Oid))
}

pub(super) fn is_publishable(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    Ok(Datum::Bool(find_table(names, arguments)?.is_some_and(|table| !table.temporary)))
}

/// The bits of UPDATE, INSERT and DELETE, by PostgreSQL's numbers of these commands.
const ALL_EVENTS: i32 = (1 << 2) | (1 << 3) | (1 << 4);

pub(super) fn is_updatable(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    Ok(Datum::Int4(find_table(names, arguments)?.map_or(0, |_| ALL_EVENTS)))
}

pub(super) fn is_column_updatable(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    Ok(Datum::Bool(find_table(names, arguments)?.is_some()))
}

pub(super) fn filenode(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let relation = names.relation_by_oid(argument_oid(arguments, 0))?;
    Ok(relation.filter(|relation| !matches!(relation, Relation::View(_))).map_or(Datum::Null, |r| Datum::Oid(r.oid())))
}

/// What B-trees can do.
pub(super) fn access_method_property(arguments: &[Datum]) -> Result<Datum> {
    if argument_oid(arguments, 0) != crate::pg_catalog::relations::BTREE {
        return Ok(Datum::Null);
    }
    Ok(match argument_text(arguments, 1).to_ascii_lowercase().as_str() {
        "can_order" | "can_unique" | "can_multi_col" | "can_include" => Datum::Bool(true),
        "can_exclude" => Datum::Bool(false),
        _ => Datum::Null,
    })
}

pub(super) fn index_property(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    if table_of_index(names, argument_oid(arguments, 0))?.is_none() {
        return Ok(Datum::Null);
    }
    Ok(match argument_text(arguments, 1).to_ascii_lowercase().as_str() {
        "index_scan" | "backward_scan" => Datum::Bool(true),
        "clusterable" | "bitmap_scan" => Datum::Bool(false),
        _ => Datum::Null,
    })
}

pub(super) fn index_column_property(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let Some((_, index)) = table_of_index(names, argument_oid(arguments, 0))? else { return Ok(Datum::Null) };
    let at = argument_int(arguments, 1).and_then(|number| usize::try_from(number.checked_sub(1)?).ok());
    let Some(place) = at.filter(|&at| at < index.columns.len()) else { return Ok(Datum::Null) };
    Ok(match argument_text(arguments, 2).to_ascii_lowercase().as_str() {
        "asc" => Datum::Bool(!index.descends(place)),
        "desc" => Datum::Bool(index.descends(place)),
        "nulls_first" => Datum::Bool(index.nulls_first(place)),
        "nulls_last" => Datum::Bool(!index.nulls_first(place)),
        "orderable" | "returnable" | "search_array" | "search_nulls" => Datum::Bool(true),
        "distance_orderable" => Datum::Bool(false),
        _ => Datum::Null,
    })
}

/// What a sequence gave last; NULL before it gave anything.
pub(super) fn sequence_last_value(system: &mut System<'_>, arguments: &[Datum]) -> Result<Datum> {
    let (value, is_called) = crate::catalog::sequence::state(system, argument_oid(arguments, 0))?;
    Ok(if is_called { Datum::Int8(value) } else { Datum::Null })
}
