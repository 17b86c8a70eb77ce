//! Types: `pg_type`.

use super::layout::{columns, tables};
use super::relations::{OWNER, schemas};
use super::value::{NO, NONE, NULL, YES, bool, int2, oid, text};
use super::{derived, described, relations, seed};
use crate::Result;
use crate::catalog::{DefinedType, Domain, Oid, Relation, TypeKind, VirtualTable};
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
    pub(super) const NAME: usize = 1;
    pub(super) const SCHEMA: usize = 2;
    pub(super) const OWNER: usize = 3;
    pub(super) const LENGTH: usize = 4;
    pub(super) const BY_VALUE: usize = 5;
    pub(super) const KIND: usize = 6;
    pub(super) const PREFERRED: usize = 8;
    pub(super) const SUBSCRIPT: usize = 12;
    pub(super) const ELEMENT: usize = 13;
    pub(super) const ARRAY: usize = 14;
    pub(super) const INPUT: usize = 15;
    pub(super) const RECEIVE: usize = 17;
    pub(super) const MODIFIER_IN: usize = 19;
    pub(super) const MODIFIER_OUT: usize = 20;
    pub(super) const ANALYZE: usize = 21;
    pub(super) const ALIGN: usize = 22;
    pub(super) const STORAGE: usize = 23;
    pub(super) const NOT_NULL: usize = 24;
    pub(super) const BASE: usize = 25;
    pub(super) const MODIFIER: usize = 26;
    pub(super) const DIMENSIONS: usize = 27;
    pub(super) const COLLATION: usize = 28;
    pub(super) const DEFAULT_EXPRESSION: usize = 29;
    pub(super) const DEFAULT: usize = 30;
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
    if let Scalar::Composite(_) = data_type.scalar {
        return Physical { length: -1, by_value: false, align: "d", storage: "x", collation: 0 };
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
        let named = Named { oid: found.oid, name: found.name.clone(), schema, relation: 0, element: 0, array: 0 };
        if let TypeKind::Domain(domain) = &found.kind {
            rows.push(domain_row(names, named, domain)?);
            continue;
        }
        let array = defined::array_of(found.oid);
        let (shape, relation, array_shape) = match &found.kind {
            TypeKind::Composite(_) => (Shape::Row, derived::class_of_type(found.oid), Shape::RowArray),
            _ => (Shape::Enum, 0, Shape::Array),
        };
        rows.push(shape.row(Named { array, relation, ..named }));
        let name = array_name(names, &found)?;
        rows.push(array_shape.row(Named { oid: array, name, schema, relation: 0, element: found.oid, array: 0 }));
    }
    Ok(rows)
}

/// A domain is laid out as the type that it is over, and has functions of its own to read values.
fn domain_row(names: &mut Names<'_>, named: Named, domain: &Domain) -> Result<Row> {
    let base = domain.over.unwrap_or_else(|| domain.data_type.oid());
    let mut row = match seed::rows("pg_type")
        .iter()
        .find(|row| row.first().and_then(Datum::as_oid) == Some(domain.data_type.oid()))
    {
        Some(row) => row.clone(),
        None => {
            let shape = match domain.data_type {
                Type { is_array: true, scalar: Scalar::Composite(_) } => Shape::RowArray,
                Type { is_array: true, .. } => Shape::Array,
                Type { scalar: Scalar::Composite(_), .. } => Shape::Row,
                _ => Shape::Enum,
            };
            shape.row(Named { oid: 0, name: String::new(), schema: 0, relation: 0, element: 0, array: 0 })
        }
    };
    let default = match &domain.default {
        Some(default) => {
            names.read_type(domain.data_type)?;
            text(super::print::expression(names, default, None, false))
        }
        None => NULL,
    };
    let set = [
        (position::OID, oid(named.oid)),
        (position::NAME, text(named.name)),
        (position::SCHEMA, oid(named.schema)),
        (position::OWNER, oid(OWNER)),
        (position::KIND, text("d")),
        (position::PREFERRED, NO),
        (position::SUBSCRIPT, NONE),
        (position::ELEMENT, NONE),
        (position::ARRAY, NONE),
        (position::INPUT, oid(function::DOMAIN_IN)),
        (position::RECEIVE, oid(function::DOMAIN_RECEIVE)),
        (position::MODIFIER_IN, NONE),
        (position::MODIFIER_OUT, NONE),
        (position::ANALYZE, NONE),
        (position::NOT_NULL, bool(domain.not_null)),
        (position::BASE, oid(base)),
        (position::MODIFIER, Datum::Int4(if domain.over.is_some() { -1 } else { domain.modifier.0 })),
        (position::DIMENSIONS, Datum::Int4(i32::from(domain.data_type.is_array))),
        (position::DEFAULT_EXPRESSION, domain.default.as_ref().map_or(NULL, text)),
        (position::DEFAULT, default),
    ];
    for (at, value) in set {
        row[at] = value;
    }
    Ok(row)
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
        let labels = match &found.kind {
            TypeKind::Enum(labels) => &labels[..],
            TypeKind::Domain(_) | TypeKind::Composite(_) => &[],
        };
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
    [Shape::Row.row(composite), Shape::RowArray.row(array)]
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
    pub(super) const DOMAIN_IN: Oid = 2597;
    pub(super) const DOMAIN_RECEIVE: Oid = 2598;
    pub(super) const ARRAY_SUBSCRIPT: Oid = 6179;
    pub(super) const ARRAY_ANALYZE: Oid = 3816;
}

/// The kinds of types that are no built-in ones.
#[derive(Clone, Copy)]
enum Shape {
    Row,
    Enum,
    Array,
    RowArray,
}

impl Shape {
    fn row(self, named: Named) -> Row {
        let is_array = matches!(self, Shape::Array | Shape::RowArray);
        let is_enum = matches!(self, Shape::Enum);
        let (kind, category, [input, output, receive, send], align, storage) = match self {
            Shape::Row => ("c", "C", function::RECORD, "d", "x"),
            Shape::Enum => ("e", "E", function::ENUM, "i", "p"),
            Shape::Array => ("b", "A", function::ARRAY, "i", "x"),
            Shape::RowArray => ("b", "A", function::ARRAY, "d", "x"),
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
