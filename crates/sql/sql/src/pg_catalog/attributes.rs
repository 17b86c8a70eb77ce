//! Columns: `pg_attribute` and `pg_attrdef`.

use super::layout::{columns, tables};
use super::types::{Physical, physical};
use super::value::{NO, NULL, YES, bool, count2, int2, oid, text};
use super::{derived, described};
use crate::Result;
use crate::alter::index::column_names;
use crate::bind;
use crate::catalog::{Column, Identity, Oid, Relation, Table, TypeKind, VirtualTable};
use crate::context::Names;
use crate::plan::IndexKey;
use crate::types::{Datum, Modifier, Row, Type};

pub(super) static TABLES: &[VirtualTable] = tables! { "pg_catalog", Names:
    1249 pg_attribute = attributes; {
        attrelid: Oid, attname: Name, atttypid: Oid, attstattarget: Int4, attlen: Int2, attnum: Int2,
        attndims: Int4, attcacheoff: Int4, atttypmod: Int4, attbyval: Bool, attalign: Char, attstorage: Char,
        attcompression: Char, attnotnull: Bool, atthasdef: Bool, atthasmissing: Bool, attidentity: Char,
        attgenerated: Char, attisdropped: Bool, attislocal: Bool, attinhcount: Int4, attcollation: Oid,
        attacl: [AclItem], attoptions: [Text], attfdwoptions: [Text], attmissingval: [Text]
    }
    2604 pg_attrdef = defaults; {
        oid: Oid, adrelid: Oid, adnum: Int2, adbin: PgNodeTree
    }
};

/// A column of anything.
struct Attribute<'r> {
    relation: Oid,
    name: &'r str,
    data_type: Type,
    domain: Option<Oid>,
    modifier: Modifier,
    /// From 1.
    number: usize,
    not_null: bool,
    has_default: bool,
    identity: Option<Identity>,
    generated: bool,
    dropped: bool,
}

impl<'r> Attribute<'r> {
    fn new(relation: Oid, number: usize, name: &'r str, data_type: Type) -> Attribute<'r> {
        Attribute {
            relation,
            name,
            data_type,
            domain: None,
            modifier: Modifier::NONE,
            number,
            not_null: false,
            has_default: false,
            identity: None,
            generated: false,
            dropped: false,
        }
    }

    /// A column's value in an index: its type alone.
    fn of_key(index: Oid, number: usize, column: &'r Column) -> Attribute<'r> {
        Attribute {
            domain: column.domain,
            // A domain has the modifier itself.
            modifier: if column.domain.is_some() { Modifier::NONE } else { column.modifier },
            ..Attribute::new(index, number, &column.name, column.data_type)
        }
    }

    fn of(relation: Oid, number: usize, column: &'r Column) -> Attribute<'r> {
        Attribute {
            not_null: column.not_null,
            has_default: default(column).is_some(),
            identity: column.identity,
            generated: column.generated.is_some(),
            dropped: column.dropped,
            ..Attribute::of_key(relation, number, column)
        }
    }

    fn row(&self) -> Row {
        let Physical { length, by_value, align, storage, collation } = physical(self.data_type);
        let dropped_name = format!("........pg.dropped.{}........", self.number);
        let identity = match self.identity {
            Some(Identity::Always) => "a",
            Some(Identity::ByDefault) => "d",
            None => "",
        };
        vec![
            oid(self.relation),
            text(if self.dropped { &dropped_name } else { self.name }),
            oid(if self.dropped { 0 } else { self.domain.unwrap_or_else(|| self.data_type.oid()) }),
            Datum::Int4(if self.dropped { 0 } else { -1 }),
            int2(length),
            count2(self.number),
            Datum::Int4(i32::from(self.data_type.is_array)),
            Datum::Int4(-1),
            Datum::Int4(self.modifier.0),
            bool(by_value),
            text(align),
            text(storage),
            text(""),
            bool(self.not_null && !self.dropped),
            bool(self.has_default && !self.dropped),
            NO,
            text(identity),
            text(if self.generated { "s" } else { "" }),
            bool(self.dropped),
            YES,
            Datum::Int4(0),
            oid(if self.dropped { 0 } else { collation }),
            NULL,
            NULL,
            NULL,
            NULL,
        ]
    }
}

/// The expression behind a column: its default, or what it is generated from.
fn default(column: &Column) -> Option<&str> {
    if column.identity.is_some() {
        return None;
    }
    column.generated.as_deref().or(column.default.as_deref())
}

fn attributes(names: &mut Names<'_>) -> Result<Vec<Row>> {
    let mut rows = system_attributes();
    for relation in names.relations()? {
        match &relation {
            Relation::Table(table) => table_attributes(names, table, &mut rows)?,
            Relation::View(view) => {
                rows.extend(
                    numbered(&view.columns).map(|(number, column)| Attribute::of(view.oid, number, column).row()),
                );
            }
            Relation::Sequence(sequence) => {
                let columns = [("last_value", Type::INT8), ("log_cnt", Type::INT8), ("is_called", Type::BOOL)];
                rows.extend(columns.iter().zip(1..).map(|(&(name, data_type), number)| {
                    let attribute = Attribute::new(sequence.oid, number, name, data_type);
                    Attribute { not_null: true, ..attribute }.row()
                }));
            }
            Relation::Index(_) => {}
        }
    }
    for found in names.defined_types()? {
        if let TypeKind::Composite(columns) = &found.kind {
            let class = derived::class_of_type(found.oid);
            rows.extend(numbered(columns).map(|(number, column)| Attribute::of(class, number, column).row()));
        }
    }
    Ok(rows)
}

fn numbered(columns: &[Column]) -> impl Iterator<Item = (usize, &Column)> {
    (1..).zip(columns)
}

/// Those of a table and of its indexes.
fn table_attributes(names: &mut Names<'_>, table: &Table, rows: &mut Vec<Row>) -> Result<()> {
    rows.extend(numbered(&table.columns).map(|(number, column)| Attribute::of(table.oid, number, column).row()));
    let rules = bind::index_rules(names, table)?;
    for index in &table.indexes {
        let included = index.included.iter().map(|column| IndexKey::Column(*column));
        let keys = rules.keys(index).chain(included);
        let titles = column_names(table, index);
        rows.extend((1..).zip(keys.zip(&titles)).map(|(number, (key, name))| {
            let key = match key {
                IndexKey::Column(column) => Attribute::of_key(index.oid, number, &table.columns[column]),
                IndexKey::Computed(_, expression) => {
                    let modifier = expression.modifier;
                    Attribute { modifier, ..Attribute::new(index.oid, number, name, expression.data_type) }
                }
            };
            Attribute { name, ..key }.row()
        }));
    }
    Ok(())
}

fn system_attributes() -> Vec<Row> {
    let mut rows = Vec::new();
    for table in described() {
        rows.extend(
            (1..)
                .zip(table.columns)
                .map(|(number, &(name, data_type))| Attribute::new(table.oid, number, name, data_type).row()),
        );
    }
    rows
}

fn defaults(names: &mut Names<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for table in super::relations::tables_of(&names.relations()?) {
        rows.extend(numbered(&table.columns).filter(|(_, column)| !column.dropped).filter_map(|(number, column)| {
            let expression = default(column)?;
            Some(vec![oid(derived::default(table.oid, number)), oid(table.oid), count2(number), text(expression)])
        }));
    }
    Ok(rows)
}
