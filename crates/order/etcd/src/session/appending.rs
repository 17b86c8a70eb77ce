//! Puts batches into the log, several at a time.

use crate::error::Trouble;
use crate::member::{Appended, Member};
use crate::shared::Shared;
use std::sync::Arc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::sleep;

/// A batch's version, and what became of it.
type Outcome = (u64, Result<Appended, Trouble>);

/// Sends what there is to send.
pub async fn append(shared: &Arc<Shared>, member: &Member) -> Trouble {
    // Dropped with the connection: what becomes of the rest is found out over the next one.
    let mut under_way: JoinSet<Outcome> = JoinSet::new();
    loop {
        while let Some(append) = shared.next_append() {
            let (shared, member) = (Arc::clone(shared), member.clone());
            under_way.spawn(async move {
                let version = append.version;
                (version, member.append(&shared.keys, shared.origin.node, shared.origin.life, append).await)
            });
        }
        let done = tokio::select! {
            () = shared.to_send.notified() => continue,
            Some(done) = under_way.join_next() => done,
        };
        if let Err(trouble) = take(shared, done) {
            if trouble != Trouble::NoSpace {
                return trouble;
            }
            // Somebody has to make room: try again now and then.
            under_way.abort_all();
            shared.change(|state| {
                state.has_no_space = true;
                state.problem = Some(trouble.to_string());
                state.outgoing.lost();
            });
            shared.to_keep.notify_one();
            sleep(shared.retry).await;
        }
    }
}

/// Takes note of what became of a batch.
fn take(shared: &Shared, done: Result<Outcome, JoinError>) -> Result<(), Trouble> {
    let (version, outcome) = match done {
        Ok(outcome) => outcome,
        Err(stopped) if stopped.is_cancelled() => return Ok(()),
        Err(panic) => return Err(Trouble::End(format!("a call to etcd has failed: {panic}"))),
    };
    match outcome? {
        Appended::Version(current) => shared.change(|state| {
            state.has_no_space = false;
            state.outgoing.applied(current);
        }),
        Appended::Early => shared.change(|state| state.outgoing.early(version)),
        Appended::Fenced => {
            return Err(Trouble::End("another life of this node has begun: two processes have the same number".into()));
        }
    }
    Ok(())
}
