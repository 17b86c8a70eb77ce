//! `pg_notify` and what a session asks about channels.

use super::table::*;
use crate::notify::Notification;

pub(super) static FUNCTIONS: &[Function] = &[
    system("pg_notify", &[TEXT, TEXT], VOID, |system, a| {
        let (channel, payload) = (a.optional_text(0)?.unwrap_or(""), a.optional_text(1)?.unwrap_or(""));
        system.notify(Notification::new(channel, payload)?)?;
        Ok("".into())
    })
    .called_on_null()
    .volatile(),
    system("pg_notification_queue_usage", &[], FLOAT8, |system, _| Ok(system.database().channels.usage().into()))
        .volatile(),
    set("pg_listening_channels", &[], TEXT, |system, _| {
        let channels = system.database().channels.listening(system.session().process);
        Ok(channels.into_iter().map(|channel| channel.as_str().into()).collect())
    }),
];
