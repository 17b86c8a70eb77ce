//! Functions on the session, the server, privileges and sequences.

use super::table::*;
use crate::catalog::Relation;
use crate::catalog::sequence;
use std::time::Duration;

/// Functions on the session and the server.
pub(super) static FUNCTIONS: &[Function] = &[
    system("current_user", &[], NAME, |system, _| Ok((&*system.session().user).into())),
    system("session_user", &[], NAME, |system, _| Ok((&*system.session().session_user).into())),
    system("current_role", &[], NAME, |system, _| Ok((&*system.session().user).into())),
    system("user", &[], NAME, |system, _| Ok((&*system.session().user).into())),
    system("current_database", &[], NAME, |system, _| Ok(system.session().database.as_str().into())),
    system("current_catalog", &[], NAME, |system, _| Ok(system.session().database.as_str().into())),
    names("current_schema", &[], NAME, |names, _| Ok(schemas(names, false)?.into_iter().next().unwrap_or_default())),
    names("current_schemas", &[BOOL], NAME_ARRAY, |names, a| {
        Ok(Array::new(Scalar::Name, schemas(names, a.boolean(0)?)?).into())
    }),
    system("version", &[], TEXT, |system, _| {
        let version = system.session().setting("server_version").unwrap_or_default();
        let (machine, system) = (std::env::consts::ARCH, std::env::consts::OS);
        Ok(format!("PostgreSQL {version} on {machine}-{system}").into())
    }),
    system("pg_backend_pid", &[], INT4, |system, _| Ok(Datum::Int4(system.session().process))),
    system("current_setting", &[TEXT], TEXT, |system, a| current_setting(system, a.text(0)?, false)),
    system("current_setting", &[TEXT, BOOL], TEXT, |system, a| current_setting(system, a.text(0)?, a.boolean(1)?)),
    system("set_config", &[TEXT, TEXT, BOOL], TEXT, |system, a| {
        let name = a
            .optional_text(0)?
            .ok_or_else(|| SqlError::new(state::NULL_VALUE_NOT_ALLOWED, "SET requires parameter name"))?;
        let local = a[2].as_bool().unwrap_or(false);
        system.set(name, a.optional_text(1)?.unwrap_or(""), local)?;
        Ok(system.session().setting(name).into())
    })
    .called_on_null()
    .volatile(),
    pure("inet_server_addr", &[], TEXT, |_| Ok(Datum::Null)).stable(),
    pure("inet_client_addr", &[], TEXT, |_| Ok(Datum::Null)).stable(),
    pure("inet_server_port", &[], INT4, |_| Ok(Datum::Null)).stable(),
    pure("inet_client_port", &[], INT4, |_| Ok(Datum::Null)).stable(),
    pure("pg_is_in_recovery", &[], BOOL, |_| Ok(false.into())).stable(),
    system("pg_client_encoding", &[], NAME, |system, _| Ok(system.session().derived.encoding.name().into())),
    pure("getdatabaseencoding", &[], NAME, |_| Ok("UTF8".into())).stable(),
    system("pg_export_snapshot", &[], TEXT, |system, _| system.export_snapshot().map(Datum::from)).volatile(),
    system("txid_current", &[], INT8, |system, _| Ok(Datum::Int8(transaction_number(system)))),
    system("pg_current_xact_id", &[], INT8, |system, _| Ok(Datum::Int8(transaction_number(system)))),
    system("pg_sleep", &[FLOAT8], VOID, |system, a| sleep(system, a.float8(0)?)).volatile(),
    system("pg_sleep_for", &[INTERVAL], VOID, |system, a| {
        let interval = a.interval(0)?;
        let days = f64::from(interval.months) * 30.0 + f64::from(interval.days);
        sleep(system, days * 86_400.0 + interval.micros as f64 / 1e6)
    })
    .volatile(),
];

/// The sequences' functions.
pub(super) static SEQUENCES: &[Function] = &[
    system("nextval", &[REGCLASS], INT8, |system, a| sequence::next_value(system, a.oid(0)?).map(Datum::Int8))
        .volatile(),
    system("currval", &[REGCLASS], INT8, |system, a| {
        let sequence = a.oid(0)?;
        if let Some(value) = system.session().last_values.get(&sequence) {
            return Ok(Datum::Int8(*value));
        }
        let relation = system.names().relation_by_oid(sequence)?;
        let name = relation.as_ref().map_or("", Relation::name);
        Err(not_prerequisite(format!("currval of sequence \"{name}\" is not yet defined in this session")))
    })
    .volatile(),
    system("lastval", &[], INT8, |system, _| {
        let last = system.session().last_sequence.and_then(|last| system.session().last_values.get(&last).copied());
        last.map(Datum::Int8).ok_or_else(|| not_prerequisite("lastval is not yet defined in this session".into()))
    })
    .volatile(),
    system("setval", &[REGCLASS, INT8], INT8, |system, a| {
        sequence::set_value(system, a.oid(0)?, a.int8(1)?, true)?;
        Ok(a[1].clone())
    })
    .volatile(),
    system("setval", &[REGCLASS, INT8, BOOL], INT8, |system, a| {
        sequence::set_value(system, a.oid(0)?, a.int8(1)?, a.boolean(2)?)?;
        Ok(a[1].clone())
    })
    .volatile(),
];

/// Role 0 is everybody, who is a member of nothing.
fn has_role(arguments: &[Datum]) -> Result<Datum> {
    Ok((!matches!(arguments.first(), Some(Datum::Oid(0)))).into())
}

macro_rules! privileges {
    ($($name:literal: $($arguments:expr),+;)*) => {
        /// Every role may do everything.
        pub(super) static PRIVILEGES: &[Function] = &[
            pure("pg_has_role", &[ANY, ANY, TEXT], BOOL, has_role).stable(),
            $($(pure($name, $arguments, BOOL, |_| Ok(true.into())).stable(),)+)*
        ];
    };
}
privileges! {
    "has_table_privilege": &[ANY, TEXT], &[ANY, ANY, TEXT];
    "has_sequence_privilege": &[ANY, TEXT], &[ANY, ANY, TEXT];
    "has_schema_privilege": &[ANY, TEXT], &[ANY, ANY, TEXT];
    "has_database_privilege": &[ANY, TEXT], &[ANY, ANY, TEXT];
    "has_function_privilege": &[ANY, TEXT], &[ANY, ANY, TEXT];
    "has_type_privilege": &[ANY, TEXT], &[ANY, ANY, TEXT];
    "has_language_privilege": &[ANY, TEXT], &[ANY, ANY, TEXT];
    "has_tablespace_privilege": &[ANY, TEXT], &[ANY, ANY, TEXT];
    "has_any_column_privilege": &[ANY, TEXT], &[ANY, ANY, TEXT];
    "has_column_privilege": &[ANY, ANY, TEXT], &[ANY, ANY, ANY, TEXT];
    "pg_has_role": &[ANY, TEXT];
}

fn not_prerequisite(message: String) -> SqlError {
    SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

/// The schemas of the search path that exist; with the implicit ones in front if wanted.
fn schemas(names: &mut Names<'_>, implicit: bool) -> Result<Vec<Datum>> {
    let path = names.search_path();
    let existing = names.namespaces()?;
    let mut found: Vec<Datum> = Vec::new();
    if implicit {
        found.extend(names.temporary_schema().map(|own| Datum::from(own.as_str())));
    }
    if implicit && !path.iter().any(|name| name == "pg_catalog") {
        found.push("pg_catalog".into());
    }
    let exists = |name: &&String| existing.iter().any(|namespace| namespace.name == **name);
    found.extend(path.iter().filter(exists).map(|name| Datum::from(name.as_str())));
    Ok(found)
}

fn current_setting(system: &System<'_>, name: &str, missing_ok: bool) -> Result<Datum> {
    match system.session().setting(name) {
        None if !missing_ok => {
            let message = format!("unrecognized configuration parameter \"{name}\"");
            Err(SqlError::new(state::UNDEFINED_OBJECT, message))
        }
        value => Ok(value.into()),
    }
}

/// The transaction's serial point; where the engine has not chosen one yet, the time at which it began.
fn transaction_number(system: &System<'_>) -> i64 {
    let point = system.serial_point().and_then(|point| i64::try_from(point.0).ok());
    point.unwrap_or(system.session().transaction_time)
}

/// Sleeps, unless it is stopped.
fn sleep(system: &System<'_>, seconds: f64) -> Result<Datum> {
    let duration = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
    system.cancel.sleep(duration)?;
    Ok("".into())
}

/// The row of a sequence, as a query of it gives.
static SEQUENCE_STATE: Function = set("sequence_state", &[REGCLASS], RECORD, |system, a| {
    let (last_value, is_called) = sequence::state(system, a.oid(0)?)?;
    Ok(vec![Datum::record([Datum::Int8(last_value), Datum::Int8(0), Datum::Bool(is_called)])])
})
.volatile();

/// The function that gives a sequence's row.
pub fn sequence_state() -> Resolved {
    let columns = vec![("last_value", Type::INT8), ("log_cnt", Type::INT8), ("is_called", Type::BOOL)];
    Resolved {
        function: &SEQUENCE_STATE,
        arguments: vec![Type::REGCLASS],
        result: Type::RECORD,
        columns: Some(columns),
    }
}
