//! The life of a node: it begins, then uses one member of etcd after another until it is stopped.

mod appending;
mod begin;
mod keeping;
mod reading;
mod watching;

use crate::error::{EtcdError, Trouble};
use crate::member::{Member, Members};
use crate::options::EtcdOptions;
use crate::shared::Shared;
use env::time::Duration;
use std::sync::Arc;
use tokio::time::sleep;
use total::{OrderLimits, Position};

/// Time between two members that cannot be used.
const PAUSE: Duration = Duration::from_millis(20);

/// Begins a life, tells `ready` so, and lives it.
pub async fn live(
    options: EtcdOptions,
    limits: OrderLimits,
    resume_after: Option<Position>,
    mut members: Members,
    ready: impl FnOnce(Result<Arc<Shared>, EtcdError>),
) {
    let shared = match begin::begin(&options, &mut members, resume_after).await {
        Ok(begun) => Arc::new(Shared::new(&options, &limits, resume_after, begun)),
        Err(error) => return ready(Err(error)),
    };
    ready(Ok(Arc::clone(&shared)));
    let _end = End(Arc::clone(&shared));
    tokio::select! {
        () = shared.stop.notified() => (),
        why = run(&shared, &mut members) => shared.end(why),
    }
}

/// Ends the order with its thread, whatever ends that: nobody waits for it in vain.
struct End(Arc<Shared>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.end("its thread has ended".into());
    }
}

/// Uses one member after another, and returns why none can be used any more.
async fn run(shared: &Arc<Shared>, members: &mut Members) -> String {
    loop {
        let trouble = match members.connect().await {
            Ok(member) => use_member(shared, &member).await,
            Err(trouble) => trouble,
        };
        if let Trouble::End(why) = trouble {
            return why;
        }
        shared.change(|state| {
            state.problem = Some(trouble.to_string());
            state.outgoing.lost();
        });
        sleep(PAUSE).await;
    }
}

/// Does everything over one connection, until one of the parts has trouble.
async fn use_member(shared: &Arc<Shared>, member: &Member) -> Trouble {
    tokio::select! {
        trouble = watching::watch(shared, member) => trouble,
        trouble = appending::append(shared, member) => trouble,
        trouble = reading::read(shared, member) => trouble,
        trouble = keeping::keep(shared, member) => trouble,
    }
}
