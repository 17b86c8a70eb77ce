//! Types: `pg_type`.

use super::layout::{columns, tables};
use super::relations::{OWNER, schemas};
use super::value::{NO, NONE, NULL, YES, bool, int2, oid, text};
use super::{derived, described, relations, seed};
use crate::Result;
use crate::catalog::{DefinedType, Oid, Relation, TypeKind, VirtualTable};
use crate::context::Names;
use crate::types::{Datum, Row, Scalar, Type, defined};
use std::collections::HashMap;
use std::sync::LazyLock;

pub(super) static TABLES: &[VirtualTable] = tables! { "pg_catalog", Names:
    1247 pg_type = types; {
        oid: Oid, typname: Name, typnamespace: Oid, typowner: Oid, typlen: Int2, typbyval: Bool, typtype: Char,
        typcategory: Char, typispreferred: Bool, typisdefined: Bool, typdelim: Char, typrelid: Oid,
        typsubscript: Regproc, typelem: Oid, typarray: Oid, typinput: Regproc, typoutput: Regproc,
        typreceive: Regproc, typsend: Regproc, typmodin: Regproc, typmodout: Regproc, typanalyze: Regproc,
        typalign: Char, typstorage: Char, typnotnull: Bool, typbasetype: Oid, typtypmod: Int4, typndims: Int4,
        typcollation: Oid, typdefaultbin: PgNodeTree, typdefault: Text, typacl: [AclItem]
    }
    3501 pg_enum = labels; {
        oid: Oid, enumtypid: Oid, enumsortorder: Float4, enumlabel: Name
    }
};

/// The positions of the columns of `pg_type` that are read here.
mod position {
    pub(super) const OID: usize = 0;
    pub(super) const LENGTH: usize = 4;
    pub(super) const BY_VALUE: usize = 5;
    pub(super) const ALIGN: usize = 22;
    pub(super) const STORAGE: usize = 23;
    pub(super) const COLLATION: usize = 28;
}

/// How PostgreSQL lays out values of a type, as clients may ask.
#[derive(Clone, Copy)]
pub(super) struct Physical {
    pub(super) length: i16,
    pub(super) by_value: bool,
    pub(super) align: &'static str,
    pub(super) storage: &'static str,
    pub(super) collation: Oid,
}

static PHYSICAL: LazyLock<HashMap<Oid, Physical>> =
    LazyLock::new(|| seed::rows("pg_type").iter().filter_map(|row| read_physical(row)).collect());

fn read_physical(row: &'static [Datum]) -> Option<(Oid, Physical)> {
    let text = |at: usize| match row.get(at) {
        Some(Datum::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let physical = Physical {
        length: match row.get(position::LENGTH) {
            Some(&Datum::Int2(length)) => length,
            _ => return None,
        },
        by_value: matches!(row.get(position::BY_VALUE), Some(Datum::Bool(true))),
        align: text(position::ALIGN)?,
        storage: text(position::STORAGE)?,
        collation: row.get(position::COLLATION)?.as_oid()?,
    };
    Some((row.get(position::OID)?.as_oid()?, physical))
}

/// How values of a type are laid out.
pub(super) fn physical(data_type: Type) -> Physical {
    if let (Scalar::Enum(_), false) = (data_type.scalar, data_type.is_array) {
        return Physical { length: 4, by_value: true, align: "i", storage: "p", collation: 0 };
    }
    let variable = Physical { length: -1, by_value: false, align: "i", storage: "x", collation: 0 };
    PHYSICAL.get(&data_type.oid()).copied().unwrap_or(variable)
}

/// The collation of a type's values; 0 of those that have none.
pub(super) fn collation(data_type: Type) -> Oid {
    physical(data_type).collation
}

fn types(names: &mut Names<'_>) -> Result<Vec<Row>> {
    let schemas = schemas(names)?;
    let mut rows = seed::rows("pg_type").to_vec();
    for described in described() {
        rows.extend(row_types(described.oid, described.name, relations::system_schema(described.schema)));
    }
    for relation in names.relations()? {
        if matches!(relation, Relation::Table(_) | Relation::View(_)) {
            let schema = schemas.get(relation.schema()).copied().unwrap_or_default();
            rows.extend(row_types(relation.oid(), relation.name(), schema));
        }
    }
    for found in names.defined_types()? {
        let schema = schemas.get(&found.schema).copied().unwrap_or_default();
        let array = defined::array_of(found.oid);
        rows.push(Shape::Enum.row(Named {
            oid: found.oid,
            name: found.name.clone(),
            schema,
            relation: 0,
            element: 0,
            array,
        }));
        rows.push(Shape::Array.row(Named {
            oid: array,
            name: array_name(names, &found)?,
            schema,
            relation: 0,
            element: found.oid,
            array: 0,
        }));
    }
    Ok(rows)
}

/// The name of the array of a type: one with so many underscores before it that no other type has it.
fn array_name(names: &mut Names<'_>, found: &DefinedType) -> Result<String> {
    let mut name = format!("_{}", found.name);
    let longest = 63;
    loop {
        let end = (0..=longest.min(name.len())).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
        name.truncate(end);
        let is_free = names.type_in(&found.schema, &name)?.is_none();
        if is_free || name.len() == longest {
            return Ok(name);
        }
        name.insert(0, '_');
    }
}

fn labels(names: &mut Names<'_>) -> Result<Vec<Row>> {
    let types = names.defined_types()?;
    let labels = types.iter().flat_map(|found| {
        let TypeKind::Enum(labels) = &found.kind;
        labels.iter().map(|label| {
            vec![oid(label.oid), oid(found.oid), Datum::Float4(label.sort_order), text(label.name.as_str())]
        })
    });
    Ok(labels.collect())
}

/// The type of a relation's rows, and its array.
fn row_types(relation: Oid, name: &str, schema: Oid) -> [Row; 2] {
    let (row, array) = (derived::row_type(relation), derived::row_array(relation));
    let composite = Named { oid: row, name: name.to_owned(), schema, relation, element: 0, array };
    let array = Named { oid: array, name: format!("_{name}"), schema, relation: 0, element: row, array: 0 };
    [Shape::Row.row(composite), Shape::Array.row(array)]
}

/// A type that is no built-in one.
struct Named {
    oid: Oid,
    name: String,
    schema: Oid,
    relation: Oid,
    element: Oid,
    array: Oid,
}

/// The input, output, receive and send functions, and the one for subscripts and statistics of row types and arrays.
mod function {
    use crate::catalog::Oid;
    pub(super) const RECORD: [Oid; 4] = [2290, 2291, 2402, 2403];
    pub(super) const ENUM: [Oid; 4] = [3506, 3507, 3532, 3533];
    pub(super) const ARRAY: [Oid; 4] = [750, 751, 2400, 2401];
    pub(super) const ARRAY_SUBSCRIPT: Oid = 6179;
    pub(super) const ARRAY_ANALYZE: Oid = 3816;
}

/// The kinds of types that are no built-in ones.
#[derive(Clone, Copy)]
enum Shape {
    Row,
    Enum,
    Array,
}

impl Shape {
    fn row(self, named: Named) -> Row {
        let is_array = matches!(self, Shape::Array);
        let is_enum = matches!(self, Shape::Enum);
        let (kind, category, [input, output, receive, send], align, storage) = match self {
            Shape::Row => ("c", "C", function::RECORD, "d", "x"),
            Shape::Enum => ("e", "E", function::ENUM, "i", "p"),
            Shape::Array if named.element & 0x8000_0000 == 0 => ("b", "A", function::ARRAY, "i", "x"),
            Shape::Array => ("b", "A", function::ARRAY, "d", "x"),
        };
        vec![
            oid(named.oid),
            text(named.name),
            oid(named.schema),
            oid(OWNER),
            int2(if is_enum { 4 } else { -1 }),
            bool(is_enum),
            text(kind),
            text(category),
            NO,
            YES,
            text(","),
            oid(named.relation),
            oid(if is_array { function::ARRAY_SUBSCRIPT } else { 0 }),
            oid(named.element),
            oid(named.array),
            oid(input),
            oid(output),
            oid(receive),
            oid(send),
            NONE,
            NONE,
            oid(if is_array { function::ARRAY_ANALYZE } else { 0 }),
            text(align),
            text(storage),
            NO,
            NONE,
            Datum::Int4(-1),
            Datum::Int4(0),
            NONE,
            NULL,
            NULL,
            NULL,
        ]
    }
}
