//! What sessions show of themselves and of each other: settings, activity, locks, prepared statements.

use super::layout::{columns, tables};
use super::locks::{locks, wait_event};
use super::value::{NULL, array, oid, text};
use crate::Result;
use crate::catalog::VirtualTable;
use crate::context::System;
use crate::env::settings::{self, Change, Kind, Known};
use crate::env::{CursorInfo, Entry, RelationCounts, StatementInfo};
use crate::types::{Datum, Interval, Row, Scalar, Type};
use jiff::Timestamp;
use std::sync::Arc;
use tables::DatabaseDefinition;

pub(super) static TABLES: &[VirtualTable] = tables! { "pg_catalog", System:
    12104 pg_settings = settings; {
        name: Text, setting: Text, unit: Text, category: Text, short_desc: Text, extra_desc: Text,
        context: Text, vartype: Text, source: Text, min_val: Text, max_val: Text, enumvals: [Text],
        boot_val: Text, reset_val: Text, sourcefile: Text, sourceline: Int4, pending_restart: Bool
    }
    12222 pg_stat_activity = activity; {
        datid: Oid, datname: Name, pid: Int4, leader_pid: Int4, usesysid: Oid, usename: Name,
        application_name: Text, client_addr: Text, client_hostname: Text, client_port: Int4,
        backend_start: Timestamptz, xact_start: Timestamptz, query_start: Timestamptz,
        state_change: Timestamptz, wait_event_type: Text, wait_event: Text, state: Text, backend_xid: Xid,
        backend_xmin: Xid, query_id: Int8, query: Text, backend_type: Text
    }
    12266 pg_stat_database = database_statistics; {
        datid: Oid, datname: Name, numbackends: Int4, xact_commit: Int8, xact_rollback: Int8, blks_read: Int8,
        blks_hit: Int8, tup_returned: Int8, tup_fetched: Int8, tup_inserted: Int8, tup_updated: Int8,
        tup_deleted: Int8, conflicts: Int8, temp_files: Int8, temp_bytes: Int8, deadlocks: Int8,
        checksum_failures: Int8, checksum_last_failure: Timestamptz, blk_read_time: Float8,
        blk_write_time: Float8, session_time: Float8, active_time: Float8, idle_in_transaction_time: Float8,
        sessions: Int8, sessions_abandoned: Int8, sessions_fatal: Int8, sessions_killed: Int8,
        stats_reset: Timestamptz
    }
    12095 pg_prepared_statements = prepared_statements; {
        name: Text, statement: Text, prepare_time: Timestamptz, parameter_types: [Regtype], from_sql: Bool,
        generic_plans: Int8, custom_plans: Int8
    }
    12077 pg_cursors = cursors; {
        name: Text, statement: Text, is_holdable: Bool, is_binary: Bool, is_scrollable: Bool,
        creation_time: Timestamptz
    }
    12249 pg_stat_ssl = plain_connections; {
        pid: Int4, ssl: Bool, version: Text, cipher: Text, bits: Int4, client_dn: Text, client_serial: Numeric,
        issuer_dn: Text
    }
    12253 pg_stat_gssapi = unauthenticated; {
        pid: Int4, gss_authenticated: Bool, principal: Text, encrypted: Bool
    }
    12126 pg_timezone_names = time_zones; {
        name: Text, abbrev: Text, utc_offset: Interval, is_dst: Bool
    }
    12073 pg_locks = locks; {
        locktype: Text, database: Oid, relation: Oid, page: Int4, tuple: Int2, virtualxid: Text,
        transactionid: Xid, classid: Oid, objid: Oid, objsubid: Int2, virtualtransaction: Text, pid: Int4,
        mode: Text, granted: Bool, fastpath: Bool, waitstart: Timestamptz
    }
};

pub(super) fn settings(system: &mut System<'_>) -> Result<Vec<Row>> {
    let settings = system.session().settings();
    Ok(settings.into_iter().map(|(name, value, description)| setting(&name, &value, description)).collect())
}

fn setting(name: &str, value: &str, description: &str) -> Row {
    let known = settings::find(name);
    let default = known.map_or(value, |known| known.default);
    let bounds = known.map_or((None, None), bounds);
    let changeable = known.is_none_or(|known| known.change == Change::Session);
    vec![
        text(name),
        text(value),
        NULL,
        text(if known.is_some() { "Preset Options" } else { "Customized Options" }),
        text(description),
        NULL,
        text(if changeable { "user" } else { "internal" }),
        text(known.map_or("string", kind)),
        text(if value == default { "default" } else { "session" }),
        bounds.0.map_or(NULL, text),
        bounds.1.map_or(NULL, text),
        known.map_or(NULL, choices),
        text(default),
        text(default),
        NULL,
        NULL,
        Datum::Bool(false),
    ]
}

fn kind(known: &Known) -> &'static str {
    match known.kind {
        Kind::Bool => "bool",
        // Switches that stand fast in one place.
        Kind::Enum(choices) if choices.iter().all(|choice| ["on", "off"].contains(choice)) => "bool",
        Kind::Int(..) | Kind::Milliseconds | Kind::Kilobytes => "integer",
        Kind::Real => "real",
        Kind::Enum(_) => "enum",
        Kind::Text => "string",
    }
}

fn bounds(known: &Known) -> (Option<String>, Option<String>) {
    match known.kind {
        Kind::Int(least, greatest) => (Some(least.to_string()), Some(greatest.to_string())),
        _ => (None, None),
    }
}

fn choices(known: &Known) -> Datum {
    match known.kind {
        Kind::Enum(choices) => array(Scalar::Text, choices.iter().map(text).collect()),
        _ => NULL,
    }
}

fn activity(system: &mut System<'_>) -> Result<Vec<Row>> {
    Ok(system.sessions().all().iter().map(active).collect())
}

fn active(entry: &Arc<Entry>) -> Row {
    let activity = entry.activity();
    let state = match (activity.is_active, activity.transaction) {
        (true, _) => "active",
        (false, None) => "idle",
        (false, Some(false)) => "idle in transaction",
        (false, Some(true)) => "idle in transaction (aborted)",
    };
    let (event_type, event) =
        wait_event(entry, &activity).map_or((NULL, NULL), |(kind, event)| (text(kind), text(event)));
    // A statement outside of a block is a transaction of its own.
    let transaction_since = activity.transaction_since.or(activity.is_active.then_some(activity.query_since));
    let time = |at: i64| if at == 0 { NULL } else { Datum::Timestamptz(at) };
    vec![
        oid(entry.database_oid),
        text(&entry.database),
        Datum::Int4(entry.process),
        NULL,
        oid(entry.user_oid),
        text(&entry.user),
        text(&activity.application),
        entry.client.map_or(NULL, |client| text(client.ip().to_string())),
        NULL,
        entry.client.map_or(NULL, |client| Datum::Int4(client.port().into())),
        time(entry.since),
        transaction_since.map_or(NULL, Datum::Timestamptz),
        time(activity.query_since),
        time(activity.state_since),
        event_type,
        event,
        text(state),
        NULL,
        NULL,
        NULL,
        text(&activity.query),
        text("client backend"),
    ]
}

/// A row for each database. What the server does not count is NULL: blocks, rows read, how sessions ended.
fn database_statistics(system: &mut System<'_>) -> Result<Vec<Row>> {
    let databases = system.names().databases()?;
    Ok(databases.iter().map(|database| database_row(system, database)).collect())
}

fn database_row(system: &System<'_>, database: &DatabaseDefinition) -> Row {
    let open = system.sessions().of_database(database.oid).len();
    let (totals, sessions) = system.sessions().totals(database.oid);
    let sum = |of: fn(&RelationCounts) -> u64| count(totals.relations.values().map(of).sum());
    let milliseconds = |micros: i64| Datum::Float8(micros as f64 / 1e3);
    let Some(table) = super::table(None, "pg_stat_database") else { return Vec::new() };
    let value = |&(name, _): &(&str, Type)| match name {
        "datid" => oid(database.oid),
        "datname" => text(&database.name),
        "numbackends" => Datum::Int4(i32::try_from(open).unwrap_or(i32::MAX)),
        "xact_commit" => count(totals.transactions.commits),
        "xact_rollback" => count(totals.transactions.rollbacks),
        "tup_inserted" => sum(|counts| counts.inserted),
        "tup_updated" => sum(|counts| counts.updated),
        "tup_deleted" => sum(|counts| counts.deleted),
        // With the recovery of a standby, and there is none; sorts and joins stay in memory.
        "conflicts" | "temp_files" | "temp_bytes" => Datum::Int8(0),
        "deadlocks" => count(totals.transactions.deadlocks),
        "session_time" => milliseconds(totals.times.connected),
        "active_time" => milliseconds(totals.times.active),
        "idle_in_transaction_time" => milliseconds(totals.times.idle_in_transaction),
        "sessions" => count(sessions),
        "stats_reset" => Datum::Timestamptz(system.sessions().since()),
        _ => NULL,
    };
    table.columns.iter().map(value).collect()
}

fn count(number: u64) -> Datum {
    Datum::Int8(i64::try_from(number).unwrap_or(i64::MAX))
}

/// What was done with the relation that a function is asked about.
fn counts_of(system: &System<'_>, arguments: &[Datum]) -> RelationCounts {
    system.sessions().relation_counts(arguments.first().and_then(Datum::as_oid).unwrap_or_default())
}

/// An estimate, as PostgreSQL's is.
pub(super) fn live_rows(system: &mut System<'_>, arguments: &[Datum]) -> Result<Datum> {
    let relation = arguments.first().and_then(Datum::as_oid).unwrap_or_default();
    Ok(system.estimated_rows(relation)?.map_or(NULL, count))
}

pub(super) fn scans(system: &mut System<'_>, arguments: &[Datum]) -> Result<Datum> {
    Ok(count(counts_of(system, arguments).scans))
}

pub(super) fn rows_inserted(system: &mut System<'_>, arguments: &[Datum]) -> Result<Datum> {
    Ok(count(counts_of(system, arguments).inserted))
}

pub(super) fn rows_updated(system: &mut System<'_>, arguments: &[Datum]) -> Result<Datum> {
    Ok(count(counts_of(system, arguments).updated))
}

pub(super) fn rows_deleted(system: &mut System<'_>, arguments: &[Datum]) -> Result<Datum> {
    Ok(count(counts_of(system, arguments).deleted))
}

fn prepared_statements(system: &mut System<'_>) -> Result<Vec<Row>> {
    let row = |statement: StatementInfo| {
        let parameters = statement.parameters.iter().map(|parameter| oid(parameter.oid())).collect();
        vec![
            text(statement.name),
            text(statement.text),
            Datum::Timestamptz(statement.at),
            array(Scalar::Regtype, parameters),
            Datum::Bool(statement.from_sql),
            NULL,
            NULL,
        ]
    };
    Ok(system.session().prepared_statements().into_iter().map(row).collect())
}

fn cursors(system: &mut System<'_>) -> Result<Vec<Row>> {
    let row = |cursor: &Arc<CursorInfo>| {
        let flags = [cursor.is_holdable, false, cursor.is_scrollable].map(Datum::Bool);
        let named = [text(&cursor.name), text(&cursor.text)];
        named.into_iter().chain(flags).chain([Datum::Timestamptz(cursor.at)]).collect()
    };
    Ok(system.session().cursors().iter().map(row).collect())
}

/// Connections are not encrypted.
fn plain_connections(system: &mut System<'_>) -> Result<Vec<Row>> {
    let row =
        |entry: &Arc<Entry>| vec![Datum::Int4(entry.process), Datum::Bool(false), NULL, NULL, NULL, NULL, NULL, NULL];
    Ok(system.sessions().all().iter().map(row).collect())
}

fn unauthenticated(system: &mut System<'_>) -> Result<Vec<Row>> {
    let row = |entry: &Arc<Entry>| vec![Datum::Int4(entry.process), Datum::Bool(false), NULL, Datum::Bool(false)];
    Ok(system.sessions().all().iter().map(row).collect())
}

/// The time zones, each with what is true of it at the start of the transaction.
fn time_zones(system: &mut System<'_>) -> Result<Vec<Row>> {
    let Ok(now) = Timestamp::from_microsecond(system.session().transaction_time) else { return Ok(Vec::new()) };
    let database = jiff::tz::db();
    let zones = database.available().filter_map(|name| Some((database.get(name.as_str()).ok()?, name)));
    Ok(zones
        .map(|(zone, name)| {
            let info = zone.to_offset_info(now);
            let micros = i64::from(info.offset().seconds()) * 1_000_000;
            let offset = Datum::Interval(Arc::new(Interval { months: 0, days: 0, micros }));
            vec![text(name.as_str()), text(info.abbreviation()), offset, Datum::Bool(info.dst().is_dst())]
        })
        .collect())
}
