//! Takes the log's entries as etcd reports them.

use crate::error::Trouble;
use crate::incoming::{Damage, Entry, Incoming};
use crate::keys::node_of;
use crate::member::{Last, Member, signed, unsigned};
use crate::messages::{KeyValue, RangeRequest, WatchEvent};
use crate::shared::Shared;
use crate::{batch, incoming};
use total::Position;

/// What a watch ended with.
enum End {
    /// What it was to begin with is compacted, up to here.
    Compacted(u64),
    /// The consumer goes on from another place.
    Moved,
}

/// Watches from where this node stands.
pub async fn watch(shared: &Shared, member: &Member) -> Trouble {
    loop {
        match watch_once(shared, member).await {
            Ok(()) => (),
            Err(trouble) => return trouble,
        }
    }
}

async fn watch_once(shared: &Shared, member: &Member) -> Result<(), Trouble> {
    if shared.lock().inbox.is_behind() {
        shared.to_watch.notified().await;
        return Ok(());
    }
    if shared.lock().incoming.is_none() {
        find_place(shared, member).await?;
    }
    match follow(shared, member).await? {
        End::Compacted(up_to) => close_gap(shared, member, up_to).await,
        End::Moved => Ok(()),
    }
}

/// Finds out what the log was at the place where this node begins.
async fn find_place(shared: &Shared, member: &Member) -> Result<(), Trouble> {
    let begin = shared.lock().begin;
    let incoming = match begin.filter(|at| at.instance > shared.created) {
        None => Incoming::at_begin(shared.created),
        Some(at) => match member.log_at(&shared.keys, at.instance).await {
            Ok(found) => Incoming::behind(at, Some(&found)),
            Err(Trouble::Compacted) => Incoming::behind(at, None),
            Err(trouble) => return Err(trouble),
        },
    };
    shared.change(|state| {
        // Unless the consumer has moved on meanwhile.
        if state.begin == begin {
            state.begin_at(incoming, shared.origin.node);
        }
    });
    shared.to_send.notify_one();
    Ok(())
}

/// Takes entries until the watch ends.
async fn follow(shared: &Shared, member: &Member) -> Result<End, Trouble> {
    let Some(reached) = shared.lock().incoming.as_ref().map(Incoming::reached) else { return Ok(End::Moved) };
    let mut stream = member.watch(&shared.keys, reached + 1).await?;
    loop {
        let response = tokio::select! {
            response = stream.message() => response,
            () = shared.to_watch.notified() => match shared.lock().incoming {
                Some(_) => continue,
                None => return Ok(End::Moved),
            },
        };
        let response = response.map_err(|status| member.watch_trouble(&status))?;
        let Some(response) = response else {
            return Err(Trouble::Member(format!("{}: it has ended the watch", member.address())));
        };
        if response.compact_revision != 0 {
            return Ok(End::Compacted(unsigned(response.compact_revision)));
        }
        if response.canceled {
            let why = response.cancel_reason;
            return Err(Trouble::Member(format!("{}: it has ended the watch: {why}", member.address())));
        }
        for event in &response.events {
            if !take(shared, &entry_of(event).map_err(ended)?).await? {
                return Ok(End::Moved);
            }
        }
    }
}

/// Takes an entry when there is room. Returns whether this node still stands there.
async fn take(shared: &Shared, entry: &Entry) -> Result<bool, Trouble> {
    loop {
        {
            let mut state = shared.lock();
            if state.incoming.is_none() {
                return Ok(false);
            }
            state.watch_waits = state.inbox.is_full();
            if !state.watch_waits {
                break;
            }
        }
        shared.to_watch.notified().await;
    }
    shared.take(entry).map_err(ended)?;
    Ok(true)
}

fn ended(damage: Damage) -> Trouble {
    Trouble::End(damage.to_string())
}

fn entry_of(event: &WatchEvent) -> Result<Entry, Damage> {
    let revision = event.kv.as_ref().map_or(0, |kv| unsigned(kv.mod_revision));
    let kv = event.kv.as_ref().filter(|_| event.kind == 0).ok_or(Damage::Key { revision })?;
    entry(kv)
}

fn entry(kv: &KeyValue) -> Result<Entry, Damage> {
    let revision = unsigned(kv.mod_revision);
    let node = node_of(&kv.key).ok_or(Damage::Key { revision })?;
    Ok(Entry { node, version: unsigned(kv.version), revision, value: kv.value.clone() })
}

/// The log up to a revision is compacted, except the last entry of each node. If nothing else is missing these are taken, else this
/// node is behind.
async fn close_gap(shared: &Shared, member: &Member, compacted: u64) -> Result<(), Trouble> {
    match try_to_close(shared, member, compacted).await {
        // It is compacted further meanwhile: the next watch says how far.
        Err(Trouble::Compacted) => Ok(()),
        done => done,
    }
}

async fn try_to_close(shared: &Shared, member: &Member, compacted: u64) -> Result<(), Trouble> {
    let found = member.log_at(&shared.keys, compacted).await?;
    let Some(missing) = shared.lock().incoming.as_ref().map(|incoming| missing(incoming, &found)) else {
        return Ok(());
    };
    let Some(missing) = missing else {
        return fall_behind(shared, member, compacted, &found).await;
    };
    for (node, ..) in missing {
        let kv = last_of(shared, member, node, compacted).await?;
        if !take(shared, &entry(&kv).map_err(ended)?).await? {
            return Ok(());
        }
    }
    shared.change(|state| {
        if let Some(incoming) = &mut state.incoming {
            incoming.skip_to(compacted, &found);
        }
    });
    Ok(())
}

/// The entries that are missing, in their order; `None` if one of them is not the last of its node.
fn missing(incoming: &incoming::Incoming, found: &[Last]) -> Option<Vec<Last>> {
    let count = |&(node, version, revision): &Last| incoming.missing(node, version, revision);
    if found.iter().any(|last| count(last) > 1) {
        return None;
    }
    let mut missing: Vec<Last> = found.iter().copied().filter(|last| count(last) == 1).collect();
    missing.sort_by_key(|(_, _, revision)| *revision);
    Some(missing)
}

/// Reads the last entry of a node up to a revision.
async fn last_of(shared: &Shared, member: &Member, node: u64, revision: u64) -> Result<KeyValue, Trouble> {
    let key = shared.keys.log(node);
    let range = RangeRequest { key, revision: signed(revision), ..RangeRequest::default() };
    let kv = member.range(range).await?.pop();
    kv.ok_or_else(|| ended(Damage::Key { revision }))
}

async fn fall_behind(shared: &Shared, member: &Member, compacted: u64, found: &[Last]) -> Result<(), Trouble> {
    let last = found.iter().max_by_key(|(_, _, revision)| *revision);
    let &(node, _, revision) = last.ok_or_else(|| ended(Damage::Key { revision: compacted }))?;
    let kv = last_of(shared, member, node, compacted).await?;
    let batch = batch::decode(&kv.value).map_err(|_| ended(Damage::Value { node, revision }))?;
    let index = u32::try_from(batch.payloads.len() - 1).unwrap_or(u32::MAX);
    let (key, range_end) = shared.keys.lives();
    let lives = member.range(RangeRequest { key, range_end, keys_only: true, ..RangeRequest::default() }).await?;
    let nodes = lives.iter().filter_map(|kv| node_of(&kv.key));
    let holders = nodes.filter(|node| *node != shared.origin.node).collect();
    shared.change(|state| {
        // Unless the consumer has moved on meanwhile.
        if state.incoming.is_some() {
            state.fall_behind(Position { instance: revision, index }, holders);
        }
    });
    Ok(())
}
