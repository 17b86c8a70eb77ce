//! Advisory locks: `pg_advisory_lock` and related functions.

use super::table::*;
use ::advisory::{Answer, Grant, Key, Level, Mode, Request};
use Level::{Session, Transaction};
use Mode::{Exclusive, Shared};

/// A function of a lock's name: of one bigint, or of two integers.
macro_rules! of_keys {
    ($($name:literal -> $result:ident: $body:expr;)*) => {
        pub(super) static FUNCTIONS: &[Function] = &[
            $(
                system($name, &[INT8], $result, |system, a| {
                    let key = Key::one(system.database().oid, a.int8(0)?);
                    ($body)(system, key)
                })
                .volatile(),
                system($name, &[INT4, INT4], $result, |system, a| {
                    let key = Key::two(system.database().oid, a.int4(0)?, a.int4(1)?);
                    ($body)(system, key)
                })
                .volatile(),
            )*
            system("pg_advisory_unlock_all", &[], VOID, |system, _| {
                let (owner, position) = (system.session().process, system.session().advisory.settled);
                system.advisory().note_given_back();
                system.database().advisory.unlock_all(owner, position.to_raw());
                Ok("".into())
            })
            .volatile(),
        ];
    };
}
of_keys! {
    "pg_advisory_lock" -> VOID: |system, key| lock(system, key, Exclusive, Session);
    "pg_advisory_lock_shared" -> VOID: |system, key| lock(system, key, Shared, Session);
    "pg_advisory_xact_lock" -> VOID: |system, key| lock(system, key, Exclusive, Transaction);
    "pg_advisory_xact_lock_shared" -> VOID: |system, key| lock(system, key, Shared, Transaction);
    "pg_try_advisory_lock" -> BOOL: |system, key| try_lock(system, key, Exclusive, Session);
    "pg_try_advisory_lock_shared" -> BOOL: |system, key| try_lock(system, key, Shared, Session);
    "pg_try_advisory_xact_lock" -> BOOL: |system, key| try_lock(system, key, Exclusive, Transaction);
    "pg_try_advisory_xact_lock_shared" -> BOOL: |system, key| try_lock(system, key, Shared, Transaction);
    "pg_advisory_unlock" -> BOOL: |system, key| unlock(system, key, Exclusive);
    "pg_advisory_unlock_shared" -> BOOL: |system, key| unlock(system, key, Shared);
}

fn request(system: &System<'_>, key: Key, mode: Mode, level: Level) -> Request {
    Request { owner: system.session().process, key, mode, level }
}

fn lock(system: &mut System<'_>, key: Key, mode: Mode, level: Level) -> Result<Datum> {
    let request = request(system, key, mode, level);
    let limit = system.session().lock_timeout();
    let grant = system.database().lock_advisory(system.cancel, request, limit)?;
    note(system, request, grant);
    Ok("".into())
}

fn try_lock(system: &mut System<'_>, key: Key, mode: Mode, level: Level) -> Result<Datum> {
    let request = request(system, key, mode, level);
    let answer = system.database().advisory.try_lock(request)?;
    if let Answer::Granted(grant) = answer {
        note(system, request, grant);
    }
    Ok(matches!(answer, Answer::Granted(_)).into())
}

fn note(system: &mut System<'_>, request: Request, grant: Grant) {
    system.warn_of_node("advisory locks exclude sessions");
    system.rest_on(model::LogPosition::from_raw(grant.rests_on));
    system.advisory().note(request, grant);
}

fn unlock(system: &mut System<'_>, key: Key, mode: Mode) -> Result<Datum> {
    let (owner, position) = (system.session().process, system.session().advisory.settled);
    let was_held = system.database().advisory.unlock(owner, key, mode, position.to_raw());
    if was_held {
        system.advisory().note_given_back();
    } else {
        let message = format!("you don't own a lock of type {}", mode.name());
        system.notice(SqlError::new(state::WARNING, message));
    }
    Ok(was_held.into())
}
