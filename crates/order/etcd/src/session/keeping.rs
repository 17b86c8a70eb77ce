//! Says what this node needs, and forgets what none does.

use crate::error::Trouble;
use crate::member::Member;
use crate::messages::{KeyValue, PutRequest, RangeRequest, Request, TxnRequest};
use crate::shared::Shared;

/// Looks at the log whenever so much was added.
pub async fn keep(shared: &Shared, member: &Member) -> Trouble {
    loop {
        let due = {
            let state = shared.lock();
            state.kept.is_due() || state.kept.is_over() || state.has_no_space
        };
        if due && let Err(trouble) = look(shared, member).await {
            return trouble;
        }
        shared.to_keep.notified().await;
    }
}

async fn look(shared: &Shared, member: &Member) -> Result<(), Trouble> {
    let needed = {
        let mut state = shared.lock();
        state.kept.looked();
        state.inbox.needed()
    };
    let marks = match mark(shared, member, Some(needed)).await {
        // Marks can wait; to compact is what helps.
        Err(Trouble::NoSpace) => mark(shared, member, None).await,
        marks => marks,
    }?;
    // A node without a legible mark needs everything, up to the limit.
    let needed = marks.iter().map(|kv| needed_by(kv).unwrap_or(0)).min().unwrap_or(0);
    let compactable = shared.lock().kept.cut(needed);
    if compactable == 0 {
        return Ok(());
    }
    member.compact(compactable).await?;
    shared.change(|state| state.kept.forgotten(compactable));
    shared.to_send.notify_one();
    Ok(())
}

/// Writes this node's mark, if one is given, and returns all nodes'.
async fn mark(shared: &Shared, member: &Member, needed: Option<u64>) -> Result<Vec<KeyValue>, Trouble> {
    let (key, range_end) = shared.keys.marks();
    let put = needed.map(|needed| {
        let (key, value) = (shared.keys.mark(shared.origin.node), needed.to_string().into());
        Request::Put(PutRequest { key, value }).into()
    });
    let range = Request::Range(RangeRequest { key, range_end, ..RangeRequest::default() }).into();
    let success = put.into_iter().chain([range]).collect();
    let answer = member.transact(TxnRequest { success, ..TxnRequest::default() }).await?;
    Ok(answer.ranges().next().unwrap_or_default().to_vec())
}

fn needed_by(mark: &KeyValue) -> Option<u64> {
    std::str::from_utf8(&mark.value).ok()?.parse().ok()
}
