//! Indexes and constraints: `pg_index` and `pg_constraint`.

use super::layout::{columns, tables};
use super::relations::{schemas, tables_of};
use super::types::collation;
use super::value::{NO, NONE, NULL, YES, array, bool, count2, int2, numbers, oid, text, vector};
use super::{derived, seed};
use crate::Result;
use crate::bind;
use crate::catalog::{Action, Check, DefinedType, EXPRESSION, ForeignKey, Index, Oid, Table, TypeKind, VirtualTable};
use crate::context::Names;
use crate::plan::IndexRules;
use crate::types::{Datum, Row, Scalar, Type};
use std::collections::HashMap;
use std::sync::LazyLock;

pub(super) static TABLES: &[VirtualTable] = tables! { "pg_catalog", Names:
    2610 pg_index = indexes; {
        indexrelid: Oid, indrelid: Oid, indnatts: Int2, indnkeyatts: Int2, indisunique: Bool,
        indnullsnotdistinct: Bool, indisprimary: Bool, indisexclusion: Bool, indimmediate: Bool,
        indisclustered: Bool, indisvalid: Bool, indcheckxmin: Bool, indisready: Bool, indislive: Bool,
        indisreplident: Bool, indkey: Int2Vector, indcollation: OidVector, indclass: OidVector,
        indoption: Int2Vector, indexprs: PgNodeTree, indpred: PgNodeTree
    }
    2606 pg_constraint = constraints; {
        oid: Oid, conname: Name, connamespace: Oid, contype: Char, condeferrable: Bool, condeferred: Bool,
        convalidated: Bool, conrelid: Oid, contypid: Oid, conindid: Oid, conparentid: Oid, confrelid: Oid,
        confupdtype: Char, confdeltype: Char, confmatchtype: Char, conislocal: Bool, coninhcount: Int4,
        connoinherit: Bool, conkey: [Int2], confkey: [Int2], conpfeqop: [Oid], conppeqop: [Oid],
        conffeqop: [Oid], confdelsetcols: [Int2], conexclop: [Oid], conbin: PgNodeTree
    }
};

/// The B-tree operator class of a type, and `=` of it.
static ORDERS: LazyLock<HashMap<Oid, Order>> = LazyLock::new(|| {
    let classes = seed::rows("pg_opclass").iter().filter_map(|row| {
        // opcintype, oid, opcfamily; only the default class of a type counts.
        let is_default = matches!(row.get(7), Some(Datum::Bool(true)));
        Some((row.get(6)?.as_oid()?, row.first()?.as_oid()?, row.get(5)?.as_oid()?)).filter(|_| is_default)
    });
    classes.map(|(data_type, class, family)| (data_type, Order { class, equal: equality(family, data_type) })).collect()
});

/// How values of a type are ordered.
#[derive(Clone, Copy, Default)]
struct Order {
    class: Oid,
    equal: Oid,
}

/// The strategy number of `=` in a B-tree.
const EQUAL: i16 = 3;

fn equality(family: Oid, data_type: Oid) -> Oid {
    let operators = seed::rows("pg_amop").iter();
    let mut equal = operators.filter(|row| {
        let is = |at: usize, wanted: Oid| row.get(at).and_then(Datum::as_oid) == Some(wanted);
        is(1, family) && is(2, data_type) && is(3, data_type) && matches!(row.get(4), Some(&Datum::Int2(EQUAL)))
    });
    equal.next().and_then(|row| row.get(6)?.as_oid()).unwrap_or_default()
}

/// How values of a type are ordered; types without operators of their own use those of another.
fn order(data_type: Type) -> Order {
    let by = match data_type.scalar {
        _ if data_type.is_array => 2277,
        Scalar::Varchar => Type::TEXT.oid(),
        Scalar::Enum(_) => 3500,
        scalar if scalar.is_reg() => Type::OID.oid(),
        _ => data_type.oid(),
    };
    ORDERS.get(&by).copied().unwrap_or_default()
}

/// The types of a table's columns at these positions.
fn types_at<'t>(table: &'t Table, positions: &'t [usize]) -> impl Iterator<Item = Type> + 't {
    positions.iter().filter_map(|&at| table.columns.get(at)).map(|column| column.data_type)
}

fn indexes(names: &mut Names<'_>) -> Result<Vec<Row>> {
    let relations = names.relations()?;
    let mut rows = vec![];
    for table in tables_of(&relations) {
        let rules = bind::index_rules(names, table)?;
        for index in &table.indexes {
            rows.push(index_row(names, (table, &rules), index));
        }
    }
    Ok(rows)
}

/// The bits of `indoption`.
const DESCENDING: i16 = 1;
const NULLS_FIRST: i16 = 2;

fn index_row(names: &mut Names<'_>, (table, rules): (&Table, &IndexRules), index: &Index) -> Row {
    let options = (0..index.columns.len()).map(|place| {
        let bit = |is_set: bool, bit: i16| if is_set { bit } else { 0 };
        int2(bit(index.descends(place), DESCENDING) | bit(index.nulls_first(place), NULLS_FIRST))
    });
    let types = || rules.types(table, index);
    let class = |(place, data_type): (usize, Type)| match index.classes.iter().find(|(at, _)| *at == place) {
        Some((_, class)) => oid(class_named(class).unwrap_or_default()),
        None => oid(order(data_type).class),
    };
    // An expression has the number 0.
    let number = |&column: &usize| if column == EXPRESSION { int2(0) } else { count2(column + 1) };
    let printed = |names: &mut Names<'_>, text: &String| super::print::expression(names, text, Some(table), false);
    let expressions: Vec<String> = index.expressions.iter().map(|text| printed(names, text)).collect();
    let predicate = index.predicate.as_ref().map(|predicate| printed(names, predicate));
    vec![
        oid(index.oid),
        oid(table.oid),
        count2(index.columns.len() + index.included.len()),
        count2(index.columns.len()),
        bool(index.unique),
        bool(index.nulls_not_distinct),
        bool(index.primary),
        NO,
        bool(!index.deferrable),
        NO,
        YES,
        NO,
        YES,
        YES,
        NO,
        vector(Scalar::Int2, index.columns.iter().chain(&index.included).map(number).collect()),
        vector(Scalar::Oid, types().map(|data_type| oid(collation(data_type))).collect()),
        vector(Scalar::Oid, types().enumerate().map(class).collect()),
        vector(Scalar::Int2, options.collect()),
        if expressions.is_empty() { NULL } else { text(expressions.join(", ")) },
        predicate.map_or(NULL, text),
    ]
}

/// The identifier of an operator class.
fn class_named(name: &str) -> Option<Oid> {
    let named = |row: &&Row| matches!(row.get(2), Some(Datum::Text(found)) if found == name);
    seed::rows("pg_opclass").iter().find(named)?.first()?.as_oid()
}

fn constraints(names: &mut Names<'_>) -> Result<Vec<Row>> {
    let schemas = schemas(names)?;
    let relations = names.relations()?;
    let tables: HashMap<Oid, &Table> = tables_of(&relations).map(|table| (table.oid, table)).collect();
    let mut rows = Vec::new();
    for table in tables_of(&relations) {
        let schema = schemas.get(&table.schema).copied().unwrap_or_default();
        let keys = table.indexes.iter().filter(|index| index.constraint).map(|index| key(table, index));
        let checks = table.checks.iter().map(|check| self::check(table, check));
        let references = table.foreign_keys.iter().map(|foreign| reference(table, foreign, &tables));
        rows.extend(keys.chain(checks).chain(references).map(|constraint| constraint.row(schema)));
    }
    for found in names.defined_types()? {
        let TypeKind::Domain(domain) = &found.kind else { continue };
        let schema = schemas.get(&found.schema).copied().unwrap_or_default();
        rows.extend(domain.checks.iter().map(|check| of_domain(&found, check).row(schema)));
    }
    Ok(rows)
}

/// What the kinds of constraints differ in.
struct Constraint<'t> {
    oid: Oid,
    name: &'t str,
    kind: &'static str,
    deferrable: bool,
    deferred: bool,
    validated: bool,
    table: Oid,
    domain: Oid,
    index: Oid,
    referenced: Oid,
    on_update: &'static str,
    on_delete: &'static str,
    matching: &'static str,
    columns: Datum,
    referenced_columns: Datum,
    /// The operators that compare keys with references.
    equalities: Datum,
    expression: Datum,
}

impl Constraint<'_> {
    fn row(self, schema: Oid) -> Row {
        vec![
            oid(self.oid),
            text(self.name),
            oid(schema),
            text(self.kind),
            bool(self.deferrable),
            bool(self.deferred),
            bool(self.validated),
            oid(self.table),
            oid(self.domain),
            oid(self.index),
            NONE,
            oid(self.referenced),
            text(self.on_update),
            text(self.on_delete),
            text(self.matching),
            YES,
            Datum::Int4(0),
            bool(self.kind != "c"),
            self.columns,
            self.referenced_columns,
            self.equalities.clone(),
            self.equalities.clone(),
            self.equalities,
            NULL,
            NULL,
            self.expression,
        ]
    }
}

fn of_domain<'t>(found: &DefinedType, check: &'t Check) -> Constraint<'t> {
    Constraint {
        domain: found.oid,
        validated: !check.not_valid,
        expression: text(&check.expression),
        ..unnamed(check.oid, &check.name, "c")
    }
}

fn plain<'t>(table: &Table, oid: Oid, name: &'t str, kind: &'static str) -> Constraint<'t> {
    Constraint { table: table.oid, ..unnamed(oid, name, kind) }
}

fn unnamed<'t>(oid: Oid, name: &'t str, kind: &'static str) -> Constraint<'t> {
    Constraint {
        oid,
        name,
        kind,
        deferrable: false,
        deferred: false,
        validated: true,
        table: 0,
        domain: 0,
        index: 0,
        referenced: 0,
        on_update: " ",
        on_delete: " ",
        matching: " ",
        columns: NULL,
        referenced_columns: NULL,
        equalities: NULL,
        expression: NULL,
    }
}

fn key<'t>(table: &Table, index: &'t Index) -> Constraint<'t> {
    Constraint {
        deferrable: index.deferrable,
        deferred: index.initially_deferred,
        index: index.oid,
        columns: array(Scalar::Int2, numbers(&index.columns)),
        ..plain(table, derived::partner(index.oid), &index.name, if index.primary { "p" } else { "u" })
    }
}

fn check<'t>(table: &Table, check: &'t Check) -> Constraint<'t> {
    let columns = super::print::columns_in(&check.expression, table);
    Constraint {
        columns: if columns.is_empty() { NULL } else { array(Scalar::Int2, numbers(&columns)) },
        validated: !check.not_valid,
        expression: text(&check.expression),
        ..plain(table, check.oid, &check.name, "c")
    }
}

fn reference<'t>(table: &Table, foreign: &'t ForeignKey, tables: &HashMap<Oid, &Table>) -> Constraint<'t> {
    let equalities = tables.get(&foreign.referenced).map_or(NULL, |referenced| {
        let types = types_at(referenced, &foreign.referenced_columns);
        array(Scalar::Oid, types.map(|data_type| oid(order(data_type).equal)).collect())
    });
    Constraint {
        deferrable: foreign.deferrable,
        deferred: foreign.initially_deferred,
        validated: !foreign.not_valid,
        index: foreign.referenced_index,
        referenced: foreign.referenced,
        on_update: action(foreign.on_update),
        on_delete: action(foreign.on_delete),
        matching: if foreign.match_full { "f" } else { "s" },
        columns: array(Scalar::Int2, numbers(&foreign.columns)),
        referenced_columns: array(Scalar::Int2, numbers(&foreign.referenced_columns)),
        equalities,
        ..plain(table, foreign.oid, &foreign.name, "f")
    }
}

fn action(action: Action) -> &'static str {
    match action {
        Action::NoAction => "a",
        Action::Restrict => "r",
        Action::Cascade => "c",
        Action::SetNull => "n",
        Action::SetDefault => "d",
    }
}
