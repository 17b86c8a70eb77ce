//! Reads where the log ends: for barriers, and to notice a member that has lost the others, or a watch that stands still.

use crate::error::Trouble;
use crate::incoming::Incoming;
use crate::member::{Member, last_entries, unsigned};
use crate::messages::{RangeRequest, Request, TxnRequest};
use crate::shared::Shared;
use tokio::time::{Instant, timeout_at};

/// Where the log ended, and where the watch stood, at some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Standing {
    last: u64,
    /// `None` where the watch waits for the consumer.
    reached: Option<u64>,
}

/// Reads whenever a barrier is asked for, and otherwise now and then.
pub async fn read(shared: &Shared, member: &Member) -> Trouble {
    let mut before = Standing::default();
    let mut look = Instant::now() + shared.retry;
    loop {
        if !shared.lock().barriers.are_asked() {
            // At the end of the time, it is read all the same.
            let _ = timeout_at(look, shared.to_read.notified()).await;
        }
        let last = match read_once(shared, member).await {
            Ok(last) => last,
            Err(trouble) => return trouble,
        };
        if Instant::now() >= look {
            let now = Standing { last, reached: reached(shared) };
            if stands_still(before, now) {
                return Trouble::Member(format!("{}: the watch stands still", member.address()));
            }
            (before, look) = (now, Instant::now() + shared.retry);
        }
    }
}

/// Returns the last revision of the log, as of a time during this call (E5).
async fn read_once(shared: &Shared, member: &Member) -> Result<u64, Trouble> {
    let (below, taken) = {
        let state = shared.lock();
        (state.barriers.begin_read(), state.incoming.as_ref().map_or(0, Incoming::reached))
    };
    let (key, range_end) = shared.keys.logs();
    let logs = RangeRequest { key, range_end, keys_only: true, ..RangeRequest::default() };
    let life = RangeRequest { key: shared.keys.life(shared.origin.node), keys_only: true, ..RangeRequest::default() };
    let success = vec![Request::Range(logs).into(), Request::Range(life).into()];
    let answer = member.transact(TxnRequest { success, ..TxnRequest::default() }).await?;
    let mut found = answer.ranges();
    let last = found.next().map_or(0, |kvs| last_entries(kvs).iter().map(|last| last.2).max().unwrap_or(0));
    let life = found.next().and_then(|kvs| kvs.first()).map_or(0, |kv| unsigned(kv.mod_revision));
    if unsigned(answer.revision()) < taken {
        return Err(Trouble::End(format!(
            "etcd's history ends at revision {}, but revision {taken} was delivered: it was restored from a backup; begin a new order \
             with another prefix",
            answer.revision()
        )));
    }
    if life != shared.origin.life {
        return Err(Trouble::End("another life of this node has begun, or the order's keys were deleted".into()));
    }
    shared.change(|state| {
        if !state.has_no_space {
            state.problem = None;
        }
        state.place_barriers(below, last);
    });
    Ok(last)
}

fn reached(shared: &Shared) -> Option<u64> {
    let state = shared.lock();
    let waits = state.inbox.is_full() || state.inbox.is_behind();
    state.incoming.as_ref().map(Incoming::reached).filter(|_| !waits)
}

/// Whether the watch has not moved since it was behind the log's end.
fn stands_still(before: Standing, now: Standing) -> bool {
    before.reached.is_some_and(|reached| reached < before.last) && now.reached == before.reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_stands_still_if_it_should_move() {
        let standing = |last, reached| Standing { last, reached };
        assert!(stands_still(standing(9, Some(7)), standing(9, Some(7))));
        assert!(!stands_still(standing(9, Some(7)), standing(12, Some(8))));
        assert!(!stands_still(standing(9, Some(9)), standing(12, Some(9))), "what is new may be on its way");
        assert!(!stands_still(standing(9, None), standing(9, None)), "the consumer is slow");
    }
}
