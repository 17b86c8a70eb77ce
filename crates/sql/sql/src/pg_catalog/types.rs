//! Types: `pg_type`.

use super::layout::{columns, tables};
use super::relations::{OWNER, schemas};
use super::value::{NO, NONE, NULL, YES, int2, oid, text};
use super::{derived, described, relations, seed};
use crate::Result;
use crate::catalog::{Oid, Relation, VirtualTable};
use crate::context::Names;
use crate::types::{Datum, Row, Type};
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
    Ok(rows)
}

/// The type of a relation's rows, and its array.
fn row_types(relation: Oid, name: &str, schema: Oid) -> [Row; 2] {
    let (row, array) = (derived::row_type(relation), derived::row_array(relation));
    let composite = Composite { oid: row, name: name.to_owned(), schema, relation, element: 0, array };
    let array = Composite { oid: array, name: format!("_{name}"), schema, relation: 0, element: row, array: 0 };
    [composite.row(), array.row()]
}

/// A row type, or an array of it.
struct Composite {
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
    pub(super) const ARRAY: [Oid; 4] = [750, 751, 2400, 2401];
    pub(super) const ARRAY_SUBSCRIPT: Oid = 6179;
    pub(super) const ARRAY_ANALYZE: Oid = 3816;
}

impl Composite {
    fn row(self) -> Row {
        let is_array = self.element != 0;
        let [input, output, receive, send] = if is_array { function::ARRAY } else { function::RECORD };
        vec![
            oid(self.oid),
            text(self.name),
            oid(self.schema),
            oid(OWNER),
            int2(-1),
            NO,
            text(if is_array { "b" } else { "c" }),
            text(if is_array { "A" } else { "C" }),
            NO,
            YES,
            text(","),
            oid(self.relation),
            oid(if is_array { function::ARRAY_SUBSCRIPT } else { 0 }),
            oid(self.element),
            oid(self.array),
            oid(input),
            oid(output),
            oid(receive),
            oid(send),
            NONE,
            NONE,
            oid(if is_array { function::ARRAY_ANALYZE } else { 0 }),
            text("d"),
            text("x"),
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
