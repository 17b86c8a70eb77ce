//! Relations and schemas: `pg_class`, `pg_namespace`, and the tables with rows for whole relations.

use super::layout::{Described, columns, tables};
use super::measured::measure;
use super::value::{NO, NONE, NULL, YES, array, bool, count2, oid, text};
use super::{derived, described};
use crate::Result;
use crate::catalog::{DefinedType, Oid, Relation, Table, TypeKind, VirtualTable};
use crate::context::{Names, temporary_namespace};
use crate::database::Database;
use crate::types::{Datum, Row, Scalar};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) static TABLES: &[VirtualTable] = tables! { "pg_catalog", Names:
    1259 pg_class = classes; relname by pg_class_relname_nsp_index = classes_named; {
        oid: Oid, relname: Name, relnamespace: Oid, reltype: Oid, reloftype: Oid, relowner: Oid, relam: Oid,
        relfilenode: Oid, reltablespace: Oid, relpages: Int4, reltuples: Float4, relallvisible: Int4,
        reltoastrelid: Oid, relhasindex: Bool, relisshared: Bool, relpersistence: Char, relkind: Char,
        relnatts: Int2, relchecks: Int2, relhasrules: Bool, relhastriggers: Bool, relhassubclass: Bool,
        relrowsecurity: Bool, relforcerowsecurity: Bool, relispopulated: Bool, relreplident: Char,
        relispartition: Bool, relrewrite: Oid, relfrozenxid: Xid, relminmxid: Xid, relacl: [AclItem],
        reloptions: [Text], relpartbound: PgNodeTree
    }
    2615 pg_namespace = namespaces; nspname by pg_namespace_nspname_index = namespaces_named; {
        oid: Oid, nspname: Name, nspowner: Oid, nspacl: [AclItem]
    }
    3394 pg_init_privs = initial_privileges; {
        objoid: Oid, classoid: Oid, objsubid: Int4, privtype: Char, initprivs: [AclItem]
    }
    2224 pg_sequence = sequences; {
        seqrelid: Oid, seqtypid: Oid, seqstart: Int8, seqincrement: Int8, seqmax: Int8, seqmin: Int8,
        seqcache: Int8, seqcycle: Bool
    }
    2618 pg_rewrite = rules; {
        oid: Oid, rulename: Name, ev_class: Oid, ev_type: Char, ev_enabled: Char, is_instead: Bool,
        ev_qual: PgNodeTree, ev_action: PgNodeTree
    }
    2609 pg_description = super::comments::descriptions; {
        objoid: Oid, classoid: Oid, objsubid: Int4, description: Text
    }
    2608 pg_depend = super::depend::dependencies; {
        classid: Oid, objid: Oid, objsubid: Int4, refclassid: Oid, refobjid: Oid, refobjsubid: Int4,
        deptype: Char
    }
};

/// The role that owns what nobody else does.
pub(super) const OWNER: Oid = 10;
/// `pg_catalog`
pub(super) const PG_CATALOG: Oid = 11;
/// `public`
const PUBLIC: Oid = 2200;
/// The oids of catalogs that name the class of an object.
pub(super) mod class {
    use crate::catalog::Oid;
    pub(in crate::pg_catalog) const PG_TYPE: Oid = 1247;
    pub(in crate::pg_catalog) const PG_CLASS: Oid = 1259;
    pub(in crate::pg_catalog) const PG_ATTRDEF: Oid = 2604;
    pub(in crate::pg_catalog) const PG_CONSTRAINT: Oid = 2606;
    pub(in crate::pg_catalog) const PG_NAMESPACE: Oid = 2615;
    pub(in crate::pg_catalog) const PG_REWRITE: Oid = 2618;
}
/// `information_schema`, as initdb numbers it here.
pub(super) const INFORMATION_SCHEMA: Oid = 13_244;
/// The access method of tables.
const HEAP: Oid = 2;
/// The access method of indexes.
pub(super) const BTREE: Oid = 403;

/// The oids of the schemas, by name; those that hold temporary relations of other sessions among them.
pub(super) fn schemas(names: &mut Names<'_>) -> Result<HashMap<String, Oid>> {
    let all = names.namespaces_of_all_sessions()?;
    Ok(all.into_iter().map(|namespace| (namespace.name, namespace.oid)).collect())
}

/// What the kinds of relations differ in.
struct Class<'r> {
    oid: Oid,
    name: &'r str,
    schema: Oid,
    owner: Oid,
    kind: &'static str,
    columns: usize,
    checks: usize,
    access_method: Oid,
    has_index: bool,
    has_rules: bool,
    has_triggers: bool,
    temporary: bool,
    shared: bool,
    replica_identity: &'static str,
    measure: Measure,
}

/// The size of a relation in `pg_class`.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    pub(super) pages: i32,
    /// -1: nobody knows.
    pub(super) rows: f32,
}

impl Measure {
    const UNKNOWN: Measure = Measure { pages: 0, rows: -1.0 };
}

impl Class<'_> {
    fn row(&self) -> Row {
        let has_storage = self.kind != "v" && self.kind != "c";
        let row_type = match (self.kind, derived::type_of_class(self.oid)) {
            ("i" | "S", _) => 0,
            ("c", Some(data_type)) => data_type,
            _ => derived::row_type(self.oid),
        };
        vec![
            oid(self.oid),
            text(self.name),
            oid(self.schema),
            oid(row_type),
            NONE,
            oid(self.owner),
            oid(self.access_method),
            oid(if has_storage { self.oid } else { 0 }),
            oid(if self.shared { 1664 } else { 0 }),
            Datum::Int4(self.measure.pages),
            Datum::Float4(if has_storage { self.measure.rows } else { 0.0 }),
            Datum::Int4(0),
            NONE,
            bool(self.has_index),
            bool(self.shared),
            text(if self.temporary { "t" } else { "p" }),
            text(self.kind),
            count2(self.columns),
            count2(self.checks),
            bool(self.has_rules),
            bool(self.has_triggers),
            NO,
            NO,
            NO,
            YES,
            text(self.replica_identity),
            NO,
            NONE,
            NONE,
            NONE,
            NULL,
            NULL,
            NULL,
        ]
    }
}

fn classes(names: &mut Names<'_>) -> Result<Vec<Row>> {
    let schemas = schemas(names)?;
    let relations = names.relations()?;
    let tables: HashMap<Oid, &Table> = tables_of(&relations).map(|table| (table.oid, table)).collect();
    let owners = names.owners()?;
    let database = names.database().clone();
    let own = relations.iter().map(|relation| {
        let owner = owners.get(&owned_as(relation)).copied().unwrap_or(OWNER);
        relation_row(&database, relation, schema_of(&schemas, relation.schema()), owner, &tables)
    });
    let system = described().iter().map(|described| class_of_system(described).row());
    let mut rows: Vec<Row> = system.chain(own).collect();
    let composite = |found: &Arc<DefinedType>| composite_row(found, schema_of(&schemas, &found.schema));
    rows.extend(names.defined_types()?.iter().filter_map(composite));
    Ok(rows)
}

/// The rows of `pg_class` of one name, in any schema: of other relations nothing is read.
fn classes_named(names: &mut Names<'_>, name: &str) -> Result<Vec<Row>> {
    let database = names.database().clone();
    let system = described().iter().filter(|described| described.name == name);
    let mut rows: Vec<Row> = system.map(|described| class_of_system(described).row()).collect();
    for schema in names.namespaces_of_all_sessions()? {
        if let Some(relation) = names.relation_in(&schema.name, name)? {
            let owned = owned_as(&relation);
            let of_index = if owned == relation.oid() { None } else { names.relation_by_oid(owned)? };
            let tables = tables_of(of_index.as_slice()).map(|table| (table.oid, table)).collect();
            rows.push(relation_row(&database, &relation, schema.oid, names.owner(owned)?, &tables));
        }
        rows.extend(names.type_in(&schema.name, name)?.and_then(|found| composite_row(&found, schema.oid)));
    }
    Ok(rows)
}

fn schema_of(schemas: &HashMap<String, Oid>, name: &str) -> Oid {
    schemas.get(name).copied().unwrap_or(PUBLIC)
}

/// What has a relation's owner: of an index its table.
fn owned_as(relation: &Relation) -> Oid {
    if let Relation::Index(entry) = relation { entry.table } else { relation.oid() }
}

/// The row of a relation; `tables` have that of an index.
fn relation_row(
    database: &Database,
    relation: &Relation,
    schema: Oid,
    owner: Oid,
    tables: &HashMap<Oid, &Table>,
) -> Row {
    let measure = measure_of(database, relation, tables);
    Class { owner, measure, ..class_of(relation, schema, tables) }.row()
}

/// The row of the relation that has the attributes of a type, if the type is composite.
fn composite_row(found: &DefinedType, schema: Oid) -> Option<Row> {
    let TypeKind::Composite(columns) = &found.kind else { return None };
    Some(class_of_type(found, columns.len(), schema).row())
}

fn measure_of(database: &Database, relation: &Relation, tables: &HashMap<Oid, &Table>) -> Measure {
    let found = database.store.ddl().and_then(|engine| match relation {
        Relation::Table(table) => Some(measure(engine, Some(table.storage), table.storage)),
        Relation::Index(entry) => {
            let table = tables.get(&entry.table)?;
            let index = table.indexes.iter().find(|index| index.oid == entry.oid)?;
            Some(measure(engine, index.storage, table.storage))
        }
        Relation::Sequence(_) | Relation::View(_) => None,
    });
    found.unwrap_or(Measure::UNKNOWN)
}

/// The tables among relations.
pub(super) fn tables_of(relations: &[Relation]) -> impl Iterator<Item = &Table> {
    relations.iter().filter_map(|relation| match relation {
        Relation::Table(table) => Some(&**table),
        _ => None,
    })
}

fn class_of<'r>(relation: &'r Relation, schema: Oid, tables: &HashMap<Oid, &Table>) -> Class<'r> {
    let plain = Class {
        oid: relation.oid(),
        name: relation.name(),
        schema,
        owner: OWNER,
        kind: "v",
        columns: 0,
        checks: 0,
        access_method: 0,
        has_index: false,
        has_rules: false,
        has_triggers: false,
        temporary: temporary_namespace(relation.schema()).is_some(),
        shared: false,
        replica_identity: "n",
        measure: Measure::UNKNOWN,
    };
    match relation {
        Relation::Table(table) => Class {
            kind: "r",
            columns: table.columns.len(),
            checks: table.checks.len(),
            access_method: HEAP,
            has_index: !table.indexes.is_empty(),
            has_triggers: !table.foreign_keys.is_empty() || !table.referenced_by.is_empty(),
            replica_identity: "d",
            ..plain
        },
        Relation::Index(entry) => {
            let table = tables.get(&entry.table);
            let index = table.and_then(|table| table.indexes.iter().find(|index| index.oid == entry.oid));
            let columns = index.map_or(0, |index| index.columns.len() + index.included.len());
            Class { kind: "i", columns, access_method: BTREE, ..plain }
        }
        Relation::Sequence(_) => Class { kind: "S", columns: 3, ..plain },
        Relation::View(view) => Class { kind: "v", columns: view.columns.len(), has_rules: true, ..plain },
    }
}

/// The relation that has the attributes of a composite type.
fn class_of_type(found: &DefinedType, columns: usize, schema: Oid) -> Class<'_> {
    Class {
        oid: derived::class_of_type(found.oid),
        name: &found.name,
        schema,
        owner: OWNER,
        kind: "c",
        columns,
        checks: 0,
        access_method: 0,
        has_index: false,
        has_rules: false,
        has_triggers: false,
        temporary: temporary_namespace(&found.schema).is_some(),
        shared: false,
        replica_identity: "n",
        measure: Measure::UNKNOWN,
    }
}

/// The catalogs that all databases of a server have in common.
const SHARED: &[&str] = &[
    "pg_authid",
    "pg_auth_members",
    "pg_database",
    "pg_db_role_setting",
    "pg_parameter_acl",
    "pg_replication_origin",
    "pg_shdepend",
    "pg_shdescription",
    "pg_shseclabel",
    "pg_subscription",
    "pg_tablespace",
];

fn class_of_system(described: &Described) -> Class<'static> {
    Class {
        oid: described.oid,
        name: described.name,
        schema: system_schema(described.schema),
        owner: OWNER,
        kind: if described.is_view { "v" } else { "r" },
        columns: described.columns.len(),
        checks: 0,
        access_method: if described.is_view { 0 } else { HEAP },
        has_index: false,
        has_rules: described.is_view,
        has_triggers: false,
        temporary: false,
        shared: SHARED.contains(&described.name),
        replica_identity: "n",
        measure: Measure::UNKNOWN,
    }
}

/// The oid of one of the system's schemas.
pub(super) fn system_schema(name: &str) -> Oid {
    if name == "pg_catalog" { PG_CATALOG } else { INFORMATION_SCHEMA }
}

/// The role that has the members of the database's owner.
const DATABASE_OWNER: Oid = 6171;

fn namespaces(names: &mut Names<'_>) -> Result<Vec<Row>> {
    let mut schemas: Vec<_> = schemas(names)?.into_iter().collect();
    schemas.sort_by_key(|&(_, schema)| schema);
    let owners = names.owners()?;
    let row = |(name, schema): (String, Oid)| namespace_row(&name, schema, owners.get(&schema).copied());
    Ok(schemas.into_iter().map(row).collect())
}

/// The row of `pg_namespace` of one name: of other schemas nothing is read, unless it is one of temporary relations.
fn namespaces_named(names: &mut Names<'_>, name: &str) -> Result<Vec<Row>> {
    let found = match temporary_namespace(name) {
        Some(_) => names.namespaces_of_all_sessions()?.into_iter().find(|schema| schema.name == name),
        None => names.namespace(name)?,
    };
    let Some(schema) = found else { return Ok(Vec::new()) };
    let owner = Some(names.owner(schema.oid)?).filter(|owner| *owner != OWNER);
    Ok(vec![namespace_row(name, schema.oid, owner)])
}

/// A row of `pg_namespace`; without an owner, the schema belongs to the first role.
fn namespace_row(name: &str, schema: Oid, owner: Option<Oid>) -> Row {
    let (owner, owner_name) = match owner {
        Some(owner) => (owner, "pg_database_owner"),
        None if schema == PUBLIC => (DATABASE_OWNER, "pg_database_owner"),
        None => (OWNER, "postgres"),
    };
    let everybodys = [PUBLIC, PG_CATALOG, INFORMATION_SCHEMA].contains(&schema);
    let privileges = [format!("{owner_name}=UC/{owner_name}"), format!("=U/{owner_name}")];
    let privileges = everybodys.then(|| array(Scalar::AclItem, privileges.iter().map(text).collect()));
    vec![oid(schema), text(name), oid(owner), privileges.unwrap_or_default()]
}

/// The privileges that a fresh database has; pg_dump leaves them out.
fn initial_privileges(_: &mut Names<'_>) -> Result<Vec<Row>> {
    let privileges = ["postgres=UC/postgres", "=U/postgres"].map(text).to_vec();
    let of_schema = |schema| {
        let privileges = array(Scalar::AclItem, privileges.clone());
        vec![oid(schema), oid(class::PG_NAMESPACE), Datum::Int4(0), text("i"), privileges]
    };
    Ok([PG_CATALOG, INFORMATION_SCHEMA].map(of_schema).to_vec())
}

fn sequences(names: &mut Names<'_>) -> Result<Vec<Row>> {
    let relations = names.relations()?;
    let sequences = relations.iter().filter_map(|relation| match relation {
        Relation::Sequence(sequence) => Some(sequence),
        _ => None,
    });
    Ok(sequences
        .map(|sequence| {
            vec![
                oid(sequence.oid),
                oid(sequence.data_type.oid()),
                Datum::Int8(sequence.start),
                Datum::Int8(sequence.increment),
                Datum::Int8(sequence.max),
                Datum::Int8(sequence.min),
                Datum::Int8(sequence.cache),
                bool(sequence.cycle),
            ]
        })
        .collect())
}

fn rules(names: &mut Names<'_>) -> Result<Vec<Row>> {
    let relations = names.relations()?;
    let views = relations.iter().filter_map(|relation| match relation {
        Relation::View(view) => Some(view),
        _ => None,
    });
    Ok(views
        .map(|view| {
            let rule = derived::partner(view.oid);
            let action = text(&view.query);
            vec![oid(rule), text("_RETURN"), oid(view.oid), text("1"), text("O"), YES, text("<>"), action]
        })
        .collect())
}
